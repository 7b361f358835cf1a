//! What must hold whatever happens: invariants 5 and 6 of docs/architecture.md, and what else nobody would forgive.
//!
//! Before: `executor.rs` calls these on every decision and every step. After: a panic with the story so far.

use std::collections::BTreeSet;

use domain::app::key;
use domain::observation::{Observation, Status};
use domain::rollout::Decision;
use domain::rollout::step::{Reason, Step};
use domain::work::Work;

use crate::world::World;

/// All that can be said of a decision before it is carried out.
pub(crate) fn of_decision(world: &World, observation: &Observation, decision: &Decision) {
    invariant_what_is_decided_is_in_the_record(world, decision);
    invariant_a_generation_never_goes_down(world, decision);
    invariant_nothing_foreign_or_unseen_is_touched(world, observation, decision);
    invariant_one_slot_is_acted_upon(world, decision);
    invariant_one_slot_is_upgraded_at_a_time(world, observation, decision);
}

/// All that can be said of a step when it is carried out.
pub(crate) fn of_step(world: &World, step: &Step, ended: &BTreeSet<String>) {
    invariant_what_serves_is_deleted_only_with_a_successor(world, step, ended);
}

/// All that can be said of the world after any event.
pub(crate) fn of_world(world: &World) {
    for (name, made) in &world.foreign {
        assert_eq!(
            world.instances.get(name),
            Some(made),
            "{name} is not ours\n{}",
            world.story()
        );
    }
    for name in world.instances.keys() {
        assert!(name.len() <= 63, "{name}");
    }
}

/// The record as the fleet store gives it back; no generation in it is lower than before.
pub(crate) fn stored(before: &Work, work: &Work) -> Work {
    for (ordinal, slot) in &before.slots {
        let after = work.slots.get(ordinal).map(|slot| slot.generation);
        assert!(after >= Some(slot.generation), "{before:?}\n{work:?}");
    }
    let text = serde_json::to_string(work).expect("a record is JSON");
    let back: Work = serde_json::from_str(&text).expect("and reads back");
    assert_eq!(&back, work);
    back
}

/// What is decided is recorded before it is executed: every create is in the record that is stored first.
fn invariant_what_is_decided_is_in_the_record(world: &World, decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            name,
            ..
        } = step
        {
            let made = decision.work.made(*ordinal, *generation);
            let recorded = made.map(|made| &made.name);
            assert_eq!(recorded, Some(name), "{step:?}\n{}", world.story());
        }
    }
}

/// A create takes a generation above all that were ever recorded or made in its place.
fn invariant_a_generation_never_goes_down(world: &World, decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            ..
        } = step
        {
            let highest = world.highest(*ordinal);
            assert!(
                highest.is_none_or(|highest| *generation > highest),
                "{step:?} after {highest:?}\n{}",
                world.story()
            );
        }
    }
}

/// Steps concern workloads that are ours and whose member answers, and no name of somebody else's.
fn invariant_nothing_foreign_or_unseen_is_touched(
    world: &World,
    observation: &Observation,
    decision: &Decision,
) {
    for step in &decision.steps {
        let name = match step {
            Step::Create { name, .. } => {
                assert!(
                    !world.instances.contains_key(name),
                    "{step:?}\n{}",
                    world.story()
                );
                continue;
            }
            Step::Start { name, .. }
            | Step::StampHealthy { name, .. }
            | Step::ClearHealthy { name }
            | Step::KeepOutput { name, .. }
            | Step::Delete { name, .. } => name,
        };
        let mut workloads = observation.workloads.iter();
        let workload = workloads.find(|workload| workload.name == *name);
        assert!(
            workload.is_some_and(|workload| workload.status.is_live())
                && !world.foreign.contains_key(name),
            "{step:?}\n{}",
            world.story()
        );
    }
}

/// HO-APP-30: never two members of one app in one pass; bookkeeping about health is not an act.
fn invariant_one_slot_is_acted_upon(world: &World, decision: &Decision) {
    let ordinal = |step: &Step| match step {
        Step::Create { ordinal, .. }
        | Step::Start { ordinal, .. }
        | Step::Delete { ordinal, .. } => Some(*ordinal),
        Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => None,
    };
    let acted: BTreeSet<u32> = decision.steps.iter().filter_map(ordinal).collect();
    assert!(acted.len() <= 1, "{decision:?}\n{}", world.story());
}

/// HO-APP-30: when a second generation comes up beside one that is there, every other replica has exactly one, which is
/// not on trial: it is an outdated one, or one of the declared spec that has been healthy for long enough.
fn invariant_one_slot_is_upgraded_at_a_time(
    world: &World,
    observation: &Observation,
    decision: &Decision,
) {
    let live = |ordinal: u32| {
        let here = move |status: Status, of: u32| of == ordinal && status.is_live();
        let workloads = observation.workloads.iter();
        workloads.filter(move |workload| here(workload.status, workload.ordinal))
    };
    for step in &decision.steps {
        let Step::Create { ordinal, .. } = step else {
            continue;
        };
        if live(*ordinal).next().is_none() {
            continue;
        }
        for other in (0..world.spec.replicas).filter(|other| other != ordinal) {
            let there: Vec<_> = live(other).collect();
            let min_healthy_time = world.spec.health.min_healthy_time;
            let settled = |since| world.now.since(since) >= min_healthy_time;
            let sound = match there.as_slice() {
                [one] if one.spec == world.spec.hash() => one.healthy_since.is_some_and(settled),
                [_] => true,
                _ => false,
            };
            assert!(sound, "{step:?} beside {there:?}\n{}", world.story());
        }
    }
}

/// What is known to be healthy, and is it, goes only for another one that is healthy at that moment, or of which the
/// record says that it was promoted; or when it is not wanted; or when it was healthy too late, or was seen to end.
fn invariant_what_serves_is_deleted_only_with_a_successor(
    world: &World,
    step: &Step,
    ended: &BTreeSet<String>,
) {
    let Step::Delete {
        ordinal,
        generation,
        name,
        reason,
        ..
    } = step
    else {
        return;
    };
    let Some(instance) = world.instances.get(name) else {
        return;
    };
    let is_good = instance.config[key::IMAGE].starts_with("good");
    let serves = instance.running && is_good && instance.config.contains_key(key::HEALTHY_SINCE);
    if *ordinal >= world.spec.replicas || !serves {
        return;
    }
    if *reason == Reason::Failed {
        let began_at = world.stored.trial_since(*ordinal, *generation);
        let lasted = began_at.map(|began_at| world.now.since(began_at));
        let is_over = lasted >= Some(world.spec.health.healthy_deadline);
        assert!(
            is_over || ended.contains(name),
            "{step:?} after {lasted:?}\n{}",
            world.story()
        );
        return;
    }
    let recorded = world
        .stored
        .slots
        .get(ordinal)
        .and_then(|slot| slot.serving);
    let promoted = recorded.map(|generation| generation.to_string());
    let mut others = world.slot(*ordinal).filter(|(other, _)| *other != name);
    let replaced = others.any(|(name, other)| {
        let chosen = other.config.get(key::GENERATION) == promoted.as_ref();
        let trusted = chosen || world.lost_record || world.is_healthy(other);
        other.running && trusted && world.answers(name)
    });
    assert!(replaced, "{step:?}\n{}", world.story());
}
