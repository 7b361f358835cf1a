//! Start-up, plan, rollout and join, each as a ratio to something measured in the same run.
//!
//! Absolute times depend on the machine, so they are printed only beside their peer: OpenTofu's own built-in resources,
//! or the same steps by raw API. Two figures of another provider cannot be measured here and are constants.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

mod decide;
mod join;
mod many;
mod media;
mod plan;
mod rollout;
mod scale;
mod seeds;
mod size;
mod start;

use std::time::Duration;

use anyhow::Result;

use crate::interrupt;
use crate::lab::{self, Lab};
use crate::scenario::Context;
use crate::tofu::Programs;

/// Runs all benchmarks, or the named ones.
pub fn run(names: &[&str]) -> Result<()> {
    interrupt::listen()?;
    lab::check_machine()?;
    let context = Context::new(Programs::find()?);
    println!("Host: {}", context.programs.told);
    for (name, benchmark) in BENCHMARKS {
        if names.is_empty() || names.contains(&name) {
            benchmark(&context)?;
        }
    }
    Ok(())
}

type Benchmark = fn(&Context) -> Result<()>;

/// In the order in which they run.
const BENCHMARKS: [(&str, Benchmark); 8] = [
    ("start", start::run),
    ("size", size::run),
    ("seeds", |_| seeds::run()),
    ("decide", |_| decide::run()),
    ("media", media::run),
    ("join", join::run),
    ("apps", apps),
    ("rollout", many::run),
];

/// The first two on one lab, which a rollout leaves as it was.
fn apps(context: &Context) -> Result<()> {
    let lab = Lab::up("bench", 1)?;
    rollout::run(context, &lab)?;
    plan::run(context, &lab)?;
    lab.down()?;
    scale::run(context)
}

/// The middle one, which a single slow run does not move.
fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}

fn ratio(ours: Duration, peer: Duration) -> f64 {
    ours.as_secs_f64() / peer.as_secs_f64()
}
