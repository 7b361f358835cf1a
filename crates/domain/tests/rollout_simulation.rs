//! The rollout state machine in a world that goes wrong: executors that are killed in any step, workloads that crash,
//! members that die, declarations that change half-way. The invariants are checked on every decision, step and event.
//!
//! Here `decide` is driven the way `reconcile/src/rollout/pass.rs` drives it: observe, probe, decide, record, execute.

#[path = "rollout_simulation/event.rs"]
mod event;
#[path = "rollout_simulation/executor.rs"]
mod executor;
#[path = "rollout_simulation/invariants.rs"]
mod invariants;
#[path = "rollout_simulation/world.rs"]
mod world;

use domain::app::key;
use domain::observation::Observation;
use domain::rollout::{Next, forecast};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use event::{Event, story};
use world::{World, spec};

/// One workload per replica, of the declared spec, running; and what is not ours is as it was.
fn invariant_converged_means_as_declared(world: &World) {
    for ordinal in 0..world.spec.replicas {
        let there: Vec<_> = world.slot(ordinal).collect();
        let [(_, instance)] = there.as_slice() else {
            panic!("replica {ordinal} is {there:?}\n{}", world.story());
        };
        assert!(instance.running, "{instance:?}\n{}", world.story());
        assert_eq!(instance.config[key::SPEC], world.spec.hash());
        assert!(
            world.is_healthy(instance),
            "{instance:?}\n{}",
            world.story()
        );
    }
    assert_eq!(world.ours().len(), world.spec.replicas as usize);
}

/// As a Read keeps it for a plan: everything that is stopped may have been left in the middle of its start.
fn seen_by_a_plan(world: &World) -> Observation {
    let mut observation = world.observe(&world.stored);
    observation.unfinished = observation.stopped().cloned().collect();
    observation
}

fn live_through(events: &[Event]) -> World {
    let mut world = World::new("good/1", 2);
    for event in events {
        world.happen(event);
        invariants::of_world(&world);
    }
    world.recover();
    world
}

/// The same stories in every run, so that a failure is one for everybody; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` ask
/// for more and for others.
fn stories() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig {
        cases: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => asked.cases,
            None => 400,
        },
        rng_seed: match asked.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        ..asked
    }
}

proptest! {
    #![proptest_config(stories())]

    /// HO-APP-24…40, HF-33: whatever happened, an apply that nobody disturbs comes to an end with any image, and with a
    /// good one as declared, by exactly the steps that its plan told.
    #[test]
    fn every_disturbance_is_survived(events in story()) {
        let mut world = live_through(&events);
        if let Err(why) = world.apply() {
            prop_assert!(false, "{why}\n{}", world.story());
        }
        world.spec = spec("good/2", world.spec.replicas);
        let planned = forecast::steps(&world.spec, &seen_by_a_plan(&world), &world.stored, world.now);
        match world.apply() {
            Ok((Next::Converged, told)) => {
                prop_assert_eq!(planned, told, "{}", world.story());
            }
            other => prop_assert!(false, "{:?}\n{}", other, world.story()),
        }
        invariant_converged_means_as_declared(&world);
        invariants::of_world(&world);
    }

    /// HF-33: the same with the good image at once, so that what the story left is met as it is.
    #[test]
    fn an_apply_goes_on_from_whatever_is_there(events in story()) {
        let mut world = live_through(&events);
        world.spec = spec("good/2", world.spec.replicas);
        let planned = forecast::steps(&world.spec, &seen_by_a_plan(&world), &world.stored, world.now);
        match world.apply() {
            Ok((Next::Converged, told)) => {
                prop_assert_eq!(planned, told, "{}", world.story());
            }
            other => prop_assert!(false, "{:?}\n{}", other, world.story()),
        }
        invariant_converged_means_as_declared(&world);
    }

    /// HO-APP-52 in kind: an image that fails takes nothing down that served, however often it is tried.
    #[test]
    fn a_failing_image_takes_nothing_down(
        image in prop::sample::select(&["crash", "unstartable", "never", "flap"][..]),
        replicas in 1_u32..4,
    ) {
        let mut world = World::new("good/1", replicas);
        world.apply().map_err(TestCaseError::fail)?;
        let served = world.ours();
        world.spec = spec(image, replicas);
        for _ in 0..3 {
            let (end, _) = world.apply().map_err(TestCaseError::fail)?;
            let failure = match end {
                Next::Failed(failure) => failure,
                other => return Err(TestCaseError::fail(format!("{other:?}\n{}", world.story()))),
            };
            prop_assert_eq!(failure.serving.as_ref(), served.first());
            prop_assert_eq!(&world.ours(), &served, "{}", world.story());
            prop_assert!(served.iter().all(|name| world.instances[name].running));
        }
        // Changed back: nothing to do but to forget the failure.
        world.spec = spec("good/1", replicas);
        let (end, told) = world.apply().map_err(TestCaseError::fail)?;
        prop_assert_eq!((end, told), (Next::Converged, Vec::new()));
        prop_assert_eq!(world.stored.failure, None);
    }
}
