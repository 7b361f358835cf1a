//! Failures: what is kept and told of what has failed, and what becomes of the place.
//!
//! Before: `slot.rs` says that a trial has failed, or that this revision has failed at a place. After: the failure is on
//! record before the candidate is deleted, what served before serves again, and whoever waits for the rollout is told.

use core::time::Duration;

use super::Pass;
use crate::app::Replicas;
use crate::observation::{Status, Workload};
use crate::place::Place;
use crate::rollout::slot::{self, Slot, Trial};
use crate::rollout::step::{Reason, Step};
use crate::rollout::{Decision, Failure, Next};
use crate::work::{FailureRecord, bounded};

impl<'a> Pass<'a> {
    /// Failed candidates: their outputs are kept, then they are deleted (HO-APP-36). Of replicas it is one, since the others
    /// wait for it; of machines all that have failed.
    pub(super) fn failed(&self) -> Option<Decision> {
        let most = match self.spec.replicas {
            Replicas::Count(_) => 1,
            Replicas::PerNode => usize::MAX,
        };
        let failed = self.slots.iter().filter_map(|(_, slot)| match slot {
            Slot::OnTrial {
                candidate,
                trial: Trial::Failed(why),
                ..
            } => Some((*candidate, why)),
            _ => None,
        });
        let failed: Vec<(&Workload, &String)> = failed.take(most).collect();
        let candidates: Vec<&Workload> = failed.iter().map(|(candidate, _)| *candidate).collect();
        let keep = self.outputs_to_keep(&candidates);
        if candidates.is_empty() || !keep.is_empty() {
            return (!keep.is_empty()).then(|| Decision {
                steps: keep,
                ..self.nothing()
            });
        }
        let mut decision = self.delete(&candidates, Reason::Failed, Duration::ZERO);
        for (candidate, why) in failed {
            let record = self.record(
                &candidate.place,
                candidate.generation,
                &candidate.name,
                &self.told(why, candidate),
            );
            decision.work.fail(record);
        }
        Some(decision)
    }

    /// What could not even be made: the failure is recorded, and what is done about it follows from that.
    pub(super) fn not_made(&self, place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        if !matches!(slot, Slot::Outdated(_) | Slot::Missing) {
            return None;
        }
        let errors = &self.observation.create_errors;
        let mut made = self.work.slots.get(place)?.workloads.iter().rev();
        let (made, error) = made.find_map(|made| Some((made, errors.get(&made.name)?)))?;
        let mut decision = self.recorded(Vec::new());
        let told = format!("it could not be made: {error}");
        decision
            .work
            .fail(self.record(place, made.generation, &made.name, &told));
        Some(decision)
    }

    /// The end of a revision that has failed somewhere: what served before serves again, and the failure is told.
    pub(super) fn given_up(&self, _place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        let Slot::GivenUp { failure, serving } = slot else {
            return None;
        };
        if let Some(stopped) = serving.filter(|workload| self.is_worth_a_start(workload)) {
            return Some(self.start(stopped, stopped.healthy_since.is_some()));
        }
        let serving = serving.filter(|workload| slot::runs(workload));
        let of_app = self.work.failure.as_ref();
        let failure = of_app
            .filter(|told| told.place == failure.place)
            .unwrap_or(failure);
        Some(Decision {
            next: Next::Failed(Box::new(Failure {
                record: failure.clone(),
                candidate: failure.candidate.clone(),
                serving: serving.map(|workload| workload.name.clone()),
            })),
            ..self.nothing()
        })
    }

    /// Whether a workload is stopped, and nobody has tried in vain to start it.
    pub(super) fn is_worth_a_start(&self, workload: &Workload) -> bool {
        let in_vain = self.observation.start_errors.contains_key(&workload.name)
            || self.observation.ended.contains(&workload.name);
        workload.status == Status::Stopped && !in_vain
    }

    fn record(
        &self,
        place: &Place,
        generation: u64,
        candidate: &str,
        error: &str,
    ) -> FailureRecord {
        FailureRecord {
            place: place.clone(),
            generation,
            revision: self.work.revision,
            candidate: candidate.to_owned(),
            image: self.spec.image.reference.written().to_owned(),
            error: bounded(error),
            at: self.now,
        }
    }

    /// What is still to be read of failed candidates before they are deleted.
    fn outputs_to_keep(&self, failed: &[&Workload]) -> Vec<Step> {
        let unread = |candidate: &&&Workload| {
            let outputs = &self.observation.outputs;
            !outputs.contains_key(&candidate.name)
        };
        let keep = |candidate: &&Workload| Step::KeepOutput {
            name: candidate.name.clone(),
            never_ran: self.observation.start_errors.contains_key(&candidate.name),
        };
        failed.iter().filter(unread).map(keep).collect()
    }

    /// Why a candidate failed, and what it printed.
    fn told(&self, why: &str, candidate: &Workload) -> String {
        let output = self.observation.outputs.get(&candidate.name);
        match output.map_or("", |output| output.trim()) {
            "" => format!("{why}; it printed nothing on its console"),
            output => format!("{why}; its last output:\n{output}"),
        }
    }
}
