//! Membership: how a machine becomes a member, stays as it is declared, and leaves; and how much a cluster can bear.
//!
//! ```text
//!     declared.rs ──> spec.rs ─┬─> decide.rs ──> machine.rs, join.rs, parity.rs ──> answer.rs, step.rs
//! observation.rs, history.rs ──┴─> removal.rs ────────────────────────────────────> answer.rs, step.rs
//! ```
//!
//! What is declared is published in the fleet store, too: `document.rs` is what stands there, `claim.rs` says who may
//! write it.
//!
//! Before: `provider/src/resources/cluster_member.rs` has the configuration, `reconcile` the observation. After: one
//! step at a time is performed, and everything is observed again. Below, what the members say about how much the
//! cluster can bear, which the data source `homelab_cluster` shows.

pub mod certificate;
pub mod declared;
pub mod observation;
pub mod spec;

pub mod answer;
pub mod decide;
pub mod history;
mod join;
mod leftover;
mod machine;
pub mod parity;
pub mod removal;
pub mod step;

pub mod order;

pub mod claim;
pub mod document;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

/// What one member does for the cluster's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voter {
    /// Whether it has a vote.
    pub votes: bool,
    /// Whether it answers.
    pub online: bool,
}

/// How many more members may fail, whichever they are, before nothing can be decided any more (HO-CLUS-03).
///
/// More than half of all votes have to be there. Two members have one vote between them, so their answer is none.
pub fn fault_tolerance(members: &[Voter]) -> usize {
    let votes = members.iter().filter(|member| member.votes).count();
    let present = members
        .iter()
        .filter(|member| member.votes && member.online)
        .count();
    present.saturating_sub(votes / 2 + 1)
}

/// A setting of the cluster with which Incus acts by itself on what is declared here (AP-14, AP-33).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rival {
    /// Its key in the server's configuration.
    pub key: &'static str,
    /// What it makes Incus do.
    pub does: &'static str,
}

/// Such settings.
const RIVALS: [Rival; 2] = [
    Rival {
        key: "cluster.healing_threshold",
        does: "evacuates a member that does not answer, and leaves it evacuated when it comes back",
    },
    Rival {
        key: "cluster.rebalance.interval",
        does: "moves instances between members by itself",
    },
];

/// The settings that are on, with their values; `setting` gives the value of a key.
pub fn rivals<'a>(setting: impl Fn(&str) -> Option<&'a str>) -> Vec<(Rival, &'a str)> {
    let on = |rival: Rival| {
        let value = setting(rival.key)?;
        (!matches!(value, "" | "0")).then_some((rival, value))
    };
    RIVALS.into_iter().filter_map(on).collect()
}
