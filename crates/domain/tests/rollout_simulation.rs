//! The rollout state machine in a world that goes wrong: executors that are killed between any two steps, workloads
//! that crash, members that die, declarations that change half-way. The invariants are checked after every event.
//!
//! Here `decide` is driven the way `reconcile/src/rollout/pass.rs` drives it: observe, probe, decide, record, execute.

#[path = "rollout_simulation/world.rs"]
mod world;

use std::collections::BTreeSet;

use domain::app::key;
use domain::observation::Observation;
use domain::rollout::step::{Reason, Step};
use domain::rollout::{Decision, Next};
use proptest::prelude::*;

use world::{Event, GOOD, World, spec};

fn events() -> impl Strategy<Value = Vec<Event>> {
    let image = prop_oneof![
        Just("good/1"),
        Just("good/2"),
        Just("crash"),
        Just("never"),
        Just("flap")
    ];
    let event = prop_oneof![
        12 => Just(Event::Pass { steps: usize::MAX, records: true, twice: false }),
        3 => (0_usize..3).prop_map(|steps| Event::Pass { steps, records: true, twice: false }),
        1 => Just(Event::Pass { steps: 0, records: false, twice: false }),
        1 => Just(Event::Pass { steps: usize::MAX, records: true, twice: true }),
        2 => (image, 1_u32..4).prop_map(|(image, replicas)| Event::Declare { image, replicas }),
        1 => (0_usize..8).prop_map(Event::StopByHand),
        1 => (0_usize..8).prop_map(Event::DeleteByHand),
        1 => (0_usize..3).prop_map(Event::MemberDies),
        1 => (0_usize..3).prop_map(Event::MemberIsOffline),
        2 => (0_usize..3).prop_map(Event::MemberReturns),
        4 => (0_u64..5_000).prop_map(Event::TimePasses),
    ];
    prop::collection::vec(event, 1..80)
}

/// Invariants 5 and 6 of docs/architecture.md, and what else a decision must never do.
fn invariant_decisions_are_sound(world: &World, observation: &Observation, decision: &Decision) {
    invariant_what_is_decided_is_in_the_record(decision);
    invariant_a_generation_never_goes_down(world, decision);
    invariant_nothing_foreign_or_unseen_is_touched(observation, decision);
    invariant_what_serves_is_deleted_only_with_a_successor(world, observation, decision);
    invariant_one_slot_is_acted_upon(decision);
}

/// What is decided is recorded before it is executed: every create is in the record that is stored first.
fn invariant_what_is_decided_is_in_the_record(decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            name,
            ..
        } = step
        {
            let made = decision.work.made(*ordinal, *generation);
            assert_eq!(made.map(|made| &made.name), Some(name), "{decision:?}");
        }
    }
}

/// A create takes a generation above all that were ever made in its place (a lost record must not matter).
fn invariant_a_generation_never_goes_down(world: &World, decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            ..
        } = step
        {
            let highest = world.highest.get(ordinal);
            assert!(
                highest.is_none_or(|highest| generation > highest),
                "{step:?} after {highest:?}"
            );
        }
    }
}

/// Steps concern workloads that are ours and whose member answers.
fn invariant_nothing_foreign_or_unseen_is_touched(observation: &Observation, decision: &Decision) {
    for step in &decision.steps {
        let name = match step {
            Step::Create { name, .. } => {
                assert!(
                    name.len() <= 63 && !observation.foreign.contains_key(name),
                    "{step:?}"
                );
                continue;
            }
            Step::Start { name, .. }
            | Step::StampHealthy { name, .. }
            | Step::ClearHealthy { name }
            | Step::KeepOutput { name, .. }
            | Step::Delete { name, .. } => name,
        };
        let workload = observation
            .workloads
            .iter()
            .find(|workload| workload.name == *name);
        assert!(
            workload.is_some_and(|workload| workload.status.is_live()),
            "{step:?}"
        );
    }
}

