//! Machines that do not become members, each for a reason that is told, and without anything being touched.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::site::{Declared, Site, resource, tokens};
use crate::lab::{Incus, Member};
use crate::process::wait_until;
use crate::scenario::Context;

/// What Incus adds to the number of its API extensions, so that it takes itself for a newer release when it joins.
const BUMP: &str = "INCUS_ARTIFICIALLY_BUMP_API_EXTENSIONS";

/// What a join changes on a machine, and in its cluster.
fn world(site: &Site, machine: &Member) -> Result<Value> {
    let (observer, cluster) = (machine.observer(), site.observer());
    let part = |path: &str| observer.get(path);
    let mut members = cluster.get("/1.0/cluster/members?recursion=1")?;
    for member in members.as_array_mut().into_iter().flatten() {
        // These change by themselves.
        member["roles"] = Value::Null;
        member["message"] = Value::Null;
    }
    // In no order.
    let mut trusted = cluster.list("/1.0/certificates")?;
    trusted.sort_by_key(Value::to_string);
    Ok(json!({
        "config": part("/1.0")?["config"],
        "cluster": part("/1.0/cluster")?,
        "certificates": part("/1.0/certificates?recursion=1")?,
        "pools": observer.list("/1.0/storage-pools?recursion=1")?,
        "members": members,
        "trusted": trusted,
        "tokens": tokens(&cluster)?,
    }))
}

impl Site {
    /// An apply of this member beside the cluster's first ends in an error that says this, and touches nothing.
    fn refuses(&self, member: Declared, machine: &str, words: &[&str]) -> Result<()> {
        let machine = self.lab.member(machine)?;
        let before = world(self, machine)?;
        self.declare(&["m1"], &[member])?;
        let mut refused = self.workspace.apply()?.failed()?;
        for word in words {
            refused = refused.says(word)?;
        }
        let after = world(self, machine)?;
        ensure!(before == after, "it was touched: {before:#}\n{after:#}");
        let state = self.workspace.state()?;
        let resources = &state["values"]["root_module"]["resources"];
        ensure!(resources.is_null(), "the state has {resources:#}");
        Ok(())
    }
}

/// HO-JOIN-02, HO-JOIN-08, HO-JOIN-20, HO-JOIN-23, HO-JOIN-24.
pub(super) fn all(context: &Context) -> Result<()> {
    let releases = [Incus::V6, Incus::V6, Incus::V6, Incus::V7, Incus::V6];
    let site = Site::clustered(context, "refused", &releases, 2)?;
    let fresh = site.lab.member("m3")?;

    site.refuses(
        Declared::join("m4"),
        "m4",
        &["another major version does not join", "7.0"],
    )?;
    site.refuses(
        Declared::join("m2").at("m3"),
        "m3",
        &[
            "name is taken",
            "a member of this name at 10.99.0.12:8443",
            "the machine at 10.99.0.13:8443 is another one",
        ],
    )?;
    let pinned = format!("server_fingerprint = \"{}\"", "0".repeat(64));
    site.refuses(
        Declared::join("m3").with(&pinned),
        "m3",
        &[
            "it is another machine, or was installed anew",
            "server_fingerprint",
        ],
    )?;
    site.refuses(Declared::first("m3"), "m3", &["There is a cluster already"])?;

    let pool = json!({ "name": "mine", "driver": "dir" });
    let observer = fresh.observer();
    observer.finish("POST", "/1.0/storage-pools", Some(&pool))?;
    let volume = json!({ "name": "precious", "type": "custom", "content_type": "filesystem" });
    observer.finish(
        "POST",
        "/1.0/storage-pools/mine/volumes/custom",
        Some(&volume),
    )?;
    site.refuses(
        Declared::join("m3"),
        "m3",
        &["is not empty", "mine/precious", "storage pool mine"],
    )?;
    observer.finish(
        "DELETE",
        "/1.0/storage-pools/mine/volumes/custom/precious",
        None,
    )?;
    observer.finish("DELETE", "/1.0/storage-pools/mine", None)?;

    elsewhere(&site)?;
    unreachable(&site, fresh)?;

    // The right pin lets it in.
    fresh.start()?;
    let server = fresh.observer().get("/1.0")?;
    let seen = server["environment"]["certificate_fingerprint"].as_str();
    let pinned = format!(
        "server_fingerprint = \"{}\"",
        seen.context("a fingerprint")?
    );
    site.declare(&["m1"], &[Declared::join("m3").with(&pinned)])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1", "m2", "m3"])?;
    site.workspace.expect_empty_plan()?;

    // HO-JOIN-24: it is installed anew, and the cluster still has its name.
    site.workspace
        .run(&["state", "rm", &resource("m3")])?
        .succeeded()?;
    fresh.reinstall()?;
    fresh.open_to(&site.operator)?;
    fresh.wait_listed(&site.observer(), "Offline")?;
    site.refuses(
        Declared::join("m3"),
        "m3",
        &["has a member of this name", "installed anew"],
    )?;
    site.down()
}

/// A machine that is a cluster of its own.
fn elsewhere(site: &Site) -> Result<()> {
    let machine = site.lab.member("m5")?;
    let enable = json!({ "server_name": "other", "enabled": true });
    machine
        .observer()
        .finish("PUT", "/1.0/cluster", Some(&enable))?;
    site.refuses(
        Declared::join("m5"),
        "m5",
        &["in a cluster already", "\"other\""],
    )
}

/// A machine that does not answer is waited for as long as is told, and the error says what was awaited.
fn unreachable(site: &Site, machine: &Member) -> Result<()> {
    machine.kill_daemon()?;
    let member = Declared::join("m3").with("timeouts = { create = \"5s\" }");
    site.declare(&["m1"], &[member])?;
    let since = Instant::now();
    let run = site.workspace.apply()?.failed()?;
    run.says("does not answer")?.says("5s")?.says("m3")?;
    let took = since.elapsed();
    ensure!(took < Duration::from_secs(20), "it waited for {took:?}");
    Ok(())
}

/// HO-CLUS-09, HO-JOIN-08: versions may differ for a while, since machines update themselves.
pub(super) fn waits_for_the_version(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "bumped", &[Incus::V6; 2], 1)?;
    let joiner = site.lab.member("m2")?;
    joiner.kill_daemon()?;
    joiner.set(BUMP, Some("1"));
    joiner.start()?;
    let impatient = Declared::join("m2").with("timeouts = { create = \"8s\" }");
    site.declare(&["m1"], &[impatient])?;
    let refused = site.workspace.apply()?.failed()?;
    // The plan before it has the word, too.
    ensure!(refused.error().contains("version"), "{}", refused.told());

    site.declare(&["m1"], &[Declared::join("m2")])?;

    let mut apply = site.workspace.start_apply()?;
    let since = Instant::now();
    wait_until("it waits", Duration::from_secs(20), || {
        ensure!(!apply.has_ended()?, "it does not wait: {}", apply.printed());
        Ok(since.elapsed() > Duration::from_secs(6))
    })?;
    joiner.kill_daemon()?;
    joiner.set(BUMP, None);
    joiner.start()?;
    apply.wait()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;
    site.workspace.expect_empty_plan()?;
    site.down()
}
