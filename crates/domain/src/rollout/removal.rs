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

/// The names of instances on members that do not answer which may be the app's: nobody else's record has them, and they
/// look like its own. If it has a record, that may have been lost before and rebuilt without them.
pub fn hidden(app: &str, observation: &Observation, others: &[&Work]) -> Vec<String> {
    let is_others = |name: &str| others.iter().any(|work| work.by_name(name).is_some());
    let unclear = observation.unclear.iter();
    unclear
        .filter(|name| may_be_workload(app, name) && !is_others(name))
        .cloned()
        .collect()
}

/// Whether an instance name is one that we would give: `APP-gN` or `APP-PLACE-gN`. It may be another app's.
pub fn may_be_workload(app: &str, name: &str) -> bool {
    let Some(rest) = name
        .strip_prefix(app)
        .and_then(|rest| rest.strip_prefix('-'))
    else {
        return false;
    };
    let last = rest.rsplit('-').next().unwrap_or(rest);
    let digits = last.strip_prefix('g').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// The step that a destroy takes for a workload.
pub fn delete(workload: &Workload) -> Step {
    Step::delete(workload, Reason::Destroyed, STOP_GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::work::{Made, Slot};

    #[test]
    fn names_of_workloads_are_known_by_their_form() {
        for (name, may_be) in [
            ("web-g0", true),
            ("web-3-g17", true),
            ("web-m1-g2", true),
            ("web-g", false),
            ("web-gx", false),
            ("web", false),
            ("web-1", false),
            ("webby-g0", false),
            ("other-g0", false),
        ] {
            assert_eq!(may_be_workload("web", name), may_be, "{name}");
        }
    }

    /// A removal must not end while something that may be its own hides: what others have on record is theirs.
    #[test]
    fn what_hides_on_a_silent_member_may_be_ours() {
        let names = ["web-g0", "web-0-g1", "pet", "db-g0"];
        let observation = Observation {
            unclear: names.map(str::to_owned).into(),
            ..Observation::default()
        };
        assert_eq!(hidden("web", &observation, &[]), ["web-0-g1", "web-g0"]);
        let made = Made {
            name: "web-0-g1".to_owned(),
            member: None,
            generation: 1,
            trial: None,
            doomed: false,
        };
        let slot = Slot {
            workloads: vec![made],
            ..Slot::default()
        };
        let mut theirs = Work::default();
        theirs.slots.insert(Place::FIRST, slot);
        assert_eq!(hidden("web", &observation, &[&theirs]), ["web-g0"]);
    }
}
