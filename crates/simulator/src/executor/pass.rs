//! One pass: from the lists to a decision of `domain`, and through its steps.
//!
//! Before: `executor.rs` has the list of instances. After: `fleet.rs`, a request at a time. Every decision is judged
//! when it is on record, and every step when it begins.

use std::collections::BTreeSet;

use domain::app::key;
use domain::entry::Kind;
use domain::moment::Moment;
use domain::observation::{self, Member, MemberStatus, Observation, Probe};
use domain::rollout::learned::TooOften;
use domain::rollout::removal::{self, Removal};
use domain::rollout::step::Step;
use domain::rollout::{self, Decision, Next, PROBE_INTERVAL};

use super::{End, Executor, Look, Part, Pass, SHORTEST_WAIT, Stage};
use crate::fault::{self, Fault};
use crate::fleet::requests::What;
use crate::fleet::{APP, Fleet, Standing};
use crate::invariants::{self, Violation};
use crate::ledger::Ledger;
use crate::random::Luck;

impl Executor {
    pub(super) fn decide(
        &mut self,
        fleet: &mut Fleet,
        ledger: &mut Ledger,
        mut look: Look,
        luck: Luck,
    ) -> Result<Stage, Violation> {
        fleet.request(luck);
        // By now Incus may say of some that they are offline.
        look.silent
            .retain(|member| fleet.members.get(member) == Some(&Standing::Silent));
        let mut observation = self.observe(fleet, &look);
        let strategy = self.spec.r#type.strategy();
        if let Err(unmade) = self.learned.apply(&mut observation, strategy) {
            return Ok(Stage::Ended(End::Stopped(unmade.to_string())));
        }
        let now = self.now(fleet);
        let answers = self.ask(fleet, &mut observation);
        let decision = if self.removes {
            match removal::decide(&observation, &self.work, false) {
                Removal::Delete { work, workloads } => Decision {
                    work,
                    steps: workloads.iter().map(removal::delete).collect(),
                    next: Next::Again,
                },
                Removal::Unreachable(_) => {
                    return Ok(Stage::Ended(End::Stopped("out of reach".to_owned())));
                }
                Removal::Done | Removal::DeleteVolumes(_) => {
                    // What a newer revision has made or recorded is not ours to delete.
                    if fleet.store.highest(Kind::App) == self.revision {
                        invariants::nothing_is_given_up_on_a_partial_read(&look, &self.work)?;
                        fleet.store.lose_record();
                        ledger.forget();
                    }
                    return Ok(Stage::Ended(End::Removed));
                }
            }
        } else {
            fault::decide(self.fault, &self.spec, &observation, &self.work, now)
        };
        let acts = decision.steps.iter().any(Step::is_act);
        let same = decision.work == self.work && (self.recorded || !acts);
        let pass = Box::new(Pass {
            look,
            steps: decision.steps,
            next: decision.next,
            work: decision.work,
            doomed: self.doomed(),
            answers,
            asked_at: fleet.now,
            done: 0,
            part: Part::Begin,
        });
        if same || self.fault == Some(Fault::RecordsAfterwards) {
            self.enter(fleet, ledger, &pass)?;
            return Ok(Stage::Perform(pass));
        }
        Ok(Stage::Record(pass))
    }

    fn doomed(&self) -> BTreeSet<String> {
        let made = self.work.slots.values().flat_map(|slot| &slot.workloads);
        let doomed = made.filter(|made| made.doomed);
        doomed.map(|made| made.name.clone()).collect()
    }

    fn observe(&self, fleet: &Fleet, look: &Look) -> Observation {
        let mut members = fleet.list_members();
        let mut seen = look.seen.clone();
        match self.fault {
            Some(Fault::SilentIsGone) => {
                let silent = |member: &&mut Member| look.silent.contains(&member.name);
                let taken_for_gone = members.iter_mut().filter(silent);
                taken_for_gone.for_each(|member| member.status = MemberStatus::Offline);
            }
            Some(Fault::PartialLists) if self.removes => seen.retain(|one| one.config.is_some()),
            Some(Fault::TrustsNames) => {
                let ours = seen.iter_mut().filter(|one| one.name.starts_with(APP));
                for config in ours.filter_map(|one| one.config.as_mut()) {
                    config.insert(key::APP.to_owned(), APP.to_owned());
                }
            }
            _ => {}
        }
        let mut observation = observation::of_app(APP, &seen, &members, &self.work);
        if self.fault == Some(Fault::PromotesAtOnce) {
            let stamped = |since: &mut Moment| since.0 = 0;
            let workloads = observation.workloads.iter_mut();
            workloads
                .filter_map(|one| one.healthy_since.as_mut())
                .for_each(stamped);
        }
        observation
    }

