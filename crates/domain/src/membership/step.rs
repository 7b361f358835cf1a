//! Steps: what is to be done next for a member, spelled out so that doing it leaves no choice.
//!
//! Before: `decide.rs` and `removal.rs` return one at a time. After: `reconcile` performs it with one arm and observes
//! again. Every step may run twice: what is there already, or gone already, is a success.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::certificate::Certificate;
use super::spec::Address;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Tell the machine itself where to listen, before it is a member.
    SetAddress {
        /// What for.
        key: AddressKey,
        /// Where.
        address: Address,
    },
    /// Make a cluster of the machine itself.
    Bootstrap {
        /// The name of its first member.
        name: String,
    },
    /// End the trust in the certificate that a failed join has left in the cluster (HO-JOIN-12).
    Distrust {
        /// Its fingerprint.
        fingerprint: String,
    },
    /// Revoke a join token that is outstanding.
    RevokeToken {
        /// The operation that stands for it.
        operation: String,
    },
    /// Delete a network that a failed join has left on the machine itself.
    DeleteLeftNetwork {
        /// Its name.
        network: String,
    },
    /// Delete a pool that a failed join has left on the machine itself; it holds nothing.
    DeleteLeftPool {
        /// Its name.
        pool: String,
    },
    /// Make a token, keep it in memory only, and join the machine itself with it (HO-JOIN-09…17).
    Join(Box<Join>),
    /// Create a group of members.
    CreateGroup {
        /// Its name.
        group: String,
    },
    /// Change a member as a whole; what is `None` stays as it is.
    ChangeMember {
        /// Which.
        name: String,
        /// All groups that it is in.
        groups: Option<BTreeSet<String>>,
        /// Its failure domain.
        failure_domain: Option<String>,
        /// These keys; an empty value removes one.
        config: BTreeMap<String, String>,
    },
    /// Note what a pool that is not made yet is on one member.
    NotePool {
        /// The member.
        name: String,
        /// The pool.
        pool: String,
        /// What keeps the data.
        driver: String,
        /// Where it is on the member.
        source: Option<String>,
    },
    /// Make a pool that is noted for every member.
    MakePool {
        /// The pool.
        pool: String,
        /// What keeps the data.
        driver: String,
    },
    /// Create one of the volumes that the daemon keeps what is its own in (HO-JOIN-18).
    CreateVolume {
        /// The member.
        name: String,
        /// The pool.
        pool: String,
        /// The volume.
        volume: String,
    },
    /// Delete one of them.
    DeleteVolume {
        /// The member.
        name: String,
        /// The pool.
        pool: String,
        /// The volume.
        volume: String,
    },
    /// Stop a workload that belongs to the member, and delete it.
    DeleteWorkload {
        /// The member.
        name: String,
        /// The name of its Incus instance.
        workload: String,
    },
    /// Set keys of a member's server; an empty value removes one.
    SetServer {
        /// The member.
        name: String,
        /// The keys.
        config: BTreeMap<String, String>,
    },
    /// Trust a certificate for reading metrics.
    TrustMetrics {
        /// The member whose metrics are read with it.
        name: String,
        /// The certificate.
        certificate: Certificate,
    },
    /// Move the workloads off a member.
    Evacuate {
        /// Which.
        name: String,
    },
    /// Bring them back.
    Restore {
        /// Which.
        name: String,
    },
    /// Remove a member.
    Remove {
        /// Which.
        name: String,
        /// Whether whatever is on it may be lost, and it is not told (HO-CLUS-08).
        force: bool,
    },
}

/// A key that says where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKey {
    /// `cluster.https_address`, for the other members.
    Cluster,
    /// `core.https_address`, for clients.
    Core,
}

impl AddressKey {
    /// The key.
    pub fn word(self) -> &'static str {
        match self {
            AddressKey::Cluster => "cluster.https_address",
            AddressKey::Core => "core.https_address",
        }
    }
}

/// Everything of a join but the token, which the executor makes last and keeps in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The name of the member.
    pub name: String,
    /// Where the others will reach it.
    pub address: Address,
    /// The certificate that the cluster and the token must have: anything else is not joined (HO-JOIN-13).
    pub cluster_fingerprint: String,
    /// What the machine has to show when the token is handed over.
    pub server_fingerprint: String,
    /// The member to join through, if the token names it; else the first that the token names (HO-JOIN-17).
    pub through: Option<Address>,
    /// What it sets for itself (HO-JOIN-14).
    pub member_config: Vec<MemberSetting>,
}

/// A key that the joiner sets for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSetting {
    /// `storage-pool`; nothing else is set by us.
    pub entity: String,
    /// Whose key it is.
    pub name: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// As a log or an error names it: "what we were doing".
impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::SetAddress { key, address } => {
                write!(formatter, "set {} to {address}", key.word())
            }
            Step::Bootstrap { name } => write!(formatter, "make a cluster of {name}"),
            Step::Distrust { fingerprint } => {
                write!(formatter, "end the trust in certificate {fingerprint}")
            }
            Step::RevokeToken { .. } => write!(formatter, "revoke a join token"),
            Step::DeleteLeftNetwork { network } => {
                write!(formatter, "delete network {network} of the joiner")
            }
            Step::DeleteLeftPool { pool } => write!(formatter, "delete pool {pool} of the joiner"),
            Step::Join(join) => write!(formatter, "join {} at {}", join.name, join.address),
            Step::CreateGroup { group } => write!(formatter, "create cluster group {group}"),
            Step::ChangeMember { name, .. } => write!(formatter, "change member {name}"),
            Step::NotePool { name, pool, .. } => write!(formatter, "note pool {pool} for {name}"),
            Step::MakePool { pool, .. } => write!(formatter, "make pool {pool}"),
            Step::CreateVolume { name, pool, volume } => {
                write!(formatter, "create volume {pool}/{volume} on {name}")
            }
            Step::DeleteVolume { name, pool, volume } => {
                write!(formatter, "delete volume {pool}/{volume} of {name}")
            }
            Step::DeleteWorkload { name, workload } => {
                write!(formatter, "delete workload {workload} of {name}")
            }
            Step::SetServer { name, config } => {
                let keys: Vec<&str> = config.keys().map(String::as_str).collect();
                write!(formatter, "set {} of {name}", keys.join(", "))
            }
            Step::TrustMetrics { name, .. } => {
                write!(formatter, "trust the metrics certificate of {name}")
            }
            Step::Evacuate { name } => write!(formatter, "evacuate {name}"),
            Step::Restore { name } => write!(formatter, "restore {name}"),
            Step::Remove { name, force: false } => write!(formatter, "remove {name}"),
            Step::Remove { name, force: true } => write!(formatter, "remove {name} by force"),
        }
    }
}
