//! Answers: what a decision can be, and how it is said to the user.
//!
//! Before: `decide.rs` and `removal.rs` give them. After: `reconcile` waits, acts or ends, and the provider prints them.
//! Each waiting state has its word (HO-JOIN-31).

use super::observation::Version;
use super::spec::Address;
use super::step::Step;

/// What to do about one member now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing can be done yet; observe again later.
    Wait(Waiting),
    /// Do this, and observe again.
    Do(Step),
    /// Nothing will help until somebody else acts.
    Refuse(Refusal),
    /// It is a member; what it still lacks is not in our power.
    Done {
        /// In the user's words.
        missing: Vec<String>,
    },
}

impl Decision {
    /// The word for how far the join is (HO-JOIN-31).
    pub fn word(&self) -> &'static str {
        match self {
            Decision::Wait(waiting) => waiting.word(),
            Decision::Do(Step::Bootstrap { .. } | Step::Join(_) | Step::SetAddress { .. }) => {
                "joining"
            }
            Decision::Do(
                Step::Distrust { .. }
                | Step::RevokeToken { .. }
                | Step::DeleteLeftNetwork { .. }
                | Step::DeleteLeftPool { .. },
            ) => "joining",
            Decision::Do(_) => "fixing-up",
            Decision::Refuse(Refusal::Suspect { .. } | Refusal::NameTaken { .. }) => "suspect",
            Decision::Refuse(_) => "refused",
            Decision::Done { .. } => "joined",
        }
    }
}

/// What is waited for. The message is a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Waiting {
    /// The machine does not answer.
    #[error("the machine does not answer: {0}")]
    Host(String),
    /// No cluster is there to join.
    #[error("there is no cluster yet: its bootstrap member is awaited")]
    Cluster,
    /// The machine answers, and does not know us: trust comes with its seed.
    #[error(
        "the machine answers and does not trust this client yet; its seed, or its operator, has to make it"
    )]
    Trust,
    /// The machine has not applied its seed to the end (HO-JOIN-07).
    #[error("the machine is still applying its seed")]
    Initializing,
    /// Versions differ, which updates will change (HO-JOIN-08).
    #[error(
        "the machine has Incus {machine}, and member {member} has {theirs}; they must be the same"
    )]
    Version {
        /// The machine's.
        machine: Version,
        /// A member that differs.
        member: String,
        /// The member's.
        theirs: Version,
    },
    /// The cluster has refused the machine for its version, which looked the same from here: members of a mixed cluster
    /// list only what all have (HO-JOIN-08).
    #[error(
        "the cluster refuses the machine's version of Incus, and takes it once all are the same: {0}"
    )]
    Misfit(String),
    /// A member waits for others to be updated, and nobody joins meanwhile.
    #[error("member {member} waits for members of an older version to be updated")]
    Blocked {
        /// Which.
        member: String,
    },
    /// The join, or the bootstrap, is going on.
    #[error("the machine is about to make or join a cluster")]
    Joining,
    /// The member is listed and does not answer.
    #[error("member {member} is offline")]
    Offline {
        /// Which.
        member: String,
    },
    /// The member is listed as online, and what it says itself cannot be read.
    #[error("member {member} does not answer the other members")]
    Unanswered {
        /// Which.
        member: String,
    },
    /// An evacuation or a restore is going on.
    #[error("member {member} is being evacuated or restored")]
    Moving {
        /// Which.
        member: String,
    },
}

impl Waiting {
    /// The word for it (HO-JOIN-31).
    pub fn word(&self) -> &'static str {
        match self {
            Waiting::Host(_) | Waiting::Offline { .. } | Waiting::Unanswered { .. } => {
                "waiting-for-host"
            }
            Waiting::Cluster => "waiting-for-cluster",
            Waiting::Trust | Waiting::Initializing => "initializing",
            Waiting::Version { .. } | Waiting::Misfit(_) | Waiting::Blocked { .. } => {
                "version-mismatch"
            }
            Waiting::Joining => "joining",
            Waiting::Moving { .. } => "fixing-up",
        }
    }
}

