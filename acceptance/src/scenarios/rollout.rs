//! New images: blue-green, back again when they are broken, and interrupted on the way.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{BROKEN, Lab, VERSION_1, VERSION_2};
use crate::observer::Workload;
use crate::process::wait_until;
use crate::scenario::{Context, Scenario};
use crate::watch::watch;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_new_image_goes_blue_green",
        proves: "While the image changes there are never fewer than two running workloads, and the old one of each \
                 replica serves until the new one was healthy for its time.",
        group: "rollout",
        needs: &[],
        seconds: 15,
        run: blue_green,
    },
    Scenario {
        name: "a_broken_image_reverts_and_is_told",
        proves: "The apply fails and quotes the candidate's last output, the old generation serves throughout, the \
                 next plan is not empty, and changing the image back converges.",
        group: "rollout",
        needs: &[],
        seconds: 20,
        run: broken_reverts,
    },
    Scenario {
        name: "a_broken_first_image_is_an_error_and_the_app_can_be_mended",
        proves: "An app whose first image is broken ends in an error with state, and a good image then comes up.",
        group: "rollout",
        needs: &[],
        seconds: 15,
        run: broken_first,
    },
    Scenario {
        name: "ctrl_c_ends_at_a_safe_point",
        proves: "Ctrl-C during a rollout ends the apply soon and with true state; the next apply finishes the rollout.",
        group: "rollout",
        needs: &[],
        seconds: 20,
        run: ctrl_c,
    },
    Scenario {
        name: "a_change_of_no_consequence_rolls_nothing",
        proves: "Another spelling of a duration plans nothing, and a changed timeout changes the state alone.",
        group: "rollout",
        needs: &[],
        seconds: 8,
        run: no_consequence,
    },
];

fn block(lab: &Lab, fleet: &str) -> String {
    provider(&[endpoint(&lab.first().socket())], fleet)
}

