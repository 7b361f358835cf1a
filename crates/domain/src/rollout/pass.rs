//! One pass: among the slots of an app, the one to act upon, and what to do about it.
//!
//! Before: `rollout::decide`, with its contract. After: a [`Decision`]. The functions stand in the order in which they
//! are asked.

use core::time::Duration;

use super::slot::{self, Slot, Trial};
use super::step::{Reason, Step};
use super::{Conflict, Decision, Failure, Next, PROBE_INTERVAL};
use crate::app::{AppSpec, STOP_GRACE};
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Workload};
use crate::placement;
use crate::work::{FailureRecord, Made, Work, bounded};

/// One call of [`decide`].
pub(super) struct Pass<'a> {
    pub(super) spec: &'a AppSpec,
    pub(super) observation: &'a Observation,
    pub(super) work: &'a Work,
    pub(super) now: Moment,
}

impl<'a> Pass<'a> {
    pub(super) fn decide(&self) -> Decision {
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
            Some(since) if healthy => {
                let healthy_for = self.now.since(since);
                health.min_healthy_time.saturating_sub(healthy_for)
            }
            // The stamp of this pass starts the time now.
            None if healthy => health.min_healthy_time,
            Some(_) | None => PROBE_INTERVAL,
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
pub(super) fn recorded(work: &Work, observation: &Observation, now: Moment) -> Work {
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
