//! One pass: among the slots of an app, the one to act upon, and what to do about it.
//!
//! Before: `rollout::decide`, with its contract. After: a [`Decision`]. The functions stand in the order in which they
//! are asked. `pass/make.rs` makes the next generation, `pass/failure.rs` is how a rollout ends badly, `pass/machines.rs`
//! what differs for an app that runs once on each machine.

mod failure;
mod machines;
mod make;

use core::time::Duration;
use std::borrow::Cow;
use std::collections::BTreeSet;

use super::slot::{self, Slot, Trial};
use super::step::{Reason, Step};
use super::{Conflict, Decision, Next, PROBE_INTERVAL};
use crate::app::{AppSpec, Replicas, STOP_GRACE, Strategy};
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Workload};
use crate::place::Place;
use crate::work::Work;

/// One call of [`decide`].
pub(super) struct Pass<'a> {
    pub(super) spec: &'a AppSpec,
    pub(super) observation: &'a Observation,
    pub(super) work: &'a Work,
    pub(super) now: Moment,
    /// What the workloads of each place amount to.
    pub(super) slots: &'a [(Place, Slot<'a>)],
}

impl<'a> Pass<'a> {
    pub(super) fn decide(&self) -> Decision {
        let mut decision = match self.spec.replicas {
            Replicas::Count(_) => self.one_at_a_time(),
            Replicas::PerNode => self.each_by_itself(),
        };
        decision.steps.splice(0..0, self.health_changes());
        decision
    }

    /// Replicas wait for each other.
    fn one_at_a_time(&self) -> Decision {
        self.failed()
            .or_else(|| self.first(Self::rival))
            .or_else(|| self.first(Self::unwanted))
            .or_else(|| self.first(Self::promotion))
            .or_else(|| self.first(Self::stopped))
            .or_else(|| self.first(Self::not_made))
            .or_else(|| self.first(Self::given_up))
            .or_else(|| self.first(Self::missing))
            .or_else(|| self.waiting())
            .or_else(|| self.out_of_reach())
            .or_else(|| self.first(Self::upgrade))
            .or_else(|| self.surplus())
            .unwrap_or_else(|| self.converged())
    }

    /// The first slot for which `act` finds something to do.
    fn first(&self, act: fn(&Self, &Place, &Slot<'a>) -> Option<Decision>) -> Option<Decision> {
        self.slots
            .iter()
            .find_map(|(place, slot)| act(self, place, slot))
    }

    /// What runs where the candidate alone may run.
    fn rival(&self, _place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        match slot {
            Slot::Rival(workload) => Some(self.stop(workload)),
            _ => None,
        }
    }

    /// Generations that are too many, and candidates for a declaration of before.
    fn unwanted(&self, _place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        match slot {
            Slot::Leftovers(older) => Some(self.delete(older, Reason::Leftover, STOP_GRACE)),
            Slot::StaleCandidate(candidate) => {
                Some(self.delete(&[candidate], Reason::Outdated, STOP_GRACE))
            }
            _ => None,
        }
    }

    /// A candidate that passed its trial takes over (HO-APP-35); the record says so before the other one stops.
    fn promotion(&self, place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        let Slot::OnTrial {
            candidate,
            serving: Some(serving),
            trial: Trial::Passed,
        } = slot
        else {
            return None;
        };
        let by = candidate.generation;
        let mut decision = self.delete(&[serving], Reason::Retired { by }, STOP_GRACE);
        decision
            .work
            .slots
            .entry(place.clone())
            .or_default()
            .serving = Some(by);
        Some(decision)
    }

    /// What should run and does not.
    fn stopped(&self, _place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        match slot {
            Slot::Stopped { workload, served } => Some(self.start(workload, *served)),
            _ => None,
        }
    }

    /// Nothing serves here that could be lost, so this waits for nobody's trial.
    fn missing(&self, place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        if !matches!(slot, Slot::Missing) {
            return None;
        }
        let mut decision = self.create(place, None);
        // What served before is gone, or on a member that is. Should it come back, what has proven itself meanwhile stays.
        if !decision.steps.is_empty() {
            // A place of which nothing is known yet has none, and counts from the first generation on.
            if let Some(slot) = decision.work.slots.get_mut(place) {
                slot.serving = None;
            }
        }
        Some(decision)
    }

    /// Trials that are not over, and members that do not answer, are waited for before anything that serves is
    /// touched.
    fn waiting(&self) -> Option<Decision> {
        self.slots
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
            Some(since) if healthy && !candidate.restarted => {
                let healthy_for = self.now.since(since);
                health.min_healthy_time.saturating_sub(healthy_for)
            }
            // The stamp of this pass starts the time now.
            _ if healthy => health.min_healthy_time,
            _ => PROBE_INTERVAL,
        };
        PROBE_INTERVAL
            .min(sustained_in)
            .min(healthy_by.since(self.now))
    }

    /// The next generation beside what serves (HO-APP-34), or in its stead where only one may run: then everything that can
    /// be is prepared before that is stopped.
    fn upgrade(&self, place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        let Slot::Outdated(serving) = slot else {
            return None;
        };
        let replaces = self.spec.r#type.strategy() == Strategy::StopReplace;
        let mut decision = match replaces && !slot::is_down(serving) {
            // Whose the next name is shows before anything stops (HF-22).
            true => match self
                .free_name(place)
                .map_err(Next::Conflict)
                .and_then(|_| self.preparation(place, Some(serving)))
            {
                Ok(preparation) => preparation.unwrap_or_else(|| self.stop(serving)),
                Err(next) => Decision {
                    next,
                    ..self.nothing()
                },
            },
            false => self.create(place, Some(serving)),
        };
        if !decision.steps.is_empty() {
            decision
                .work
                .slots
                .entry(place.clone())
                .or_default()
                .serving = Some(serving.generation);
        }
        Some(decision)
    }

