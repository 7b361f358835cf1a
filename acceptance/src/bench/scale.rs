//! How long a plan takes of hundreds of apps, and of ten thousand workloads, over raw requests for the same lists.
//!
//! No lab has so many, so these run at the simulator (`simulator.rs`), in a debug build: what it takes itself is in both
//! figures. Workloads beyond the first of an app are made by hand, with its keys: how they came about is the same to a plan.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::plan::{AS_LARGE_AS_AN_APP, many_apps, many_built_in, timed};
use super::{median, ratio};
use crate::observer::{GENERATION_KEY, Observer};
use crate::process::wait_until;
use crate::proxy::Proxy;
use crate::scenario::Context;
use crate::scenarios::{endpoint, provider};
use crate::simulator::Simulator;
use crate::workspace::Workspace;

const ROUNDS: usize = 3;
const MEMBERS: usize = 5;
/// By hand they are made over so many connections at once.
const HANDS: usize = 4;

/// Plans of a fleet, and what they are compared with.
struct Plans<'a> {
    context: &'a Context,
    simulator: Simulator,
    proxy: Proxy,
    workspace: Workspace,
}

pub(super) fn run(context: &Context) -> Result<()> {
    let few = Plans::new(context, "few")?;
    few.declare(300, 1)?;
    let one = few.measure("300 apps", 300)?;
    drop(few);
    let many = Plans::new(context, "many")?;
    many.declare(100, 1)?;
    many.multiply(100, 100)?;
    many.declare(100, 100)?;
    let other = many.measure("100 apps of 100 replicas", 100)?;
    println!("requests             {one} for 300 workloads, {other} for 10,000 (aim: the same)");
    Ok(())
}

impl<'a> Plans<'a> {
    fn new(context: &'a Context, name: &str) -> Result<Plans<'a>> {
        let name = format!("bench-scale-{name}");
        let members = MEMBERS.to_string();
        let simulator = Simulator::start(context, &name, &["--members", &members])?;
        let proxy = context.file(&format!("{name}-proxy.socket"));
        Ok(Plans {
            proxy: Proxy::start(&proxy, &simulator.socket())?,
            workspace: context.workspace(&name)?,
            context,
            simulator,
        })
    }

    /// Applies so many apps. Not through the proxy, which has a thread for each connection.
    fn declare(&self, apps: usize, replicas: usize) -> Result<()> {
        let write = |endpoint: String| {
            let apps = many_apps(apps).replace("replicas = 1", &format!("replicas = {replicas}"));
            let block = provider(&[endpoint], "bench-scale");
            self.workspace.main(&format!("{block}{apps}"))
        };
        write(endpoint(&self.simulator.socket()))?;
        self.workspace.apply()?.succeeded()?;
        write(self.proxy.endpoint())
    }

    /// Makes the other replicas of so many apps.
    fn multiply(&self, apps: usize, replicas: usize) -> Result<()> {
        let observer = self.simulator.observer();
        let firsts = observer.instances("default")?;
        ensure!(firsts.len() == apps, "{} workloads", firsts.len());
        thread::scope(|scope| -> Result<()> {
            let hands: Vec<_> = firsts
                .chunks(firsts.len().div_ceil(HANDS))
                .map(|firsts| scope.spawn(|| copy(&self.simulator.observer(), firsts, replicas)))
                .collect();
            for hand in hands {
                hand.join().map_err(|_| anyhow!("a hand panicked"))??;
            }
            Ok(())
        })?;
        wait_until("all of them run", Duration::from_secs(60), || {
            let instances = observer.instances("default")?;
            let running = instances.iter().filter(|one| one["status"] == "Running");
            Ok(running.count() == apps * replicas)
        })
    }

    /// Times plans that find nothing to do; gives the number of requests of one.
    fn measure(&self, what: &str, apps: usize) -> Result<usize> {
        let built_in = self.context.workspace("bench-scale-built-in")?;
        built_in.main(&many_built_in(apps, AS_LARGE_AS_AN_APP))?;
        built_in.apply()?.succeeded()?;
        let (mut ours, mut raw, mut floor) = (Vec::new(), Vec::new(), Vec::new());
        let (mut requests, mut bytes) = (0, 0);
        for _ in 0..ROUNDS {
            self.proxy.clear();
            ours.push(timed(&self.workspace)?);
            let seen = self.proxy.seen();
            requests = seen.len();
            let since = Instant::now();
            let paths = seen.iter().map(|request| request.target.as_str());
            bytes = self.fetch(paths)?;
            raw.push(since.elapsed());
            floor.push(timed(&built_in)?);
        }
        let [ours, raw, floor] = [ours, raw, floor].map(median);
        println!(
            "plan of {what}\n                     {:.0} ms, {:.2} of {:.0} ms for the same {requests} requests by raw API \
             ({:.1} MB), {:.2} of OpenTofu's own {:.0} ms for {apps} built-in resources that hold an object as large",
            ours.as_secs_f64() * 1e3,
            ratio(ours, raw),
            raw.as_secs_f64() * 1e3,
            bytes as f64 / 1e6,
            ratio(ours, floor),
            floor.as_secs_f64() * 1e3,
        );
        Ok(requests)
    }

    /// The same looks, one after the other; gives their size.
    fn fetch<'b>(&self, paths: impl Iterator<Item = &'b str>) -> Result<usize> {
        let socket = self.proxy.endpoint();
        let socket = socket.strip_prefix("unix://").context("a socket")?;
        let observer = Observer::new(socket.as_ref());
        let mut size = 0;
        for path in paths {
            size += observer.exchange("GET", path, &[], &[])?.1.len();
        }
        Ok(size)
    }
}

/// Makes the other replicas of these apps, running and found healthy as the first ones were.
fn copy(observer: &Observer, firsts: &[Value], replicas: usize) -> Result<()> {
    for first in firsts {
        let keys = first["config"].as_object().context("configuration")?;
        let ours = keys.iter().filter(|(key, _)| key.starts_with("user."));
        let ours: serde_json::Map<String, Value> = ours
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let app = ours["user.homelab-ops.app"].as_str().context("an app")?;
        let generation = ours[GENERATION_KEY].as_str().context("a generation")?;
        for ordinal in 1..replicas {
            let mut config = ours.clone();
            config.insert(
                "user.homelab-ops.member".to_owned(),
                json!(ordinal.to_string()),
            );
            let post = json!({
                "name": format!("{app}-{ordinal}-g{generation}"), "config": config, "devices": first["devices"],
                "description": first["description"], "start": true,
                "source": { "type": "image", "fingerprint": first["config"]["volatile.base_image"] },
            });
            let member = ordinal % MEMBERS + 1;
            let path = format!("/1.0/instances?target=m{member}");
            observer.request("POST", &path, Some(&post))?;
        }
    }
    Ok(())
}
