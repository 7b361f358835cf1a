//! Where apps from images elsewhere begin: a lab, and a user on its member, from where servers of images are reached.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::super::{endpoint, provider};
use crate::lab::{Incus, Lab};
use crate::observer::{Observer, Workload};
use crate::process::wait_until;
use crate::scenario::Context;
use crate::workspace::Workspace;

/// Far more than an image needs to print a line and to serve.
const LONGEST_START: Duration = Duration::from_secs(10);

/// The property of the images that were pulled for apps.
const MARK: &str = "homelab-ops.source";

pub(super) const FLEET: &str = "validate-pulls";

/// A lab, and who uses it.
pub(super) struct Site {
    pub(super) lab: Lab,
    pub(super) observer: Observer,
    pub(super) workspace: Workspace,
}

impl Site {
    pub(super) fn up(context: &Context, name: &str, incus: Incus) -> Result<Site> {
        Site::with_members(context, name, 1, incus)
    }

    pub(super) fn with_members(
        context: &Context,
        name: &str,
        members: usize,
        incus: Incus,
    ) -> Result<Site> {
        let lab = Lab::up_with(name, members, incus)?;
        let observer = lab.observer();
        let mut workspace = context.workspace(name)?;
        workspace.inside(lab.first().namespace());
        Ok(Site {
            lab,
            observer,
            workspace,
        })
    }

    /// Declares these apps.
    pub(super) fn declare(&self, apps: &[String]) -> Result<()> {
        let provider = provider(&[endpoint(&self.lab.first().socket())], FLEET);
        self.workspace.main(&format!("{provider}{}", apps.concat()))
    }

    /// All replicas of an app run and serve this version.
    pub(super) fn expect(
        &self,
        app: &str,
        replicas: usize,
        version: &str,
    ) -> Result<Vec<Workload>> {
        let workloads = self.observer.workloads(app)?;
        ensure!(workloads.len() == replicas, "{workloads:#?}");
        for workload in &workloads {
            ensure!(workload.is_running(), "{workload:#?}");
            let serves = format!("{} serves {version}", workload.name);
            wait_until(&serves, LONGEST_START, || {
                let answer = self.observer.answer(&workload.name, "/version");
                Ok(answer.is_ok_and(|answer| answer == version))
            })?;
        }
        Ok(workloads)
    }

    pub(super) fn expect_digest(&self, app: &str, expected: &str) -> Result<()> {
        let app = self.workspace.attributes(&format!("homelab_app.{app}"))?;
        let digest = &app["image_digest"];
        ensure!(digest == expected, "the state has {digest}, not {expected}");
        Ok(())
    }

    /// The images that were pulled for apps: of OCI images what they were pulled as, else the fingerprints.
    pub(super) fn pulled(&self) -> Result<Vec<String>> {
        let images = self.observer.list("/1.0/images?recursion=1")?;
        let name = |image: &Value| {
            let properties = &image["properties"];
            properties[MARK].as_str()?;
            let id = properties["id"].as_str();
            id.or(image["fingerprint"].as_str()).map(str::to_owned)
        };
        Ok(images.iter().filter_map(name).collect())
    }

    pub(super) fn expect_pulled(&self, expected: &[&str]) -> Result<()> {
        let pulled = self.pulled()?;
        ensure!(pulled == expected, "{pulled:?} instead of {expected:?}");
        Ok(())
    }
}

/// An app of an image.
pub(super) fn app(name: &str, replicas: usize, image: &str) -> String {
    format!(
        r#"
resource "homelab_app" "{name}" {{
  name     = "{name}"
  type     = "generic-stateless"
  replicas = {replicas}
  image    = {{ {image} }}
  health   = {{ min_healthy_time = "1s", healthy_deadline = "30s" }}
}}
"#
    )
}
