//! The executor of the simulation: observe, probe, decide, record, perform, as `reconcile/src/rollout/pass.rs` does.
//!
//! Before: an event, or `settle`. After: `world.rs`. What only an executor remembers is lost when it is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::observation::{Observation, Probe};
use domain::rollout::step::Step;
use domain::rollout::{Decision, Next, decide, to_probe};
use domain::work::Work;

use crate::invariants;
use crate::world::World;

/// What an executor remembers between two passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Executor {
    work: Work,
    started: BTreeSet<String>,
    ended: BTreeSet<String>,
    start_errors: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
}

/// How far a pass comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// To its end.
    End,
    /// To its end, with every step executed twice.
    EndTwice,
    /// The executor is killed between deciding and recording.
    Decided,
    /// The executor is killed when so many steps are done, and the next one is in the hands of Incus.
    Step(usize),
}

impl World {
    /// One pass; the first one of an executor takes up the next revision, as every apply does.
    pub(crate) fn pass(&mut self, until: Until) -> Next {
        let mut executor = self.executor.take().unwrap_or_else(|| {
            self.revision += 1;
            Executor {
                work: Work {
                    revision: self.revision,
                    ..self.stored.clone()
                },
                ..Executor::default()
            }
        });
        let observation = self.look(&mut executor);
        let decision = decide(&self.spec, &observation, &executor.work, self.now);
        self.trace.push(format!("  {:?}", decision.next));
        invariants::of_decision(self, &observation, &decision);
        if until == Until::Decided {
            return decision.next;
        }
        if decision.work != executor.work {
            self.stored = invariants::stored(&self.stored, &decision.work);
            executor.work = decision.work.clone();
        }
        if self.perform_until(until, &decision, &mut executor) {
            self.executor = Some(executor);
        }
        decision.next
    }

    fn look(&self, executor: &mut Executor) -> Observation {
        let mut observation = self.observe(&executor.work);
        observation.outputs.clone_from(&executor.outputs);
        observation.start_errors.clone_from(&executor.start_errors);
        let stopped = observation.stopped().cloned();
        let (ended, unfinished): (BTreeSet<_>, BTreeSet<_>) =
            stopped.partition(|name| executor.started.contains(name));
        executor.ended.extend(ended);
        observation.unfinished = unfinished;
        observation.ended.clone_from(&executor.ended);
        let asked = to_probe(&self.spec, &observation, &executor.work, self.now);
        let answer = |name: &String| match self.is_healthy(&self.instances[name]) {
            true => Probe::Healthy,
            false => Probe::Unhealthy("not now".to_owned()),
        };
        let answers = asked
            .into_iter()
            .map(|workload| (workload.name.clone(), answer(&workload.name)));
        observation.probes = answers.collect();
        observation
    }

    /// Performs the steps of a decision; whether the executor is still alive.
    fn perform_until(
        &mut self,
        until: Until,
        decision: &Decision,
        executor: &mut Executor,
    ) -> bool {
        let limit = match until {
            Until::Step(steps) => steps,
            Until::End | Until::EndTwice | Until::Decided => usize::MAX,
        };
        for (done, step) in decision.steps.iter().enumerate() {
            if done == limit {
                self.trace.push(format!("  killed in: {step}"));
                self.in_flight.push(step.clone());
                return false;
            }
            self.trace.push(format!("  {step}"));
            invariants::of_step(self, step, &executor.ended);
            self.remember(step, executor);
            if until == Until::EndTwice {
                self.remember(step, executor);
            }
        }
        limit == usize::MAX
    }

    fn remember(&mut self, step: &Step, executor: &mut Executor) {
        let outcome = self.perform(step);
        match step {
            Step::Create { name, .. } | Step::Start { name, .. } => {
                executor.started.insert(name.clone());
                if let Err(error) = outcome {
                    executor.start_errors.insert(name.clone(), error.to_owned());
                }
            }
            Step::KeepOutput { name, .. } => {
                let output = "cannot open /etc/app.conf".to_owned();
                executor.outputs.insert(name.clone(), output);
            }
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::Delete { .. } => {}
        }
    }

    /// Passes of a new executor that nobody disturbs, until it comes to an end; its steps as a plan tells them.
    ///
    /// # Errors
    /// If it does not come to an end within a number of passes that is enough for each workload, failed or not.
    pub(crate) fn apply(&mut self) -> Result<(Next, Vec<String>), String> {
        self.executor = None;
        self.trace.push("undisturbed".to_owned());
        let passes = 10 + 30 * self.ours().len().max(self.spec.replicas as usize);
        let told_from = self.trace.len();
        for _ in 0..passes {
            match self.pass(Until::End) {
                Next::Again => {}
                Next::Wait(time) => self.now = self.now.plus(time.max(Duration::from_millis(1))),
                end => return Ok((end, told(&self.spec, &self.trace[told_from..]))),
            }
        }
        Err(format!("no end after {passes} passes"))
    }
}

/// What a plan tells of the steps in a trace: each create with its image, and no bookkeeping.
fn told(spec: &domain::app::AppSpec, trace: &[String]) -> Vec<String> {
    let image = spec.image.reference.written();
    let step = |line: &String| {
        let step = line.strip_prefix("  replica ")?;
        let created = step.contains(": create ");
        let from = if created {
            format!(" from {image}")
        } else {
            String::new()
        };
        Some(format!("replica {step}{from}"))
    };
    trace.iter().filter_map(step).collect()
}
