//! What is seen of a cluster, and of the machine that is, or becomes, one of its members.
//!
//! Before: `reconcile` reads it, the machine first and the cluster after it, so that a machine that has just joined is
//! in the list. After: `decide.rs` and `removal.rs`. What could not be read is `None`, which is not the same as empty.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::spec::Address;

mod candidate;

pub use candidate::{Candidate, Server, System};

/// What is seen at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The cluster; `None` as long as nobody answers for one.
    pub cluster: Option<Cluster>,
    /// The machine itself, at its declared address.
    pub candidate: Candidate,
}

/// A cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// SHA-256 of its certificate, in lower-case hexadecimal. Every member shows this one.
    pub fingerprint: String,
    /// Its members.
    pub members: Vec<Member>,
    /// The groups of members.
    pub groups: BTreeSet<String>,
    /// The storage pools.
    pub pools: Vec<Pool>,
    /// The managed networks.
    pub networks: BTreeSet<String>,
    /// The custom volumes in pools that members do not share.
    pub volumes: Vec<Volume>,
    /// The certificates that it trusts.
    pub trusted: Vec<Trusted>,
    /// The join tokens that were made and not used yet.
    pub tokens: Vec<PendingToken>,
    /// The keys that a joiner may have to set for itself.
    pub member_keys: Vec<MemberKey>,
    /// The machine on which the acting agent runs, as its app names it (design: the primary).
    pub primary: Option<String>,
}

/// A member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where the others reach it; `None` if that cannot be read.
    pub address: Option<Address>,
    /// How it is.
    pub status: Status,
    /// Whether it has a vote in the database.
    pub votes: bool,
    /// The groups that it is in.
    pub groups: BTreeSet<String>,
    /// Its configuration.
    pub config: BTreeMap<String, String>,
    /// Its failure domain.
    pub failure_domain: String,
    /// What its server says; `None` if it does not answer.
    pub server: Option<MemberServer>,
    /// The instances on it, of all projects, but for `workloads`.
    pub instances: BTreeSet<String>,
    /// The workloads on it of apps that run once on each machine: there is no other place for them.
    pub workloads: BTreeSet<String>,
    /// Fingerprints of images that only it has, as far as known: Incus tells it when it refuses a removal.
    pub sole_images: BTreeSet<String>,
    /// Names of daemon volumes that could not be deleted because the running daemon uses them.
    pub busy_volumes: BTreeSet<String>,
}

/// How a member is, in Incus's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// It takes part.
    #[default]
    Online,
    /// It has missed its heartbeats.
    Offline,
    /// Its workloads were moved off it.
    Evacuated,
    /// That is going on.
    Evacuating,
    /// They are brought back.
    Restoring,
    /// It waits for members of an older version.
    Blocked,
}

/// What the server of a member says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberServer {
    /// The version of Incus.
    pub version: Version,
    /// Whether it runs on IncusOS.
    pub incusos: bool,
    /// Whether IncusOS is still applying the seed that has made the cluster (HO-JOIN-07). Only of a member that is alone,
    /// since all others have applied theirs before they joined; else `false`.
    pub initializing: bool,
    /// Whether this version can keep its logs in a volume; 6.0 cannot.
    pub keeps_logs: bool,
    /// The keys of its configuration, its own among them.
    pub config: BTreeMap<String, String>,
}

/// What has to be the same on both sides of a join.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// The version of Incus, `6.0.4`.
    pub text: String,
    /// How many API extensions it lists. Members of a mixed cluster list only what all have.
    pub extensions: usize,
}

impl Version {
    /// The first number: features of another one are not looked for.
    pub fn major(&self) -> Option<u32> {
        self.text.split('.').next()?.parse().ok()
    }

    /// Whether a server of this version refuses to join while it listens on every address: those before 6.0.6.
    pub fn joins_only_from_one_address(&self) -> bool {
        let numbers: Option<Vec<u32>> =
            self.text.split('.').map(|part| part.parse().ok()).collect();
        match numbers.as_deref() {
            Some([6, 0]) => true,
            Some([6, 0, patch, ..]) => *patch < 6,
            _ => false,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} with {} API extensions",
            self.text, self.extensions
        )
    }
}

/// A storage pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// What keeps the data.
    pub driver: String,
    /// Whether it was made; else it is only noted for some members.
    pub created: bool,
    /// The members that have it.
    pub members: BTreeSet<String>,
}

/// A custom volume.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume {
    /// The pool that it is in.
    pub pool: String,
    /// The project that it is in.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The member that it is on.
    pub member: String,
}

/// A certificate that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The name; of a server's certificate, the name under which it joined, or tried to.
    pub name: String,
    /// What for.
    pub kind: TrustKind,
    /// SHA-256 in lower-case hexadecimal.
    pub fingerprint: String,
}

/// What a certificate is trusted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustKind {
    /// A client.
    Client,
    /// A member.
    Server,
    /// Reading metrics.
    Metrics,
}

/// A join token that was not used yet; what it is good for is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingToken {
    /// The operation that stands for it.
    pub operation: String,
    /// The name that it was made for.
    pub member: String,
}

/// A key that each member sets for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberKey {
    /// `storage-pool` or `network`.
    pub entity: String,
    /// Whose key it is.
    pub name: String,
    /// The key.
    pub key: String,
}

impl Cluster {
    /// The member of this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The pool of this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// Whether the seed that has made it is still being applied, which makes the pool after the cluster.
    pub fn is_initializing(&self) -> bool {
        let mut servers = self
            .members
            .iter()
            .filter_map(|member| member.server.as_ref());
        servers.any(|server| server.initializing)
    }

    /// The custom volumes on a member.
    pub fn volumes_on<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Volume> {
        self.volumes
            .iter()
            .filter(move |volume| volume.member == member)
    }
}

/// Whether a listening address, as the server has it, covers every address of the machine. An empty one covers none.
pub fn listens_everywhere(address: &str) -> bool {
    if address.is_empty() {
        return false;
    }
    let host = match address.rsplit_once(':') {
        Some((host, _)) if address != "::" => host,
        _ => address,
    };
    matches!(host, "" | "0.0.0.0" | "[::]" | "::" | "*")
}
