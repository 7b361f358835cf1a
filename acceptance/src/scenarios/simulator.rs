//! The simulator: whether it answers as a real Incus does, and the real provider at it.
//!
//! The first three scenarios carry all that is shown with it: the same requests, to it and to a cluster of the lab.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::{App, provider};
use crate::alike::{Side, exchanges};
use crate::lab::{Incus, Lab, POOL, VERSION_1, VERSION_2};
use crate::listener::Listener;
use crate::observer::{APP_KEY, Observer};
use crate::proxy::Proxy;
use crate::scenario::{Context, Scenario};
use crate::simulator::Simulator;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "the_simulator_answers_as_incus_does",
        proves: "Every kind of request that apps need, and every refusal of it, has the same answer from the simulator \
                 as from a real cluster, field by field.",
        group: "simulator",
        needs: &[],
        seconds: 20,
        run: alike,
    },
    Scenario {
        name: "the_simulator_loses_the_updates_that_incus_loses",
        proves: "Of parallel creations of a profile exactly one succeeds, and parallel patches lose updates, at the \
                 simulator as at a real cluster.",
        group: "simulator",
        needs: &[],
        seconds: 10,
        run: races,
    },
    Scenario {
        name: "the_simulator_tells_what_incus_tells",
        proves: "Whoever listens to events hears of an instance's life the same from the simulator as from a real \
                 cluster, in the same order.",
        group: "simulator",
        needs: &[],
        seconds: 10,
        run: events,
    },
    Scenario {
        name: "twenty_apps_live_on_five_simulated_members",
        proves: "Twenty apps of three replicas each are made, rolled and destroyed on five members; nothing is planned \
                 in between, and no plan sends more requests for twenty apps than for one.",
        group: "simulator",
        needs: &[],
        seconds: 60,
        run: twenty,
    },
];

/// A cluster of the release as which the simulator speaks.
fn cluster(context: &Context) -> Result<Arc<Lab>> {
    match Incus::chosen()? {
        Incus::V6 => context.cluster(),
        Incus::V7 => Lab::up_with("alike", 3, Incus::V6).map(Arc::new),
    }
}

fn alike(context: &Context) -> Result<()> {
    let lab = cluster(context)?;
    let simulator = Simulator::start(context, "alike", &["--members", "3"])?;
    let (mut real, mut simulated) = (Side::new(lab.observer())?, Side::new(simulator.observer())?);
    let mut wrong = String::new();
    for exchange in exchanges()? {
        let asking = || format!("{} ({})", exchange.request, exchange.about);
        let one = real.ask(&exchange).with_context(asking)?;
        let other = simulated.ask(&exchange).with_context(asking)?;
        let mut found = exchange.differences(&one, &other);
        for (side, answer) in [("Incus", &one), ("the simulator", &other)] {
            let missing = exchange.missing(answer);
            found.extend(missing.map(|at| format!("{side}: {at}")));
        }
        if !found.is_empty() {
            let _ = writeln!(wrong, "{}\n  {}", asking(), found.join("\n  "));
        }
    }
    ensure!(wrong.is_empty(), "the two differ:\n{wrong}");
    Ok(())
}

/// Enough of them that none ever came through unharmed (`concurrent writers` were measured with 12 and with 20).
const WRITERS: usize = 20;

fn races(context: &Context) -> Result<()> {
    let lab = cluster(context)?;
    let simulator = Simulator::start(context, "races", &["--latency", "20ms"])?;
    for (side, observer) in [
        ("Incus", lab.observer()),
        ("the simulator", simulator.observer()),
    ] {
        race(&observer).with_context(|| format!("at {side}"))?;
    }
    Ok(())
}

fn race(observer: &Observer) -> Result<()> {
    const PROFILE: &str = "/1.0/profiles/raced";
    let create = json!({ "name": "raced", "config": {} });
    let statuses = at_once(|_| status(observer, "POST", "/1.0/profiles", &create))?;
    let made = statuses.iter().filter(|status| **status == 201).count();
    ensure!(
        made == 1,
        "{made} of {WRITERS} creations succeeded: {statuses:?}"
    );
    let patch = |writer| {
        let body = json!({ "config": { format!("user.{writer}"): "1" } });
        status(observer, "PATCH", PROFILE, &body)
    };
    let statuses = at_once(patch)?;
    let kept = observer.get(PROFILE)?["config"]
        .as_object()
        .map(|keys| keys.len());
    let written = statuses.iter().filter(|status| **status == 200).count();
    observer.request("DELETE", PROFILE, None)?;
    ensure!(
        kept.is_some_and(|kept| kept < written),
        "{kept:?} of {written} acknowledged patches are there"
    );
    Ok(())
}

fn status(observer: &Observer, method: &str, path: &str, body: &Value) -> Result<u16> {
    let headers = [("Content-Type", "application/json")];
    let (status, _) = observer.exchange(method, path, &headers, body.to_string().as_bytes())?;
    Ok(status)
}

fn at_once(send: impl Fn(usize) -> Result<u16> + Sync) -> Result<Vec<u16>> {
    thread::scope(|scope| {
        let send = &send;
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || send(writer)))
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join());
        answers
            .map(|status| status.map_err(|_| anyhow!("a writer panicked"))?)
            .collect()
    })
}

