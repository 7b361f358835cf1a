//! Rollouts: from what is declared and what is seen to the next steps.
//!
//! ```text
//! app::AppSpec + observation::Observation + work::Work ──> slot::of (one ordinal) ──> decide (one app) ──> Decision
//! ```
//!
//! Before: `reconcile/src/rollout.rs` observes. After: it records [`Decision::work`], then
//! `reconcile/src/execute.rs` performs [`Decision::steps`]. `forecast` runs the same decisions on a world in memory
//! for the plan; `removal` is the way out.

pub mod forecast;
pub mod phase;
pub mod removal;
pub mod slot;
pub mod step;

use core::time::Duration;

use crate::app::{AppSpec, STOP_GRACE};
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Status, Workload};
use crate::placement::{self, NoMember};
use crate::work::{FailureRecord, Made, Work, bounded};

use slot::{Slot, Trial};
use step::{Reason, Step};

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
    Failed(Failure),
    /// A name that is needed belongs to somebody else; nothing was changed.
    Conflict(Conflict),
    /// No member can take a workload; nothing was changed.
    NoMember(NoMember),
}

/// A rollout that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The record, as stored.
    pub record: FailureRecord,
    /// The instance that failed and was deleted.
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
    work: &Work,
    now: Moment,
) -> Vec<&'a Workload> {
    (0..spec.replicas)
        .filter_map(
            |ordinal| match slot::of(ordinal, spec, observation, work, now) {
                Slot::OnTrial { candidate, .. } if candidate.status == Status::Running => {
                    Some(candidate)
                }
                _ => None,
            },
        )
        .collect()
}

/// Chooses the next steps of one app.
///
/// # Expected flow
/// 1. Health is written down where it changed (HO-APP-38); this is bookkeeping and may concern several workloads.
/// 2. One slot is acted upon, none if one of the others is still on trial and this one serves (HO-APP-30): failed
///    candidates first, then leftovers, promotions, starts, missing workloads, upgrades (lowest ordinal first), and
///    surplus workloads last (highest ordinal first).
/// 3. The caller stores the work record, executes the steps and observes again.
///
/// # Guarantees
/// A generation never goes down. A serving workload is deleted only after a healthy newer one passed its trial, or
/// because fewer are declared. Nothing that is not ours is touched. Steps may be executed twice.
///
/// # Assumptions
/// The observation is of after the last executed step, and has an answer for each workload of [`to_probe`].
///
/// # Caveats
/// Workloads on members that do not answer are neither counted as missing nor deleted. Those of an Offline member
/// are replaced under the next generation; when it is back, the older ones are deleted.
pub fn decide(spec: &AppSpec, observation: &Observation, work: &Work, now: Moment) -> Decision {
    Pass {
        spec,
        observation,
        work,
        now,
    }
    .decide()
}

/// One call of [`decide`].
struct Pass<'a> {
    spec: &'a AppSpec,
    observation: &'a Observation,
    work: &'a Work,
    now: Moment,
}

