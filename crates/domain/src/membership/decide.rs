//! Decides about one member: from what is declared and what is seen to the next step.
//!
//! ```text
//! MemberSpec + Observation + History ──> listed? ── yes ──> parity.rs: the first repair ──> Decision
//!                                          └─ no ──> bootstrap below, or join.rs ────────────┘
//! ```
//!
//! Before: `reconcile` observes. After: it performs the one step and observes again. Not here: the way out
//! (`removal.rs`).

use core::time::Duration;

use super::answer::{Decision, Refusal, Waiting};
use super::join;
use super::leftover::outstanding_token;
use super::observation::{Candidate, Cluster, Member, Observation, Server, Status, System};
use super::parity;
use super::spec::{Address, MemberSpec, Role};
use super::step::{AddressKey, Step};

/// What whoever executes remembers of this member, in memory only: a new process starts anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// How many joins have failed. Those that failed because versions differ do not count (HO-JOIN-08).
    pub failed_joins: u32,
    /// The certificate of the machine whose join failed last, as in [`Server::fingerprint`].
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

/// Chooses the next step of one member.
///
/// # Expected flow
/// 1. A machine that is no member waits for what it needs: an answer, trust, its seed, the cluster, the same version.
/// 2. What an earlier, failed join has left is cleaned up, one thing at a time; then it joins (HO-JOIN-12).
/// 3. A member is repaired, one thing at a time, until it is as declared (HO-JOIN-18, HO-JOIN-19).
///
/// # Guarantees
/// One step at a time, and each may run twice. A token is made only in the last step of a join, when no other one for
/// this name is outstanding (HO-JOIN-09). Nothing is deleted that a join of this machine has not left.
///
/// # Assumptions
/// The observation is of after the last step; the machine was looked at before the cluster.
pub fn decide(spec: &MemberSpec, observation: &Observation, history: &History) -> Decision {
    let candidate = &observation.candidate;
    // Until that has ended the machine shows, and is listed as, anything between before and after.
    if matches!(candidate, Candidate::Open(server) if server.busy) {
        return Decision::Wait(Waiting::Joining);
    }
    let Some(cluster) = &observation.cluster else {
        return alone(spec, candidate);
    };
    match cluster.member(&spec.name) {
        Some(member) => listed(spec, cluster, member, candidate),
        None if spec.role == Role::Bootstrap => match candidate.fingerprint() {
            Some(seen) if seen == cluster.fingerprint => {
                clustered_but_unlisted(cluster, candidate, history)
            }
            _ => Decision::Refuse(Refusal::SecondBootstrap),
        },
        None => join::decide(spec, cluster, candidate, history),
    }
}

/// No cluster is there.
fn alone(spec: &MemberSpec, candidate: &Candidate) -> Decision {
    let server = match open(spec, candidate) {
        Ok(server) => server,
        Err(decision) => return decision,
    };
    if server.clustered || spec.role == Role::Join {
        // A clustered machine answers for the cluster as soon as its database does.
        return Decision::Wait(Waiting::Cluster);
    }
    match server.system {
        // The seed of a bootstrap machine makes the cluster (HO-CLUS-02).
        System::IncusOs { initialized: false } => Decision::Wait(Waiting::Initializing),
        System::IncusOs { initialized: true } => Decision::Refuse(Refusal::SeededOtherwise),
        System::Other => bootstrap(spec, server),
    }
}

/// A cluster needs a concrete address first: with only one that stands for all, Incus refuses to make it.
fn bootstrap(spec: &MemberSpec, server: &Server) -> Decision {
    let address = spec.address.clone();
    if server.cluster_address.as_ref() != Some(&address.to_string()) {
        return Decision::Do(Step::SetAddress {
            key: AddressKey::Cluster,
            address,
        });
    }
    Decision::Do(Step::Bootstrap {
        name: spec.name.clone(),
    })
}

/// The machine, if it lets us in and is the one that is meant.
pub(super) fn open<'a>(
    spec: &MemberSpec,
    candidate: &'a Candidate,
) -> Result<&'a Server, Decision> {
    if let (Some(pinned), Some(seen)) = (&spec.server_fingerprint, candidate.fingerprint())
        && pinned != seen
        && !is_clustered(candidate)
    {
        return Err(Decision::Refuse(Refusal::Fingerprint {
            seen: seen.to_owned(),
            pinned: pinned.clone(),
        }));
    }
    match candidate {
        Candidate::Silent(why) | Candidate::Stranded { why, .. } => {
            Err(Decision::Wait(Waiting::Host(why.clone())))
        }
        Candidate::Untrusting { .. } => Err(Decision::Wait(Waiting::Trust)),
        Candidate::Open(server) => Ok(server),
    }
}

