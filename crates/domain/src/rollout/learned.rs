//! What an executor has learned from its own steps and Incus does not keep; it is gone when the executor is.
//!
//! Before: `reconcile/src/rollout/pass.rs` has performed steps (in `simulator`, a model of it). After: the next
//! [`Observation`], completed by it.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::Strategy;
use crate::observation::Observation;
use crate::place::Place;
use crate::rollout::step::Step;

/// How often a start is tried before it counts as failed: a create that was cut off may still be going on inside
/// Incus, and refuses a start for a moment.
const STARTS: u32 = 3;

/// How many passes in a row may be disturbed: Incus refuses what concerns an instance that it is busy with, and so
/// does a member that is going down.
pub const DISTURBANCES: u32 = 10;

/// What the passes so far have learned.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    /// Workloads that this executor has started.
    started: BTreeSet<String>,
    /// Those of them that were seen stopped after that.
    ended: BTreeSet<String>,
    /// How many passes in a row were disturbed.
    disturbed: u32,
    /// Kept outputs, by instance name.
    outputs: BTreeMap<String, String>,
    /// Creates that failed, by instance name; whether an instance was left behind shows in the next list.
    failed_creates: BTreeMap<String, (Place, String)>,
    /// Creates that failed and left nothing behind.
    unmade: BTreeMap<String, String>,
    /// Starts that failed so far, by instance name, with the last error.
    failed_starts: BTreeMap<String, (u32, String)>,
}

/// A create that failed and left nothing behind: there is nothing to observe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("making {name}: {error}")]
pub struct Unmade {
    /// The name that the Incus instance would have had.
    pub name: String,
    /// What Incus said.
    pub error: String,
}

/// Passes were disturbed for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOften;

impl Learned {
    /// Adds what Incus does not keep to an observation.
    ///
    /// # Errors
    /// If a create failed and left nothing behind, unless something was stopped for it, which has to be started again, or
    /// other machines have theirs to come.
    pub fn apply(
        &mut self,
        observation: &mut Observation,
        strategy: Strategy,
    ) -> Result<(), Unmade> {
        observation.outputs.clone_from(&self.outputs);
        let (ended, unfinished): (BTreeSet<_>, BTreeSet<_>) = observation
            .stopped()
            .cloned()
            .partition(|name| self.started.contains(name));
        self.ended.extend(ended);
        observation.unfinished = unfinished;
        observation.ended.clone_from(&self.ended);
        while let Some((name, (place, error))) = self.failed_creates.pop_first() {
            let mut workloads = observation.workloads.iter();
            if workloads.any(|workload| workload.name == name) {
                // It was made, and starting it failed once; the next passes try again, or see that it runs.
                self.failed_start(&name, &error);
            } else if strategy == Strategy::StopReplace || place.machine().is_some() {
                self.unmade.insert(name, error);
            } else {
                return Err(Unmade { name, error });
            }
        }
        observation.create_errors.clone_from(&self.unmade);
        let in_vain = self.failed_starts.iter();
        let in_vain = in_vain.filter(|(_, (times, _))| *times >= STARTS);
        observation.start_errors = in_vain
            .map(|(name, (_, error))| (name.clone(), error.clone()))
            .collect();
        Ok(())
    }

    /// A step was done, and has brought this to light.
    pub fn done(&mut self, step: &Step, output: Option<String>) {
        match step {
            Step::Create { name, .. } | Step::Start { name, .. } => {
                self.started.insert(name.clone());
                self.ended.remove(name);
            }
            // It is down because this executor wanted it.
            Step::Stop { name, .. } => {
                self.started.remove(name);
                self.ended.remove(name);
            }
            Step::KeepOutput { name, .. } => {
                self.outputs
                    .insert(name.clone(), output.unwrap_or_default());
            }
            Step::CreateVolume { .. }
            | Step::ResizeVolume { .. }
            | Step::StampHealthy { .. }
            | Step::ClearHealthy { .. }
            | Step::Delete { .. } => {}
        }
    }

    /// Workloads that were seen stopped after this executor had started them.
    pub fn ended(&self) -> &BTreeSet<String> {
        &self.ended
    }

    /// All steps of a pass were done.
    pub fn undisturbed(&mut self) {
        self.disturbed = 0;
    }

    /// Steps of a pass have failed, one or several.
    pub fn disturbed(&mut self) {
        self.disturbed += 1;
    }

    /// A step failed: the next pass observes what is there and tries again; [`Learned::disturbed`] counts it.
    ///
    /// # Errors
    /// If that has gone on for too long.
    pub fn disturbed_by(&mut self, step: &Step, error: &str) -> Result<(), TooOften> {
        let too_often = self.disturbed >= DISTURBANCES;
        match step {
            Step::Create { name, place, .. } => {
                let failed = (place.clone(), error.to_owned());
                self.failed_creates.insert(name.clone(), failed);
            }
            Step::Start { name, .. } => self.failed_start(name, error),
            // A console cannot be read for a moment while its container goes down. One that never can be is no reason
            // to hide that the workload failed, and none to claim that it printed nothing.
            Step::KeepOutput { name, .. } if too_often => {
                let told = format!("(it cannot be read: {error})");
                self.outputs.insert(name.clone(), told);
            }
            _ if too_often => return Err(TooOften),
            _ => {}
        }
        Ok(())
    }

