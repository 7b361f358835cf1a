//! How long a blue-green rollout takes, without its waiting, over the same steps by raw API.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::{median, ratio};
use crate::lab::{Lab, POOL, VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::scenario::Context;
use crate::scenarios::{App, endpoint, provider};

/// Odd, so that there is a middle one; each round rolls there and back.
const ROUNDS: usize = 5;
const REPLICAS: u32 = 2;
/// Replicas are rolled one after the other, and each candidate must be well for this long.
const MIN_HEALTHY_TIME: Duration = Duration::from_secs(2);

pub(super) fn run(context: &Context, lab: &Lab) -> Result<()> {
    let observer = lab.observer();
    let workspace = context.workspace("bench-rollout")?;
    let block = provider(&[endpoint(&lab.first().socket())], "bench-rollout");
    let write = |image| {
        workspace.main(&format!(
            "{block}{}",
            App::new("bench", REPLICAS, image).hcl()
        ))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    for old in 0..REPLICAS {
        make(&observer, &raw(old, 0), VERSION_1)?;
    }
    let (mut ours, mut by_hand, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let image = if round % 2 == 1 { VERSION_2 } else { VERSION_1 };
        write(image)?;
        ours.push(
            workspace
                .apply()?
                .succeeded()?
                .took
                .saturating_sub(MIN_HEALTHY_TIME * REPLICAS),
        );
        floor.push(workspace.expect_empty_plan()?.took);
        let since = Instant::now();
        for replica in 0..REPLICAS {
            make(&observer, &raw(replica, round), image)?;
            unmake(&observer, &raw(replica, round - 1))?;
        }
        by_hand.push(since.elapsed());
    }
    workspace.destroy()?.succeeded()?;
    for replica in 0..REPLICAS {
        unmake(&observer, &raw(replica, ROUNDS))?;
    }
    let left = observer.instances("default")?;
    ensure!(left.is_empty(), "instances are left: {left:?}");
    let (ours, by_hand) = (median(ours), median(by_hand));
    println!(
        "blue-green rollout   {:.0} ms without its waiting, {:.2} of {:.0} ms for the same steps by raw API (aim: at most \
         1.2; an empty plan alone takes {:.0} ms)",
        ours.as_secs_f64() * 1e3,
        ratio(ours, by_hand),
        by_hand.as_secs_f64() * 1e3,
        median(floor).as_secs_f64() * 1e3
    );
    Ok(())
}

fn raw(replica: u32, round: usize) -> String {
    format!("raw-{replica}-g{round}")
}

fn make(observer: &Observer, name: &str, image: &str) -> Result<()> {
    let instance = json!({
        "name": name, "type": "container", "source": { "type": "image", "alias": image },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    observer.finish("POST", "/1.0/instances", Some(&instance))?;
    let start = json!({ "action": "start", "timeout": 30 });
    observer
        .finish("PUT", &format!("/1.0/instances/{name}/state"), Some(&start))
        .map(drop)
}

fn unmake(observer: &Observer, name: &str) -> Result<()> {
    let stop = json!({ "action": "stop", "timeout": 30 });
    observer.finish("PUT", &format!("/1.0/instances/{name}/state"), Some(&stop))?;
    observer
        .finish("DELETE", &format!("/1.0/instances/{name}"), None)
        .map(drop)
}