/// Its certificate may be the cluster's then, and is not the one that a pin is for.
fn is_clustered(candidate: &Candidate) -> bool {
    match candidate {
        Candidate::Open(server) => server.clustered,
        Candidate::Stranded { .. } => true,
        Candidate::Silent(_) | Candidate::Untrusting { .. } => false,
    }
}

/// It shows the cluster's certificate: it is another member, or was removed and never told.
pub(super) fn clustered_but_unlisted(
    cluster: &Cluster,
    candidate: &Candidate,
    history: &History,
) -> Decision {
    match candidate {
        Candidate::Open(server) if cluster.member(&server.name).is_some() => {
            Decision::Refuse(Refusal::OtherMember {
                seen: server.name.clone(),
            })
        }
        Candidate::Stranded { .. } if history.outside_for < LONGEST_MOMENT => {
            Decision::Wait(Waiting::Joining)
        }
        _ => Decision::Refuse(Refusal::RemovedAlive),
    }
}

/// The cluster has a member of this name: is it this machine, and is it as declared?
fn listed(
    spec: &MemberSpec,
    cluster: &Cluster,
    member: &Member,
    candidate: &Candidate,
) -> Decision {
    if let Some(refusal) = impostor(spec, cluster, member, candidate) {
        return Decision::Refuse(refusal);
    }
    let name = || member.name.clone();
    match member.status {
        Status::Online | Status::Evacuated => {}
        Status::Offline => return Decision::Wait(Waiting::Offline { member: name() }),
        Status::Blocked => return Decision::Wait(Waiting::Blocked { member: name() }),
        Status::Evacuating | Status::Restoring => {
            return Decision::Wait(Waiting::Moving { member: name() });
        }
    }
    // A token that is left over from a join that was cut off would let in somebody else (HO-JOIN-23).
    if let Some(step) = outstanding_token(spec, cluster) {
        return Decision::Do(step);
    }
    if member.server.is_none() {
        return Decision::Wait(Waiting::Unanswered { member: name() });
    }
    // What is missing now its seed makes next, and fails for good over whatever is there already.
    if cluster.is_initializing() {
        return Decision::Wait(Waiting::Initializing);
    }
    let gaps = parity::gaps(spec, cluster, member);
    match gaps.iter().find_map(|gap| gap.repair.clone()) {
        Some(step) => Decision::Do(step),
        None => Decision::Done {
            missing: gaps.into_iter().map(|gap| gap.words).collect(),
        },
    }
}

/// Why the machine at the declared address is not the member of the declared name. One that does not answer us is
/// taken for it: the cluster reaches it.
fn impostor(
    spec: &MemberSpec,
    cluster: &Cluster,
    member: &Member,
    candidate: &Candidate,
) -> Option<Refusal> {
    if let Some(listed) = member
        .address
        .as_ref()
        .filter(|listed| listed.contradicts(&spec.address))
    {
        return Some(elsewhere(spec, cluster, listed, candidate));
    }
    let seen = candidate.fingerprint()?;
    if seen != cluster.fingerprint {
        return Some(Refusal::Suspect {
            seen: seen.to_owned(),
        });
    }
    other_member(spec, candidate)
}

/// The cluster reaches the member of this name elsewhere: either the name is another machine's, or the address is new.
fn elsewhere(
    spec: &MemberSpec,
    cluster: &Cluster,
    listed: &Address,
    candidate: &Candidate,
) -> Refusal {
    let is_none_of_the_members = candidate
        .fingerprint()
        .is_some_and(|seen| seen != cluster.fingerprint);
    if is_none_of_the_members {
        return Refusal::NameTaken {
            listed: listed.clone(),
            declared: spec.address.clone(),
        };
    }
    other_member(spec, candidate).unwrap_or_else(|| Refusal::Address {
        listed: listed.clone(),
    })
}

fn other_member(spec: &MemberSpec, candidate: &Candidate) -> Option<Refusal> {
    match candidate {
        Candidate::Open(server) if server.clustered && server.name != spec.name => {
            Some(Refusal::OtherMember {
                seen: server.name.clone(),
            })
        }
        _ => None,
    }
}
