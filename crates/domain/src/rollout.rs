//! Rollouts: from what is declared and what is seen to the next steps.
//!
//! ```text
//! app::AppSpec + observation::Observation + work::Work ──> slot (each place) ──> pass (one app) ──> Decision
//! ```
//!
//! Before: `reconcile/src/rollout.rs` observes. After: it records [`Decision::work`], then
//! `reconcile/src/execute.rs` performs [`Decision::steps`]. `forecast` runs the same decisions on a world in memory
//! for the plan; `removal` is the way out.

mod pass;

pub mod forecast;
pub mod learned;
pub mod phase;
pub mod removal;
pub mod slot;
pub mod step;

#[cfg(test)]
mod tests;

use core::time::Duration;
use std::collections::BTreeSet;

use crate::app::AppSpec;
use crate::moment::Moment;
use crate::observation::{Observation, Status, Workload};
use crate::place::Place;
use crate::placement::NoMember;
use crate::secret::{Secrets, hide};
use crate::work::{FailureRecord, Work};

use pass::Pass;
use pass::recorded;
use slot::Slot;
use step::Step;

/// Whether every workload that is declared was made from this very declaration: then none is left to be made.
pub fn has_every_workload(spec: &AppSpec, observation: &Observation) -> bool {
    let hash = spec.hash();
    let workloads = observation.workloads.iter();
    let made = workloads.filter(|workload| workload.spec == hash);
    let made: BTreeSet<&Place> = made.map(|workload| &workload.place).collect();
    observation
        .places(spec.replicas)
        .all(|place| made.contains(&place))
}

/// How often a workload on trial is asked whether it is healthy.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// What to do about one app now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The record as it must be stored before the steps are executed; equal to the given one if nothing needs to be.
    pub work: Work,
    /// In this order.
    pub steps: Vec<Step>,
    /// And then.
    pub next: Next,
}

impl Decision {
    /// The same, with no secret in the failures that are not on record `before`: what a program prints is in nobody's hand.
    /// They are told from the record, later.
    #[must_use]
    pub fn without(mut self, secrets: &Secrets, before: &Work) -> Self {
        let clean = |record: &mut Option<FailureRecord>, known: Option<&FailureRecord>| {
            if let Some(record) = record.as_mut().filter(|record| Some(&**record) != known) {
                record.error = hide(&record.error, secrets);
            }
        };
        clean(&mut self.work.failure, before.failure.as_ref());
        for (place, slot) in &mut self.work.slots {
            let known = before.slots.get(place);
            clean(
                &mut slot.failed,
                known.and_then(|slot| slot.failed.as_ref()),
            );
        }
        self
    }
}

/// What follows the steps of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Observe and decide again.
    Again,
    /// The same, after this long or as soon as something happens.
    Wait(Duration),
    /// Everything is as declared.
    Converged,
    /// The rollout failed; what served before goes on serving.
    Failed(Box<Failure>),
    /// A name that is needed belongs to somebody else; nothing was changed.
    Conflict(Conflict),
    /// No member can take a workload; nothing was changed.
    NoMember(NoMember),
    /// These cannot be replaced: they may be running on members that are offline. Nothing that serves was touched.
    OutOfReach(Vec<Workload>),
}

/// A rollout that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The record, as stored.
    pub record: FailureRecord,
    /// The instance that failed and was deleted, or could not be made.
    pub candidate: String,
    /// The instance that serves, if one does.
    pub serving: Option<String>,
}

/// An instance name that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The name.
    pub name: String,
    /// The app that its keys name, if they do.
    pub owner: Option<String>,
}

/// The workloads whose health has to be asked before [`decide`] can be called: those on trial.
pub fn to_probe<'a>(
    spec: &AppSpec,
    observation: &'a Observation,
    work: &'a Work,
    now: Moment,
) -> Vec<&'a Workload> {
    slot::all(spec, observation, work, now)
        .into_iter()
        .filter_map(|(_, slot)| match slot {
            Slot::OnTrial { candidate, .. } if candidate.status == Status::Running => {
                Some(candidate)
            }
            _ => None,
        })
        .collect()
}

/// Chooses the next steps of one app.
///
/// # Expected flow
/// 1. Health is written down where it changed (HO-APP-38); this is bookkeeping and may concern several workloads.
/// 2. One slot is acted upon, none if one of the others is still on trial and this one serves (HO-APP-30): failed
///    candidates first, then leftovers and candidates that are no longer wanted, promotions, starts, missing workloads,
///    upgrades (lowest place first), and surplus workloads last (highest place first).
/// 3. The caller stores the work record, executes the steps and observes again.
///
/// # Guarantees
/// A generation never goes down. A serving workload is deleted only after a healthy newer one passed its trial, or
/// because fewer are declared. Nothing that is not ours is touched. Steps may be executed twice.
///
/// # Assumptions
/// The observation is of after the last executed step, and has an answer for each workload of [`to_probe`] that could be
/// asked.
///
/// # Caveats
/// Workloads on members that do not answer are neither counted as missing nor deleted. Those of an Offline member
/// are replaced under the next generation; when it is back, the older ones are deleted. A trial's deadline counts from
/// the first look after its start, or of a later revision: nobody watches between two applies.
pub fn decide(spec: &AppSpec, observation: &Observation, work: &Work, now: Moment) -> Decision {
    let slots = slot::all(spec, observation, work, now);
    let work = pass::with_trials(work, &slots, now);
    Pass {
        spec,
        observation,
        work: &work,
        now,
        slots: &slots,
    }
    .decide()
}
