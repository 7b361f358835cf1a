//! Apps from the cluster's own images, whose names can move, too.

use anyhow::{Result, ensure};
use serde_json::json;

use super::site::{Site, app};
use crate::lab::{Incus, VERSION_1, VERSION_2};
use crate::scenario::Context;

const ALIAS: &str = "moving";

pub(super) fn followed(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-own", Incus::V6)?;
    let target = |alias: &str| {
        let path = format!("/1.0/images/aliases/{alias}");
        Ok::<_, anyhow::Error>(site.observer.get(&path)?["target"].clone())
    };
    let (older, newer) = (target("app%2Fv1")?, target("app%2Fv2")?);
    ensure!(older != newer, "{VERSION_1} and {VERSION_2} are one image");
    let named = json!({ "name": ALIAS, "target": older });
    site.observer
        .request("POST", "/1.0/images/aliases", Some(&named))?;
    let images = site.observer.list("/1.0/images")?.len();

    let follow = app("follow", 1, r#"alias = "moving", track = "follow""#);
    site.declare(&[follow, app("pinned", 1, r#"alias = "moving""#)])?;
    site.workspace.apply()?.succeeded()?;
    let before = site.expect("pinned", 1, "v1")?;
    site.expect("follow", 1, "v1")?;
    site.workspace.expect_empty_plan()?;

    let path = format!("/1.0/images/aliases/{ALIAS}");
    let moved = json!({ "target": newer });
    site.observer.request("PUT", &path, Some(&moved))?;
    site.workspace.expect_changes()?;
    let planned = site.workspace.planned_change("homelab_app.follow")?;
    ensure!(planned["after"]["image_digest"] == newer, "{planned}");
    let planned = site.workspace.planned_change("homelab_app.pinned")?;
    ensure!(planned["actions"] == json!(["no-op"]), "{planned}");
    site.workspace.apply()?.succeeded()?;
    site.expect("follow", 1, "v2")?;
    ensure!(site.expect("pinned", 1, "v1")? == before, "it was replaced");

    // A name that is gone is told, and changes nothing.
    site.observer.request("DELETE", &path, None)?;
    let plan = site.workspace.expect_empty_plan()?;
    plan.says("Image moving is not at the cluster any more")?;
    site.workspace.destroy()?.succeeded()?;
    let left = site.observer.list("/1.0/images")?.len();
    ensure!(left == images, "{left} images instead of {images}");
    site.lab.down()
}