    fn ask(&self, fleet: &Fleet, observation: &mut Observation) -> Vec<(String, bool, bool)> {
        let now = self.now(fleet);
        let asked = rollout::to_probe(&self.spec, observation, &self.work, now);
        let answer = |workload: &observation::Workload| {
            let instance = fleet.instances.get(&workload.name);
            let healthy = instance.is_some_and(|instance| fleet.is_healthy(instance));
            (
                workload.name.clone(),
                healthy,
                workload.healthy_since.is_some(),
            )
        };
        let answers: Vec<(String, bool, bool)> = asked.into_iter().map(answer).collect();
        let deaf = self.fault == Some(Fault::DeafToProbes);
        let heard = |(name, healthy, _): &(String, bool, bool)| {
            let probe = match *healthy || deaf {
                true => Probe::Healthy,
                false => Probe::Unhealthy("not now".to_owned()),
            };
            (name.clone(), probe)
        };
        observation.probes = answers.iter().map(heard).collect();
        answers
    }

    /// A decision is about to be carried out.
    pub(super) fn enter(
        &self,
        fleet: &Fleet,
        ledger: &mut Ledger,
        pass: &Pass,
    ) -> Result<(), Violation> {
        for (name, healthy, stamped) in &pass.answers {
            if !healthy && !stamped {
                ledger.unhealthy(name, pass.asked_at);
            }
        }
        if !self.removes {
            let now = self.now(fleet);
            invariants::of_decision(&self.spec, pass, ledger, now, self.learned.ended())?;
        }
        ledger.made(&pass.steps);
        Ok(())
    }

    pub(super) fn perform(
        &mut self,
        fleet: &mut Fleet,
        ledger: &mut Ledger,
        mut pass: Box<Pass>,
        luck: Luck,
    ) -> Result<Stage, Violation> {
        let Some(step) = pass.steps.get(pass.done).cloned() else {
            return Ok(self.after(fleet, pass));
        };
        if self.fault == Some(Fault::BelievesItsRecord)
            && self.found_decided.contains(&step.to_string())
        {
            pass.done += 1;
            return Ok(Stage::Perform(pass));
        }
        if pass.part == Part::Begin {
            invariants::what_is_decided_is_recorded_first(ledger, &step, self.who)?;
            let (once, twice) = self.once_and_twice(fleet, &step);
            invariants::every_step_twice_is_once(&step, &once, &twice)?;
            self.tell(&step);
        }
        let outcome = self.request(fleet, &step, pass.part, luck);
        Ok(self.answered(fleet, ledger, pass, &step, outcome))
    }