    fn failed_start(&mut self, name: &str, error: &str) {
        let failed = self.failed_starts.entry(name.to_owned()).or_default();
        failed.0 += 1;
        failed.1 = error.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Status, Workload};

    fn at(status: Status) -> Observation {
        let workload = Workload {
            name: "web-g0".to_owned(),
            place: Place::FIRST,
            generation: 0,
            member: None,
            image: "v1".to_owned(),
            spec: String::new(),
            status,
            healthy_since: None,
            started_at: String::new(),
            restarted: false,
            ever_started: true,
            description: String::new(),
        };
        Observation {
            workloads: vec![workload],
            ..Observation::default()
        }
    }

    fn look(learned: &mut Learned, status: Status) -> (usize, usize) {
        let mut observation = at(status);
        let applied = learned.apply(&mut observation, Strategy::BlueGreen);
        assert_eq!(applied, Ok(()));
        (observation.unfinished.len(), observation.ended.len())
    }

    fn start() -> Step {
        Step::Start {
            place: Place::FIRST,
            generation: 0,
            name: "web-g0".to_owned(),
        }
    }

    /// HO-APP-36: what this executor started and saw stopped has ended, also when it is listed as running once more; what it
    /// has started again has not, and what it has stopped itself never did.
    #[test]
    fn what_was_seen_to_end_has_ended() {
        let mut learned = Learned::default();
        let stopped = look(&mut learned, Status::Stopped);
        assert_eq!(stopped, (1, 0), "whoever began its start may be at it");
        learned.done(&start(), None);
        assert_eq!(look(&mut learned, Status::Running), (0, 0));
        assert_eq!(look(&mut learned, Status::Stopped), (0, 1));
        assert_eq!(look(&mut learned, Status::Running), (0, 1));
        learned.done(&start(), None);
        assert_eq!(look(&mut learned, Status::Running), (0, 0));
        let stop = Step::Stop {
            place: Place::FIRST,
            generation: 0,
            name: "web-g0".to_owned(),
            grace: core::time::Duration::ZERO,
        };
        learned.done(&stop, None);
        assert_eq!(look(&mut learned, Status::Stopped), (1, 0));
    }

    /// HO-APP-36: what cannot be read for a moment is read again, and never told as "printed nothing".
    #[test]
    fn an_output_that_cannot_be_read_yet_is_not_an_empty_one() {
        let keep = Step::KeepOutput {
            name: "web-g0".to_owned(),
            never_ran: false,
        };
        let mut learned = Learned::default();
        for _ in 0..DISTURBANCES {
            assert_eq!(learned.disturbed_by(&keep, "busy"), Ok(()));
            assert!(learned.outputs.is_empty(), "it is tried again");
            learned.disturbed();
        }
        assert_eq!(learned.disturbed_by(&keep, "busy"), Ok(()));
        assert_eq!(learned.outputs["web-g0"], "(it cannot be read: busy)");
    }

    /// What goes on failing is an error in the end, whatever the step.
    #[test]
    fn a_disturbance_without_end_is_an_error() {
        let stamp = Step::ClearHealthy {
            name: "web-g0".to_owned(),
            description: String::new(),
        };
        let mut learned = Learned::default();
        for _ in 0..DISTURBANCES {
            assert_eq!(learned.disturbed_by(&stamp, "busy"), Ok(()));
            learned.disturbed();
        }
        assert_eq!(learned.disturbed_by(&stamp, "busy"), Err(TooOften));
    }

    /// Design 7, HO-APP-25: where something was stopped for it, or other machines have theirs to come, what could not be made
    /// is no end yet.
    #[test]
    fn what_could_not_be_made_ends_only_what_lost_nothing() {
        let create = |place: &str| Step::Create {
            place: place.parse().expect("a place"),
            generation: 1,
            name: "web-g1".to_owned(),
            member: None,
            volumes: Vec::new(),
        };
        for (place, strategy, ends) in [
            ("0", Strategy::BlueGreen, true),
            ("0", Strategy::StopReplace, false),
            ("@m1", Strategy::BlueGreen, false),
            ("@m1", Strategy::StopReplace, false),
        ] {
            let mut learned = Learned::default();
            assert_eq!(learned.disturbed_by(&create(place), "no space"), Ok(()));
            let mut observation = at(Status::Running);
            let applied = learned.apply(&mut observation, strategy);
            assert_eq!(applied.is_err(), ends, "{place}, {strategy:?}");
            let told = observation.create_errors.contains_key("web-g1");
            assert_eq!(told, !ends, "{place}, {strategy:?}");
        }
    }
}
