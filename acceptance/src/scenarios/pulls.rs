//! Apps from images that are elsewhere: in a registry of OCI images.
//!
//! Commands are typed on the member itself, from where the registry can be reached. What Incus alone makes of such images
//! is in `images.rs`.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{endpoint, provider};
use crate::lab::{Incus, Lab, Registry};
use crate::observer::{Observer, Workload};
use crate::process::wait_until;
use crate::scenario::{Context, Need, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_app_runs_an_oci_image_that_the_cluster_pulls",
        proves: "An app from a registry is pulled once, runs, and a second plan is empty. A tag that moves changes nothing, \
                 also for a replica that is added then and while the registry is down. The image goes with the app.",
        group: "images",
        needs: &[Need::Incus7, Need::Registry],
        seconds: 40,
        run: pinned,
    },
    Scenario {
        name: "a_followed_tag_is_shown_by_the_plan_and_rolled_out_by_its_apply",
        proves: "A tag that moved shows in the plan as the digest that the apply rolls out, also where only the configuration \
                 of the image differs. Images that nobody uses any more are gone. While the registry is down the plan warns \
                 and is empty, and another change is applied.",
        group: "images",
        needs: &[Need::Incus7, Need::Registry],
        seconds: 50,
        run: follow,
    },
    Scenario {
        name: "the_older_incus_is_told_to_be_too_old_for_oci_images",
        proves: "An app with an OCI image on Incus 6.0 is refused before anything is changed, and the error says which Incus \
                 it needs.",
        group: "images",
        needs: &[Need::Registry],
        seconds: 8,
        run: too_old,
    },
];

const REPOSITORY: &str = "app";
const TAG: &str = "stable";
const APP: &str = "homelab_app.web";

/// A lab with a registry, and a user beside both.
struct Site {
    lab: Lab,
    registry: Registry,
    observer: Observer,
    workspace: Workspace,
}

impl Site {
    fn up(context: &Context, name: &str, incus: Incus) -> Result<Site> {
        let lab = Lab::up_with(name, 1, incus)?;
        let registry = lab.registry()?;
        let observer = lab.observer();
        let mut workspace = context.workspace(name)?;
        workspace.inside(lab.first().namespace());
        Ok(Site {
            lab,
            registry,
            observer,
            workspace,
        })
    }

    fn push(&self, version: &str, line: &str) -> Result<String> {
        self.registry.push(REPOSITORY, TAG, version, line)
    }

    /// Declares the app with this many replicas and further attributes of its image.
    fn declare(&self, replicas: usize, more: &str) -> Result<()> {
        let provider = provider(&[endpoint(&self.lab.first().socket())], "validate-pulls");
        let server = self.registry.server();
        self.workspace.main(&format!(
            r#"{provider}
resource "homelab_app" "web" {{
  name     = "web"
  type     = "generic-stateless"
  replicas = {replicas}
  image    = {{ server = "{server}", protocol = "oci", alias = "{REPOSITORY}:{TAG}"{more} }}
  health   = {{ min_healthy_time = "1s", healthy_deadline = "30s" }}
}}
"#
        ))
    }

    /// All replicas run and serve this version.
    fn expect(&self, replicas: usize, version: &str) -> Result<Vec<Workload>> {
        let workloads = self.observer.workloads("web")?;
        ensure!(workloads.len() == replicas, "{workloads:#?}");
        for workload in &workloads {
            let named = format!("{REPOSITORY}:{TAG}");
            ensure!(
                workload.is_running() && workload.image == named,
                "{workload:#?}"
            );
            // The init of the image prints a line before it serves.
            let serves = format!("{} serves {version}", workload.name);
            wait_until(&serves, std::time::Duration::from_secs(10), || {
                let answer = self.observer.answer(&workload.name, "/version");
                Ok(answer.is_ok_and(|answer| answer == version))
            })?;
        }
        Ok(workloads)
    }

