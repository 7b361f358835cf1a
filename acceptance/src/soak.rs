//! Kills the provider before and after every single request of every act upon an app, reads included, and around every
//! write of a bootstrap, a join and a removal of a member; and OpenTofu with it after every write.
//!
//! The scenarios do this for writes; this takes too long for every run. The idea itself is [`scenarios::sweep`].
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::interrupt;
use crate::lab::{self, Incus};
use crate::proxy::{Counted, Deed, Moment};
use crate::scenario::Context;
use crate::scenarios::joins::Act::{Bootstrap, Join, Removal};
use crate::scenarios::{self, Act, joins};
use crate::tofu::Programs;

/// How many sweeps run side by side; most of their time they wait for health.
const SIDE_BY_SIDE: usize = 3;

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum What {
    /// An act upon an app.
    App(Act),
    /// A machine that becomes a member, or is none any more, with this release.
    Member(joins::Act, Incus),
}

/// Runs all sweeps, or those of the named acts.
pub fn run(names: &[&str]) -> Result<u8> {
    interrupt::listen()?;
    lab::check_machine()?;
    let mut sweeps = Vec::new();
    for (name, act) in [
        ("create", What::App(Act::Create)),
        ("roll", What::App(Act::Roll)),
        ("replace", What::App(Act::Replace)),
        ("scale", What::App(Act::Scale)),
        ("destroy", What::App(Act::Destroy)),
        ("bootstrap", What::Member(Bootstrap, Incus::V6)),
        ("join", What::Member(Join, Incus::V6)),
        ("join-newer", What::Member(Join, Incus::V7)),
        ("remove", What::Member(Removal, Incus::V6)),
        ("remove-newer", What::Member(Removal, Incus::V7)),
    ] {
        if names.is_empty() || names.contains(&name) {
            // Each starts over with a machine that is installed anew, which takes too long for its reads.
            let counted = match act {
                What::App(_) => Counted::All,
                What::Member(..) => Counted::Mutating,
            };
            let everything =
                [Moment::Before, Moment::After].map(|moment| (moment, counted, Deed::KillClient));
            let host = (Moment::After, Counted::Mutating, Deed::KillHost);
            sweeps.extend(
                everything
                    .into_iter()
                    .chain([host])
                    .map(|how| (name, act, how)),
            );
        }
    }
    if sweeps.is_empty() {
        bail!(
            "nothing to do: {} is none of create, roll, replace, scale, destroy, bootstrap, join, join-newer, remove, remove-newer",
            names.join(" ")
        );
    }
    let context = Context::new(Programs::find()?);
    println!("Killing the provider with {}.", context.programs.told);
    // Brought up before the clock of any sweep starts.
    context.single()?;
    let (waiting, failed) = (Mutex::new(sweeps.into_iter()), Mutex::new(0u8));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some((name, act, how)) = next(&waiting) {
                    if !sweep(&context, name, act, how) {
                        *failed
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner) = 1;
                    }
                }
            });
        }
    });
    Ok(failed.into_inner().unwrap_or(1))
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .next()
}

fn sweep(context: &Context, name: &str, what: What, how: (Moment, Counted, Deed)) -> bool {
    let since = Instant::now();
    let (moment, counted, deed) = how;
    let who = if deed == Deed::KillHost {
        "OpenTofu"
    } else {
        "the provider"
    };
    let when = if moment == Moment::Before {
        "before"
    } else {
        "after"
    };
    let slug = format!(
        "soak-{name}-{}{when}",
        if deed == Deed::KillHost { "host-" } else { "" }
    );
    let swept = match what {
        What::App(act) => scenarios::sweep(context, &slug, act, counted, moment, deed),
        What::Member(act, incus) => joins::sweep(context, &slug, (act, incus), moment, deed),
    };
    match swept {
        Ok(steps) => {
            let writes = steps.iter().filter(|step| step.at.is_mutating()).count();
            let imported = steps.iter().filter(|step| step.imported).count();
            println!(
                "{name}: killed {who} {when} each of {} requests ({writes} writes), every one mended by the next apply \
                 ({imported} by import), in {:.0?}",
                steps.len(),
                since.elapsed()
            );
            true
        }
        Err(error) => {
            println!(
                "{name}: FAILED, {who} {when} a request, after {:.0?}: {error:#}",
                since.elapsed()
            );
            false
        }
    }
}
