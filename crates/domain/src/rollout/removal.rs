//! Removal: the steps after `tofu destroy` has written its tombstone.
//!
//! Before: `reconcile/src/rollout.rs` has published the tombstone, so no other executor creates anything any more.
//! After: `reconcile/src/execute.rs`. Graceful, and never anything that is not ours.

use crate::app::STOP_GRACE;
use crate::moment::Moment;
use crate::observation::{Observation, Workload};
use crate::rollout::recorded;
use crate::rollout::step::{Reason, Step};
use crate::work::Work;

/// What to do next to remove an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Store the record, execute the steps, observe again.
    Steps {
        /// The record.
        work: Work,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Nothing of the app is left.
    Done,
    /// These workloads are on members that do not answer; nothing else is left.
    Unreachable(Vec<Workload>),
}

/// Chooses the next steps of a removal.
pub fn decide(observation: &Observation, work: &Work, now: Moment) -> Removal {
    let (live, unreachable): (Vec<&Workload>, Vec<&Workload>) = observation
        .workloads
        .iter()
        .partition(|workload| workload.status.is_live());
    if live.is_empty() {
        return match unreachable.is_empty() {
            true => Removal::Done,
            false => Removal::Unreachable(unreachable.into_iter().cloned().collect()),
        };
    }
    let steps: Vec<Step> = live.into_iter().map(delete).collect();
    let mut work = recorded(work, observation, now);
    work.decided = steps.iter().map(ToString::to_string).collect();
    Removal::Steps { work, steps }
}

/// The step that removes one workload.
fn delete(workload: &Workload) -> Step {
    Step::Delete {
        ordinal: workload.ordinal,
        generation: workload.generation,
        name: workload.name.clone(),
        grace: STOP_GRACE,
        reason: Reason::Destroyed,
    }
}
