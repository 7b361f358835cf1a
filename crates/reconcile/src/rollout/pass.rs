//! The passes of a rollout, one after the other.
//!
//! Before: `rollout.rs`. After: `domain::rollout::decide` for what to do, `store.rs` to record it, `execute.rs` to do
//! it. What a pass learns that Incus does not keep (a kept output, a failed start) is carried to the next pass here.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use domain::moment::Moment;
use domain::observation::{Observation, Workload};
use domain::place::Place;
use domain::rollout::step::Step;
use domain::rollout::{self, Decision, Next, PROBE_INTERVAL};
use futures_util::stream::{self, StreamExt as _};

use super::{DISTURBANCES, Rollout, until};
use crate::clock;
use crate::error::Error;
use crate::execute::{Done, Template, execute};
use crate::health;
use crate::observe;
use crate::store;
use crate::wake::Wake;

/// How often a start is tried before it counts as failed: a create that was cut off may still be going on inside
/// Incus, and refuses a start for a moment.
const STARTS: u32 = 3;

/// So many workloads are asked for their health at a time.
const QUESTIONS: usize = 8;

/// The steps of so many machines are taken at a time (an app with a count has one lane of steps): stopping one can take
/// its whole grace.
const LANES: usize = 8;

/// No wait is shorter, whatever the clocks say.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);

/// How far the steps of a decision came.
enum Performed {
    /// To their end.
    Wholly,
    /// Not all of them; the next pass observes what is there, and decides anew.
    InPart,
}

/// What the passes so far have learned.
#[derive(Default)]
struct Learned {
    /// Whether this rollout has recorded anything: until then, what it finds on record is another one's.
    recorded: bool,
    /// Workloads that this rollout has started.
    started: BTreeSet<String>,
    /// Those of them that were seen stopped after that.
    ended: BTreeSet<String>,
    /// How many passes in a row were disturbed.
    disturbed: u32,
    /// Kept outputs, by instance name.
    outputs: BTreeMap<String, String>,
    /// Creates that failed, by instance name; whether an instance was left behind shows in the next list.
    failed_creates: BTreeMap<String, (Place, incus::Error)>,
    /// Machines on which nothing could be made: the others go on, and this is told in the end.
    given_up: BTreeMap<Place, incus::Error>,
    /// Starts that failed so far, by instance name, with the last error.
    failed_starts: BTreeMap<String, (u32, String)>,
}

/// Runs passes until the app is as declared.
pub(super) async fn run(
    rollout: &mut Rollout<'_>,
    needs_root_disk: bool,
) -> Result<Observation, Error> {
    let give_up_at = until(rollout.limit);
    let mut wake = Wake::listen(rollout.cluster).await;
    let mut learned = Learned::default();
    loop {
        let now = clock::now();
        let observation = observe(rollout, &mut learned, now).await?;
        let decision = rollout::decide(rollout.spec, &observation, &rollout.work, now);
        check_for_end(rollout, &observation, now, give_up_at, &decision)?;
        record(rollout, &decision, &mut learned.recorded).await?;
        let lanes = lanes(&decision.steps, &observation);
        let next = match perform(rollout, needs_root_disk, lanes, &mut learned).await? {
            Performed::Wholly => decision.next,
            Performed::InPart => Next::Wait(PROBE_INTERVAL),
        };
        match next {
            Next::Again => {}
            Next::Wait(time) => {
                let time = time.min(give_up_at.since(now)).max(SHORTEST_WAIT);
                let ours = |name: &str| {
                    let named = |workload: &Workload| workload.name == name;
                    observation.workloads.iter().any(named)
                };
                tokio::select! {
                    () = wake.wait(time, ours) => {}
                    () = rollout.stop.cancelled() => {}
                }
            }
            Next::Converged => return Ok(observation),
            Next::Failed(failure) => {
                return Err(Error::RolloutFailed {
                    app: rollout.spec.name.clone(),
                    failure: Box::new(failure),
                });
            }
            Next::Conflict(conflict) => {
                return Err(Error::Conflict {
                    app: rollout.spec.name.clone(),
                    conflict,
                });
            }
            Next::NoMember(cause) => {
                return Err(Error::NoMember {
                    app: rollout.spec.name.clone(),
                    cause,
                });
            }
            Next::GivenUp(place) => return Err(learned.refusal(rollout, &place)),
        }
    }
}

