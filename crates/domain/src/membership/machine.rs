//! The machine at the declared address: whether it can be dealt with, and what one is that only shows the cluster's
//! certificate.
//!
//! Before: `decide.rs` or `join.rs` needs the machine. After: they go on with it, or with the decision from here.

use super::answer::{Decision, Refusal, Waiting};
use super::history::{History, LONGEST_MOMENT};
use super::observation::{Candidate, Cluster, Server};
use super::spec::MemberSpec;

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
