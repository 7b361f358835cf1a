//! What people do behind our back: workloads stopped, deleted, or names taken by something else.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{POOL, VERSION_1};
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
        proves: "An instance that has a workload's name but not our keys is reported, and neither changed nor deleted.",
        group: "drift",
        needs: &[],
        seconds: 6,
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
    let app = App::new("taken", 1, VERSION_1);
    let squatter = json!({
        "name": "taken-g0", "type": "container", "source": { "type": "none" },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
        "config": { "user.note": "somebody else's" },
    });
    observer.finish("POST", "/1.0/instances", Some(&squatter))?;
    let before = observer.get("/1.0/instances/taken-g0")?;
    workspace.main(&format!(
        "{}{}",
        provider(&[endpoint(&lab.first().socket())], "validate-taken"),
        app.hcl()
    ))?;
    workspace.apply()?.failed()?.says("taken-g0")?;
    ensure!(
        observer.get("/1.0/instances/taken-g0")? == before,
        "somebody else's instance was changed"
    );
    observer.delete("taken-g0")?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "taken", 1, VERSION_1)?;
    workspace.destroy()?.succeeded().map(drop)
}
