//! The passes of a rollout, one after the other.
//!
//! Before: `rollout.rs`. After: `domain::rollout::decide` for what to do, `store.rs` to record it, `execute.rs` to do
//! it. What a pass learns that Incus does not keep (a kept output, a failed start) is carried to the next pass here.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use domain::moment::Moment;
use domain::observation::{Observation, Workload};
use domain::rollout::learned::{DISTURBANCES, Learned, TooOften, Unmade};
use domain::rollout::step::Step;
use domain::rollout::{self, Decision, Next, PROBE_INTERVAL};
use futures_util::stream::{self, StreamExt as _};

use super::{Means, Rollout, whereabouts};
use crate::clock;
use crate::error::Error;
use crate::execute::{Template, execute};
use crate::health;
use crate::observe;
use crate::wake::Wake;

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

/// What this rollout keeps from pass to pass.
#[derive(Default)]
struct Memory {
    /// Whether this rollout has recorded anything: until then, what it finds on record is another one's.
    recorded: bool,
    learned: Learned,
    /// How often an executor of an older revision was faster with its record.
    outrun: u32,
    /// The errors of creates, by instance name, as Incus gave them.
    create_errors: BTreeMap<String, incus::Error>,
}

/// Runs passes until the app is as declared.
pub(super) async fn run(
    rollout: &mut Rollout<'_>,
    means: &Means,
    give_up_at: Instant,
) -> Result<Observation, Error> {
    let mut wake = Wake::listen(rollout.cluster).await;
    let mut memory = Memory::default();
    loop {
        let now = clock::now();
        let observation = observe(rollout, &mut memory, now).await?;
        let decision = rollout::decide(rollout.spec, &observation, &rollout.work, now);
        let decision = decision.without(&means.around.secrets, &rollout.work);
        check_for_end(rollout, &observation, now, give_up_at, &decision)?;
        if !record(rollout, &decision, &mut memory).await? {
            continue;
        }
        let lanes = lanes(&decision.steps, &observation);
        let next = match perform(rollout, means, lanes, &mut memory).await? {
            Performed::Wholly => decision.next,
            Performed::InPart => Next::Wait(PROBE_INTERVAL),
        };
        match next {
            Next::Again => {}
            Next::Wait(time) => {
                let left = give_up_at.saturating_duration_since(Instant::now());
                let time = time.min(left).max(SHORTEST_WAIT);
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
                    failure,
                });
            }
            Next::Conflict(conflict) => {
                return Err(Error::Conflict {
                    app: rollout.spec.name.clone(),
                    conflict,
                });
            }
            Next::OutOfReach(workloads) => {
                return Err(Error::Irreplaceable {
                    app: rollout.spec.name.clone(),
                    workloads: workloads.iter().map(whereabouts).collect(),
                });
            }
            Next::NoMember(cause) => {
                return Err(Error::NoMember {
                    app: rollout.spec.name.clone(),
                    cause,
                });
            }
        }
    }
}

async fn observe(
    rollout: &Rollout<'_>,
    memory: &mut Memory,
    now: Moment,
) -> Result<Observation, Error> {
    let world = observe::world(rollout.cluster).await?;
    let mut observation = world.of_app(&rollout.spec.name, &rollout.work);
    observation.architecture.clone_from(&rollout.architecture);
    if !rollout.spec.volumes.is_empty() {
        observation.volumes = observe::volumes(rollout.cluster, &rollout.spec.name).await?;
    }
    let strategy = rollout.spec.r#type.strategy();
    let applied = memory.learned.apply(&mut observation, strategy);
    applied.map_err(|unmade| memory.unmade(unmade))?;
    let on_trial: Vec<String> = rollout::to_probe(rollout.spec, &observation, &rollout.work, now)
        .into_iter()
        .map(|workload| workload.name.clone())
        .collect();
    let ask = |name: String| async move {
        let check = &rollout.spec.health.check;
        let probe = health::probe(rollout.cluster, &name, check, &rollout.secrets).await;
        Some((name, probe?))
    };
    let asked = stream::iter(on_trial.into_iter().map(ask)).buffer_unordered(QUESTIONS);
    observation.probes = asked.filter_map(core::future::ready).collect().await;
    Ok(observation)
}

