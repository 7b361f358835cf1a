//! What is decided about one app costs as much for each workload, however many there are.
//!
//! Allocations are counted, which are the same on every machine and every day; `examples/rollouts.rs` measures time.
//! One test alone, since all tests of a program share its memory.

use std::alloc::System;
use std::hint::black_box;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use domain::observation::of_app;
use domain::rollout::{decide, has_every_workload, to_probe};

#[path = "growth/world.rs"]
mod world;

use world::{App, NOW, Stage};

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations(act: &dyn Fn(&App), app: &App) -> usize {
    let memory = Region::new(MEMORY);
    act(app);
    memory.change().allocations
}

/// Ten times as many replicas ask for memory at most ten times as often, and for each workload a handful of times.
#[test]
fn a_workload_costs_as_much_in_a_large_app_as_in_a_small_one() {
    type Act = (&'static str, usize, fn(&App));
    let acts: [Act; 4] = [
        ("deciding", 12, |app| {
            drop(black_box(decide(
                &app.spec,
                &app.observation,
                &app.work,
                NOW,
            )));
        }),
        ("choosing whom to probe", 4, |app| {
            black_box(to_probe(&app.spec, &app.observation, &app.work, NOW));
        }),
        ("looking for what is to be made", 2, |app| {
            black_box(has_every_workload(&app.spec, &app.observation));
        }),
        ("observing", 16, |app| {
            let (name, seen) = (&app.spec.name, &app.seen);
            drop(black_box(of_app(name, seen, &app.members, &app.work)));
        }),
    ];
    for stage in [Stage::Converged, Stage::Middle] {
        let [small, large] = [99, 990].map(|replicas| App::new(0, replicas, stage));
        for (what, most, act) in &acts {
            let most = most * large.replicas as usize;
            let [few, many] = [&small, &large].map(|app| allocations(act, app));
            assert!(many <= 10 * few, "{what}: {few} became {many}");
            assert!(
                many <= most,
                "{what}: {many}, and at most {most} are to be expected"
            );
        }
    }
}
