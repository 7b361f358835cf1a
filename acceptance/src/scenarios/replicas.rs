//! Apps of several replicas on several members: one after the other, where they may be, and with a member that dies.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Incus, Lab, VERSION_1, VERSION_2};
use crate::process::wait_until;
use crate::scenario::{Context, Need, Scenario};
use crate::watch::watch;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "three_replicas_roll_one_at_a_time",
        proves: "While the image of three replicas changes there is one candidate at a time, and never fewer than the three are \
                 healthy (HO-APP-30).",
        group: "rollout",
        needs: &[],
        seconds: 20,
        run: one_at_a_time,
    },
    Scenario {
        name: "a_group_says_where_replicas_are",
        proves: "Replicas stay on the members of their cluster group, however empty the others are; another group moves them by \
                 a rollout; a group without members is an error that names it and changes nothing.",
        group: "rollout",
        needs: &[Need::Incus7],
        seconds: 45,
        run: group,
    },
    Scenario {
        name: "a_member_killed_in_a_rollout_does_not_keep_it",
        proves: "A member dies while candidates come up: one more apply at most ends the rollout on the others, never with fewer \
                 than one serving, and what it left goes when it is back.",
        group: "members",
        needs: &[Need::Incus7],
        seconds: 60,
        run: killed,
    },
];

fn one_at_a_time(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let observer = lab.observer();
    let workspace = context.workspace("replicas-roll")?;
    let write = |image| {
        let block = provider(&[endpoint(&lab.first().socket())], "validate-trio");
        workspace.main(&format!("{block}{}", App::new("trio", 3, image).hcl()))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let old = expect_serving(&observer, "trio", 3, VERSION_1)?;
    write(VERSION_2)?;
    let (apply, seen) = watch(&observer, "trio", || workspace.apply())?;
    let took = apply.succeeded()?.took;
    ensure!(
        took >= Duration::from_secs(6),
        "three trials of two seconds in {took:?}"
    );
    ensure!(seen.looks > 20, "only {} looks", seen.looks);
    ensure!(
        seen.fewest_healthy >= 3 && seen.most == 4,
        "at least 3 healthy and at most 4 running, not {} and {}: {:?}",
        seen.fewest_healthy,
        seen.most,
        seen.then
    );
    let new = expect_serving(&observer, "trio", 3, VERSION_2)?;
    let rolled = |old: &crate::observer::Workload| {
        let same = |new: &&crate::observer::Workload| new.ordinal == old.ordinal;
        new.iter()
            .find(same)
            .is_some_and(|new| new.generation == old.generation + 1)
    };
    ensure!(old.iter().all(rolled), "{old:#?}\n{new:#?}");
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn group(context: &Context) -> Result<()> {
    let lab = Lab::up_with("grouped", 3, Incus::V7)?;
    let observer = lab.observer();
    let workspace = context.workspace("replicas-group")?;
    for (group, members) in [
        ("fast", vec!["m2", "m3"]),
        ("slow", vec!["m1"]),
        ("none", vec![]),
    ] {
        let body = json!({ "name": group, "members": members });
        observer.finish("POST", "/1.0/cluster/groups", Some(&body))?;
    }
    let write = |replicas, group: &str| {
        let block = provider(&[endpoint(&lab.first().socket())], "homelab");
        let app = App {
            more: format!("  placement = {{ group = \"{group}\" }}\n"),
            ..App::new("bound", replicas, VERSION_1)
        };
        workspace.main(&format!("{block}{}", app.hcl()))
    };
    let on = |members: &[&str], replicas| -> Result<()> {
        let workloads = expect_serving(&observer, "bound", replicas, VERSION_1)?;
        let is_in = |one: &crate::observer::Workload| members.contains(&one.location.as_str());
        ensure!(
            workloads.iter().all(is_in),
            "not on {members:?}: {workloads:#?}"
        );
        Ok(())
    };
    write(4, "fast")?;
    workspace.apply()?.succeeded()?;
    on(&["m2", "m3"], 4)?;
    workspace.expect_empty_plan()?;
    write(2, "slow")?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    on(&["m1"], 2)?;
    workspace.expect_empty_plan()?;
    let before = observer.workloads("bound")?;
    write(2, "none")?;
    workspace
        .apply()?
        .failed()?
        .says("in the cluster group none")?;
    ensure!(
        observer.workloads("bound")? == before,
        "a refused change touched something"
    );
    write(2, "slow")?;
    workspace.apply()?.succeeded()?;
    ensure!(
        observer.workloads("bound")? == before,
        "changing back rolled what was serving"
    );
    workspace.expect_empty_plan()?;
    lab.down()
}

fn killed(context: &Context) -> Result<()> {
    let lab = Lab::up_with("struck", 3, Incus::V7)?;
    let observer = lab.observer();
    let workspace = context.workspace("replicas-killed")?;
    let write = |image| {
        let block = provider(&[endpoint(&lab.first().socket())], "homelab");
        workspace.main(&format!("{block}{}", App::new("hardy", 3, image).hcl()))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "hardy", 3, VERSION_1)?;
    write(VERSION_2)?;
    let apply = workspace.start_apply()?;
    wait_until("a candidate runs", Duration::from_secs(30), || {
        let workloads = observer.workloads("hardy")?;
        Ok(workloads
            .iter()
            .any(|one| one.image == VERSION_2 && one.is_running()))
    })?;
    let dead = lab.member("m3")?;
    dead.power_off()?;
    let apply = apply.wait()?;
    ensure!(apply.code.is_some(), "{}", apply.told());
    dead.wait_listed(&observer, "Offline")?;
    if apply.code != Some(0) {
        workspace.apply()?.succeeded()?;
    }
    let moved = expect_serving(&observer, "hardy", 3, VERSION_2)?;
    ensure!(moved.iter().all(|one| one.location != "m3"), "{moved:#?}");
    workspace.expect_empty_plan()?;

    dead.start()?;
    dead.wait_listed(&observer, "Online")?;
    let answers = "the returned member answers for its workloads";
    wait_until(answers, Duration::from_secs(30), || {
        let left = observer.workloads("hardy")?;
        let on_it = left.iter().filter(|one| one.location == "m3");
        let state = |name: &str| {
            observer
                .get(&format!("/1.0/instances/{name}/state"))
                .is_ok()
        };
        Ok(on_it.clone().count() > 0 && on_it.clone().all(|one| state(&one.name)))
    })?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    let after = expect_serving(&observer, "hardy", 3, VERSION_2)?;
    ensure!(after == moved, "{moved:#?}\n{after:#?}");
    workspace.expect_empty_plan()?;
    lab.down()
}
