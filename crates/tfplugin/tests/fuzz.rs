//! A fuzzer for everything that reads what comes from outside: values as MessagePack and as JSON, stored states, types,
//! numbers, durations.
//!
//! ```text
//! run.rs ── generate.rs, mutate.rs      makes an input from a seed
//!    │
//! properties.rs ── stored.rs            tries it: what must hold
//!    │
//! vectors.txt                           inputs that once failed, tried first
//! ```
//!
//! `cargo test` tries a few with a fixed seed; `make fuzz` tries ten million with a new one. Why it is our own is in
//! `docs/decisions/0011-fuzzing-on-stable.md`.

#![allow(
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

#[path = "fuzz/generate.rs"]
mod generate;
#[path = "fuzz/input.rs"]
mod input;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/properties.rs"]
mod properties;
#[path = "fuzz/rng.rs"]
mod rng;
#[path = "fuzz/run.rs"]
mod run;
#[path = "fuzz/stored.rs"]
mod stored;

use std::alloc::System;
use std::sync::Mutex;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use input::{Input, Target};

/// Counts what decoders ask for.
#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The count is of the whole process, so the two that look at it take turns.
static TURN: Mutex<()> = Mutex::new(());

/// How many inputs `cargo test` tries.
const FEW: u64 = 30_000;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok().filter(|text| !text.is_empty());
    given.map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let _turn = TURN.lock();
    let (seed, inputs) = (
        from_environment("FUZZ_SEED", 1),
        from_environment("FUZZ_INPUTS", FEW),
    );
    let path = format!(
        "{}/fuzz-{}",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let current = std::fs::File::create(&path).expect("a file");
    eprintln!("seed {seed}, {inputs} inputs; the one being tried is in {path}");
    let report = run::run(seed, inputs, &current).unwrap_or_else(|failure| panic!("{failure}"));
    std::fs::remove_file(&path).expect("the file is there");

    for (target, (accepted, refused)) in Target::ALL.into_iter().zip(report.counts) {
        eprintln!(
            "{:10} {accepted:>10} accepted {refused:>10} refused",
            target.name()
        );
        // A target of which nearly all is refused is looked at from outside only.
        assert!(
            inputs < 10_000 || accepted * 10 > refused,
            "{target:?} is hardly tried"
        );
    }
    eprintln!(
        "{inputs} inputs in {:.1?}, {:.0} in a second",
        report.time,
        inputs as f64 / report.time.as_secs_f64()
    );
    let (novel, memory, slowest) = (report.novel, report.memory, report.slowest);
    eprintln!(
        "{novel} outcomes unlike each other; at most {memory} bytes and {slowest:.1?} for one input"
    );
    eprintln!("the longest was {:.300}", report.slowest_input);
}

#[test]
fn what_once_failed_holds() {
    let _turn = TURN.lock();
    let lines = include_str!("fuzz/vectors.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let input = Input::from_line(line).unwrap_or_else(|| panic!("no input: {line}"));
        if let Err(problem) = run::attempt(&input) {
            panic!("{problem}\n{line}");
        }
    }
}
