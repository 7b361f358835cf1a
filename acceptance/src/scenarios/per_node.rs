//! Apps of which every machine has one: with the machines that come, are evacuated, and go.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::joins::{Declared, Site};
use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Incus, Lab, POOL, VERSION_1, VERSION_2};
use crate::observer::{Observer, Workload};
use crate::process::wait_until;
use crate::scenario::{Context, Need, Scenario};
use crate::watch::watch;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_machine_that_joins_gets_what_every_machine_has",
        proves: "A fourth machine joins: its workloads run before its create returns, whether the app changes in that apply or \
                 not, and the next plan is empty; when it leaves they go with it; what keeps one from it is a warning (HO-APP-14, HO-APP-57).",
        group: "per-node",
        needs: &[Need::Incus7],
        seconds: 55,
        run: joins,
    },
    Scenario {
        name: "machines_roll_side_by_side",
        proves: "A new image comes up on all machines at the same time, never with fewer workloads than machines; the plan \
                 names machines; a name that is taken on one machine is an error before anything is made (HO-APP-25, HO-APP-30, HO-APP-48).",
        group: "per-node",
        needs: &[],
        seconds: 30,
        run: side_by_side,
    },
    Scenario {
        name: "what_belongs_to_an_evacuated_machine_waits_for_it",
        proves: "Workloads of an evacuated member stop with it and come up nowhere else, the plan stays empty, a new image goes to \
                 the others alone, and after the restore they are back and catch up.",
        group: "per-node",
        needs: &[Need::Incus7],
        seconds: 50,
        run: evacuated,
    },
];

/// One running workload on each of these machines, made from this image and answering so.
fn expect_on(
    observer: &Observer,
    app: &str,
    machines: &[&str],
    image: &str,
) -> Result<Vec<Workload>> {
    let workloads = observer.workloads(app)?;
    let on: Vec<&str> = workloads.iter().map(|one| one.location.as_str()).collect();
    ensure!(
        on == machines,
        "{app} is not on {machines:?}: {workloads:#?}"
    );
    let version = image.rsplit('/').next().unwrap_or(image);
    for workload in &workloads {
        ensure!(
            workload.is_running() && workload.machine == workload.location,
            "{} should run on its machine: {workload:#?}",
            workload.name
        );
        let name = format!("{app}-{}-g{}", workload.machine, workload.generation);
        ensure!(workload.name == name, "{} is not {name}", workload.name);
        let answer = observer.answer(&workload.name, "/version")?;
        ensure!(answer == version, "{} answers {answer}", workload.name);
    }
    Ok(workloads)
}

/// Takes a name by hand.
fn squat(observer: &Observer, name: &str) -> Result<()> {
    let squatter = json!({
        "name": name, "type": "container", "source": { "type": "none" },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    let made = observer.finish("POST", "/1.0/instances", Some(&squatter));
    made.map(drop)
}

fn joins(context: &Context) -> Result<()> {
    let site = Site::beside(context, "arrives", 3, Incus::V7)?;
    let observer = site.observer();
    let (three, four) = (["m1", "m2", "m3"], ["m1", "m2", "m3", "m4"]);
    let app = |image| App::per_node("every", image);
    let declare =
        |members: &[Declared], image| site.declare_beside(&three, members, &app(image).hcl());
    let fourth = || [Declared::join("m4")];
    declare(&[], VERSION_1)?;
    site.workspace.expect_changes()?;
    let planned = site.workspace.planned_change("homelab_app.every")?;
    ensure!(
        planned["after_unknown"]["rollout_steps"] == true,
        "the machines are known before they were seen: {planned}"
    );
    site.workspace.apply()?.succeeded()?;
    let first = expect_on(&observer, "every", &three, VERSION_1)?;
    site.workspace.expect_empty_plan()?;

    declare(&fourth(), VERSION_1)?;
    site.workspace
        .expect_changes()?
        .says("1 to add, 0 to change, 0 to destroy")?;
    site.workspace
        .apply()?
        .succeeded()?
        .says_not("is not on member")?;
    let all = expect_on(&observer, "every", &four, VERSION_1)?;
    ensure!(all[..3] == first[..], "others were touched: {all:#?}");
    site.workspace.expect_empty_plan()?;

    // It leaves, and nobody has to say first that its workload may go.
    declare(&[], VERSION_1)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &three)?;
    ensure!(
        expect_on(&observer, "every", &three, VERSION_1)? == first,
        "others were touched"
    );
    site.workspace.expect_empty_plan()?;

    // What keeps a workload from a machine is a warning of its member, and a change in the next plan of the app.
    let open = || {
        let left = site.lab.member("m4")?;
        // A daemon that was removed starts anew.
        let alone = || {
            let cluster = left.observer().get("/1.0/cluster");
            Ok(cluster.is_ok_and(|cluster| cluster["enabled"] == false))
        };
        wait_until("m4 is alone", Duration::from_secs(20), alone)?;
        left.open_to(&site.operator)
    };
    squat(&observer, "every-m4-g1")?;
    open()?;
    declare(&fourth(), VERSION_1)?;
    let warned = site.workspace.apply()?.succeeded()?;
    warned
        .says("App every is not on member m4 yet")?
        .says("every-m4-g1")?;
    site.workspace.expect_changes()?;
    observer.delete("every-m4-g1")?;
    site.workspace.apply()?.succeeded()?;
    expect_on(&observer, "every", &four, VERSION_1)?;
    site.workspace.expect_empty_plan()?;
    declare(&[], VERSION_1)?;
    site.workspace.apply()?.succeeded()?;

    // It comes back while the app changes.
    open()?;
    declare(&fourth(), VERSION_2)?;
    site.workspace
        .apply()?
        .succeeded()?
        .says_not("is not on member")?;
    let new = expect_on(&observer, "every", &four, VERSION_2)?;
    ensure!(
        new.iter().all(|workload| workload.generation > 0),
        "a generation went down: {new:#?}"
    );
    site.workspace.expect_empty_plan()?;
    leaves_evacuated(&site)?;
    site.down()
}

/// What can be moved is moved off a machine that leaves, and what belongs to it goes with it.
fn leaves_evacuated(site: &Site) -> Result<()> {
    let (three, observer) = (["m1", "m2", "m3"], site.observer());
    let apps = [
        App::per_node("every", VERSION_2).hcl(),
        App::new("roam", 4, VERSION_2).hcl(),
    ];
    let apps = apps.concat();
    let fourth = Declared::join("m4").with("on_destroy = { evacuate = true }");
    site.declare_beside(&three, &[fourth], &apps)?;
    site.workspace.apply()?.succeeded()?;
    let roams = || expect_serving(&observer, "roam", 4, VERSION_2);
    ensure!(
        roams()?.iter().any(|one| one.location == "m4"),
        "nothing of roam is on m4"
    );
    site.declare_beside(&three, &[], &apps)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &three)?;
    roams()?;
    expect_on(&observer, "every", &three, VERSION_2)?;
    site.workspace.expect_empty_plan().map(drop)
}

