//! What a member has to be like: shown where it is not, and set right by the next apply.

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::site::{Declared, Site, expect_daemon_volumes, metrics, resource};
use crate::lab::Incus;
use crate::pair::Pair;
use crate::scenario::Context;

/// What both members have.
const POOL: &str = "storage = { pool = \"local\", driver = \"dir\" }";

/// HO-CLUS-06, HO-JOIN-18, HO-JOIN-19.
pub(super) fn restored(context: &Context) -> Result<()> {
    let site = Site::fresh(context, "parity", &[Incus::V7; 2])?;
    site.workspace
        .write("metrics.crt", &Pair::new(2200)?.certificate)?;
    let second = Declared::join("m2")
        .with(POOL)
        .with("metrics_certificate = file(\"metrics.crt\")")
        .with("groups = [\"default\", \"fast\"]")
        .with("failure_domain = \"rack-2\"")
        .with("config = { \"user.rack\" = \"2\" }");
    site.declare(&["m1", "m2"], &[Declared::first("m1").with(POOL), second])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;
    site.workspace.expect_empty_plan()?;
    expect_whole(&site)?;

    let observer = site.observer();
    let unset = json!({ "config": { "storage.backups_volume": "", "storage.images_volume": "" } });
    observer.request("PATCH", "/1.0?target=m2", Some(&unset))?;
    let volume = "/1.0/storage-pools/local/volumes/custom/backups?target=m2";
    observer.finish("DELETE", volume, None)?;
    let metrics = only_metrics(&site)?;
    observer.finish("DELETE", &format!("/1.0/certificates/{metrics}"), None)?;
    site.workspace.expect_changes()?;
    let missing = site.workspace.planned_change(&resource("m2"))?["before"]["missing"].to_string();
    for part in ["backups", "storage.images_volume", "metrics"] {
        ensure!(missing.contains(part), "{part} is not among {missing}");
    }
    site.workspace.apply()?.succeeded()?;
    expect_whole(&site)?;
    site.workspace.expect_empty_plan()?;

    drifts(&site)?;
    site.down()
}

fn only_metrics(site: &Site) -> Result<String> {
    let found = metrics(&site.observer())?;
    let [only] = found.as_slice() else {
        bail!("trusted for metrics: {found:?}");
    };
    Ok(only.clone())
}

/// What is declared is there.
fn expect_whole(site: &Site) -> Result<()> {
    let observer = site.observer();
    only_metrics(site)?;
    let mut members = site.lab.members().iter();
    members.try_for_each(|member| expect_daemon_volumes(&observer, member))?;
    expect_settings(&member(site)?)
}

fn member(site: &Site) -> Result<Value> {
    site.observer().get("/1.0/cluster/members/m2")
}

fn expect_settings(member: &Value) -> Result<()> {
    let groups = &member["groups"];
    let has = |group: &str| {
        groups
            .as_array()
            .is_some_and(|groups| groups.contains(&json!(group)))
    };
    ensure!(has("default") && has("fast"), "{groups}");
    ensure!(
        member["failure_domain"] == "rack-2" && member["config"]["user.rack"] == "2",
        "{member:#}"
    );
    Ok(())
}

/// What somebody else has changed shows in the plan, and what is not declared is nobody's business.
fn drifts(site: &Site) -> Result<()> {
    let mut changed = member(site)?;
    changed["failure_domain"] = json!("cellar");
    changed["groups"] = json!(["default"]);
    changed["config"] = json!({ "user.rack": "3", "user.other": "kept" });
    site.observer()
        .request("PUT", "/1.0/cluster/members/m2", Some(&changed))?;
    let plan = site.workspace.expect_changes()?;
    plan.says("cellar")?.says("fast")?.says("user.rack")?;
    site.workspace.apply()?.succeeded()?;
    let member = member(site)?;
    expect_settings(&member)?;
    ensure!(member["config"]["user.other"] == "kept", "{member:#}");
    site.workspace.expect_empty_plan().map(drop)
}
