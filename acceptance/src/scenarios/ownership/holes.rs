//! Between two owners, and between a destroy and what it did not see: each hole that somebody could fall through.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::lab::{VERSION_1, VERSION_2};
use crate::observer::{APP_KEY, Observer};
use crate::proxy::{Counted, Deed, Moment, Trap};
use crate::scenario::Context;
use crate::scenarios::{App, endpoint, expect_serving, provider};
use crate::workspace::{Run, Workspace};

/// More writes than a destroy or a change of one replica makes.
const MOST_WRITES: usize = 40;

fn kill_after(nth: usize) -> Trap {
    Trap {
        counted: Counted::Mutating,
        nth,
        moment: Moment::After,
        deed: Deed::KillClient,
    }
}

fn quick(name: &str, replicas: u32) -> String {
    let app = App {
        min_healthy_time: "1s",
        ..App::new(name, replicas, VERSION_1)
    };
    app.hcl()
}

/// A destroy that is cut off at any write is taken back by an apply.
pub(super) fn taken_back(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let proxy = context.proxy("ownership-back", &lab)?;
    let workspace = context.workspace("ownership-back")?;
    let block = provider(&[proxy.endpoint()], "validate-back");
    workspace.main(&format!("{block}{}", quick("back", 2)))?;
    workspace.apply()?.succeeded()?;
    for nth in 1..MOST_WRITES {
        proxy.arm(kill_after(nth));
        workspace.destroy()?;
        let fired = proxy.fired();
        proxy.clear();
        let Some(at) = fired else {
            return Ok(());
        };
        let told = || format!("the destroy was killed after write {nth}: {at}");
        workspace.apply()?.succeeded().with_context(told)?;
        expect_serving(&lab.observer(), "back", 2, VERSION_1).with_context(told)?;
        workspace.expect_empty_plan().with_context(told)?;
    }
    anyhow::bail!("a destroy does not end within {MOST_WRITES} writes")
}

/// A create that Incus has begun when its provider is killed is waited for by the destroy that follows at once.
pub(super) fn destroyed_under_way(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let proxy = context.proxy("ownership-way", &lab)?;
    let workspace = context.workspace("ownership-way")?;
    let block = provider(&[proxy.endpoint()], "validate-way");
    for nth in 1..MOST_WRITES {
        workspace.main(&format!("{block}{}", quick("way", 1)))?;
        workspace.apply()?.succeeded()?;
        workspace.main(&format!("{block}{}", quick("way", 4)))?;
        proxy.arm(kill_after(nth));
        workspace.apply()?;
        let fired = proxy.fired();
        proxy.clear();
        workspace.destroy()?.succeeded()?;
        // Long enough for any create that was still going on.
        std::thread::sleep(std::time::Duration::from_secs(2));
        let left = lab.observer().workloads("way")?;
        ensure!(
            left.is_empty(),
            "killed after write {nth} ({fired:?}): {left:#?}"
        );
        let Some(at) = fired else {
            return Ok(());
        };
        if at.target.starts_with("/1.0/instances") && nth > 8 {
            return Ok(());
        }
    }
    Ok(())
}

/// Two applies of one state at once: at least one goes on, and the other says what is true.
pub(super) fn two_at_once(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let block = provider(&[endpoint(&lab.first().socket())], "validate-race");
    let (one, other) = (
        context.workspace("ownership-race-1")?,
        context.workspace("ownership-race-2")?,
    );
    one.main(&format!("{block}{}", quick("race", 2)))?;
    one.apply()?.succeeded()?;
    for round in 0..3 {
        let state = one.folder().join("terraform.tfstate");
        std::fs::copy(&state, other.folder().join("terraform.tfstate"))?;
        let image = if round % 2 == 0 { VERSION_2 } else { VERSION_1 };
        let declare = |workspace: &Workspace, time: &str| {
            let app = quick("race", 2)
                .replace(VERSION_1, image)
                .replace("\"1s\"", time);
            workspace.main(&format!("{block}{app}"))
        };
        declare(&one, "\"1s\"")?;
        declare(&other, "\"2s\"")?;
        let started = [one.start_apply()?, other.start_apply()?];
        let ended: Vec<Run> = started
            .into_iter()
            .map(|apply| apply.wait())
            .collect::<Result<_>>()?;
        let told: Vec<String> = ended.iter().map(Run::told).collect();
        ensure!(
            ended.iter().any(|run| run.code == Some(0)),
            "both stopped: {told:#?}"
        );
        for run in ended.into_iter().filter(|run| run.code != Some(0)) {
            run.failed()?.says("change of app race was published")?;
        }
        one.apply()?.succeeded()?;
        expect_serving(&lab.observer(), "race", 2, image)?;
        one.expect_empty_plan()?;
    }
    one.destroy()?.succeeded().map(drop)
}

