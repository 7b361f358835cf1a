//! Mistakes that can be planted in an executor, each a way in which such programs have gone wrong; invariants find them.
//!
//! Before: `tests/faults.rs` plants one. After: `executor.rs` makes it. Without one, an executor does what is right.

use domain::app::{AppSpec, Strategy};
use domain::moment::Moment;
use domain::observation::{Observation, Status};
use domain::place::Place;
use domain::rollout::step::{Reason, Step};
use domain::rollout::{self, Decision, Next};
use domain::work::Work;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A candidate takes over at its first healthy answer.
    PromotesAtOnce,
    /// Whatever a check answers, the candidate is taken for healthy.
    DeafToProbes,
    /// The next replica is upgraded before the one before has proven itself.
    UpgradesTwo,
    /// What holds a name that is needed is deleted.
    FreesTakenNames,
    /// What is called like a workload is taken for one.
    TrustsNames,
    /// What a list does not show with its keys is taken for not there, when an app is destroyed.
    PartialLists,
    /// The generations that failed are counted once more.
    ReusesGenerations,
    /// A record is overwritten if its ETag is the same, instead of created under the next number.
    GuardsByEtag,
    /// What was done is written down, instead of what is going to be.
    RecordsAfterwards,
    /// What is on a member that does not answer is replaced at once.
    SilentIsGone,
    /// What is on record as decided is taken for done.
    BelievesItsRecord,
    /// A create finds its name taken, and takes another one.
    TriesAnotherName,
    /// What runs is not stopped where nothing may run beside its successor.
    RunsBeside,
    /// What serves is stopped for a successor that could have come up beside it.
    StopsFirst,
}

/// The decision of `domain`, or what the fault makes of it.
pub(crate) fn decide(
    fault: Option<Fault>,
    spec: &AppSpec,
    observation: &Observation,
    work: &Work,
    now: Moment,
) -> Decision {
    let mut decision = match fault {
        Some(Fault::ReusesGenerations) => {
            let mut forgetful = work.clone();
            forgetful.slots.clear();
            rollout::decide(spec, observation, &forgetful, now)
        }
        Some(Fault::RunsBeside) if spec.r#type.strategy() == Strategy::StopReplace => {
            let mut blind = observation.clone();
            for workload in &mut blind.workloads {
                workload.status = Status::Stopped;
            }
            rollout::decide(spec, &blind, work, now)
        }
        _ => rollout::decide(spec, observation, work, now),
    };
    match (fault, &decision.next) {
        (Some(Fault::FreesTakenNames), Next::Conflict(conflict)) => {
            decision.steps.push(Step::Delete {
                place: Place::FIRST,
                generation: 0,
                name: conflict.name.clone(),
                grace: core::time::Duration::ZERO,
                reason: Reason::Leftover,
            });
            decision.next = Next::Again;
        }
        (Some(Fault::StopsFirst), Next::Again) => {
            let stop = first_stop(&decision.steps, observation);
            decision
                .work
                .decided
                .extend(stop.iter().map(ToString::to_string));
            decision.steps.splice(0..0, stop);
        }
        (Some(Fault::UpgradesTwo), Next::Again) => {
            decision
                .steps
                .extend(second(spec, &decision.steps, observation))
        }
        _ => {}
    }
    decision
}

/// The end of what serves where a create is about to be made.
fn first_stop(steps: &[Step], observation: &Observation) -> Option<Step> {
    let Some(Step::Create { place, .. }) = steps.last() else {
        return None;
    };
    let mut serving = observation.workloads.iter();
    let serving = serving.find(|one| one.place == *place && one.status == Status::Running)?;
    Some(Step::Stop {
        place: place.clone(),
        generation: serving.generation,
        name: serving.name.clone(),
        grace: core::time::Duration::ZERO,
    })
}

/// The same for the next replica, if a create is for one that serves already.
fn second(spec: &AppSpec, steps: &[Step], observation: &Observation) -> Option<Step> {
    let Some(Step::Create { place, member, .. }) = steps.last() else {
        return None;
    };
    let outdated =
        |one: &&domain::observation::Workload| one.place > *place && one.spec != spec.hash();
    let other = observation.workloads.iter().find(outdated)?;
    Some(Step::Create {
        place: other.place.clone(),
        generation: other.generation + 1,
        name: spec.workload_name(&other.place, other.generation + 1),
        volumes: Vec::new(),
        member: member.clone(),
    })
}
