//! What must hold whatever happens, a function and a sentence each.
//!
//! Before: `executor.rs` and `event.rs` call these at every decision, step and event. After: a [`Violation`], which
//! `trace.rs` makes short.

use std::collections::{BTreeMap, BTreeSet};

use domain::app::{AppSpec, Strategy, key};
use domain::moment::Moment;
use domain::observation::Power;
use domain::place::Place;
use domain::rollout::step::{Reason, Step};
use domain::work::Work;

use crate::executor::{Look, Pass};
use crate::fleet::{Fleet, Instance, places, stands_at};
use crate::ledger::Ledger;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name.
    pub invariant: &'static str,
    /// What was seen.
    pub told: String,
}

/// Whether an invariant holds.
pub type Judged = Result<(), Violation>;

fn hold(holds: bool, invariant: &'static str, told: impl FnOnce() -> String) -> Judged {
    match holds {
        true => Ok(()),
        false => Err(Violation {
            invariant,
            told: told(),
        }),
    }
}

/// All that can be said of a decision when it is about to be carried out.
pub(crate) fn of_decision(
    spec: &AppSpec,
    pass: &Pass,
    ledger: &Ledger,
    now: Moment,
    ended: &BTreeSet<String>,
) -> Judged {
    for step in &pass.steps {
        nothing_unmanaged_is_touched(step, &pass.look)?;
        nothing_is_done_to_what_cannot_be_seen(step, &pass.look)?;
        a_generation_never_goes_down(step, &pass.look, ledger)?;
        a_silent_member_is_waited_for(step, pass)?;
        let serving = Serving {
            spec,
            pass,
            ledger,
            now,
            ended,
        };
        serving.goes_only_for_a_proven_successor(step)?;
        serving.stops_only_for_its_successor(step)?;
        only_one_runs_where_only_one_may(spec, step, &pass.look)?;
    }
    one_replica_is_acted_upon_in_a_pass(&pass.steps)?;
    replicas_are_upgraded_one_at_a_time(spec, pass, now)
}

/// What is not ours is never stopped, changed or deleted.
fn nothing_unmanaged_is_touched(step: &Step, look: &Look) -> Judged {
    let ours = match (step, look.truth.get(name_of(step))) {
        (Step::Create { .. }, there) => there.is_none(),
        (_, there) => there.is_none_or(|instance| instance.config.contains_key(key::APP)),
    };
    hold(ours, "nothing_unmanaged_is_touched", || step.to_string())
}

/// After every event: what is not ours is as it was made.
pub(crate) fn nothing_unmanaged_has_changed(fleet: &Fleet) -> Judged {
    let changed = |(name, made): &(&String, &Instance)| fleet.instances.get(*name) != Some(made);
    let changed = fleet.foreign.iter().find(changed);
    hold(changed.is_none(), "nothing_unmanaged_is_touched", || {
        format!("{changed:?}")
    })
}

/// A step is about what the list has shown with its keys.
fn nothing_is_done_to_what_cannot_be_seen(step: &Step, look: &Look) -> Judged {
    let seen = look.seen.iter().find(|seen| seen.name == name_of(step));
    let visible =
        matches!(step, Step::Create { .. }) || seen.is_some_and(|seen| seen.config.is_some());
    hold(visible, "nothing_is_done_to_what_cannot_be_seen", || {
        step.to_string()
    })
}

/// An app that is destroyed is not called gone while a list did not show everything: what it showed, and what is on record.
/// Of what a stalled executor makes later nobody can know.
pub(crate) fn nothing_is_given_up_on_a_partial_read(look: &Look, work: &Work) -> Judged {
    let known = |name: &str| {
        let mut seen = look.seen.iter();
        let shown = seen.any(|seen| seen.name == name && seen.config.is_some());
        shown || work.by_name(name).is_some()
    };
    let there = look.truth.iter();
    let ours = there.filter(|(_, instance)| instance.config.contains_key(key::APP));
    let left: Vec<&String> = ours
        .map(|(name, _)| name)
        .filter(|name| known(name))
        .collect();
    hold(
        left.is_empty(),
        "nothing_is_given_up_on_a_partial_read",
        || format!("{left:?} are left"),
    )
}

