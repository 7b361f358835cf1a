//! The real provider at the simulator: more members than a lab has, virtual machines, shared pools.
//!
//! That it answers as a real Incus does is shown in `simulator.rs`; how virtual machines and shared pools answer was read
//! in Incus's sources, and no lab has shown it.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{App, endpoint, provider};
use crate::lab::{VERSION_1, VERSION_2};
use crate::observer::{APP_KEY, GENERATION_KEY, Observer};
use crate::proxy::Proxy;
use crate::scenario::{Context, Scenario};
use crate::simulator::Simulator;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "twenty_apps_live_on_five_simulated_members",
        proves: "Twenty apps of three replicas each are made, rolled and destroyed on five members; nothing is planned \
                 in between, and no plan sends more requests for twenty apps than for one.",
        group: "simulator",
        needs: &[],
        seconds: 60,
        run: twenty,
    },
    Scenario {
        name: "virtual_machines_roll_on_a_simulated_shared_pool",
        proves: "An app of virtual machines with root disks on a pool that all members share is made, rolled and \
                 destroyed, and one that was moved while it ran is left where it is.",
        group: "simulator",
        needs: &[],
        seconds: 15,
        run: machines,
    },
];

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

fn machines(context: &Context) -> Result<()> {
    let options = ["--shared-pool", "shared", "--latency", "20ms"];
    let simulator = Simulator::start(context, "machines", &options)?;
    let observer = simulator.observer();
    let workspace = context.workspace("simulator-machines")?;
    let block = provider(&[endpoint(&simulator.socket())], "validate-machines").replace(
        "  fleet_project",
        "  storage_pool  = \"shared\"\n  shared_pool   = \"shared\"\n  fleet_project",
    );
    for (generation, image) in [("0", "vm/v1"), ("1", "vm/v2")] {
        simulator.give_disk(context, image)?;
        let app = App {
            min_healthy_time: "0s",
            more:
                "  workload = { kind = \"vm\", config = { \"migration.stateful\" = \"true\" } }\n"
                    .to_owned(),
            ..App::new("desk", 2, image)
        };
        workspace.main(&format!("{block}{}", app.hcl()))?;
        workspace.apply()?.succeeded()?;
        let instances = observer.instances("default")?;
        ensure!(instances.len() == 2, "{instances:#?}");
        for machine in &instances {
            ensure!(
                machine["type"] == "virtual-machine"
                    && machine["status"] == "Running"
                    && machine["devices"]["root"]["pool"] == "shared"
                    && machine["config"][GENERATION_KEY] == generation,
                "{machine:#}"
            );
        }
        workspace.expect_empty_plan()?;
    }
    let before = observer.workloads("desk")?;
    let moved = before.first().context("a workload")?;
    let elsewhere = ["m1", "m2", "m3"];
    let mut elsewhere = elsewhere
        .iter()
        .filter(|one| before.iter().all(|other| other.location != **one));
    let target = elsewhere.next().context("a member without one")?;
    let path = format!("/1.0/instances/{}?target={target}", moved.name);
    let live = json!({ "migration": true, "live": true });
    observer.finish("POST", &path, Some(&live))?;
    workspace.expect_empty_plan()?;
    workspace.apply()?.succeeded()?;
    let after = observer.workloads("desk")?;
    ensure!(
        after[0].name == moved.name && after[0].location == *target,
        "{before:#?} {after:#?}"
    );
    workspace.destroy()?.succeeded()?;
    let left = observer.instances("default")?;
    ensure!(left.is_empty(), "instances are left: {left:?}");
    Ok(())
}