/// What was healthy goes only when a newer one is healthy in its place, when it is not wanted, or when it is a leftover
/// behind another that serves.
fn invariant_what_serves_is_deleted_only_with_a_successor(
    world: &World,
    observation: &Observation,
    decision: &Decision,
) {
    for step in &decision.steps {
        let Step::Delete { ordinal, name, .. } = step else {
            continue;
        };
        let here = || {
            observation
                .workloads
                .iter()
                .filter(|one| one.ordinal == *ordinal && one.status.is_live())
        };
        let serves = here().find(|one| {
            one.name == *name && one.healthy_since.is_some() && world.instances[name].running
        });
        let another = here().any(|one| one.name != *name && world.instances[&one.name].running);
        let unwanted = *ordinal >= world.spec.replicas;
        let judged_unhealthy = matches!(
            step,
            Step::Delete {
                reason: Reason::Failed,
                ..
            }
        );
        assert!(
            serves.is_none() || another || unwanted || judged_unhealthy,
            "{step:?}\n{observation:?}"
        );
    }
}

/// HO-APP-30: never two members of one app in one pass; bookkeeping about health is not an act.
fn invariant_one_slot_is_acted_upon(decision: &Decision) {
    let acted: BTreeSet<u32> = decision
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Create { ordinal, .. }
            | Step::Start { ordinal, .. }
            | Step::Delete { ordinal, .. } => Some(*ordinal),
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => None,
        })
        .collect();
    assert!(acted.len() <= 1, "{decision:?}");
}

/// One workload per replica, of the declared spec, running; and what is not ours is as it was.
fn invariant_converged_means_as_declared(world: &World) -> Result<(), TestCaseError> {
    let mut ordinals = Vec::new();
    for name in world.ours() {
        let instance = &world.instances[&name];
        prop_assert!(
            instance.running,
            "{name} does not run\n{}",
            world.trace.join("\n")
        );
        prop_assert_eq!(&instance.config[key::SPEC], &world.spec.hash());
        let ordinal = instance
            .config
            .get(key::MEMBER)
            .map_or(0, |text| text.parse().expect("a number"));
        ordinals.push(ordinal);
    }
    ordinals.sort_unstable();
    let expected: Vec<u32> = (0..world.spec.replicas).collect();
    prop_assert_eq!(ordinals, expected, "{}", world.trace.join("\n"));
    prop_assert!(world.instances["web-by-hand"].running);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// HO-APP-24…40, HF-33: whatever happened, a good image and an undisturbed executor end as declared.
    #[test]
    fn every_disturbance_is_survived(events in events()) {
        let mut world = World::new();
        for event in &events {
            world.happen(event);
        }
        if let Err(why) = world.settle() {
            prop_assert!(false, "{why}\n{}", world.trace.join("\n"));
        }
        invariant_converged_means_as_declared(&world)?;
    }

    /// HO-APP-52 in kind: an image that fails takes nothing down that served.
    #[test]
    fn a_failing_image_takes_nothing_down(image in prop_oneof![Just("crash"), Just("never"), Just("flap")], replicas in 1_u32..4) {
        let mut world = World::new();
        world.spec = spec(GOOD[0], replicas);
        world.settle().map_err(TestCaseError::fail)?;
        let served = world.ours();
        world.spec = spec(image, replicas);
        let mut failed = 0;
        for _ in 0..60 {
            match world.pass(usize::MAX, true, false) {
                Next::Wait(time) => world.now = world.now.plus(time),
                Next::Failed(_) => failed += 1,
                Next::Again => {}
                other => prop_assert!(false, "{other:?}\n{}", world.trace.join("\n")),
            }
            for name in &served {
                prop_assert!(world.instances.get(name).is_some_and(|one| one.running), "{name}\n{}", world.trace.join("\n"));
            }
        }
        prop_assert!(failed > 0);
    }
}