/// A generation never goes down: each create takes one above all that were ever begun in its place; if the record was lost,
/// above all of which there is something left.
fn a_generation_never_goes_down(step: &Step, look: &Look, ledger: &Ledger) -> Judged {
    let Step::Create {
        place, generation, ..
    } = step
    else {
        return Ok(());
    };
    let there = look.truth.values().filter_map(stands_at);
    let here = there.filter(|(of, _)| of == place);
    let highest = match ledger.lost_record {
        true => here.map(|(_, generation)| generation).max(),
        false => ledger.highest(place),
    };
    let above = highest.is_none_or(|highest| *generation > highest);
    hold(above, "a_generation_never_goes_down", || {
        format!("{step} after {highest:?}")
    })
}

/// What is on record, and on a member that does not answer and is not said to be offline, is waited for and not replaced.
fn a_silent_member_is_waited_for(step: &Step, pass: &Pass) -> Judged {
    let Step::Create { place, .. } = step else {
        return Ok(());
    };
    let waited_for = |(name, one): &(&String, &Instance)| {
        let recorded = pass.work.by_name(name).map(|(of, _)| of);
        recorded.as_ref() == Some(place) && pass.look.silent.contains(&one.member)
    };
    let silent = pass.look.truth.iter().find(waited_for);
    hold(silent.is_none(), "a_silent_member_is_waited_for", || {
        format!("{step} beside {silent:?}")
    })
}

/// HO-APP-30: never two replicas of one app in one pass; bookkeeping about health is not an act.
fn one_replica_is_acted_upon_in_a_pass(steps: &[Step]) -> Judged {
    let place = |step: &Step| match step {
        Step::Create { place, .. }
        | Step::CreateVolume { place, .. }
        | Step::ResizeVolume { place, .. }
        | Step::Stop { place, .. }
        | Step::Start { place, .. }
        | Step::Delete { place, .. } => Some(place.clone()),
        Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => None,
    };
    let acted: BTreeSet<Place> = steps.iter().filter_map(place).collect();
    hold(
        acted.len() <= 1,
        "one_replica_is_acted_upon_in_a_pass",
        || format!("{acted:?}"),
    )
}

/// HO-APP-30: a generation comes up beside one that is there only while every other replica has exactly one, which is
/// outdated, or has been healthy for long enough.
fn replicas_are_upgraded_one_at_a_time(spec: &AppSpec, pass: &Pass, now: Moment) -> Judged {
    let mut there: BTreeMap<Place, Vec<&Instance>> = BTreeMap::new();
    for seen in pass.look.seen.iter().filter(|seen| seen.config.is_some()) {
        // What is to go, by a decision of before, is nothing that an upgrade could take down.
        let made = pass.work.by_name(&seen.name);
        if made.is_some_and(|(_, made)| made.doomed) {
            continue;
        }
        let instance = pass.look.truth.get(&seen.name);
        if let Some((instance, (place, _))) = instance.and_then(|one| Some((one, stands_at(one)?)))
        {
            there.entry(place).or_default().push(instance);
        }
    }
    let settled = |one: &Instance| {
        let stamp = one
            .config
            .get(key::HEALTHY_SINCE)
            .and_then(|at| at.parse().ok());
        let long = stamp.is_some_and(|at| now.since(Moment(at)) >= spec.health.min_healthy_time);
        one.config.get(key::SPEC) != Some(&spec.hash()) || long
    };
    for step in &pass.steps {
        let place = match step {
            Step::Create { place, .. } | Step::Stop { place, .. } => place,
            _ => continue,
        };
        // Where two run already it is one of them that stops.
        let here = there.get(place).map_or(0, Vec::len);
        if here == 0 || (here > 1 && matches!(step, Step::Stop { .. })) {
            continue;
        }
        let others = places(spec).filter(|other| other != place);
        let sound = others
            .map(|other| there.get(&other).map_or(&[][..], Vec::as_slice))
            .all(|generations| matches!(generations, [one] if settled(one)));
        hold(sound, "replicas_are_upgraded_one_at_a_time", || {
            format!("{step} beside {there:?}")
        })?;
    }
    Ok(())
}

struct Serving<'a> {
    spec: &'a AppSpec,
    pass: &'a Pass,
    ledger: &'a Ledger,
    now: Moment,
    ended: &'a BTreeSet<String>,
}

