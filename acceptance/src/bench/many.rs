//! How long it takes to bring up ninety new workloads on three members, as one app and as ninety, over raw creates.
//!
//! The peer makes as many at a time as OpenTofu walks resources at a time, which is how the Go provider for Incus would do
//! it, and says for each which member it goes to. What is counted is told, too: requests that change something, and
//! lists, of which each is as long as there are workloads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::json;

use super::ratio;
use crate::lab::{Lab, POOL, VERSION_1};
use crate::observer::Observer;
use crate::proxy::{Proxy, Seen};
use crate::scenario::Context;
use crate::scenarios::{App, provider};
use crate::workspace::Workspace;

/// `WORKLOADS` in the environment makes it another number, for a look at how the figures grow.
const WORKLOADS: u32 = 90;
const MEMBERS: usize = 3;
/// OpenTofu's own default of `-parallelism`.
const HANDS: usize = 10;

struct Bench<'a> {
    context: &'a Context,
    lab: &'a Lab,
    proxy: Proxy,
    workloads: u32,
}

pub(super) fn run(context: &Context) -> Result<()> {
    let workloads = match std::env::var("WORKLOADS") {
        Ok(number) => number.parse().context("WORKLOADS wants a number")?,
        Err(_) => WORKLOADS,
    };
    let lab = Lab::up("bench-many", MEMBERS)?;
    let bench = Bench {
        proxy: context.proxy("bench-many", &lab)?,
        context,
        lab: &lab,
        workloads,
    };
    // The first workload of a member unpacks the image there, and whoever came first would pay for it.
    bench.by_hand(u32::try_from(MEMBERS)?)?;
    let by_hand = bench.by_hand(workloads)?;
    bench.tell("one app", &bench.one_app(), by_hand)?;
    bench.tell("an app each", &bench.an_app_each(), by_hand)?;
    lab.down()
}

impl Bench<'_> {
    fn one_app(&self) -> String {
        quick(App::new("many", self.workloads, VERSION_1))
    }

    fn an_app_each(&self) -> String {
        let apps = 0..self.workloads;
        apps.map(|number| quick(App::new(&format!("many-{number}"), 1, VERSION_1)))
            .collect()
    }

    /// Applies these apps once, looks at what came of it and destroys it again.
    fn tell(&self, what: &str, apps: &str, by_hand: Duration) -> Result<()> {
        let workspace = self.workspace(apps)?;
        self.proxy.clear();
        let took = workspace.apply()?.succeeded()?.took;
        let seen = self.proxy.seen();
        let floor = workspace.expect_empty_plan()?.took;
        self.check()?;
        workspace.destroy()?.succeeded()?;
        let rest = took.saturating_sub(floor);
        println!(
            "{} new, {what:<12} {:.1} s, of which an empty plan takes {:.1} s; the rest is {:.2} of {:.1} s for as many raw \
             creates, {HANDS} at a time\n                     {}",
            self.workloads,
            took.as_secs_f64(),
            floor.as_secs_f64(),
            ratio(rest, by_hand),
            by_hand.as_secs_f64(),
            counted(&seen, self.workloads),
        );
        Ok(())
    }

    fn workspace(&self, apps: &str) -> Result<Workspace> {
        let name = format!("bench-many-{}", apps.len());
        let workspace = self.context.workspace(&name)?;
        let block = provider(&[self.proxy.endpoint()], "bench-many");
        workspace.main(&format!("{block}{apps}"))?;
        Ok(workspace)
    }

    /// All of them run, and as many on each member.
    fn check(&self) -> Result<()> {
        let instances = self.lab.observer().instances("default")?;
        let running = instances.iter().filter(|one| one["status"] == "Running");
        ensure!(
            running.count() == self.workloads as usize,
            "some do not run"
        );
        let fair = (self.workloads as usize).div_ceil(MEMBERS);
        for member in self.lab.members() {
            let here = instances
                .iter()
                .filter(|one| one["location"] == member.name());
            let here = here.count();
            ensure!(here <= fair + 1, "{here} on {}", member.name());
        }
        Ok(())
    }

    /// Makes and starts so many, spread over the members, and removes them; how long the first part takes.
    fn by_hand(&self, number: u32) -> Result<Duration> {
        let members: Vec<&str> = self.lab.members().iter().map(|one| one.name()).collect();
        let since = Instant::now();
        self.side_by_side(number, |observer, one| {
            let member = members[one as usize % MEMBERS];
            let post = json!({
                "name": raw(one), "type": "container", "start": true, "source": { "type": "image", "alias": VERSION_1 },
                "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
            });
            let path = format!("/1.0/instances?target={member}");
            observer.finish("POST", &path, Some(&post)).map(drop)
        })?;
        let took = since.elapsed();
        self.side_by_side(number, |observer, one| observer.delete(&raw(one)))?;
        Ok(took)
    }

    fn side_by_side(
        &self,
        number: u32,
        act: impl Fn(&Observer, u32) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicU32::new(0);
        let hand = || -> Result<()> {
            let observer = self.lab.observer();
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    one if one < number => act(&observer, one)?,
                    _ => return Ok(()),
                }
            }
        };
        thread::scope(|scope| {
            let hands: Vec<_> = (0..HANDS).map(|_| scope.spawn(hand)).collect();
            let mut ends = hands.into_iter().map(|hand| hand.join());
            ends.try_for_each(|end| end.map_err(|_| anyhow!("a hand panicked"))?)
        })
    }
}

/// Nothing to wait for: what is measured is the work.
fn quick(app: App) -> String {
    let app = App {
        min_healthy_time: "0s",
        ..app
    };
    // Machines with little to spare start ninety containers in minutes.
    app.hcl().replace("\"30s\"", "\"5m\"")
}

fn raw(number: u32) -> String {
    format!("raw-{number}")
}

/// How many requests there were for each workload, and of which kinds. The peer has two: a create, and a wait for it.
fn counted(seen: &[Seen], workloads: u32) -> String {
    let kinds = [
        ("lists of instances", "GET", "/1.0/instances?"),
        ("lists of members", "GET", "/1.0/cluster/members"),
        ("lists of profiles", "GET", "/1.0/profiles?"),
        ("looks at an operation", "GET", "/1.0/operations"),
        ("looks at a workload", "GET", "/1.0/instances/"),
        ("creates", "POST", "/1.0/instances"),
        ("stamps", "PATCH", "/1.0/instances"),
        ("records written", "POST", "/1.0/profiles"),
        ("records deleted", "DELETE", "/1.0/profiles"),
    ];
    let each = |number: usize| number as f64 / f64::from(workloads);
    let of_kind = |(what, method, path): &(&str, &str, &str)| {
        let is_one = |seen: &&Seen| seen.method == *method && seen.target.starts_with(path);
        let number = seen.iter().filter(is_one).count();
        format!("{:.1} {what}", each(number))
    };
    let kinds: Vec<String> = kinds.iter().map(of_kind).collect();
    format!(
        "{:.1} requests for each (by hand 2): {}",
        each(seen.len()),
        kinds.join(", ")
    )
}