/// A copy made by hand carries our keys; it is neither taken for the workload nor deleted, whatever becomes of that.
pub(super) fn copies_are_theirs(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("ownership-copy")?;
    let fleet = "validate-copy";
    let block = provider(&[endpoint(&lab.first().socket())], fleet);
    workspace.main(&format!("{block}{}", quick("orig", 1)))?;
    workspace.apply()?.succeeded()?;
    let copy = json!({ "name": "mine", "type": "container", "source": { "type": "copy", "source": "orig-g0", "instance_only": true } });
    observer.finish("POST", "/1.0/instances", Some(&copy))?;
    let before = observer.get("/1.0/instances/mine")?;
    ensure!(
        before["config"][APP_KEY] == "orig",
        "the copy has no keys: {before}"
    );
    workspace.expect_empty_plan()?;
    // The original goes, and so does the record: nothing but the names is left to tell.
    observer.delete("orig-g0")?;
    lose_records(&observer, fleet)?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    let standing = |observer: &Observer| -> Result<()> {
        let now = observer.get("/1.0/instances/mine")?;
        ensure!(now == before, "the copy was touched: {now}");
        Ok(())
    };
    standing(&observer)?;
    let serving = observer.workloads("orig")?;
    ensure!(
        serving.len() == 2,
        "one of ours beside the copy: {serving:#?}"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    standing(&observer)?;
    let left = observer.workloads("orig")?;
    ensure!(left.len() == 1, "only the copy is left: {left:#?}");
    // It keeps nobody from making the app again, either.
    workspace.apply()?.succeeded()?;
    standing(&observer)?;
    workspace.destroy()?.succeeded()?;
    observer.delete("mine")
}

fn lose_records(observer: &Observer, fleet: &str) -> Result<()> {
    for name in observer.profile_names(fleet)? {
        if name.starts_with("work.") {
            observer.finish(
                "DELETE",
                &format!("/1.0/profiles/{name}?project={fleet}"),
                None,
            )?;
        }
    }
    Ok(())
}

/// What an executor says of an app is there while the app is, and tells its failures.
pub(super) fn status(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("ownership-status")?;
    let fleet = "validate-status";
    let block = provider(&[endpoint(&lab.first().socket())], fleet);
    let told = || -> Result<serde_json::Value> {
        let profile = observer.get(&format!("/1.0/profiles/status.told?project={fleet}"))?;
        let text = profile["config"]["user.homelab-ops.status"].as_str();
        Ok(serde_json::from_str(text.context("no status in it")?)?)
    };
    workspace.main(&format!("{block}{}", quick("told", 1)))?;
    workspace.apply()?.succeeded()?;
    let good = told()?;
    ensure!(
        good["phase"] == "serving" && good["revision"] == 1 && good["last_error"].is_null(),
        "{good}"
    );
    let broken = quick("told", 1).replace(VERSION_1, crate::lab::BROKEN);
    workspace.main(&format!("{block}{broken}"))?;
    workspace.apply()?.failed()?;
    let bad = told()?;
    ensure!(
        bad["phase"] == "reverted" && bad["revision"] == 2 && bad["last_error"].is_string(),
        "{bad}"
    );
    ensure!(
        bad["heartbeat"].as_i64() > good["heartbeat"].as_i64(),
        "{good} {bad}"
    );
    workspace.destroy()?.succeeded()?;
    let names = observer.profile_names(fleet)?;
    ensure!(
        !names.iter().any(|name| name.starts_with("status.")),
        "{names:?}"
    );
    Ok(())
}