async fn observe(
    rollout: &Rollout<'_>,
    learned: &mut Learned,
    now: Moment,
) -> Result<Observation, Error> {
    let world = observe::world(rollout.cluster).await?;
    let mut observation = world.of_app(&rollout.spec.name, &rollout.work);
    observation.architecture.clone_from(&rollout.architecture);
    learned.apply(&mut observation)?;
    let on_trial: Vec<String> = rollout::to_probe(rollout.spec, &observation, &rollout.work, now)
        .into_iter()
        .map(|workload| workload.name.clone())
        .collect();
    let ask = |name: String| async move {
        let probe = health::probe(rollout.cluster, &name, &rollout.spec.health.check).await;
        Some((name, probe?))
    };
    let asked = stream::iter(on_trial.into_iter().map(ask)).buffer_unordered(QUESTIONS);
    observation.probes = asked.filter_map(core::future::ready).collect().await;
    Ok(observation)
}

impl Learned {
    /// Adds what Incus does not keep to an observation.
    ///
    /// # Errors
    /// If a create failed and left nothing behind: then there is nothing to observe. A machine is given up for that.
    fn apply(&mut self, observation: &mut Observation) -> Result<(), Error> {
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
            if workloads.all(|workload| workload.name != name) {
                if place.machine().is_none() {
                    return Err(error.into());
                }
                self.given_up.insert(place, error);
                continue;
            }
            // It was made, and starting it failed once; the next passes try again, or see that it runs.
            let starts = self.failed_starts.entry(name).or_default();
            starts.0 += 1;
            starts.1 = error.to_string();
        }
        observation.given_up = self.given_up.keys().cloned().collect();
        observation.start_errors = self
            .failed_starts
            .iter()
            .filter(|(_, (times, _))| *times >= STARTS)
            .map(|(name, (_, error))| (name.clone(), error.clone()))
            .collect();
        Ok(())
    }

    fn done(&mut self, step: &Step, done: Done) {
        match (step, done) {
            (Step::Create { name, .. } | Step::Start { name, .. }, _) => {
                self.started.insert(name.clone());
            }
            (Step::KeepOutput { name, .. }, Done::Output(output)) => {
                self.outputs.insert(name.clone(), output);
            }
            (
                Step::KeepOutput { .. }
                | Step::StampHealthy { .. }
                | Step::ClearHealthy { .. }
                | Step::Delete { .. },
                _,
            ) => {}
        }
    }

    /// A step failed: the next pass observes what is there and tries again, unless that has gone on for too long.
    fn disturbed_by(&mut self, step: &Step, error: Error) -> Result<(), Error> {
        match (error, step) {
            (Error::Incus(error), Step::Create { name, place, .. }) => {
                self.failed_creates
                    .insert(name.clone(), (place.clone(), error));
            }
            (error, Step::Start { name, .. }) => self.failed_start(name, &error),
            // A console cannot be read for a moment while its container goes down. One that never can be is no reason
            // to hide that the workload failed, and none to claim that it printed nothing.
            (error, Step::KeepOutput { name, .. }) if self.disturbed >= DISTURBANCES => {
                let told = format!("(it cannot be read: {error})");
                self.outputs.insert(name.clone(), told);
            }
            (error, _) if self.disturbed >= DISTURBANCES => return Err(error),
            _ => {}
        }
        Ok(())
    }

    /// Why nothing could be made on a machine.
    fn refusal(&mut self, rollout: &Rollout<'_>, place: &Place) -> Error {
        Error::OnMachine {
            app: rollout.spec.name.clone(),
            machine: place.key(),
            cause: self.given_up.remove(place).map(Box::new),
        }
    }

    fn failed_start(&mut self, name: &str, error: &Error) {
        let failed = self.failed_starts.entry(name.to_owned()).or_default();
        failed.0 += 1;
        failed.1 = error.to_string();
    }
}

