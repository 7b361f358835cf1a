//! Phases: where a rollout is, in one word, for `phase` in the state.
//!
//! Before: an observation. After: what the user reads; nothing is decided by it.

use crate::app::AppSpec;
use crate::moment::Moment;
use crate::observation::{Observation, Status};
use crate::place::Place;
use crate::rollout::slot::{self, Slot, Trial};
use crate::work::Work;

/// Where the rollout of an app is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Everything is as declared.
    Serving,
    /// A candidate is to be made, or is not healthy yet.
    Starting,
    /// A candidate is healthy, not yet for long enough.
    Soaking,
    /// A candidate has passed its trial and takes over.
    Promoting,
    /// Generations that serve no longer, or too many workloads, are going away.
    Draining,
    /// A candidate failed or is no longer wanted, and goes away.
    Reverting,
    /// The last rollout failed, and what served before it goes on serving.
    Reverted,
    /// A workload is missing or does not run.
    Degraded,
    /// A member does not answer, so not everything can be told.
    Unknown,
    /// The app is destroyed, and its workloads are going away.
    Deleting,
}

impl Phase {
    /// The word that the state shows.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Serving => "serving",
            Phase::Starting => "starting",
            Phase::Soaking => "soaking",
            Phase::Promoting => "promoting",
            Phase::Draining => "draining",
            Phase::Reverting => "reverting",
            Phase::Reverted => "reverted",
            Phase::Degraded => "degraded",
            Phase::Unknown => "unknown",
            Phase::Deleting => "deleting",
        }
    }
}

/// The phase of the first slot that is not as declared.
pub fn of(spec: &AppSpec, observation: &Observation, work: &Work, now: Moment) -> Phase {
    slot::all(spec, observation, work, now)
        .iter()
        .map(|(_, slot)| of_slot(slot, spec, work))
        .find(|phase| *phase != Phase::Serving)
        .or_else(|| {
            let is_surplus = |place: &Place| !observation.has_place(place, spec.replicas);
            let mut workloads = observation.workloads.iter();
            workloads
                .any(|workload| is_surplus(&workload.place) && workload.status.is_live())
                .then_some(Phase::Draining)
        })
        .unwrap_or(Phase::Serving)
}

fn of_slot(slot: &Slot<'_>, spec: &AppSpec, work: &Work) -> Phase {
    match slot {
        Slot::Converged | Slot::LeftAlone => Phase::Serving,
        Slot::Unknown(_) => Phase::Unknown,
        Slot::OutOfReach(_) => Phase::Unknown,
        Slot::Missing | Slot::Stopped { .. } => Phase::Degraded,
        Slot::Pending | Slot::Rival(_) => Phase::Starting,
        Slot::GivenUp {
            serving: Some(workload),
            ..
        } if workload.status == Status::Running => Phase::Reverted,
        Slot::GivenUp { .. } => Phase::Degraded,
        Slot::Leftovers(_) => Phase::Draining,
        Slot::StaleCandidate(_) => Phase::Reverting,
        Slot::Outdated(workload) if workload.status == Status::Stopped => Phase::Degraded,
        Slot::Outdated(_) if failed(spec, work) => Phase::Reverted,
        Slot::Outdated(_) => Phase::Starting,
        Slot::OnTrial {
            candidate, trial, ..
        } => match trial {
            Trial::Failed(_) => Phase::Reverting,
            Trial::Passed => Phase::Promoting,
            Trial::Running { .. } if candidate.healthy_since.is_some() => Phase::Soaking,
            Trial::Running { .. } => Phase::Starting,
        },
    }
}

/// Whether it was the declared image that failed; another one has not been tried yet.
fn failed(spec: &AppSpec, work: &Work) -> bool {
    work.failure
        .as_ref()
        .is_some_and(|failure| failure.image == spec.image.reference.written())
}
