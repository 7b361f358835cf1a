//! What is remembered of one member between two looks, because no look shows it, and how long or often something may be so.
//!
//! Before: `reconcile` notes it while it executes. After: `decide.rs`, `join.rs` and `removal.rs` judge by it.

use core::time::Duration;

/// What whoever executes remembers of this member, in memory only: a new process starts anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// How many joins have failed. Those that failed because versions differ do not count (HO-JOIN-08).
    pub failed_joins: u32,
    /// The certificate of the machine whose join failed last, as in [`fingerprint`](super::observation::Server::fingerprint).
    pub tried: Option<String>,
    /// What was said about the last one.
    pub last_failure: String,
    /// What the cluster said when it refused the version of the machine in this pass: the next one tries again.
    pub misfit: Option<String>,
    /// For how long the machine has been without a database, and not listed.
    pub outside_for: Duration,
    /// Whether it was asked to join.
    pub asked_to_join: bool,
    /// Whether it was removed by force, which nothing shows afterwards.
    pub forced_out: bool,
}

/// So many joins may fail before nothing more is tried: each one costs a token, and leaves something to clean up.
pub const MOST_FAILED_JOINS: u32 = 3;

/// A machine that joins shows the cluster's certificate some moments before the cluster lists it, and one that leaves some
/// moments longer; one that was forgotten shows it for good. Either takes a second or two, on a slow machine some more.
pub(super) const LONGEST_MOMENT: Duration = Duration::from_secs(30);
