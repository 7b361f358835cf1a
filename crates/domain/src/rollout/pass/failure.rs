//! Failed candidates: what is kept and told of them.
//!
//! Before: `slot.rs` says that a trial has failed. After: the candidate is deleted, and whoever waits for the rollout reads
//! the record.

use core::time::Duration;

use super::Pass;
use crate::app::Replicas;
use crate::observation::Workload;
use crate::rollout::slot::{self, Slot, Trial};
use crate::rollout::step::{Reason, Step};
use crate::rollout::{Decision, Failure, Next};
use crate::work::{FailureRecord, bounded};

impl Pass<'_> {
    /// Failed candidates: their outputs are kept, then they are deleted and the failure told (HO-APP-36). Of replicas it is
    /// one, since the others wait for it; of machines all that have failed, and the first one stands for them.
    pub(super) fn failed(&self) -> Option<Decision> {
        let failed: Vec<(&Workload, Option<&Workload>, &String)> = self
            .slots
            .iter()
            .filter_map(|(_, slot)| match slot {
                Slot::OnTrial {
                    candidate,
                    serving,
                    trial: Trial::Failed(why),
                } => Some((*candidate, *serving, why)),
                _ => None,
            })
            .take(match self.spec.replicas {
                Replicas::Count(_) => 1,
                Replicas::PerNode => usize::MAX,
            })
            .collect();
        let candidates: Vec<&Workload> = failed.iter().map(|(candidate, ..)| *candidate).collect();
        let keep = self.outputs_to_keep(&candidates);
        if !keep.is_empty() {
            return Some(Decision {
                steps: keep,
                ..self.nothing()
            });
        }
        let (candidate, serving, why) = *failed.first()?;
        let record = FailureRecord {
            place: candidate.place.clone(),
            generation: candidate.generation,
            image: candidate.image.clone(),
            error: bounded(&self.told(why, &candidates)),
            at: self.now,
        };
        let mut decision = self.delete(&candidates, Reason::Failed, Duration::ZERO);
        decision.work.failure = Some(record.clone());
        decision.next = Next::Failed(Failure {
            record,
            candidate: candidate.name.clone(),
            serving: serving
                .filter(|workload| slot::runs(workload))
                .map(|workload| workload.name.clone()),
        });
        Some(decision)
    }

    /// What is still to be read of failed candidates before they are deleted.
    fn outputs_to_keep(&self, failed: &[&Workload]) -> Vec<Step> {
        failed
            .iter()
            .filter(|candidate| !self.observation.outputs.contains_key(&candidate.name))
            .map(|candidate| Step::KeepOutput {
                name: candidate.name.clone(),
                never_ran: self.observation.start_errors.contains_key(&candidate.name),
            })
            .collect()
    }

    /// Why the first of the failed candidates failed, what it printed, and which others did, too.
    fn told(&self, why: &str, failed: &[&Workload]) -> String {
        let output = failed
            .first()
            .and_then(|candidate| self.observation.outputs.get(&candidate.name));
        let mut told = match output.map_or("", |output| output.trim()) {
            "" => format!("{why}; it printed nothing on its console"),
            output => format!("{why}; its last output:\n{output}"),
        };
        let others: Vec<&str> = failed.iter().skip(1).map(|one| one.name.as_str()).collect();
        if !others.is_empty() {
            told.push_str(&format!("\nThese failed, too: {}", others.join(", ")));
        }
        told
    }
}
