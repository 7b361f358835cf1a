//! Decides about one member: from what is declared and what is seen to the next step.
//!
//! ```text
//! MemberSpec + Observation + History ──> listed? ── yes ──> parity.rs: the first repair ──> Decision
//!                                          └─ no ──> bootstrap below, or join.rs ────────────┘
//! ```
//!
//! Before: `reconcile` observes. After: it performs the one step and observes again. Not here: the way out
//! (`removal.rs`).

use super::answer::{Decision, Refusal, Waiting};
use super::history::History;
use super::join;
use super::leftover::outstanding_token;
use super::machine::{clustered_but_unlisted, open};
use super::observation::{Candidate, Cluster, Member, Observation, Server, Status, System};
use super::parity;
use super::spec::{Address, MemberSpec, Role};
use super::step::{AddressKey, Step};

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
