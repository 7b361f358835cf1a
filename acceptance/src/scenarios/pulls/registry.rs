//! Apps from a registry of OCI images: pinned, followed, and on an Incus that is too old.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::super::provider;
use super::site::{FLEET, Site, app};
use crate::lab::{Incus, Registry};
use crate::proxy::Seen;
use crate::scenario::Context;

const REPOSITORY: &str = "app";
const TAG: &str = "stable";
const ADDRESS: &str = "homelab_app.web";

fn web(registry: &Registry, replicas: usize, more: &str) -> [String; 1] {
    let server = registry.server();
    let image = format!(r#"server = "{server}", protocol = "oci", alias = "app:stable"{more}"#);
    [app("web", replicas, &image)]
}

fn by_digest(digest: &str) -> String {
    format!("{REPOSITORY}@{digest}")
}

pub(super) fn pinned(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-pinned", Incus::V7)?;
    let mut registry = site.lab.registry()?;
    // As most public images are: one name for several architectures.
    let first = registry.push_list(REPOSITORY, TAG, "v1", "app v1")?;
    site.declare(&web(&registry, 1, ""))?;
    site.workspace.apply()?.succeeded()?;
    let made = site.expect("web", 1, "v1")?;
    ensure!(made[0].image == "app:stable", "{made:#?}");
    site.expect_digest("web", &first)?;
    site.expect_pulled(&[&by_digest(&first)])?;
    site.workspace.expect_empty_plan()?;

    registry.push(REPOSITORY, TAG, "v2", "app v2")?;
    site.workspace.expect_empty_plan()?;
    registry.stop()?;
    site.workspace.expect_empty_plan()?;
    site.declare(&web(&registry, 2, ""))?;
    site.workspace.apply()?.succeeded()?;
    let both = site.expect("web", 2, "v1")?;
    ensure!(both.contains(&made[0]), "{made:#?} {both:#?}");
    site.expect_digest("web", &first)?;
    site.workspace.expect_empty_plan()?;

    without_image(&site, &mut registry)?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    drop(registry);
    site.lab.down()
}

/// Somebody has deleted the image, and its registry is down.
fn without_image(site: &Site, registry: &mut Registry) -> Result<()> {
    let images = site.observer.list("/1.0/images?recursion=1")?;
    let pulled = images
        .iter()
        .filter(|image| image["properties"]["type"] == "oci");
    for image in pulled {
        let fingerprint = image["fingerprint"].as_str().unwrap_or_default();
        let path = format!("/1.0/images/{fingerprint}");
        site.observer.finish("DELETE", &path, None)?;
    }
    site.expect_pulled(&[])?;
    site.declare(&web(registry, 1, ""))?;
    site.workspace.apply()?.succeeded()?;
    let one = site.expect("web", 1, "v1")?;
    site.declare(&web(registry, 2, ""))?;
    let apply = site.workspace.apply()?;
    apply.failed()?.says("could not pull image")?;
    ensure!(
        site.expect("web", 1, "v1")? == one,
        "what served was touched"
    );
    registry.start()?;
    site.workspace.apply()?.succeeded()?;
    site.expect("web", 2, "v1")?;
    site.workspace.expect_empty_plan().map(drop)
}

pub(super) fn follow(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-follow", Incus::V7)?;
    let mut registry = site.lab.registry()?;
    let follow = r#", track = "follow""#;
    registry.push(REPOSITORY, TAG, "v1", "app v1")?;
    site.declare(&web(&registry, 1, follow))?;
    site.workspace.apply()?.succeeded()?;
    let mut before = site.expect("web", 1, "v1")?;
    site.workspace.expect_empty_plan()?;
    // The last one differs from the one before in its configuration alone: its layers are the same.
    for (version, line) in [("v2", "app v2"), ("v2", "app v2 again")] {
        let pushed = registry.push(REPOSITORY, TAG, version, line)?;
        site.workspace.expect_changes()?;
        let planned = site.workspace.planned_change(ADDRESS)?;
        ensure!(planned["after"]["image_digest"] == pushed, "{planned}");
        site.workspace.apply()?.succeeded()?;
        let after = site.expect("web", 1, version)?;
        ensure!(after[0].generation > before[0].generation, "{after:#?}");
        site.expect_digest("web", &pushed)?;
        site.expect_pulled(&[&by_digest(&pushed)])?;
        site.workspace.expect_empty_plan()?;
        before = after;
    }

    registry.stop()?;
    let plan = site.workspace.expect_empty_plan()?;
    plan.says("could not be looked up")?;
    site.declare(&web(&registry, 2, follow))?;
    site.workspace.apply()?.succeeded()?;
    let both = site.expect("web", 2, "v2")?;
    ensure!(both.contains(&before[0]), "{before:#?} {both:#?}");
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    drop(registry);
    site.lab.down()
}

pub(super) fn cluster(context: &Context) -> Result<()> {
    let site = Site::with_members(context, "pulls-cluster", 3, Incus::V7)?;
    let registry = site.lab.registry()?;
    registry.push_list(REPOSITORY, TAG, "v1", "app v1")?;
    let proxy = context.proxy("pulls-cluster", &site.lab)?;
    let provider = provider(&[proxy.endpoint()], FLEET);
    let server = registry.server();
    let image = format!(r#"server = "{server}", protocol = "oci", alias = "app:stable""#);
    let (one, two) = (app("one", 3, &image), app("two", 3, &image));
    site.workspace.main(&format!("{provider}{one}{two}"))?;
    site.workspace.apply()?.succeeded()?;
    for name in ["one", "two"] {
        let workloads = site.expect(name, 3, "v1")?;
        let members: BTreeSet<&str> = workloads.iter().map(|one| one.location.as_str()).collect();
        ensure!(members.len() == 3, "{workloads:#?}");
    }
    let is_pull = |seen: &&Seen| seen.method == "POST" && seen.target.starts_with("/1.0/images");
    let mutations = proxy.mutations();
    let pulls: Vec<&Seen> = mutations.iter().filter(is_pull).collect();
    ensure!(pulls.len() == 1, "{pulls:?}");
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    drop(registry);
    site.lab.down()
}

pub(super) fn too_old(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-older", Incus::V6)?;
    let registry = site.lab.registry()?;
    registry.push(REPOSITORY, TAG, "v1", "app v1")?;
    site.declare(&web(&registry, 1, ""))?;
    let apply = site.workspace.apply()?;
    apply.failed()?.says("6.0.4")?.says("6.3")?;
    let state = site.workspace.state_of(ADDRESS)?;
    ensure!(state.is_none(), "there is a state of nothing");
    let store = site.observer.profile_names(FLEET);
    ensure!(store.is_err(), "something was published: {store:?}");
    drop(registry);
    site.lab.down()
}
