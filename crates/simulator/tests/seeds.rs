//! The stories of a hundred seeds, and what every executor must survive: a power cut between any two requests.

use domain::app::key;
use domain::place::Place;
use simulator::event::{Event, story};
use simulator::executor::End;
use simulator::fleet::{MEMBERS, stands_at};
use simulator::invariants::Judged;
use simulator::random::{Luck, Random};
use simulator::trace;
use simulator::world::World;

/// `SIM_SEEDS` asks for more.
fn seeds() -> u64 {
    let asked = std::env::var("SIM_SEEDS").ok();
    asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(100)
}

/// HO-APP-24…40, HF-33: whatever happens, all invariants hold, and when faults stop the fleet converges, by just the steps
/// that the plan has told. What is decided is recorded first, every step twice is once, and a generation never goes down.
#[test]
fn every_story_ends_well() {
    for seed in 0..seeds() {
        if let Err(failure) = trace::run(seed, None) {
            panic!("{failure}");
        }
    }
}

/// The same seed is the same story: a failure is one for everybody.
#[test]
fn a_seed_tells_one_story() {
    for seed in 0..10 {
        let events = story(seed);
        assert_eq!(events, story(seed));
        assert_eq!(
            trace::replay(&events, None).1,
            trace::replay(&events, None).1
        );
    }
    assert_ne!(story(1), story(2));
}

/// A fleet that serves good/1, and an apply of good/2 that has just begun.
fn in_the_middle(replicas: u32) -> World {
    let mut world = World::default();
    world.converge("good/1", replicas).expect("it comes up");
    world.apply(1, "good/2", replicas);
    world
}

/// HF-33: a power cut before or after any request of a replacement is healed by the next apply. What Incus was at is lost
/// with the power, or was done just before.
#[test]
fn a_power_cut_at_any_point_is_healed_by_the_next_apply() {
    for replicas in 1..=2 {
        let mut requests = 0;
        for cut_after in 0.. {
            let mut world = in_the_middle(replicas);
            for _ in 0..cut_after {
                world.happen(&Event::Advance(1, Luck(0))).expect("sound");
            }
            requests = cut_after;
            let ended = world.end(1) == Some(&End::Converged);
            for done_just_before in [false, true] {
                let mut world = world.clone();
                if done_just_before {
                    world.happen(&Event::TimePasses(200)).expect("sound");
                }
                world.happen(&Event::Kill(1)).expect("sound");
                for member in 0..MEMBERS.len() {
                    let off = [Event::MemberSilent(member), Event::TimePasses(60_000)];
                    let on = Event::MemberReturns(member, true);
                    for event in off.iter().chain([&on]) {
                        world.happen(event).expect("sound");
                    }
                }
                if let Err(violation) = world.converge("good/2", replicas) {
                    panic!(
                        "cut after {cut_after}: {violation:?}\n{}",
                        world.told.join("\n")
                    );
                }
            }
            if ended {
                break;
            }
        }
        assert!(requests > 20, "{requests} requests are no rollout");
    }
}

/// HO-APP-52 in kind: an image that fails takes nothing down that served, however often it is tried.
#[test]
fn a_failing_image_takes_nothing_down() {
    for image in ["crash", "unstartable", "never", "flap"] {
        for replicas in 1..=3 {
            let mut world = World::default();
            world.converge("good/1", replicas).expect("it comes up");
            let served = world.fleet.instances.clone();
            for _ in 0..3 {
                let (end, _) = world.to_its_end(image, replicas).expect("sound");
                assert_eq!(end, End::Failed, "{image}\n{}", world.told.join("\n"));
                assert_eq!(world.fleet.instances, served, "{image}");
            }
            // Changed back: nothing to do but to forget the failure.
            let (end, told) = world.to_its_end("good/1", replicas).expect("sound");
            assert_eq!((end, told), (End::Converged, Vec::new()));
        }
    }
}

/// Design 7: where only one may run, what was stopped for an image that fails serves again, and nothing else is left.
#[test]
fn a_failing_image_gives_way_to_what_served() {
    for image in ["crash", "unstartable", "never", "flap"] {
        for replicas in 1..=3 {
            let mut world = World::default();
            world.exclusive = true;
            world.converge("good/1", replicas).expect("it comes up");
            let served = world.fleet.ours();
            for _ in 0..3 {
                let (end, _) = world.to_its_end(image, replicas).expect("sound");
                assert_eq!(end, End::Failed, "{image}\n{}", world.told.join("\n"));
                assert_eq!(world.fleet.ours(), served, "{image}");
                let mut instances = world.fleet.instances.values();
                assert!(instances.all(|one| one.running), "{image}");
            }
            world.converge("good/1", replicas).expect("nothing is lost");
            assert_eq!(world.fleet.ours(), served, "{image}");
        }
    }
}

/// One thing that happens where nothing goes wrong but executors: one of them has a turn, stalls, is killed or begins anew.
fn happens_to_executors(world: &mut World, random: &mut Random) -> Judged {
    let who = usize::from(random.below(2) == 0);
    match random.below(10) {
        0 => world.happen(&Event::Kill(who)),
        1..4 => {
            let image = ["good/1", "good/2"][usize::from(random.below(2) == 0)];
            world.happen(&Event::Apply(who, image, 2))
        }
        _ => (0..random.below(40))
            .try_for_each(|_| world.happen(&Event::Advance(who, Luck(random.number() | 1)))),
    }
}

/// Two executors, declarations that go back and forth, stalls and kills: with good images every replica always serves.
#[test]
fn applies_and_kills_alone_take_nothing_down() {
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let mut world = World::default();
        world.converge("good/1", 2).expect("it comes up");
        for _ in 0..60 {
            let judged = happens_to_executors(&mut world, &mut random);
            let told = || format!("seed {seed}\n{}", world.told.join("\n"));
            assert!(judged.is_ok(), "{judged:?} {}", told());
            for place in 0..2 {
                let mut there = world.fleet.instances.values();
                let serves = there.any(|one| {
                    let here = stands_at(one).is_some_and(|(of, _)| of == Place::Ordinal(place));
                    here && one.running && one.config.contains_key(key::HEALTHY_SINCE)
                });
                assert!(serves, "replica {place} is down: {}", told());
            }
        }
    }
}
