//! What people do behind our back: workloads stopped, deleted, or names taken by something else.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{POOL, VERSION_1, VERSION_2};
use crate::observer::{APP_KEY, GENERATION_KEY};
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_workload_deleted_by_hand_comes_back",
        proves: "A deleted workload shows in the plan and is made again by the apply, without touching its sibling.",
        group: "drift",
        needs: &[],
        seconds: 10,
        run: deleted,
    },
    Scenario {
        name: "a_workload_stopped_by_hand_is_started",
        proves: "A stopped workload shows in the plan and is started by the apply, not made anew.",
        group: "drift",
        needs: &[],
        seconds: 10,
        run: stopped,
    },
    Scenario {
        name: "a_name_taken_by_something_else_is_left_alone",
        proves: "An instance that has a workload's name but not our keys is reported, and neither changed nor deleted; one with \
                 another app's keys is reported as that app's, and what serves goes on serving.",
        group: "drift",
        needs: &[],
        seconds: 9,
        run: name_taken,
    },
];

fn deleted(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("drift-deleted")?;
    let app = App::new("lost", 2, VERSION_1);
    workspace.main(&format!(
        "{}{}",
        provider(&[endpoint(&lab.first().socket())], "validate-lost"),
        app.hcl()
    ))?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&observer, "lost", 2, VERSION_1)?;
    observer.delete(&before[1].name)?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    let after = expect_serving(&observer, "lost", 2, VERSION_1)?;
    ensure!(
        after.contains(&before[0]),
        "the sibling was touched: {before:#?} {after:#?}"
    );
    workspace.expect_empty_plan()?;
    // Everything at once.
    for workload in &after {
        observer.delete(&workload.name)?;
    }
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "lost", 2, VERSION_1)?;
    workspace.destroy()?.succeeded().map(drop)
}

fn stopped(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("drift-stopped")?;
    let app = App::new("halted", 2, VERSION_1);
    workspace.main(&format!(
        "{}{}",
        provider(&[endpoint(&lab.first().socket())], "validate-halted"),
        app.hcl()
    ))?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&observer, "halted", 2, VERSION_1)?;
    observer.stop(&before[0].name)?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    let after = expect_serving(&observer, "halted", 2, VERSION_1)?;
    let names = |workloads: &[crate::observer::Workload]| -> Vec<String> {
        workloads
            .iter()
            .map(|workload| workload.name.clone())
            .collect()
    };
    ensure!(
        names(&before) == names(&after),
        "it was made anew: {before:#?} {after:#?}"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn name_taken(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("drift-taken")?;
    let write = |image| {
        let block = provider(&[endpoint(&lab.first().socket())], "validate-taken");
        workspace.main(&format!("{block}{}", App::new("taken", 1, image).hcl()))
    };
    let squat = |name: &str, config: Value| {
        let squatter = json!({
            "name": name, "type": "container", "source": { "type": "none" }, "config": config,
            "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
        });
        observer.finish("POST", "/1.0/instances", Some(&squatter))?;
        observer.get(&format!("/1.0/instances/{name}"))
    };
    let before = squat("taken-g0", json!({ "user.note": "somebody else's" }))?;
    write(VERSION_1)?;
    let refused = workspace.apply()?.failed()?;
    refused
        .says("taken-g0")?
        .says("was not made by this provider")?;
    ensure!(
        observer.get("/1.0/instances/taken-g0")? == before,
        "somebody else's instance was changed"
    );
    observer.delete("taken-g0")?;
    workspace.apply()?.succeeded()?;
    let serving = expect_serving(&observer, "taken", 1, VERSION_1)?;
    let before = squat("taken-g1", json!({ APP_KEY: "shop", GENERATION_KEY: "1" }))?;
    write(VERSION_2)?;
    let refused = workspace.apply()?.failed()?;
    refused
        .says("taken-g1")?
        .says("carries the keys of app \"shop\"")?;
    ensure!(
        observer.get("/1.0/instances/taken-g1")? == before,
        "another app's instance was changed"
    );
    ensure!(
        expect_serving(&observer, "taken", 1, VERSION_1)? == serving,
        "what served was touched"
    );
    observer.delete("taken-g1")?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "taken", 1, VERSION_2)?;
    workspace.destroy()?.succeeded().map(drop)
}
