//! What is in the way of an app is told before anything is published, all of it, and nothing is changed.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{App, expect_serving, provider};
use crate::lab::{POOL, VERSION_1, VERSION_2};
use crate::proxy::Proxy;
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "everything_in_the_way_is_told_before_anything_changes",
        proves: "A profile, a pool and a group that do not exist, a name that is taken and a project without room are all \
                 told in one apply, which sends no request that changes anything; an app that serves goes on serving.",
        group: "preflight",
        needs: &[],
        seconds: 20,
        run: all_at_once,
    },
    Scenario {
        name: "a_port_of_the_host_that_is_taken_is_told_with_its_holder",
        proves: "A port of the host that an instance of another project holds is refused at the device, with the holder; and \
                 an app that comes up beside itself is refused in the plan.",
        group: "preflight",
        needs: &[],
        seconds: 10,
        run: ports,
    },
];

fn all_at_once(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let shared = [
        "images",
        "profiles",
        "networks",
        "storage.volumes",
        "storage.buckets",
    ]
    .map(|feature| (format!("features.{feature}"), json!("false")));
    let mut config: serde_json::Map<String, serde_json::Value> = shared.into_iter().collect();
    config.insert("limits.instances".to_owned(), json!("2"));
    let tight = json!({ "name": "tight", "config": config });
    observer.request("POST", "/1.0/projects", Some(&tight))?;
    let proxy = context.proxy("preflight", &lab)?;
    let workspace = context.workspace("preflight-all")?;
    let block = provider(&[proxy.endpoint()], "validate-preflight")
        .replace("\n}", "\n  project       = \"tight\"\n}");
    let good = App::new("narrow", 1, VERSION_1);
    workspace.main(&format!("{block}{}", good.hcl()))?;
    workspace.apply()?.succeeded()?;
    let taken = json!({
        "name": "narrow-1-g0", "type": "container", "source": { "type": "none" },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    observer.finish("POST", "/1.0/instances?project=tight", Some(&taken))?;
    let before = observer.instances("tight")?;
    let bad = App {
        more: "  workload = {\n    profiles = [\"default\", \"nope\"]\n    devices = { data = { type = \"disk\", pool = \"none\", \
               source = \"x\", path = \"/d\" } }\n  }\n  placement = { group = \"edge\" }\n"
            .to_owned(),
        ..App::new("narrow", 3, VERSION_2)
    };
    workspace.main(&format!("{block}{}", bad.hcl()))?;
    proxy.clear();
    let mut run = workspace.apply()?.failed()?;
    for part in [
        "The profile \"nope\" does not exist",
        "The storage pool \"none\" does not exist",
        "The cluster group \"edge\" does not exist",
        "The project \"tight\" has no room for the app",
        "The instance name narrow-1-g0 is taken",
    ] {
        run = run.says(part)?;
    }
    nothing_changed(&proxy)?;
    ensure!(
        observer.instances("tight")? == before,
        "an instance was changed"
    );
    workspace.main(&format!("{block}{}", good.hcl()))?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    observer.finish("DELETE", "/1.0/instances/narrow-1-g0?project=tight", None)?;
    observer
        .request("DELETE", "/1.0/projects/tight", None)
        .map(drop)
}

fn nothing_changed(proxy: &Proxy) -> Result<()> {
    let mutations = proxy.mutations();
    ensure!(
        mutations.is_empty(),
        "the refusal changed something: {mutations:#?}"
    );
    Ok(())
}

fn ports(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let proxy = context.proxy("preflight-ports", &lab)?;
    let workspace = context.workspace("preflight-ports")?;
    let block = provider(&[proxy.endpoint()], "validate-ports");
    let http = |port: u16| json!({ "type": "proxy", "listen": format!("tcp:0.0.0.0:{port}"), "connect": "tcp:127.0.0.1:80" });
    let holder = json!({
        "name": "holder", "type": "container", "source": { "type": "none" },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL }, "http": http(8099) },
    });
    observer.finish("POST", "/1.0/instances", Some(&holder))?;
    let mut app = App::new("portly", 1, VERSION_1);
    app.more = "  workload = { devices = { http = { type = \"proxy\", listen = \"tcp:127.0.0.1:8090-8100\", connect = \"tcp:127.0.0.1:80\" } } }\n"
        .to_owned();
    workspace.main(&format!("{block}{}", app.hcl()))?;
    let plan = workspace.plan()?;
    ensure!(
        plan.code == Some(1),
        "it would come up beside itself: {}",
        plan.told()
    );
    plan.says("generic-exclusive")?;
    let exclusive = app.hcl().replace("generic-stateless", "generic-exclusive");
    workspace.main(&format!("{block}{exclusive}"))?;
    workspace
        .apply()?
        .failed()?
        .says("holder (project default)")?;
    nothing_changed(&proxy)?;
    observer.delete("holder")?;
    let free = App::new("portly", 1, VERSION_1);
    workspace.main(&format!("{block}{}", free.hcl()))?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "portly", 1, VERSION_1).context("after all")?;
    workspace.destroy()?.succeeded().map(drop)
}