/// Why a machine does not become a member, or a member is not what is declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its certificate is not the one that is pinned (HO-JOIN-23).
    #[error(
        "the machine shows certificate {seen}, and server_fingerprint is {pinned}: it is another machine, or was installed anew"
    )]
    Fingerprint {
        /// What it shows.
        seen: String,
        /// What is declared.
        pinned: String,
    },
    /// Its version will never be the cluster's by an update of either alone.
    #[error(
        "the machine has Incus {machine}, and member {member} has {theirs}: another major version does not join"
    )]
    Major {
        /// The machine's.
        machine: String,
        /// A member that differs.
        member: String,
        /// The member's.
        theirs: String,
    },
    /// It is in a cluster that does not list it under this name (HO-JOIN-20).
    #[error(
        "the machine is in a cluster already, as {seen:?}, and this cluster does not list it under the declared name: reset it, then apply again"
    )]
    OtherCluster {
        /// Its name there.
        seen: String,
    },
    /// It shows this cluster's certificate, and the cluster does not list it (HO-JOIN-20).
    #[error(
        "the machine shows this cluster's certificate, and the cluster does not list it: it was removed without being told, and still runs. It can read and write the cluster's database: switch it off and reset it"
    )]
    RemovedAlive,
    /// The declared name is a member's already, and the machine is none (HO-JOIN-24).
    #[error(
        "the cluster has a member of this name, and the machine at the declared address is not it: either another machine has used a join token, or this one was installed anew. Find out which; to let this one join, remove the member first"
    )]
    Suspect {
        /// What the machine shows.
        seen: String,
    },
    /// The declared name is the name of a member elsewhere, and the machine is none (HO-JOIN-24).
    #[error(
        "the name is taken: the cluster has a member of this name at {listed}, and the machine at {declared} is another one. Give this one another name; if it is to take that member's place, remove the member first. If nobody here made that member, another machine has used a join token"
    )]
    NameTaken {
        /// Where the cluster reaches the member that has it.
        listed: Address,
        /// Where the machine is.
        declared: Address,
    },
    /// The machine at the declared address is another member.
    #[error("the machine at the declared address is the member {seen:?}")]
    OtherMember {
        /// Which.
        seen: String,
    },
    /// The machine has another name than the one that it was seeded with.
    #[error(
        "the machine calls itself {seen:?}: it was seeded as another machine, or another one has its address"
    )]
    OtherMachine {
        /// How it calls itself.
        seen: String,
    },
    /// The cluster knows the member under another address, which cannot be changed.
    #[error(
        "the cluster reaches this member at {listed}, and an address does not change while it is a member"
    )]
    Address {
        /// Where.
        listed: Address,
    },
    /// The joiner is not empty, and would lose what it has (HO-JOIN-02).
    #[error("the machine is not empty, and would lose {}: move or delete that, then apply again", .holds.join(", "))]
    NotEmpty {
        /// What it has.
        holds: Vec<String>,
    },
    /// There is a cluster, and this machine is not its bootstrap member (HO-CLUS-05).
    #[error(
        "there is a cluster already, and this machine is not in it: a bootstrap member makes a cluster of its own. Use role = \"join\""
    )]
    SecondBootstrap,
    /// The machine was installed, and its seed made no cluster (HO-CLUS-05).
    #[error(
        "the machine has applied its seed and made no cluster of itself: it was not seeded with role = \"bootstrap\""
    )]
    SeededOtherwise,
    /// It was asked to join, and got stuck: what it joined through may have died of something else meanwhile.
    #[error(
        "the machine got stuck in its join and does not come out of it by itself: {why}. Restart Incus on it, then apply again"
    )]
    Stuck {
        /// What it answers.
        why: String,
    },
    /// Joining has failed again and again.
    #[error("joining has failed {times} times, last with: {last}")]
    JoinFails {
        /// How often.
        times: u32,
        /// What was said.
        last: String,
    },
}