fn side_by_side(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let observer = lab.observer();
    let workspace = context.workspace("per-node-roll")?;
    let all = ["m1", "m2", "m3"];
    let write = |image| {
        let app = App {
            min_healthy_time: "6s",
            ..App::per_node("each", image)
        };
        let block = provider(&[endpoint(&lab.first().socket())], "validate-each");
        workspace.main(&format!("{block}{}", app.hcl()))
    };
    squat(&observer, "each-m2-g0")?;
    write(VERSION_1)?;
    let refused = workspace.apply()?.failed()?;
    refused
        .says("each-m2-g0")?
        .says("was not made by this provider")?;
    let made = observer.workloads("each")?;
    ensure!(made.is_empty(), "a refused app has workloads: {made:#?}");
    observer.delete("each-m2-g0")?;
    workspace.apply()?.succeeded()?;
    expect_on(&observer, "each", &all, VERSION_1)?;
    workspace.expect_empty_plan()?;

    write(VERSION_2)?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_app.each")?["after"]["rollout_steps"].take();
    let steps: Vec<&str> = planned
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|step| step.as_str())
        .collect();
    for machine in all {
        let step = format!("machine {machine}: create generation 1 from {VERSION_2}");
        ensure!(steps.contains(&step.as_str()), "no {step:?} in {steps:#?}");
    }
    let (apply, seen) = watch(&observer, "each", || workspace.apply())?;
    let took = apply.succeeded()?.took;
    // One after the other they would need three times their time.
    let bound = Duration::from_secs(6)..Duration::from_secs(18);
    ensure!(bound.contains(&took), "it took {took:?}");
    ensure!(
        seen.fewest_healthy >= 3,
        "at one moment only {} were healthy: {:?}",
        seen.fewest_healthy,
        seen.then
    );
    ensure!(seen.most == 6, "{} ran at the same time, not 6", seen.most);
    expect_on(&observer, "each", &all, VERSION_2)?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    ensure!(observer.workloads("each")?.is_empty(), "workloads remain");
    Ok(())
}

fn evacuated(context: &Context) -> Result<()> {
    let lab = Lab::up_with("evacuated", 3, Incus::V7)?;
    let observer = lab.observer();
    let workspace = context.workspace("per-node-evacuated")?;
    let write = |image| {
        let block = provider(&[endpoint(&lab.first().socket())], "homelab");
        workspace.main(&format!("{block}{}", App::per_node("stay", image).hcl()))
    };
    let tell = |action: &str| {
        let path = "/1.0/cluster/members/m3/state";
        observer.finish("POST", path, Some(&json!({ "action": action })))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let before = expect_on(&observer, "stay", &["m1", "m2", "m3"], VERSION_1)?;
    tell("evacuate")?;
    let stays = || -> Result<Vec<Workload>> {
        let workloads = observer.workloads("stay")?;
        let on_m3: Vec<&Workload> = workloads.iter().filter(|one| one.machine == "m3").collect();
        ensure!(
            matches!(on_m3.as_slice(), [one] if one.location == "m3" && one.status == "Stopped" && one.generation == 0),
            "what belongs to m3: {on_m3:#?}"
        );
        Ok(workloads)
    };
    stays()?;
    workspace.expect_empty_plan()?;
    workspace.apply()?.succeeded()?;
    stays()?;

    write(VERSION_2)?;
    workspace.apply()?.succeeded()?;
    let rolled = stays()?;
    let others = rolled.iter().filter(|one| one.machine != "m3");
    ensure!(
        rolled.len() == 3
            && others.clone().count() == 2
            && others
                .clone()
                .all(|one| one.image == VERSION_2 && one.is_running()),
        "{rolled:#?}"
    );
    workspace.expect_empty_plan()?;

    tell("restore")?;
    let back = || Ok(observer.workloads("stay")?.iter().all(Workload::is_running));
    wait_until("everything runs again", Duration::from_secs(20), back)?;
    let restored = observer.workloads("stay")?;
    let same = restored.iter().find(|one| one.machine == "m3");
    let same = same.context("nothing belongs to m3")?;
    ensure!(same.name == before[2].name, "{same:#?}");
    // It was not there for the new image, and now it is.
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    expect_on(&observer, "stay", &["m1", "m2", "m3"], VERSION_2)?;
    workspace.expect_empty_plan()?;
    lab.down()
}
