//! What an executor has learned and Incus does not keep; it is gone when the executor is killed.
//!
//! Before: the steps of `executor/pass.rs`. After: the next observation. The same as in `reconcile/src/rollout/pass.rs`.

use std::collections::{BTreeMap, BTreeSet};

use domain::observation::Observation;
use domain::rollout::step::Step;

/// How often a start is tried before it counts as failed.
const STARTS: u32 = 3;
/// How many passes in a row may be disturbed.
const DISTURBANCES: u32 = 10;

/// What the passes so far have learned.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned {
    pub(super) ended: BTreeSet<String>,
    started: BTreeSet<String>,
    outputs: BTreeMap<String, String>,
    failed_creates: BTreeSet<String>,
    failed_starts: BTreeMap<String, (u32, &'static str)>,
    pub(super) disturbed: u32,
}

impl Learned {
    /// Adds it to an observation.
    ///
    /// # Errors
    /// If a create failed and left nothing behind.
    pub(super) fn apply(&mut self, observation: &mut Observation) -> Result<(), String> {
        observation.outputs.clone_from(&self.outputs);
        let stopped = observation.stopped().cloned();
        let (ended, unfinished): (BTreeSet<_>, BTreeSet<_>) =
            stopped.partition(|name| self.started.contains(name));
        self.ended.extend(ended);
        observation.unfinished = unfinished;
        observation.ended.clone_from(&self.ended);
        while let Some(name) = self.failed_creates.pop_first() {
            let is_there = |name: &str| observation.workloads.iter().any(|one| one.name == name);
            if !is_there(&name) {
                return Err(format!("{name} could not be made"));
            }
            self.failed_start(&name, "it could not be made");
        }
        let failed = self
            .failed_starts
            .iter()
            .filter(|(_, (times, _))| *times >= STARTS);
        let told = failed.map(|(name, (_, error))| (name.clone(), (*error).to_owned()));
        observation.start_errors = told.collect();
        Ok(())
    }

    /// A step was done.
    pub(super) fn done(&mut self, step: &Step) {
        match step {
            Step::Create { name, .. } | Step::Start { name, .. } => {
                self.started.insert(name.clone());
            }
            Step::KeepOutput { name, .. } => {
                let output = "cannot open /etc/app.conf".to_owned();
                self.outputs.insert(name.clone(), output);
            }
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::Delete { .. } => {}
        }
    }

    /// A step failed.
    ///
    /// # Errors
    /// If that has gone on for too long.
    pub(super) fn disturbed_by(&mut self, step: &Step, error: &'static str) -> Result<(), String> {
        match step {
            Step::Create { name, .. } => {
                self.failed_creates.insert(name.clone());
            }
            Step::Start { name, .. } => self.failed_start(name, error),
            _ if self.disturbed >= DISTURBANCES => return Err(format!("{step}: {error}")),
            _ => {}
        }
        self.disturbed += 1;
        Ok(())
    }

    fn failed_start(&mut self, name: &str, error: &'static str) {
        let failed = self.failed_starts.entry(name.to_owned()).or_default();
        failed.0 += 1;
        failed.1 = error;
    }
}