impl Memory {
    /// A step failed: the next pass observes what is there and tries again, unless that has gone on for too long.
    fn disturbed_by(&mut self, step: &Step, error: Error) -> Result<(), Error> {
        if let Err(TooOften) = self.learned.disturbed_by(step, &error.to_string()) {
            return Err(error);
        }
        if let (Step::Create { name, .. }, Error::Incus(error)) = (step, error) {
            self.create_errors.insert(name.clone(), error);
        }
        Ok(())
    }

    /// What to tell of a create that left nothing behind.
    fn unmade(&mut self, unmade: Unmade) -> Error {
        match self.create_errors.remove(&unmade.name) {
            Some(error) => error.into(),
            None => Error::Unmade(unmade),
        }
    }
}

/// The safe point: before anything of this pass is recorded. What has converged is not thrown away.
fn check_for_end(
    rollout: &Rollout<'_>,
    observation: &Observation,
    now: Moment,
    give_up_at: Instant,
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
    if Instant::now() >= give_up_at {
        return Err(Error::TimedOut {
            app,
            phase: rollout.phase(observation, now),
            limit: rollout.limit,
        });
    }
    Ok(())
}

/// Stores the record of a decision, if it has a new one. False: what is on record has changed, so it is decided anew.
///
/// The same decision of an executor before is none of ours: whoever acts must have won a record, or nothing would stop
/// it when it is overtaken.
async fn record(
    rollout: &mut Rollout<'_>,
    decision: &Decision,
    memory: &mut Memory,
) -> Result<bool, Error> {
    let acts = decision.steps.iter().any(Step::is_act);
    if decision.work == rollout.work && (memory.recorded || !acts) {
        return Ok(true);
    }
    match rollout.record(decision.work.clone()).await {
        Ok(()) => {
            memory.recorded = true;
            Ok(true)
        }
        Err(Error::RecordTaken { .. }) if memory.outrun < DISTURBANCES => {
            memory.outrun += 1;
            rollout.catch_up().await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Steps that do not depend on those of the other lanes: of an app that runs on each machine those of one machine.
fn lanes(steps: &[Step], observation: &Observation) -> Vec<Vec<Step>> {
    let machine = |step: &Step| match step {
        Step::Create { place, .. }
        | Step::CreateVolume { place, .. }
        | Step::ResizeVolume { place, .. }
        | Step::Stop { place, .. }
        | Step::Start { place, .. }
        | Step::Delete { place, .. } => place.machine().map(str::to_owned),
        Step::StampHealthy { name, .. }
        | Step::ClearHealthy { name, .. }
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
    means: &Means,
    lanes: Vec<Vec<Step>>,
    memory: &mut Memory,
) -> Result<Performed, Error> {
    let template = &Template {
        cluster: rollout.cluster,
        spec: rollout.spec,
        fingerprint: &means.fingerprint,
        around: &means.around,
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
            Ok(output) => memory.learned.done(&step, output),
            Err(error) => {
                memory.disturbed_by(&step, error)?;
                performed = Performed::InPart;
            }
        }
    }
    match performed {
        Performed::Wholly => memory.learned.undisturbed(),
        Performed::InPart => memory.learned.disturbed(),
    }
    Ok(performed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-APP-25, HO-APP-30: the steps of one machine stay in order, and wait for no other machine's; those of replicas all
    /// stay in order.
    #[test]
    fn machines_have_lanes_of_their_own() {
        let create = |place: &str| Step::Create {
            place: place.parse().expect("a place"),
            generation: 1,
            name: format!("web-{place}-g1"),
            member: None,
            volumes: Vec::new(),
        };
        let counts = |steps: &[Step]| {
            let lanes = lanes(steps, &Observation::default());
            lanes.iter().map(Vec::len).collect::<Vec<usize>>()
        };
        assert_eq!(counts(&[create("0"), create("1")]), [2]);
        assert_eq!(counts(&[create("@a"), create("@b"), create("@a")]), [2, 1]);
    }
}
