//! Apps from an Incus server that gives its images to everybody: here another lab's.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::site::{Site, app};
use crate::lab::{Archive, Bridge, Incus, Lab};
use crate::observer::Observer;
use crate::scenario::Context;

/// Has a server keep an image that everybody may read, under a name. Whatever had the name before loses it.
fn publish(observer: &Observer, alias: &str, archive: &Archive) -> Result<()> {
    let headers = [
        ("Content-Type", "application/octet-stream"),
        ("X-Incus-Filename", "image.tar"),
        ("X-Incus-Public", "1"),
    ];
    let (_, answer) = observer.exchange("POST", "/1.0/images", &headers, &archive.content)?;
    observer.follow(serde_json::from_slice(&answer)?)?;
    let path = format!("/1.0/images/aliases/{alias}");
    let target = json!({ "target": archive.fingerprint });
    if observer.request("PUT", &path, Some(&target)).is_err() {
        let named = json!({ "name": alias, "target": archive.fingerprint });
        observer.request("POST", "/1.0/images/aliases", Some(&named))?;
    }
    Ok(())
}

pub(super) fn incus(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-public", Incus::V6)?;
    let store = Lab::up_with("pulls-store", 1, Incus::V6)?;
    let shelf = store.observer();
    let folder = context.file("public");
    let (older, newer) = (
        Archive::build(&folder, "v7")?,
        Archive::build(&folder, "v8")?,
    );
    publish(&shelf, "shelf/app", &older)?;
    let bridge = Bridge::beside(site.lab.first(), &store.first().socket())?;
    let server = bridge.server();
    let web = |name: &str| {
        let image = format!(r#"server = "{server}", protocol = "incus", {name}"#);
        [app("web", 1, &image)]
    };
    let followed = web(r#"alias = "shelf/app", track = "follow""#);
    site.declare(&followed)?;
    site.workspace.apply()?.succeeded()?;
    site.expect("web", 1, "v7")?;
    site.expect_digest("web", &older.fingerprint)?;
    site.expect_pulled(&[&older.fingerprint])?;
    site.workspace.expect_empty_plan()?;

    publish(&shelf, "shelf/app", &newer)?;
    site.workspace.expect_changes()?;
    site.workspace.apply()?.succeeded()?;
    site.expect("web", 1, "v8")?;
    site.expect_pulled(&[&newer.fingerprint])?;
    site.workspace.expect_empty_plan()?;

    // By the beginning of its fingerprint, and by a name that nobody has.
    let beginning = older.fingerprint.get(..12).context("a fingerprint")?;
    site.declare(&web(&format!(r#"fingerprint = "{beginning}""#)))?;
    site.workspace.apply()?.succeeded()?;
    let back = site.expect("web", 1, "v7")?;
    site.expect_digest("web", &older.fingerprint)?;
    site.declare(&web(r#"alias = "shelf/none""#))?;
    let apply = site.workspace.apply()?;
    apply.failed()?.says("there is no image")?;
    ensure!(
        site.expect("web", 1, "v7")? == back,
        "what served was touched"
    );
    store.down()?;
    // What runs needs no server, and neither does its end.
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    site.lab.down()
}
