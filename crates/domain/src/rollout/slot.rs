//! Slots: what the workloads of one place amount to.
//!
//! Before: an observation. After: `rollout::decide` chooses among the slots which one to act on. The state machine
//! runs per slot (HO-APP-29), and is recoverable from what Incus holds alone (HO-APP-37).

use std::collections::BTreeMap;

use crate::app::{AppSpec, Strategy};
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Status, Workload};
use crate::place::Place;
use crate::work::{FailureRecord, Work};

/// Why a workload that ended has failed.
const ENDED: &str = "it ended by itself";

/// The situation of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot<'a> {
    /// The declared generation serves, alone.
    Converged,
    /// Incus is about to put it back where it was (evacuation, restore), or its machine takes nothing now; acting on it
    /// would break that.
    LeftAlone,
    /// Only a member that does not answer could tell.
    Unknown(&'a Workload),
    /// Nothing runs here (HO-APP-31), or only on a member that is Offline (AP-38).
    Missing,
    /// More than two generations: these are too many.
    Leftovers(Vec<&'a Workload>),
    /// It should run and does not.
    Stopped {
        /// The workload.
        workload: &'a Workload,
        /// Whether it has served before; then its health counts anew.
        served: bool,
    },
    /// The declared generation is on trial (HO-APP-35).
    OnTrial {
        /// The candidate.
        candidate: &'a Workload,
        /// What serves meanwhile.
        serving: Option<&'a Workload>,
        /// Where the trial stands.
        trial: Trial,
    },
    /// The candidate is for a declaration that is no longer wanted.
    StaleCandidate(&'a Workload),
    /// Something else than declared serves, alone (HO-APP-34).
    Outdated(&'a Workload),
    /// It runs beside the candidate, where only one may run.
    Rival(&'a Workload),
    /// This revision has failed here and is not tried again.
    GivenUp {
        /// What failed.
        failure: &'a FailureRecord,
        /// What served before.
        serving: Option<&'a Workload>,
    },
    /// Its member is offline, and it may be running there: nobody may take its place.
    OutOfReach(&'a Workload),
}

/// Where the trial of a candidate stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// Not healthy yet, or not for long enough.
    Running {
        /// When the health deadline ends.
        healthy_by: Moment,
    },
    /// Healthy without a break for long enough (HO-APP-35).
    Passed,
    /// It ended, could not be started, or its deadline has passed (HO-APP-36).
    Failed(String),
}

/// What the workloads of every declared place amount to; one look at each workload, however many there are.
pub fn all<'a>(
    spec: &AppSpec,
    observation: &'a Observation,
    work: &'a Work,
    now: Moment,
) -> Vec<(Place, Slot<'a>)> {
    let judge = Judge::new(spec, observation, work, now);
    let mut by_place: BTreeMap<Place, Vec<&Workload>> = BTreeMap::new();
    for workload in &observation.workloads {
        by_place
            .entry(workload.place.clone())
            .or_default()
            .push(workload);
    }
    observation
        .places(spec.replicas)
        .map(|place| {
            let here = by_place.remove(&place).unwrap_or_default();
            let slot = judge.slot(&place, here);
            (place, slot)
        })
        .collect()
}

/// What every slot of an app is judged by.
struct Judge<'a, 'b> {
    spec: &'b AppSpec,
    /// The hash of `spec`.
    declared: String,
    observation: &'a Observation,
    work: &'a Work,
    now: Moment,
}

impl<'a, 'b> Judge<'a, 'b> {
    fn new(spec: &'b AppSpec, observation: &'a Observation, work: &'a Work, now: Moment) -> Self {
        Self {
            spec,
            declared: spec.hash(),
            observation,
            work,
            now,
        }
    }

    fn slot(&self, place: &Place, here: Vec<&'a Workload>) -> Slot<'a> {
        // One that belongs to a machine waits for that, and so does its place.
        if place
            .machine()
            .is_some_and(|machine| !self.observation.is_open(machine))
        {
            return Slot::LeftAlone;
        }
        let unknown = here.iter().find(|one| one.status == Status::Unknown);
        let unknown = unknown.copied();
        let lost = here.iter().find(|one| one.status == Status::Lost).copied();
        let mut live = here;
        live.retain(|workload| workload.status.is_live());
        let doomed = self.doomed(&mut live);
        if !doomed.is_empty() {
            return Slot::Leftovers(doomed);
        }
        let Some((newest, older)) = live.split_last() else {
            return self.empty(place, unknown, lost);
        };
        let Some(serving) = self.serving(place, older) else {
            return self.alone(place, newest, unknown, lost);
        };
        if older.len() > 1 {
            let is_kept = |workload: &&&Workload| workload.name == serving.name;
            return Slot::Leftovers(older.iter().filter(|one| !is_kept(one)).copied().collect());
        }
        if newest.spec == self.declared {
            return self.of_declared(newest, Some(serving));
        }
        // What is declared would serve here if it ran, and the candidate has proven nothing yet.
        if !self.runs_alone()
            && serving.spec == self.declared
            && self.is_worth_a_start(serving, newest)
        {
            return Slot::Stopped {
                workload: serving,
                served: true,
            };
        }
        match self.has_taken_over(place, newest, serving) {
            true => Slot::Leftovers(vec![serving]),
            false => Slot::StaleCandidate(newest),
        }
    }

    /// Takes those of which the deletion was decided away from `live`, and tells which of them go now: what does not
    /// serve, and the rest as soon as another one is proven. Until then it may go on, but nothing is left to it.
    fn doomed(&self, live: &mut Vec<&'a Workload>) -> Vec<&'a Workload> {
        // Of thousands of places hardly any has one.
        if !live.iter().any(|workload| self.work.is_doomed(workload)) {
            return Vec::new();
        }
        let (mut doomed, rest): (Vec<_>, Vec<_>) = live
            .iter()
            .partition(|workload| self.work.is_doomed(workload));
        *live = rest;
        let serves = |workload: &Workload| runs(workload) && workload.healthy_since.is_some();
        let proven =
            |workload: &&Workload| runs(workload) && is_sustained(workload, self.spec, self.now);
        // Where only one may run it cannot go on until another one is proven.
        if !self.runs_alone() && !live.iter().any(proven) {
            doomed.retain(|workload| !serves(workload));
        }
        doomed
    }

    /// Whether only one workload of a place may run at a time.
    fn runs_alone(&self) -> bool {
        self.spec.r#type.strategy() == Strategy::StopReplace
    }

    /// No generation that can be seen. One that nobody may run beside is not made anew while its member may run it still.
    fn empty(
        &self,
        place: &Place,
        unknown: Option<&'a Workload>,
        lost: Option<&'a Workload>,
    ) -> Slot<'a> {
        let failure = self.work.failed_at(place);
        match (unknown, lost, failure) {
            (Some(unknown), _, _) => Slot::Unknown(unknown),
            (None, Some(lost), _) if self.runs_alone() => Slot::OutOfReach(lost),
            (None, _, Some(failure)) => Slot::GivenUp {
                failure,
                serving: None,
            },
            (None, _, None) => Slot::Missing,
        }
    }

    /// One generation that can be seen. Whether it is outdated matters only if no silent member has another one, which
    /// may be the declared one.
    fn alone(
        &self,
        place: &Place,
        workload: &'a Workload,
        unknown: Option<&'a Workload>,
        lost: Option<&'a Workload>,
    ) -> Slot<'a> {
        // Where only one may run, what is down is not started while another one may be running where nobody sees it.
        let may_run = !(self.runs_alone() && is_down(workload) && (unknown.or(lost)).is_some());
        match (unknown, lost, self.work.failed_at(place)) {
            _ if workload.spec == self.declared && may_run => self.of_declared(workload, None),
            (Some(unknown), _, _) => Slot::Unknown(unknown),
            (None, Some(lost), _) if self.runs_alone() => Slot::OutOfReach(lost),
            (None, _, Some(failure)) => Slot::GivenUp {
                failure,
                serving: Some(workload),
            },
            (None, _, None) => Slot::Outdated(workload),
        }
    }

    /// Of the generations before the newest, the one that serves: one that runs before one that does not, then the one
    /// that the record names, then one that was healthy before one that was not, then the newest. Where only one may run,
    /// it was stopped on purpose, and the record comes first: that one is the way back.
    fn serving(&self, place: &Place, older: &[&'a Workload]) -> Option<&'a Workload> {
        let recorded = self.recorded_serving(place);
        older
            .iter()
            .max_by_key(|workload| {
                let named = recorded == Some(workload.generation);
                (
                    self.runs_alone() && named,
                    runs(workload),
                    named,
                    workload.healthy_since.is_some(),
                    workload.generation,
                )
            })
            .copied()
    }

    /// Whether a stopped workload is better started than replaced by the candidate that runs beside it: that one was
    /// never healthy, and nobody has tried in vain to start this one. It is tried once: what crashes would be started
    /// without end.
    fn is_worth_a_start(&self, stopped: &Workload, candidate: &Workload) -> bool {
        let tried = self.observation.ended.contains(&stopped.name)
            || self.observation.start_errors.contains_key(&stopped.name);
        stopped.status == Status::Stopped
            && runs(candidate)
            && candidate.healthy_since.is_none()
            && !tried
    }

    /// Whether an outdated newest generation is the one to keep: its promotion was decided, so the one before may be
    /// stopping already; or the one before does not run, or was never healthy where this one is (where only one may run it
    /// was stopped on purpose, and says nothing by that). If no record tells, one that was healthy for long enough was
    /// promoted at that moment, unless the one before is what is declared.
    fn has_taken_over(&self, place: &Place, newest: &Workload, serving: &Workload) -> bool {
        let promoted = match self.recorded_serving(place) {
            Some(recorded) => recorded == newest.generation,
            None => is_sustained(newest, self.spec, self.now) && serving.spec != self.declared,
        };
        let healthier = serving.healthy_since.is_none() && newest.healthy_since.is_some();
        let down = !self.runs_alone() && !runs(serving);
        runs(newest) && (promoted || healthier || down)
    }

    fn recorded_serving(&self, place: &Place) -> Option<u64> {
        self.work.slots.get(place).and_then(|slot| slot.serving)
    }

    /// The newest generation is the declared one.
    fn of_declared(&self, candidate: &'a Workload, serving: Option<&'a Workload>) -> Slot<'a> {
        let on_trial = |trial: Trial| Slot::OnTrial {
            candidate,
            serving,
            trial,
        };
        // What runs has started, whatever an attempt was told: Incus can say "already running" of a create.
        if candidate.status != Status::Running
            && let Some(error) = self.observation.start_errors.get(&candidate.name)
        {
            return on_trial(Trial::Failed(format!("it could not be started: {error}")));
        }
        let alone_and_sustained = serving.is_none() && is_sustained(candidate, self.spec, self.now);
        if self.observation.ended.contains(&candidate.name) {
            return self.ended(candidate, alone_and_sustained, on_trial);
        }
        if let Some(rival) = serving.filter(|one| self.runs_alone() && !is_down(one)) {
            return Slot::Rival(rival);
        }
        match candidate.status {
            Status::Running | Status::Other if alone_and_sustained => Slot::Converged,
            Status::Evacuated if alone_and_sustained => Slot::LeftAlone,
            // A candidate is no less on trial for being moved; its deadline bounds that, too.
            Status::Running | Status::Other | Status::Evacuated => on_trial(self.trial(candidate)),
            Status::Stopped if self.may_be_starting(candidate) => Slot::Stopped {
                workload: candidate,
                served: candidate.healthy_since.is_some(),
            },
            Status::Stopped => on_trial(Trial::Failed(ENDED.to_owned())),
            Status::Unknown | Status::Lost => Slot::Unknown(candidate),
        }
    }

    /// It has been seen stopped after this executor had started it. One that is on trial has failed by that: nothing starts
    /// it again by itself, so waiting for the deadline would only cost the user time. One that was proven gets one more
    /// start, and is no longer proven by then; listed as running it may be dying still, which only an answer tells.
    fn ended(
        &self,
        candidate: &'a Workload,
        proven: bool,
        on_trial: impl Fn(Trial) -> Slot<'a>,
    ) -> Slot<'a> {
        let probe = self.observation.probes.get(&candidate.name);
        match candidate.status {
            Status::Stopped if proven => Slot::Stopped {
                workload: candidate,
                served: true,
            },
            Status::Running if proven && probe == Some(&Probe::Healthy) => Slot::Converged,
            Status::Running if proven => on_trial(self.trial(candidate)),
            _ => on_trial(Trial::Failed(ENDED.to_owned())),
        }
    }

    /// It was never started, or nobody knows whether its start has come to an end.
    fn may_be_starting(&self, workload: &Workload) -> bool {
        !workload.ever_started || self.observation.unfinished.contains(&workload.name)
    }

    fn trial(&self, candidate: &Workload) -> Trial {
        let probe = self.observation.probes.get(&candidate.name);
        let is_sustained = is_sustained(candidate, self.spec, self.now) && !candidate.restarted;
        if is_sustained && probe == Some(&Probe::Healthy) {
            return Trial::Passed;
        }
        // Without a record its clock starts now, and the decision records that.
        let began_at = self
            .work
            .trial_since(&candidate.place, candidate.generation)
            .unwrap_or(self.now);
        let health = &self.spec.health;
        let healthy_by = began_at.plus(health.healthy_deadline);
        if self.now < healthy_by {
            return Trial::Running { healthy_by };
        }
        let seen = match probe {
            Some(Probe::Unhealthy(why)) => format!("; the last check said: {why}"),
            Some(Probe::Healthy) => "; it is healthy at the moment".to_owned(),
            None => String::new(),
        };
        Trial::Failed(format!(
            "it was not healthy for {} without a break within {}{seen}",
            crate::duration::format(health.min_healthy_time),
            crate::duration::format(health.healthy_deadline),
        ))
    }
}

/// Whether it is known not to run.
pub(super) fn is_down(workload: &Workload) -> bool {
    matches!(workload.status, Status::Stopped | Status::Evacuated)
}

/// Whether it can serve.
pub(super) fn runs(workload: &Workload) -> bool {
    workload.status == Status::Running
}

/// Whether it has been healthy for long enough, by its own key (HO-APP-38, HO-APP-41).
pub(super) fn is_sustained(workload: &Workload, spec: &AppSpec, now: Moment) -> bool {
    workload
        .healthy_since
        .is_some_and(|since| now.since(since) >= spec.health.min_healthy_time)
}
