//! How long it takes to decide about ten thousand workloads, and how much memory is asked for, for `make bench`.
//!
//! Everything is measured in one run and set against a plain walk over the same world: a copy of what was observed and
//! recorded. Not a test: `tests/growth.rs` counts allocations instead, which are the same on every machine.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::alloc::System;
use std::hint::black_box;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use domain::observation::{Seen, of_app};
use domain::rollout::{Next, decide, to_probe};

#[path = "../tests/growth/world.rs"]
mod world;

use world::{App, NOW, Stage};

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 9;

fn main() {
    for (apps, replicas) in [(10, 999), (100, 100)] {
        for stage in [Stage::Converged, Stage::Middle] {
            let apps: Vec<App> = (0..apps)
                .map(|number| App::new(number, replicas, stage))
                .collect();
            tell(&apps, stage);
            if stage == Stage::Converged {
                tell_of_reads(&apps);
            }
        }
    }
    let [few, many] = [99, 990].map(|replicas| {
        let app = App::new(0, replicas, Stage::Middle);
        per_workload(cost(|| drop(decided(&app))), std::slice::from_ref(&app))
    });
    println!(
        "  of one app, for each workload: 990 replicas over 99 take {:.2} of the time (a square: 10)",
        many / few
    );
}

fn decided(app: &App) -> domain::rollout::Decision {
    decide(&app.spec, &app.observation, &app.work, NOW)
}

/// One line about deciding once about each of these apps.
fn tell(apps: &[App], stage: Stage) {
    let every = |act: &dyn Fn(&App)| cost(|| apps.iter().for_each(act));
    let decide = every(&|app| drop(black_box(decided(app))));
    let probe = every(&|app| {
        black_box(to_probe(&app.spec, &app.observation, &app.work, NOW));
    });
    let walk = every(&|app| drop(black_box((app.observation.clone(), app.work.clone()))));
    let observe = every(&|app| {
        let name = &app.spec.name;
        drop(black_box(of_app(name, &app.seen, &app.members, &app.work)));
    });
    let ends = apps.iter().map(|app| decided(app).next);
    let converged = ends.filter(|next| *next == Next::Converged).count();
    assert_eq!(converged == apps.len(), stage == Stage::Converged);
    println!(
        "  {:>3} apps of {:>3}, {}: {:.2} µs and {:.1} allocations for each workload, {:.2} of a copy of what is seen and \
         recorded ({:.1} allocations); choosing whom to probe {:.2}, observing {:.2} of it",
        apps.len(),
        apps[0].replicas,
        match stage {
            Stage::Converged => "converged",
            Stage::Middle => "half-way  ",
        },
        per_workload(decide, apps),
        allocations(decide, apps),
        decide.time.as_secs_f64() / walk.time.as_secs_f64(),
        allocations(walk, apps),
        probe.time.as_secs_f64() / walk.time.as_secs_f64(),
        observe.time.as_secs_f64() / walk.time.as_secs_f64(),
    );
}

/// One line about a look of every app at the list of all workloads, as a refresh takes it.
fn tell_of_reads(apps: &[App]) {
    let all: Vec<Seen> = apps.iter().flat_map(|app| app.seen.clone()).collect();
    let read = cost(|| {
        for app in apps {
            let name = &app.spec.name;
            drop(black_box(of_app(name, &all, &app.members, &app.work)));
        }
    });
    let copy = cost(|| drop(black_box(all.clone())));
    println!(
        "  {:>3} apps of {:>3} find theirs among all: {:.2} of a copy of the list",
        apps.len(),
        apps[0].replicas,
        read.time.as_secs_f64() / copy.time.as_secs_f64(),
    );
}

#[derive(Clone, Copy)]
struct Cost {
    time: Duration,
    allocations: usize,
}

/// The middle one of several runs; all of them allocate as often.
fn cost(mut work: impl FnMut()) -> Cost {
    let memory = Region::new(MEMORY);
    work();
    let allocations = memory.change().allocations;
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let before = on_processor();
            work();
            on_processor().saturating_sub(before)
        })
        .collect();
    times.sort();
    Cost {
        time: times[RUNS / 2],
        allocations,
    }
}

/// How long this program has had a processor: others may be at work on the same machine.
fn on_processor() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn workloads(apps: &[App]) -> f64 {
    f64::from(apps.iter().map(|app| app.replicas).sum::<u32>())
}

/// In microseconds.
fn per_workload(cost: Cost, apps: &[App]) -> f64 {
    cost.time.as_secs_f64() * 1e6 / workloads(apps)
}

fn allocations(cost: Cost, apps: &[App]) -> f64 {
    cost.allocations as f64 / workloads(apps)
}
