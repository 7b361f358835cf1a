//! Removal: what is left to delete after `tofu destroy` has written its tombstone.
//!
//! Before: `reconcile/src/rollout/remove.rs` has published the tombstone, so no other executor creates anything any
//! more. After: the workloads are stopped gracefully and deleted, and never anything that is not ours.

use crate::app::STOP_GRACE;
use crate::observation::{Observation, VolumeSeen, Workload};
use crate::rollout::recorded;
use crate::rollout::step::{Reason, Step};
use crate::work::Work;

/// What to do next to remove an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Store the record, delete the workloads, observe again.
    Delete {
        /// The record.
        work: Work,
        /// The workloads.
        workloads: Vec<Workload>,
    },
    /// No workload is left, and these volumes are to go, too.
    DeleteVolumes(Vec<VolumeSeen>),
    /// Nothing of the app is left that is to go.
    Done,
    /// These workloads are on members that do not answer; nothing else is left.
    Unreachable(Vec<Workload>),
}

/// Chooses what to do next. Volumes go only if that was asked for, and after the last workload.
pub fn decide(observation: &Observation, work: &Work, delete_volumes: bool) -> Removal {
    let of = |live| {
        let matching = observation
            .workloads
            .iter()
            .filter(move |one| one.status.is_live() == live);
        matching.cloned().collect::<Vec<Workload>>()
    };
    let (workloads, unreachable) = (of(true), of(false));
    if workloads.is_empty() {
        let volumes = observation.volumes.clone();
        return match (
            unreachable.is_empty(),
            volumes.is_empty() || !delete_volumes,
        ) {
            (false, _) => Removal::Unreachable(unreachable),
            (true, false) => Removal::DeleteVolumes(volumes),
            (true, true) => Removal::Done,
        };
    }
    let mut work = recorded(work, observation);
    workloads.iter().for_each(|workload| work.doom(workload));
    work.decided = workloads
        .iter()
        .map(|workload| delete(workload).to_string())
        .collect();
    Removal::Delete { work, workloads }
}

/// The step that a destroy takes for a workload.
pub fn delete(workload: &Workload) -> Step {
    Step::delete(workload, Reason::Destroyed, STOP_GRACE)
}