    /// Sends what a step needs next; an operation has to be waited for.
    fn request(
        &mut self,
        fleet: &mut Fleet,
        step: &Step,
        part: Part,
        luck: Luck,
    ) -> Result<Option<u64>, &'static str> {
        match (step, part) {
            (
                Step::Create {
                    place,
                    generation,
                    name,
                    member,
                    ..
                },
                _,
            ) => {
                let keys = self.spec.workload_keys(place, *generation);
                let member = member.clone().unwrap_or_default();
                let mut name = name.clone();
                if self.fault == Some(Fault::TriesAnotherName)
                    && fleet.instances.contains_key(&name)
                {
                    name.push('b');
                }
                fleet.create(&name, &member, keys, luck).map(Some)
            }
            (Step::Start { name, .. }, _) => fleet.ask(name, What::Start, luck).map(Some),
            (Step::Stop { name, .. }, _) => match fleet.ask(name, What::Stop, luck) {
                Err("The instance is already stopped") => Ok(None),
                other => other.map(Some),
            },
            (Step::CreateVolume { .. } | Step::ResizeVolume { .. }, _) => {
                Err("there are no volumes here")
            }
            (
                Step::StampHealthy {
                    name, since, start, ..
                },
                _,
            ) => {
                let stamp = [
                    (key::HEALTHY_SINCE, Some(since.0.to_string())),
                    (key::HEALTHY_START, Some(start.clone())),
                ];
                fleet.patch(name, &stamp, luck).map(|()| None)
            }
            (Step::ClearHealthy { name, .. }, _) => {
                let stamp = [(key::HEALTHY_SINCE, None)];
                fleet.patch(name, &stamp, luck).map(|()| None)
            }
            (Step::KeepOutput { .. }, _) => {
                fleet.request(luck);
                Ok(None)
            }
            (Step::Delete { name, .. }, Part::Deleting) => {
                match fleet.ask(name, What::Delete, luck) {
                    Err("Instance not found") => Ok(None),
                    other => other.map(Some),
                }
            }
            // Neither answer matters: the delete tells whether it has stopped.
            (Step::Delete { name, .. }, _) => fleet.ask(name, What::Stop, luck).map(Some),
        }
    }

    /// What follows an answer; `None` in it: the part is done.
    fn answered(
        &mut self,
        fleet: &mut Fleet,
        ledger: &mut Ledger,
        mut pass: Box<Pass>,
        step: &Step,
        outcome: Result<Option<u64>, &'static str>,
    ) -> Stage {
        let deletes = matches!(step, Step::Delete { .. });
        match (outcome, pass.part) {
            (Ok(Some(operation)), _) => {
                if deletes && pass.part == Part::Begin {
                    pass.part = Part::Stopping;
                }
                Stage::Operation(operation, pass)
            }
            (Err(_), Part::Begin) if deletes => {
                pass.part = Part::Forcing;
                Stage::Perform(pass)
            }
            (Err(_), Part::Forcing) => {
                pass.part = Part::Deleting;
                Stage::Perform(pass)
            }
            (Ok(None), _) => {
                ledger.did(step, pass.asked_at);
                self.learn(step);
                (pass.done, pass.part) = (pass.done + 1, Part::Begin);
                Stage::Perform(pass)
            }
            (Err(error), _) => self.disturbed(fleet, step, error),
        }
    }

    fn disturbed(&mut self, fleet: &Fleet, step: &Step, error: &'static str) -> Stage {
        match self.learned.disturbed_by(step, error) {
            Ok(()) => {
                self.learned.disturbed();
                Stage::Sleep(fleet.now.plus(PROBE_INTERVAL))
            }
            Err(TooOften) => Stage::Ended(End::Stopped(format!("{step}: {error}"))),
        }
    }

    fn learn(&mut self, step: &Step) {
        let keeps = matches!(step, Step::KeepOutput { .. });
        let output = keeps.then(|| "cannot open /etc/app.conf".to_owned());
        self.learned.done(step, output);
    }

    /// Waits for an operation of Incus.
    pub(super) fn wait_for(&mut self, fleet: &mut Fleet, id: u64, mut pass: Box<Pass>) -> Stage {
        if let Some(operation) = fleet.operations.get(&id) {
            fleet.pass_time(operation.due);
        }
        let outcome = fleet.operations.remove(&id).and_then(|one| one.outcome);
        let outcome = outcome.unwrap_or(Err("the operation is gone"));
        let Some(step) = pass.steps.get(pass.done).cloned() else {
            return Stage::Look;
        };
        match (pass.part, outcome) {
            (Part::Stopping, Err(_)) => {
                pass.part = Part::Forcing;
                Stage::Perform(pass)
            }
            (Part::Stopping | Part::Forcing, _) => {
                pass.part = Part::Deleting;
                Stage::Perform(pass)
            }
            (Part::Begin | Part::Deleting, Ok(())) => {
                self.learn(&step);
                (pass.done, pass.part) = (pass.done + 1, Part::Begin);
                Stage::Perform(pass)
            }
            (Part::Begin | Part::Deleting, Err(error)) => self.disturbed(fleet, &step, error),
        }
    }

    /// All steps are done.
    fn after(&mut self, fleet: &Fleet, pass: Box<Pass>) -> Stage {
        self.learned.undisturbed();
        if self.fault == Some(Fault::RecordsAfterwards) && pass.work != self.work {
            self.work = pass.work;
        }
        match pass.next {
            Next::Again => Stage::Look,
            Next::Wait(time) => Stage::Sleep(fleet.now.plus(time.max(SHORTEST_WAIT))),
            Next::Converged => Stage::Finish,
            Next::Failed(_) => Stage::Ended(End::Failed),
            Next::Conflict(conflict) => {
                Stage::Ended(End::Stopped(format!("{} is taken", conflict.name)))
            }
            Next::OutOfReach(_) => Stage::Ended(End::Stopped("out of reach".to_owned())),
            Next::NoMember(_) => Stage::Ended(End::Stopped("no member".to_owned())),
        }
    }

    /// A step as a plan tells it: a create with its image, and no bookkeeping.
    fn tell(&mut self, step: &Step) {
        let image = self.spec.image.reference.written();
        match step {
            Step::Create { .. } => self.told.push(format!("{step} from {image}")),
            Step::CreateVolume { .. }
            | Step::ResizeVolume { .. }
            | Step::Stop { .. }
            | Step::Start { .. }
            | Step::Delete { .. } => self.told.push(step.to_string()),
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => {}
        }
    }

    /// What the instances are after a step, and after the same step again, if nothing disturbs it.
    fn once_and_twice(&self, fleet: &Fleet, step: &Step) -> (Fleet, Fleet) {
        let mut once = fleet.clone();
        // What others are at is not done by this step.
        once.pass_time(Moment(once.now.0 + 120_000));
        self.carry_out(&mut once, step);
        let mut twice = once.clone();
        self.carry_out(&mut twice, step);
        (once, twice)
    }

    fn carry_out(&self, fleet: &mut Fleet, step: &Step) {
        let mut alone = self.clone();
        let mut part = Part::Begin;
        loop {
            let outcome = alone.request(fleet, step, part, Luck(0));
            if let Ok(Some(id)) = outcome
                && let Some(operation) = fleet.operations.get(&id)
            {
                fleet.pass_time(operation.due);
            }
            part = match (step, part) {
                (Step::Delete { .. }, Part::Begin) => Part::Deleting,
                _ => return,
            };
        }
    }
}