    fn expect_digest(&self, expected: &str) -> Result<()> {
        let digest = self.workspace.attributes(APP)?["image_digest"].clone();
        ensure!(digest == expected, "the state has {digest}, not {expected}");
        Ok(())
    }

    /// The images that were pulled for apps: what Incus was told to pull, by name.
    fn pulled(&self) -> Result<Vec<String>> {
        let images = self.observer.list("/1.0/images?recursion=1")?;
        let id = |image: &Value| image["properties"]["id"].as_str().map(str::to_owned);
        Ok(images.iter().filter_map(id).collect())
    }

    fn down(self) -> Result<()> {
        drop(self.registry);
        self.lab.down()
    }
}

fn by_digest(digest: &str) -> Vec<String> {
    vec![format!("{REPOSITORY}@{digest}")]
}

fn pinned(context: &Context) -> Result<()> {
    let mut site = Site::up(context, "pulls-pinned", Incus::V7)?;
    let first = site.push("v1", "app v1")?;
    site.declare(1, "")?;
    site.workspace.apply()?.succeeded()?;
    let made = site.expect(1, "v1")?;
    site.expect_digest(&first)?;
    ensure!(site.pulled()? == by_digest(&first), "{:?}", site.pulled()?);
    site.workspace.expect_empty_plan()?;

    site.push("v2", "app v2")?;
    site.workspace.expect_empty_plan()?;
    site.registry.stop()?;
    site.workspace.expect_empty_plan()?;
    site.declare(2, "")?;
    site.workspace.apply()?.succeeded()?;
    let both = site.expect(2, "v1")?;
    ensure!(both.contains(&made[0]), "{made:#?} {both:#?}");
    site.expect_digest(&first)?;
    site.workspace.expect_empty_plan()?;

    site.workspace.destroy()?.succeeded()?;
    ensure!(site.pulled()?.is_empty(), "{:?}", site.pulled()?);
    site.down()
}

fn follow(context: &Context) -> Result<()> {
    let mut site = Site::up(context, "pulls-follow", Incus::V7)?;
    let follow = r#", track = "follow""#;
    site.push("v1", "app v1")?;
    site.declare(1, follow)?;
    site.workspace.apply()?.succeeded()?;
    let mut before = site.expect(1, "v1")?;
    site.workspace.expect_empty_plan()?;
    // The last one differs from the one before in its configuration alone: its layers are the same.
    for (version, line) in [("v2", "app v2"), ("v2", "app v2 again")] {
        let pushed = site.push(version, line)?;
        site.workspace.expect_changes()?;
        let planned = site.workspace.planned_change(APP)?;
        ensure!(planned["after"]["image_digest"] == pushed, "{planned}");
        site.workspace.apply()?.succeeded()?;
        let after = site.expect(1, version)?;
        ensure!(after[0].generation > before[0].generation, "{after:#?}");
        site.expect_digest(&pushed)?;
        ensure!(site.pulled()? == by_digest(&pushed), "{:?}", site.pulled()?);
        site.workspace.expect_empty_plan()?;
        before = after;
    }

    site.registry.stop()?;
    let plan = site.workspace.plan()?;
    plan.says("could not be looked up")?;
    site.workspace.expect_empty_plan()?;
    site.declare(2, follow)?;
    site.workspace.apply()?.succeeded()?;
    let both = site.expect(2, "v2")?;
    ensure!(both.contains(&before[0]), "{before:#?} {both:#?}");
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?;
    ensure!(site.pulled()?.is_empty(), "{:?}", site.pulled()?);
    site.down()
}

fn too_old(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-older", Incus::V6)?;
    site.push("v1", "app v1")?;
    site.declare(1, "")?;
    let apply = site.workspace.apply()?;
    apply.failed()?.says("6.0.4")?.says("6.3")?;
    let state = site.workspace.state_of(APP)?;
    ensure!(state.is_none(), "there is a state of nothing");
    let store = site.observer.profile_names("validate-pulls");
    ensure!(store.is_err(), "something was published: {store:?}");
    site.down().context("taking the lab down")
}
