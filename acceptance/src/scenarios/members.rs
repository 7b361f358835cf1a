//! Members that die. Each scenario has a cluster of its own to kill.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Lab, VERSION_1, VERSION_2};
use crate::process::wait_until;
use crate::scenario::{Context, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_dead_member_is_a_warning_and_other_apps_go_on",
        proves: "With one member of three dead, a plan warns and names it, other apps roll on, its stateless replica \
                 comes up elsewhere, and what it left is tidied up when it is back.",
        group: "members",
        needs: &[],
        seconds: 70,
        run: dead_member,
    },
    Scenario {
        name: "the_next_endpoint_serves_when_the_contacted_member_is_dead",
        proves: "With three endpoints and the first member dead, plans and applies go through another one.",
        group: "members",
        needs: &[],
        seconds: 60,
        run: next_endpoint,
    },
];

fn dead_member(context: &Context) -> Result<()> {
    let lab = Lab::up("dead", 3)?;
    let observer = lab.observer();
    let workspace = context.workspace("members-dead")?;
    let block = provider(&[endpoint(&lab.first().socket())], "homelab");
    let write = |image| {
        workspace.main(&format!(
            "{block}{}{}",
            App::new("wide", 3, VERSION_1).hcl(),
            App::new("other", 1, image).hcl()
        ))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&observer, "wide", 3, VERSION_1)?;
    let lost = before
        .iter()
        .find(|workload| workload.location == "m3")
        .context("nothing of the app is on m3")?;

    let dead = lab.member("m3")?;
    dead.power_off()?;
    let plan = workspace.plan()?;
    ensure!(
        plan.code != Some(1),
        "a plan fails for one dead member: {}",
        plan.told()
    );
    plan.says("Warning")?.says("m3")?;

    dead.wait_listed(&observer, "Offline")?;
    write(VERSION_2)?;
    workspace.expect_changes()?.says("m3")?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "other", 1, VERSION_2)?;
    let moved = expect_serving(&observer, "wide", 3, VERSION_1)?;
    ensure!(
        moved.iter().all(|workload| workload.location != "m3"),
        "{moved:#?}"
    );
    for kept in before.iter().filter(|workload| workload.location != "m3") {
        ensure!(
            moved.contains(kept),
            "a living replica was touched: {before:#?} {moved:#?}"
        );
    }

    dead.start()?;
    dead.wait_listed(&observer, "Online")?;
    // A member is Online before its daemon takes orders from the others.
    let answers = "the returned member answers for its workload";
    wait_until(answers, Duration::from_secs(30), || {
        let state = observer.get(&format!("/1.0/instances/{}/state", lost.name));
        let mut workloads = observer.workloads("wide")?.into_iter();
        Ok(state.is_ok() && workloads.any(|workload| workload.name == lost.name))
    })?;
    workspace.apply()?.succeeded()?;
    let after = expect_serving(&observer, "wide", 3, VERSION_1)?;
    ensure!(
        after == moved,
        "the replacement should stay and the old one go: {after:#?}"
    );
    workspace.expect_empty_plan()?.says_not("m3")?;
    lab.down()
}

fn next_endpoint(context: &Context) -> Result<()> {
    let lab = Lab::up("next", 3)?;
    let workspace = context.workspace("members-next")?;
    let endpoints: Vec<String> = lab
        .members()
        .iter()
        .map(|member| endpoint(&member.socket()))
        .collect();
    let block = provider(&endpoints, "homelab");
    workspace.main(&format!("{block}{}", App::new("early", 3, VERSION_1).hcl()))?;
    workspace.apply()?.succeeded()?;

    lab.first().power_off()?;
    let plan = workspace.plan()?;
    ensure!(
        plan.code != Some(1),
        "a plan fails although two members live: {}",
        plan.told()
    );
    let through = lab.member("m2")?.observer();
    lab.first().wait_listed(&through, "Offline")?;
    // A new leader may take the living for dead until it has heard from them.
    for living in ["m2", "m3"] {
        lab.member(living)?.wait_listed(&through, "Online")?;
    }
    workspace.main(&format!(
        "{block}{}{}",
        App::new("early", 3, VERSION_1).hcl(),
        App::new("late", 1, VERSION_1).hcl()
    ))?;
    workspace.apply()?.succeeded()?;
    expect_serving(&through, "late", 1, VERSION_1)?;
    expect_serving(&through, "early", 3, VERSION_1)?;
    workspace.expect_empty_plan()?.says("m1")?;
    lab.down()
}