impl<'a> Pass<'a> {
    fn decide(&self) -> Decision {
        let slots: Vec<(u32, Slot<'a>)> = (0..self.spec.replicas)
            .map(|ordinal| {
                let slot = slot::of(ordinal, self.spec, self.observation, self.work, self.now);
                (ordinal, slot)
            })
            .collect();
        let mut decision = self
            .failed(&slots)
            .or_else(|| self.first(&slots, |pass, ordinal, slot| pass.repair(ordinal, slot)))
            .or_else(|| self.waiting(&slots))
            .or_else(|| self.first(&slots, |pass, ordinal, slot| pass.upgrade(ordinal, slot)))
            .or_else(|| self.surplus())
            .unwrap_or_else(|| self.converged());
        decision.steps.splice(0..0, self.health_changes(&slots));
        decision
    }

    /// The first slot for which `act` finds something to do.
    fn first(
        &self,
        slots: &[(u32, Slot<'a>)],
        act: impl Fn(&Self, u32, &Slot<'a>) -> Option<Decision>,
    ) -> Option<Decision> {
        slots
            .iter()
            .find_map(|(ordinal, slot)| act(self, *ordinal, slot))
    }

    /// A failed candidate: its output is kept, then it is deleted and the failure told (HO-APP-36).
    fn failed(&self, slots: &[(u32, Slot<'a>)]) -> Option<Decision> {
        let (candidate, serving, why) = slots.iter().find_map(|(_, slot)| match slot {
            Slot::OnTrial {
                candidate,
                serving,
                trial: Trial::Failed(why),
            } => Some((*candidate, *serving, why)),
            _ => None,
        })?;
        let Some(output) = self.observation.outputs.get(&candidate.name) else {
            let keep = Step::KeepOutput {
                name: candidate.name.clone(),
                never_ran: self.observation.start_errors.contains_key(&candidate.name),
            };
            return Some(self.step(keep));
        };
        let error = match output.trim() {
            "" => format!("{why}; it printed nothing on its console"),
            output => format!("{why}; its last output:\n{output}"),
        };
        let record = FailureRecord {
            ordinal: candidate.ordinal,
            generation: candidate.generation,
            image: candidate.image.clone(),
            error: bounded(&error),
            at: self.now,
        };
        let mut decision = self.delete(&[candidate], Reason::Failed, Duration::ZERO);
        decision.work.failure = Some(record.clone());
        decision.next = Next::Failed(Failure {
            record,
            candidate: candidate.name.clone(),
            serving: serving.map(|workload| workload.name.clone()),
        });
        Some(decision)
    }

    /// What is done for a slot whatever the others are doing.
    fn repair(&self, ordinal: u32, slot: &Slot<'a>) -> Option<Decision> {
        match slot {
            Slot::Leftovers(older) => Some(self.delete(older, Reason::Leftover, STOP_GRACE)),
            Slot::OnTrial {
                candidate,
                serving: Some(serving),
                trial: Trial::Passed,
            } => {
                let by = candidate.generation;
                Some(self.delete(&[serving], Reason::Retired { by }, STOP_GRACE))
            }
            Slot::StaleCandidate(candidate) => {
                Some(self.delete(&[candidate], Reason::Outdated, STOP_GRACE))
            }
            Slot::Stopped { workload, served } => Some(self.start(workload, *served)),
            Slot::Missing => Some(self.create(ordinal)),
            Slot::OnTrial { .. }
            | Slot::Converged
            | Slot::LeftAlone
            | Slot::Unknown(_)
            | Slot::Outdated(_) => None,
        }
    }

    /// Trials that are not over, and members that do not answer, are waited for before anything that serves is
    /// touched.
    fn waiting(&self, slots: &[(u32, Slot<'a>)]) -> Option<Decision> {
        slots
            .iter()
            .filter_map(|(_, slot)| match slot {
                Slot::OnTrial {
                    candidate,
                    trial: Trial::Running { healthy_by },
                    ..
                } => Some(self.next_look(candidate, *healthy_by)),
                Slot::Unknown(_) => Some(PROBE_INTERVAL),
                _ => None,
            })
            .min()
            .map(|wait| Decision {
                next: Next::Wait(wait),
                ..self.nothing()
            })
    }

    /// When the next look at a candidate can change something.
    fn next_look(&self, candidate: &Workload, healthy_by: Moment) -> Duration {
        let health = &self.spec.health;
        let healthy = self.observation.probes.get(&candidate.name) == Some(&Probe::Healthy);
        let sustained_in = match candidate.healthy_since {
            Some(since) => health
                .min_healthy_time
                .saturating_sub(self.now.since(since)),
            // The stamp of this pass starts the time now.
            None if healthy => health.min_healthy_time,
            None => PROBE_INTERVAL,
        };
        PROBE_INTERVAL
            .min(sustained_in)
            .min(healthy_by.since(self.now))
    }

    /// The next generation beside what serves (HO-APP-34).
    fn upgrade(&self, ordinal: u32, slot: &Slot<'a>) -> Option<Decision> {
        match slot {
            Slot::Outdated(_) => Some(self.create(ordinal)),
            _ => None,
        }
    }

    /// The highest ordinal beyond the declared count, gracefully.
    fn surplus(&self) -> Option<Decision> {
        let beyond = || {
            self.observation.workloads.iter().filter(|workload| {
                workload.ordinal >= self.spec.replicas && workload.status.is_live()
            })
        };
        let highest = beyond().map(|workload| workload.ordinal).max()?;
        let there: Vec<&Workload> = beyond()
            .filter(|workload| workload.ordinal == highest)
            .collect();
        Some(self.delete(&there, Reason::ScaledDown, STOP_GRACE))
    }

    /// The end; a failure of before is history now.
    fn converged(&self) -> Decision {
        let mut decision = Decision {
            next: Next::Converged,
            ..self.nothing()
        };
        decision.work.failure = None;
        decision
    }

    /// Stamps for candidates that became healthy, and none for those that stopped being it (HO-APP-38, HO-APP-40).
    fn health_changes(&self, slots: &[(u32, Slot<'a>)]) -> Vec<Step> {
        slots
            .iter()
            .filter_map(|(_, slot)| {
                let Slot::OnTrial { candidate, .. } = slot else {
                    return None;
                };
                let name = candidate.name.clone();
                match (
                    self.observation.probes.get(&candidate.name)?,
                    candidate.healthy_since,
                ) {
                    (Probe::Healthy, None) => Some(Step::StampHealthy {
                        name,
                        since: self.now,
                    }),
                    (Probe::Unhealthy(_), Some(_)) => Some(Step::ClearHealthy { name }),
                    (Probe::Healthy, Some(_)) | (Probe::Unhealthy(_), None) => None,
                }
            })
            .collect()
    }

    fn create(&self, ordinal: u32) -> Decision {
        let (generation, name) = match self.free_name(ordinal) {
            Ok(free) => free,
            Err(conflict) => {
                return Decision {
                    next: Next::Conflict(conflict),
                    ..self.nothing()
                };
            }
        };
        let member = match placement::choose(self.observation) {
            Ok(member) => member,
            Err(no_member) => {
                return Decision {
                    next: Next::NoMember(no_member),
                    ..self.nothing()
                };
            }
        };
        let step = Step::Create {
            ordinal,
            generation,
            name: name.clone(),
            member: member.clone(),
        };
        let mut decision = self.recorded(vec![step]);
        let slot = decision.work.slots.entry(ordinal).or_default();
        slot.generation = generation;
        slot.workloads.push(Made {
            name,
            member,
            generation,
            started_at: self.now,
        });
        decision
    }

    /// The next generation whose name is free, or whose holder is in the way for good.
    fn free_name(&self, ordinal: u32) -> Result<(u64, String), Conflict> {
        let mut generation = self.next_generation(ordinal);
        loop {
            let name = self.spec.workload_name(ordinal, generation);
            if let Some(owner) = self.observation.foreign.get(&name) {
                return Err(Conflict {
                    name,
                    owner: owner.clone(),
                });
            }
            if !self.observation.unclear.contains(&name) {
                return Ok((generation, name));
            }
            generation += 1;
        }
    }

    /// One more than was ever used here, by the record and by what is seen (invariant: it never goes down).
    fn next_generation(&self, ordinal: u32) -> u64 {
        let recorded = self.work.slots.get(&ordinal).map(|slot| slot.generation);
        let seen = self
            .observation
            .workloads
            .iter()
            .filter(|workload| workload.ordinal == ordinal)
            .map(|workload| workload.generation)
            .max();
        recorded.max(seen).map_or(0, |highest| highest + 1)
    }

    fn start(&self, workload: &Workload, served: bool) -> Decision {
        let mut steps = Vec::new();
        if served {
            steps.push(Step::ClearHealthy {
                name: workload.name.clone(),
            });
        }
        steps.push(Step::Start {
            ordinal: workload.ordinal,
            generation: workload.generation,
            name: workload.name.clone(),
        });
        let mut decision = self.recorded(steps);
        let slot = decision.work.slots.entry(workload.ordinal).or_default();
        slot.generation = slot.generation.max(workload.generation);
        slot.workloads
            .retain(|made| made.generation != workload.generation);
        slot.workloads.push(Made {
            name: workload.name.clone(),
            member: workload.member.clone(),
            generation: workload.generation,
            started_at: self.now,
        });
        decision
    }

    fn delete(&self, workloads: &[&Workload], reason: Reason, grace: Duration) -> Decision {
        let steps = workloads
            .iter()
            .map(|workload| Step::Delete {
                ordinal: workload.ordinal,
                generation: workload.generation,
                name: workload.name.clone(),
                grace,
                reason,
            })
            .collect();
        self.recorded(steps)
    }

    fn step(&self, step: Step) -> Decision {
        Decision {
            steps: vec![step],
            ..self.nothing()
        }
    }

    /// Steps with a record of them: it keeps what is still there, and forgets what is gone.
    fn recorded(&self, steps: Vec<Step>) -> Decision {
        let mut work = recorded(self.work, self.observation, self.now);
        work.decided = steps.iter().map(ToString::to_string).collect();
        Decision {
            work,
            steps,
            next: Next::Again,
        }
    }

    fn nothing(&self) -> Decision {
        Decision {
            work: self.work.clone(),
            steps: Vec::new(),
            next: Next::Again,
        }
    }
}

/// The record, completed by what is seen (it may have been lost) and without what is gone.
pub(crate) fn recorded(work: &Work, observation: &Observation, now: Moment) -> Work {
    let mut next = work.clone();
    let is_there = |made: &Made| {
        observation
            .workloads
            .iter()
            .any(|workload| workload.name == made.name)
    };
    for slot in next.slots.values_mut() {
        slot.workloads.retain(is_there);
    }
    for workload in &observation.workloads {
        let slot = next.slots.entry(workload.ordinal).or_default();
        slot.generation = slot.generation.max(workload.generation);
        if slot
            .workloads
            .iter()
            .all(|made| made.generation != workload.generation)
        {
            slot.workloads.push(Made {
                name: workload.name.clone(),
                member: workload.member.clone(),
                generation: workload.generation,
                started_at: now,
            });
        }
    }
    next
}