impl Serving<'_> {
    /// What serves goes only after its successor was told to be healthy, without a break, for as long as was asked for;
    /// or for another one that runs and that the record, or its health, speaks for; or when it is not wanted, was
    /// healthy too late, or was seen to end.
    fn goes_only_for_a_proven_successor(&self, step: &Step) -> Judged {
        let Step::Delete {
            place,
            generation,
            name,
            reason,
            ..
        } = step
        else {
            return Ok(());
        };
        let look = &self.pass.look;
        let serves = look.truth.get(name).is_some_and(|instance| {
            let image = instance.config.get(key::IMAGE);
            let is_good = image.is_some_and(|image| image.starts_with("good"));
            instance.running && is_good && instance.config.contains_key(key::HEALTHY_SINCE)
        });
        if !place.is_of(self.spec.replicas) || !serves {
            return Ok(());
        }
        let sound = match reason {
            Reason::Failed => self.is_over(place, *generation) || self.ended.contains(name),
            Reason::Retired { by } => self.is_proven(place, *by),
            // Where nothing may run beside it, what was to go by a decision of before goes before its successor comes.
            _ if runs_alone(self.spec) && self.pass.doomed.contains(name) => true,
            // And what was on trial there gives way to what was stopped for it.
            Reason::Outdated if runs_alone(self.spec) => self.has_way_back(place, name),
            _ => self.is_replaced(place, name),
        };
        hold(
            sound,
            "what_serves_goes_only_for_a_proven_successor",
            || step.to_string(),
        )
    }

    /// What serves is stopped only where nothing may run beside its successor, and only if it is outdated, or if another one
    /// is there already.
    fn stops_only_for_its_successor(&self, step: &Step) -> Judged {
        let Step::Stop { place, name, .. } = step else {
            return Ok(());
        };
        let rivals = self.others(place).count() > 1;
        let stopped = self.pass.look.truth.get(name);
        let spec = stopped.and_then(|instance| instance.config.get(key::SPEC));
        let sound = runs_alone(self.spec) && (rivals || spec != Some(&self.spec.hash()));
        hold(sound, "what_serves_stops_only_for_its_successor", || {
            step.to_string()
        })
    }

    fn is_over(&self, place: &Place, generation: u64) -> bool {
        let began_at = self.pass.work.trial_since(place, generation);
        let lasted = began_at.map(|began_at| self.now.since(began_at));
        lasted >= Some(self.spec.health.healthy_deadline) || self.ledger.clocks_differ
    }

    fn is_proven(&self, place: &Place, by: u64) -> bool {
        let mut others = self.others(place);
        let Some((name, _)) = others.find(|(_, one)| stands_at(one) == Some((place.clone(), by)))
        else {
            return false;
        };
        let mut answers = self.pass.answers.iter();
        let well = answers.any(|(asked, healthy, _)| asked == name && *healthy);
        let since = self.ledger.well_since(name);
        let lasted = since.map(|since| self.pass.asked_at.since(since));
        let long = lasted >= Some(self.spec.health.min_healthy_time);
        well && (long || self.ledger.clocks_differ)
    }

    /// What the record says served before is still there.
    fn has_way_back(&self, place: &Place, name: &str) -> bool {
        let slot = self.pass.work.slots.get(place);
        let recorded = slot.and_then(|slot| slot.serving);
        self.others(place).any(|(other, instance)| {
            let generation = stands_at(instance).map(|(_, generation)| generation);
            other != name && (generation == recorded || self.ledger.lost_record)
        })
    }

    fn is_replaced(&self, place: &Place, name: &str) -> bool {
        let slot = self.pass.work.slots.get(place);
        let recorded = slot.and_then(|slot| slot.serving);
        self.others(place).any(|(other, instance)| {
            let chosen = stands_at(instance).map(|(_, generation)| generation) == recorded;
            let is_good = instance
                .config
                .get(key::IMAGE)
                .is_some_and(|image| image.starts_with("good"));
            let since = self.ledger.well_since(other);
            let lasted = since.map(|since| self.pass.asked_at.since(since));
            let proven = lasted >= Some(self.spec.health.min_healthy_time);
            let trusted = chosen || is_good || proven || self.ledger.lost_record;
            other != name && instance.running && trusted
        })
    }

    /// What runs in a place and can be seen.
    fn others<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = (&'a String, &'a Instance)> {
        let look = &self.pass.look;
        let seen = look.seen.iter().filter(|seen| seen.config.is_some());
        let there = seen.filter_map(|seen| look.truth.get_key_value(&seen.name));
        there.filter(move |(_, one)| stands_at(one).is_some_and(|(of, _)| of == *place))
    }
}

fn runs_alone(spec: &AppSpec) -> bool {
    spec.r#type.strategy() == Strategy::StopReplace
}

