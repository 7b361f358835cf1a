//! Forecasts: the steps that an apply will take if all goes well, for the plan.
//!
//! Before: `provider/src/resources/app/plan.rs` has the declaration and what was last observed. After: the strings of
//! `rollout_steps`. It runs `decide` itself on a world in memory where every step succeeds and every check is
//! healthy, so the plan cannot promise anything else than what an undisturbed apply does.

use core::time::Duration;

use crate::app::{AppSpec, VolumeClass};
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Status, VolumeSeen, Workload};
use crate::rollout::step::Step;
use crate::rollout::{Next, decide, to_probe};
use crate::work::Work;

/// A replica needs a handful of passes, and there are at most 999; a bound all the same, since a plan must end.
const MOST_PASSES: usize = 50_000;

/// How long a pass takes here: just long enough that no two begin at once.
const STEP: Duration = Duration::from_millis(1);

/// The steps as the user reads them: place, generation and image as written, never a member, a digest or a time.
pub fn steps(spec: &AppSpec, observation: &Observation, work: &Work, now: Moment) -> Vec<String> {
    let mut world = World {
        spec,
        observation: observation.clone(),
        now,
    };
    let mut work = work.clone();
    // An apply publishes the next revision, for which the clocks of trials start anew.
    work.revision = work.revision.saturating_add(1);
    let mut told = Vec::new();
    for _ in 0..MOST_PASSES {
        // Steps take time: who was begun first is ahead.
        world.now = world.now.plus(STEP);
        world.probe(&work);
        let decision = decide(spec, &world.observation, &work, world.now);
        work = decision.work;
        for step in &decision.steps {
            told.extend(world.tell(step));
            world.perform(step);
        }
        match decision.next {
            Next::Again => {}
            // Every check is healthy here, so nothing happens before the first trial has been passed.
            Next::Wait(time) if !world.observation.probes.is_empty() => {
                world.now = world
                    .now
                    .plus(world.first_passed_in().unwrap_or(time).saturating_sub(STEP));
            }
            // What is waited for cannot be foretold: a member that does not answer, a workload that is being moved.
            Next::Wait(_)
            | Next::Converged
            | Next::Failed(_)
            | Next::Conflict(_)
            | Next::NoMember(_)
            | Next::OutOfReach(_) => break,
        }
    }
    told
}

/// The world in memory.
struct World<'a> {
    spec: &'a AppSpec,
    observation: Observation,
    now: Moment,
}

impl World<'_> {
    /// When the first of the trials that go on will have been passed.
    fn first_passed_in(&self) -> Option<Duration> {
        let on_trial = |workload: &&Workload| {
            let probes = &self.observation.probes;
            probes.contains_key(&workload.name)
        };
        let left = |workload: &Workload| {
            let healthy_for = self.now.since(workload.healthy_since?);
            let health = &self.spec.health;
            let left = health.min_healthy_time.checked_sub(healthy_for)?;
            (!left.is_zero()).then_some(left)
        };
        let workloads = self.observation.workloads.iter().filter(on_trial);
        workloads.filter_map(left).min()
    }

    fn probe(&mut self, work: &Work) {
        let names: Vec<String> = to_probe(self.spec, &self.observation, work, self.now)
            .into_iter()
            .map(|workload| workload.name.clone())
            .collect();
        let healthy = |name| (name, Probe::Healthy);
        self.observation.probes = names.into_iter().map(healthy).collect();
    }

    /// What the user is told about a step; bookkeeping is not worth a line.
    fn tell(&self, step: &Step) -> Option<String> {
        match step {
            Step::Create { .. } => Some(format!(
                "{step} from {}",
                self.spec.image.reference.written()
            )),
            Step::CreateVolume { .. }
            | Step::ResizeVolume { .. }
            | Step::Stop { .. }
            | Step::Start { .. }
            | Step::Delete { .. } => Some(step.to_string()),
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => None,
        }
    }

    fn perform(&mut self, step: &Step) {
        match step {
            Step::Create {
                place,
                generation,
                name,
                member,
                ..
            } => {
                self.observation.workloads.push(Workload {
                    name: name.clone(),
                    place: place.clone(),
                    generation: *generation,
                    member: member.clone(),
                    image: self.spec.image.reference.written().to_owned(),
                    spec: self.spec.hash(),
                    status: Status::Running,
                    healthy_since: None,
                    started_at: String::new(),
                    restarted: false,
                    ever_started: true,
                    description: String::new(),
                });
                self.observation.workloads.sort_by(|one, other| {
                    (&one.place, one.generation).cmp(&(&other.place, other.generation))
                });
            }
            Step::CreateVolume {
                place,
                volume,
                name,
                declared,
                member,
            } => self.observation.volumes.push(VolumeSeen {
                name: name.clone(),
                pool: declared.pool.clone().unwrap_or_default(),
                member: member
                    .clone()
                    .filter(|_| declared.class == VolumeClass::Local),
                place: place.clone(),
                volume: volume.clone(),
                size: declared.size,
            }),
            Step::ResizeVolume { name, size, .. } => {
                let mut volumes = self.observation.volumes.iter_mut();
                if let Some(volume) = volumes.find(|volume| volume.name == *name) {
                    volume.size = Some(*size);
                }
            }
            Step::Stop { name, .. } => {
                self.change(name, |workload| workload.status = Status::Stopped);
            }
            Step::Start { name, .. } => self.change(name, |workload| {
                workload.status = Status::Running;
                workload.ever_started = true;
            }),
            Step::StampHealthy { name, since, .. } => self.change(name, |workload| {
                workload.healthy_since = Some(*since);
                workload.restarted = false;
            }),
            Step::ClearHealthy { name, .. } => {
                self.change(name, |workload| workload.healthy_since = None)
            }
            Step::KeepOutput { name, .. } => {
                self.observation.outputs.insert(name.clone(), String::new());
            }
            Step::Delete { name, .. } => {
                self.observation
                    .workloads
                    .retain(|workload| workload.name != *name);
            }
        }
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Workload)) {
        if let Some(workload) = self
            .observation
            .workloads
            .iter_mut()
            .find(|one| one.name == name)
        {
            change(workload);
        }
    }
}