fn blue_green(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("rollout-blue-green")?;
    let write = |image| {
        workspace.main(&format!(
            "{}{}",
            block(&lab, "validate-roll"),
            App::new("roll", 2, image).hcl()
        ))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let old = expect_serving(&observer, "roll", 2, VERSION_1)?;
    write(VERSION_2)?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_app.roll")?;
    ensure!(
        planned["actions"] == serde_json::json!(["update"]),
        "{}",
        planned["actions"]
    );
    ensure!(
        planned["after"]["rollout_steps"]
            .to_string()
            .contains(VERSION_2),
        "{}",
        planned["after"]["rollout_steps"]
    );
    let (apply, seen) = watch(&observer, "roll", || workspace.apply())?;
    let took = apply.succeeded()?.took;
    // Two replicas, one after the other, each healthy for two seconds.
    ensure!(
        took >= Duration::from_secs(4),
        "promoted too early, after {took:?}"
    );
    ensure!(seen.looks > 20, "only {} looks", seen.looks);
    ensure!(
        seen.fewest >= 2,
        "at one moment only {} workloads ran: {:?}",
        seen.fewest,
        seen.then
    );
    ensure!(
        seen.most == 3,
        "one replica at a time means three workloads at most, not {}",
        seen.most
    );
    let new = expect_serving(&observer, "roll", 2, VERSION_2)?;
    let oldest =
        |workloads: &[Workload]| workloads.iter().map(|workload| workload.generation).max();
    ensure!(
        oldest(&new) > oldest(&old),
        "generations went down: {old:#?} {new:#?}"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn broken_reverts(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("rollout-broken")?;
    let write = |image| {
        workspace.main(&format!(
            "{}{}",
            block(&lab, "validate-revert"),
            App::new("revert", 2, image).hcl()
        ))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let old = expect_serving(&observer, "revert", 2, VERSION_1)?;
    let state = workspace.attributes("homelab_app.revert")?;
    write(BROKEN)?;
    let (apply, seen) = watch(&observer, "revert", || workspace.apply())?;
    apply
        .failed()?
        .says("cannot open /etc/app.conf")?
        .says("revert-")?;
    ensure!(
        seen.fewest >= 2,
        "at one moment only {} workloads ran: {:?}",
        seen.fewest,
        seen.then
    );
    let left = expect_serving(&observer, "revert", 2, VERSION_1)?;
    ensure!(
        left == old,
        "the old generation was touched: {old:#?} {left:#?}"
    );
    let after = workspace.attributes("homelab_app.revert")?;
    ensure!(
        after["image"] == state["image"],
        "the state tells the image that failed: {}",
        after["image"]
    );
    workspace.expect_changes()?;
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let back = expect_serving(&observer, "revert", 2, VERSION_1)?;
    ensure!(
        back == old,
        "changing back rolled what was serving: {old:#?} {back:#?}"
    );
    workspace.expect_empty_plan()?;
    write(VERSION_2)?;
    workspace.apply()?.succeeded()?;
    let next = expect_serving(&observer, "revert", 2, VERSION_2)?;
    ensure!(
        next.iter()
            .all(|workload| workload.generation > old[0].generation),
        "{next:#?}"
    );
    workspace.destroy()?.succeeded().map(drop)
}

fn broken_first(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let workspace = context.workspace("rollout-first")?;
    let write = |image| {
        workspace.main(&format!(
            "{}{}",
            block(&lab, "validate-first"),
            App::new("first", 1, image).hcl()
        ))
    };
    write(BROKEN)?;
    workspace
        .apply()?
        .failed()?
        .says("cannot open /etc/app.conf")?;
    ensure!(
        workspace.state_of("homelab_app.first")?.is_some(),
        "no state, though the entry exists"
    );
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    expect_serving(&lab.observer(), "first", 1, VERSION_1)?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn ctrl_c(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("rollout-ctrl-c")?;
    let write = |image, time| {
        let app = App {
            min_healthy_time: time,
            ..App::new("stop", 1, image)
        };
        workspace.main(&format!("{}{}", block(&lab, "validate-stop"), app.hcl()))
    };
    write(VERSION_1, "2s")?;
    workspace.apply()?.succeeded()?;
    let old = expect_serving(&observer, "stop", 1, VERSION_1)?;
    write(VERSION_2, "25s")?;
    let apply = workspace.start_apply()?;
    wait_until("the candidate runs", Duration::from_secs(30), || {
        Ok(observer
            .workloads("stop")?
            .iter()
            .filter(|workload| workload.is_running())
            .count()
            == 2)
    })?;
    apply.interrupt()?;
    let apply = apply.wait()?.failed()?;
    ensure!(
        apply.took < Duration::from_secs(20),
        "it went on for {:?}",
        apply.took
    );
    let workloads = observer.workloads("stop")?;
    ensure!(
        workloads.contains(&old[0]),
        "the old generation is gone or changed: {workloads:#?}"
    );
    workspace.expect_changes()?;
    write(VERSION_2, "2s")?;
    workspace.apply()?.succeeded()?;
    expect_serving(&observer, "stop", 1, VERSION_2)?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn no_consequence(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("rollout-none")?;
    let mut app = App::new("calm", 1, VERSION_1);
    let write =
        |app: &App| workspace.main(&format!("{}{}", block(&lab, "validate-calm"), app.hcl()));
    write(&app)?;
    workspace.apply()?.succeeded()?;
    let before = expect_serving(&observer, "calm", 1, VERSION_1)?;
    app.min_healthy_time = "2000ms";
    write(&app)?;
    workspace.expect_empty_plan()?;
    app.more = "  timeouts = { update = \"7m\" }\n".to_owned();
    write(&app)?;
    workspace.apply()?.succeeded()?;
    ensure!(
        expect_serving(&observer, "calm", 1, VERSION_1)? == before,
        "a timeout rolled the app"
    );
    let state = workspace.attributes(&app.address())?;
    ensure!(state["timeouts"]["update"] == "7m", "{}", state["timeouts"]);
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().context("destroying")?;
    Ok(())
}