/// The safe point: before anything of this pass is recorded. What has converged is not thrown away.
fn check_for_end(
    rollout: &Rollout<'_>,
    observation: &Observation,
    now: Moment,
    give_up_at: Moment,
    decision: &Decision,
) -> Result<(), Error> {
    if decision.next == Next::Converged {
        return Ok(());
    }
    let app = rollout.spec.name.clone();
    if rollout.stop.is_cancelled() {
        return Err(Error::Stopped {
            app,
            phase: rollout.phase(observation, now),
        });
    }
    if now >= give_up_at {
        return Err(Error::TimedOut {
            app,
            phase: rollout.phase(observation, now),
            limit: rollout.limit,
        });
    }
    Ok(())
}

/// Stores the record of a decision, if it has a new one.
///
/// The same decision of an executor before is none of ours: whoever acts must have won a record, or nothing would stop
/// it when it is overtaken.
async fn record(
    rollout: &mut Rollout<'_>,
    decision: &Decision,
    recorded: &mut bool,
) -> Result<(), Error> {
    let acts = decision.steps.iter().any(Step::is_act);
    if decision.work == rollout.work && (*recorded || !acts) {
        return Ok(());
    }
    let revision = rollout.work_revision + 1;
    store::record(
        rollout.cluster,
        &rollout.spec.name,
        revision,
        &decision.work,
    )
    .await?;
    rollout.work = decision.work.clone();
    rollout.work_revision = revision;
    *recorded = true;
    Ok(())
}

/// Steps that do not depend on those of the other lanes: of an app that runs on each machine those of one machine.
fn lanes(steps: &[Step], observation: &Observation) -> Vec<Vec<Step>> {
    let machine = |step: &Step| match step {
        Step::Create { place, .. } | Step::Start { place, .. } | Step::Delete { place, .. } => {
            place.machine().map(str::to_owned)
        }
        Step::StampHealthy { name, .. }
        | Step::ClearHealthy { name }
        | Step::KeepOutput { name, .. } => {
            let mut workloads = observation.workloads.iter();
            let workload = workloads.find(|workload| workload.name == *name);
            workload.and_then(|workload| workload.place.machine().map(str::to_owned))
        }
    };
    let mut lanes: BTreeMap<Option<String>, Vec<Step>> = BTreeMap::new();
    for step in steps {
        lanes.entry(machine(step)).or_default().push(step.clone());
    }
    lanes.into_values().collect()
}

/// Takes the steps of each lane in turn. One that fails ends its lane, and no other.
async fn perform(
    rollout: &Rollout<'_>,
    needs_root_disk: bool,
    lanes: Vec<Vec<Step>>,
    learned: &mut Learned,
) -> Result<Performed, Error> {
    let template = &Template {
        cluster: rollout.cluster,
        spec: rollout.spec,
        needs_root_disk,
    };
    let take = |lane: Vec<Step>| async move {
        let mut taken = Vec::with_capacity(lane.len());
        for step in lane {
            let done = execute(template, &step).await;
            let failed = done.is_err();
            taken.push((step, done));
            if failed {
                break;
            }
        }
        taken
    };
    // The semaphore is never closed, so this cannot fail; if it did, steps would only run unbounded.
    let turn = rollout.cluster.steps.acquire().await.ok();
    let taken: Vec<_> = stream::iter(lanes.into_iter().map(take))
        .buffered(LANES)
        .collect()
        .await;
    drop(turn);
    let mut performed = Performed::Wholly;
    for (step, done) in taken.into_iter().flatten() {
        match done {
            Ok(done) => learned.done(&step, done),
            Err(error) => {
                learned.disturbed_by(&step, error)?;
                performed = Performed::InPart;
            }
        }
    }
    learned.disturbed = match performed {
        Performed::Wholly => 0,
        Performed::InPart => learned.disturbed + 1,
    };
    Ok(performed)
}

#[cfg(test)]
mod tests;