    /// The highest place beyond the declared count, gracefully.
    fn surplus(&self) -> Option<Decision> {
        let beyond = || {
            self.observation.workloads.iter().filter(|workload| {
                workload.status.is_live()
                    && !self
                        .observation
                        .has_place(&workload.place, self.spec.replicas)
            })
        };
        let highest = beyond().map(|workload| &workload.place).max()?;
        let there: Vec<&Workload> = beyond()
            .filter(|workload| workload.place == *highest)
            .collect();
        Some(self.delete(&there, Reason::ScaledDown, STOP_GRACE))
    }

    /// What nobody may replace while its member cannot be asked: it is missing already, so no other one stops for its
    /// successor.
    fn out_of_reach(&self) -> Option<Decision> {
        let lost = self.slots.iter().filter_map(|(_, slot)| match slot {
            Slot::OutOfReach(workload) => Some((*workload).clone()),
            _ => None,
        });
        let lost: Vec<Workload> = lost.collect();
        (!lost.is_empty()).then(|| Decision {
            next: Next::OutOfReach(lost),
            ..self.nothing()
        })
    }

    /// The end; a failure of before is history now.
    fn converged(&self) -> Decision {
        let mut decision = Decision {
            next: Next::Converged,
            ..self.nothing()
        };
        decision.work.forget_failures();
        decision
    }

    /// Stamps for candidates that became healthy, and none for those that stopped being it (HO-APP-38, HO-APP-40).
    fn health_changes(&self) -> Vec<Step> {
        self.slots
            .iter()
            .filter_map(|(_, slot)| {
                let Slot::OnTrial {
                    candidate,
                    trial: Trial::Running { .. } | Trial::Passed,
                    ..
                } = slot
                else {
                    return None;
                };
                let name = candidate.name.clone();
                let stamp = |name| Step::StampHealthy {
                    name,
                    since: self.now,
                    start: candidate.started_at.clone(),
                    description: candidate.description.clone(),
                };
                match (
                    self.observation.probes.get(&candidate.name)?,
                    candidate.healthy_since,
                ) {
                    (Probe::Healthy, None) => Some(stamp(name)),
                    // Written by a clock that has been set back since: until then its time would not begin to count.
                    (Probe::Healthy, Some(since)) if since > self.now => Some(stamp(name)),
                    // Of a start before this one.
                    (Probe::Healthy, Some(_)) if candidate.restarted => Some(stamp(name)),
                    (Probe::Unhealthy(_), Some(_)) => Some(Step::ClearHealthy {
                        name,
                        description: candidate.description.clone(),
                    }),
                    (Probe::Healthy, Some(_)) | (Probe::Unhealthy(_), None) => None,
                }
            })
            .collect()
    }

    fn start(&self, workload: &Workload, served: bool) -> Decision {
        let mut steps = Vec::new();
        if served {
            steps.push(Step::ClearHealthy {
                name: workload.name.clone(),
                description: workload.description.clone(),
            });
        }
        steps.push(Step::Start {
            place: workload.place.clone(),
            generation: workload.generation,
            name: workload.name.clone(),
        });
        let mut decision = self.recorded(steps);
        decision.work.note(workload);
        decision
    }

    fn stop(&self, workload: &Workload) -> Decision {
        self.recorded(vec![Step::Stop {
            place: workload.place.clone(),
            generation: workload.generation,
            name: workload.name.clone(),
            grace: STOP_GRACE,
        }])
    }

    fn delete(&self, workloads: &[&Workload], reason: Reason, grace: Duration) -> Decision {
        let steps = workloads
            .iter()
            .map(|workload| Step::delete(workload, reason, grace))
            .collect();
        let mut decision = self.recorded(steps);
        for workload in workloads {
            decision.work.doom(workload);
        }
        decision
    }

    /// Steps with a record of them: it keeps what is still there, and forgets what is gone.
    fn recorded(&self, steps: Vec<Step>) -> Decision {
        let mut work = recorded(self.work, self.observation);
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

/// The record, with the clock of every trial that this revision sees for the first time.
pub(super) fn with_trials<'a>(
    work: &'a Work,
    slots: &[(Place, Slot<'_>)],
    now: Moment,
) -> Cow<'a, Work> {
    let mut next = Cow::Borrowed(work);
    for (place, slot) in slots {
        let Slot::OnTrial { candidate, .. } = slot else {
            continue;
        };
        // One that has not begun yet is of a clock that has been set back since, and would last for ever.
        let began_at = work.trial_since(place, candidate.generation);
        if began_at.is_none_or(|began_at| began_at > now) {
            next.to_mut().begin(candidate, now);
        }
    }
    next
}

/// The record, completed by what is seen (it may have been lost) and without what is gone.
pub(super) fn recorded(work: &Work, observation: &Observation) -> Work {
    let mut next = work.clone();
    let names: BTreeSet<&str> = observation
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    for slot in next.slots.values_mut() {
        slot.workloads
            .retain(|made| names.contains(made.name.as_str()));
    }
    for workload in &observation.workloads {
        if next.made(&workload.place, workload.generation).is_none() {
            next.note(workload);
        }
    }
    next
}
