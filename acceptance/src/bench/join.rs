//! How long an apply takes that makes one machine a member, over the same by raw API.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{median, ratio};
use crate::lab::Incus;
use crate::scenario::Context;
use crate::scenarios::joins::{Declared, Site, resource};

/// Odd, so that there is a middle one.
const ROUNDS: usize = 5;

pub(super) fn run(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "bench-join", &[Incus::V6; 2], 1)?;
    let joiner = site.lab.member("m2")?;
    site.declare(&["m1"], &[Declared::join("m2")])?;
    let (mut ours, mut by_hand, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(site.workspace.apply()?.succeeded()?.took);
        floor.push(site.workspace.expect_empty_plan()?.took);
        site.workspace
            .run(&["state", "rm", &resource("m2")])?
            .succeeded()?;
        site.start_over(joiner)?;
        let since = Instant::now();
        site.lab.join(joiner)?;
        by_hand.push(since.elapsed());
        site.start_over(joiner)?;
    }
    site.down()?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (ours, by_hand, floor) = (median(ours), median(by_hand), median(floor));
    // A join is so short that what every command takes would hide the rest.
    let rest = ours.saturating_sub(floor);
    println!(
        "join                 {:.0} ms, of which an empty plan takes {:.0} ms; the rest is {:.2} of {:.0} ms for the same by raw \
         API (aim: at most 1.3)",
        milliseconds(ours),
        milliseconds(floor),
        ratio(rest, by_hand),
        milliseconds(by_hand),
    );
    Ok(())
}