fn events(context: &Context) -> Result<()> {
    let lab = cluster(context)?;
    let simulator = Simulator::start(context, "events", &["--latency", "20ms"])?;
    let real = life(&lab.observer()).context("at Incus")?;
    let simulated = life(&simulator.observer()).context("at the simulator")?;
    ensure!(
        real == simulated,
        "Incus tells {real:#?}, and the simulator {simulated:#?}"
    );
    Ok(())
}

/// What is told of an instance from its creation to its end, in a project of its own.
fn life(observer: &Observer) -> Result<Vec<String>> {
    let features = ["images", "networks", "profiles", "storage.volumes"];
    let features = features.map(|one| (format!("features.{one}"), json!("false")));
    let config: serde_json::Map<String, Value> = features.into_iter().collect();
    let project = json!({ "name": "told", "config": config });
    observer.request("POST", "/1.0/projects", Some(&project))?;
    let path = "/1.0/events?type=lifecycle&project=told";
    let mut listener = Listener::start(observer.socket(), path)?;
    let instance = json!({
        "name": "one", "source": { "type": "image", "alias": VERSION_1 }, "start": true,
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    let state = |action, force| json!({ "action": action, "force": force, "timeout": 30 });
    for (method, path, body) in [
        ("POST", "?target=m2&", Some(instance)),
        (
            "PATCH",
            "/one?",
            Some(json!({ "config": { "user.k": "v" } })),
        ),
        ("PUT", "/one/state?", Some(state("stop", false))),
        ("PUT", "/one/state?", Some(state("start", false))),
        ("PUT", "/one/state?", Some(state("freeze", false))),
        ("PUT", "/one/state?", Some(state("unfreeze", false))),
        ("PUT", "/one/state?", Some(state("stop", true))),
        ("POST", "/one?", Some(json!({ "name": "other" }))),
        ("DELETE", "/other?", None),
    ] {
        let path = format!("/1.0/instances{path}project=told");
        observer.finish(method, &path, body.as_ref())?;
    }
    observer.request("DELETE", "/1.0/projects/told", None)?;
    let mut told = Vec::new();
    loop {
        let event = listener.hear()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &event["metadata"];
        let action = text(&metadata["action"]);
        told.push(format!(
            "{} {action} {} {} on {} in {}",
            text(&event["type"]),
            text(&metadata["source"]),
            text(&metadata["name"]),
            text(&event["location"]),
            text(&event["project"]),
        ));
        if action == "instance-deleted" {
            return Ok(told);
        }
    }
}

fn twenty(context: &Context) -> Result<()> {
    let options = ["--members", "5", "--latency", "20ms"];
    let simulator = Simulator::start(context, "twenty", &options)?;
    let observer = simulator.observer();
    let proxy = Proxy::start(&context.file("twenty-proxy.socket"), &simulator.socket())?;
    let workspace = context.workspace("simulator-twenty")?;
    let write = |count, image| {
        let block = provider(&[proxy.endpoint()], "validate-twenty");
        workspace.main(&(block + &apps(count, image)))
    };
    let requests_of_a_plan = || -> Result<Vec<String>> {
        proxy.clear();
        workspace.expect_empty_plan()?;
        let mut seen: Vec<String> = proxy.seen().iter().map(ToString::to_string).collect();
        seen.sort();
        Ok(seen)
    };
    write(1, VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let for_one = requests_of_a_plan()?;
    for image in [VERSION_1, VERSION_2] {
        write(20, image)?;
        workspace.apply()?.succeeded()?;
        expect_spread(&observer, image)?;
        let for_twenty = requests_of_a_plan()?;
        ensure!(
            for_twenty == for_one,
            "a plan of one app sends {for_one:?}, and one of twenty {for_twenty:?}"
        );
    }
    workspace.destroy()?.succeeded()?;
    let left = observer.instances("default")?;
    ensure!(left.is_empty(), "instances are left: {left:?}");
    Ok(())
}

fn apps(count: usize, image: &'static str) -> String {
    let app = |number| App {
        min_healthy_time: "0s",
        ..App::new(&format!("app{number:02}"), 3, image)
    };
    (0..count).map(|number| app(number).hcl()).collect()
}

/// Three running workloads of each app, each on a member of its own.
fn expect_spread(observer: &Observer, image: &str) -> Result<()> {
    let instances = observer.instances("default")?;
    ensure!(instances.len() == 60, "{} workloads", instances.len());
    for number in 0..20 {
        let app = format!("app{number:02}");
        let ours = instances
            .iter()
            .filter(|one| one["config"][APP_KEY] == *app);
        let mut members = BTreeSet::new();
        for workload in ours {
            let key = workload["config"]["user.homelab-ops.image"].as_str();
            ensure!(
                workload["status"] == "Running" && key.is_some_and(|key| key.contains(image)),
                "{workload:#}"
            );
            members.insert(workload["location"].to_string());
        }
        ensure!(members.len() == 3, "{app} is on {members:?}");
    }
    Ok(())
}
