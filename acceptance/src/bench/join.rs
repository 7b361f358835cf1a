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
    let (ours, by_hand) = (median(ours), median(by_hand));
    let own = ours.saturating_sub(by_hand);
    println!(
        "join                 {:.0} ms, {:.2} of {:.0} ms for the same by raw API (aim: at most 1.3; {:.0} ms are its own; an \
         empty plan alone takes {:.0} ms)",
        milliseconds(ours),
        ratio(ours, by_hand),
        milliseconds(by_hand),
        milliseconds(own),
        milliseconds(median(floor)),
    );
    Ok(())
}
