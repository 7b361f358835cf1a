//! What a decision about a removal can be, and how it is said to the user.
//!
//! Before: `removal.rs` gives it. After: `reconcile` waits, acts or ends, and the provider prints it.

use crate::membership::step::Step;

/// What to do next to remove a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing can be done yet; observe again later.
    Wait(Waiting),
    /// Do this, and observe again.
    Do(Step),
    /// It stays.
    Refuse(Refusal),
    /// It is no member, or is not to be asked for any more.
    Gone {
        /// What a careful operator has to know.
        warnings: Vec<Warning>,
    },
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Waiting {
    /// Nobody answers for the cluster.
    #[error("no member of the cluster answers")]
    Cluster,
    /// The member is online, and what it says itself cannot be read.
    #[error("the member does not answer the others")]
    Unanswered,
    /// An evacuation or a restore is going on.
    #[error("the member is being evacuated or restored")]
    Moving,
    /// It is removed, and has not made an end of it.
    #[error("the machine is about to leave the cluster")]
    Leaving,
    /// The others have not settled who votes since the last change.
    #[error("the cluster is still choosing which of its members vote")]
    Votes,
}

impl Waiting {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Waiting::Cluster => "waiting-for-cluster",
            Waiting::Unanswered => "waiting-for-host",
            Waiting::Moving => "moving",
            Waiting::Leaving => "leaving",
            Waiting::Votes => "choosing-votes",
        }
    }
}

/// What stays true after a removal. Each is a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// The last member cannot leave.
    #[error(
        "{name} is the last member and cannot leave: a cluster of one member remains, with everything on it. To end it, install the machine anew"
    )]
    LastMember {
        /// Which.
        name: String,
    },
    /// It was never told, and lives.
    #[error(
        "{name} was removed without being told, and still runs: its instances go on, and it can read and write the cluster's database. Switch it off, and reset it before it is used again"
    )]
    Alive {
        /// Which.
        name: String,
    },
    /// It was not told, and nobody can see from here whether it lives.
    #[error(
        "{name} did not answer, so it was removed without being told. Should it still run somewhere, cut off from here, or be started again, it goes on as a member: its instances run, and it can read and write the cluster's database. Switch it off, and reset it or install it anew before it gets back into the network"
    )]
    Untold {
        /// Which.
        name: String,
    },
}

/// Why a member stays. Each is a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The acting agent is on it.
    #[error(
        "the agent that acts runs on it: name another machine as the primary of the agent app first"
    )]
    Primary,
    /// Instances are on it.
    #[error("it hosts {}: move or delete them, or apply on_destroy = {{ evacuate = true }} first", .0.join(", "))]
    Instances(Vec<String>),
    /// It was evacuated, and these could not be moved.
    #[error("it was evacuated, and {} could not be moved off it: move or delete them, or apply on_destroy.force = true first, which loses them", .0.join(", "))]
    Stuck(Vec<String>),
    /// Custom volumes are on it that are not the daemon's.
    #[error("it has the custom volumes {}: move or delete them, or apply on_destroy.force = true first, which loses them", .0.join(", "))]
    Volumes(Vec<String>),
    /// It has the only copy of images.
    #[error("it alone has the images {}: copy or delete them, or apply on_destroy.force = true first, which loses them", .0.join(", "))]
    Images(Vec<String>),
    /// Its daemon uses volumes until it is restarted.
    #[error("its daemon still uses the custom volumes {}: restart Incus on it, or apply on_destroy.force = true first", .0.join(", "))]
    Busy(Vec<String>),
    /// It does not answer, so it cannot be emptied or told.
    #[error(
        "it does not answer: bring it back, or apply on_destroy.force = true first; then what is on it is lost to the cluster, and it must be reset before it is started again"
    )]
    Dead,
    /// Without it too few of those that vote would be left.
    #[error("without it the others that vote could not decide: bring another member back first")]
    Quorum,
}