/// Where only one may run, nothing is made or started beside what is seen to run there.
fn only_one_runs_where_only_one_may(spec: &AppSpec, step: &Step, look: &Look) -> Judged {
    let (Step::Create { place, name, .. } | Step::Start { place, name, .. }) = step else {
        return Ok(());
    };
    let runs = |seen: &&domain::observation::Seen| {
        let instance = look.truth.get(&seen.name);
        let here = instance
            .and_then(stands_at)
            .is_some_and(|(of, _)| of == *place);
        here && seen.name != *name && seen.power == Power::Running
    };
    let beside = look.seen.iter().find(runs);
    let sound = !runs_alone(spec) || beside.is_none();
    hold(sound, "only_one_runs_where_only_one_may", || {
        format!("{step} beside {beside:?}")
    })
}

/// What is decided is recorded, and confirmed, before it is executed.
pub(crate) fn what_is_decided_is_recorded_first(ledger: &Ledger, step: &Step, who: char) -> Judged {
    let recorded = !step.is_act() || ledger.has_decided(who, step);
    hold(recorded, "what_is_decided_is_recorded_first", || {
        step.to_string()
    })
}

/// Every step may run twice, and then is done once.
pub(crate) fn every_step_twice_is_once(step: &Step, once: &Fleet, twice: &Fleet) -> Judged {
    // What ends as soon as it is started has been started twice then; that is all.
    let lasting = |fleet: &Fleet| {
        let lasting = |(name, one): (&String, &Instance)| {
            (
                name.clone(),
                (
                    one.member.clone(),
                    one.config.clone(),
                    one.running,
                    one.starts > 0,
                ),
            )
        };
        fleet
            .instances
            .iter()
            .map(lasting)
            .collect::<BTreeMap<_, _>>()
    };
    let same = lasting(once) == lasting(twice);
    hold(same, "every_step_twice_is_once", || step.to_string())
}

/// Two executors never both take a step: a number is won once, by whoever has the newest revision.
pub(crate) fn two_executors_never_both_take_a_step(
    ledger: &Ledger,
    number: u64,
    revision: u64,
    who: char,
) -> Judged {
    let newest = ledger.confirmed.last().copied();
    let sound = newest.is_none_or(|(last, of, _)| number > last && revision >= of);
    hold(sound, "two_executors_never_both_take_a_step", || {
        format!("{who} takes {number} of r{revision} after {newest:?}")
    })
}

/// After faults stop the fleet converges: one workload per replica, of the declared spec, running and healthy.
pub(crate) fn converged_means_as_declared(fleet: &Fleet, spec: &AppSpec) -> Judged {
    let mut left = fleet.ours();
    for place in places(spec) {
        let at = |name: &String| {
            fleet
                .instances
                .get(name)
                .and_then(stands_at)
                .map(|(of, _)| of)
        };
        let here: Vec<String> = left
            .iter()
            .filter(|name| at(name).as_ref() == Some(&place))
            .cloned()
            .collect();
        let declared = here
            .iter()
            .filter_map(|name| fleet.instances.get(name))
            .all(|one| one.config.get(key::SPEC) == Some(&spec.hash()) && fleet.is_healthy(one));
        hold(
            here.len() == 1 && declared,
            "after_faults_stop_the_fleet_converges",
            || format!("{place} is {here:?}"),
        )?;
        left.retain(|name| !here.contains(name));
    }
    hold(
        left.is_empty(),
        "after_faults_stop_the_fleet_converges",
        || format!("{left:?} are left"),
    )
}

/// After faults stop an apply comes to an end.
pub(crate) fn an_apply_ends(ended: bool, told: impl FnOnce() -> String) -> Judged {
    hold(ended, "after_faults_stop_the_fleet_converges", told)
}

/// A plan tells what an apply does that nobody disturbs.
pub(crate) fn a_plan_tells_what_is_done(planned: &[String], done: &[String]) -> Judged {
    hold(planned == done, "a_plan_tells_what_is_done", || {
        format!("planned {planned:?}, did {done:?}")
    })
}

fn name_of(step: &Step) -> &str {
    match step {
        Step::Create { name, .. }
        | Step::CreateVolume { name, .. }
        | Step::ResizeVolume { name, .. }
        | Step::Stop { name, .. }
        | Step::Start { name, .. }
        | Step::StampHealthy { name, .. }
        | Step::ClearHealthy { name, .. }
        | Step::KeepOutput { name, .. }
        | Step::Delete { name, .. } => name,
    }
}
