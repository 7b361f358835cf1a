//! Apps from a server of simplestreams: files, with lists of what they are.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::site::{Site, app};
use crate::lab::{Archive, Files, Incus};
use crate::scenario::Context;

const LIST: &str = "streams/v1/images.json";

/// Serves these images as versions of one product, with the date of each.
fn serve(files: &Files, versions: &[(&str, &Archive)]) {
    let item = |archive: &Archive| {
        let path = format!("images/{}.tar.gz", archive.fingerprint);
        files.put(&path, archive.content.clone());
        json!({
            "ftype": "incus_combined.tar.gz", "path": path, "size": archive.content.len(),
            "sha256": archive.fingerprint,
        })
    };
    let version = |(date, archive): &(&str, &Archive)| {
        let items = json!({ "incus_combined.tar.gz": item(archive) });
        ((*date).to_owned(), json!({ "items": items }))
    };
    let versions: serde_json::Map<String, Value> = versions.iter().map(version).collect();
    let architecture = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let product = json!({
        "aliases": "app/default,app", "arch": architecture, "os": "app", "release": "1", "release_title": "1",
        "versions": versions,
    });
    let products = json!({
        "content_id": "images", "datatype": "image-downloads", "format": "products:1.0",
        "products": { "app": product },
    });
    files.put(LIST, products.to_string().into_bytes());
    let index = json!({
        "format": "index:1.0",
        "index": { "images": { "datatype": "image-downloads", "path": LIST, "format": "products:1.0", "products": ["app"] } },
    });
    files.put("streams/v1/index.json", index.to_string().into_bytes());
}

pub(super) fn newest(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-lists", Incus::V6)?;
    let files = Files::beside(site.lab.first())?;
    let folder = context.file("listed");
    let image = |version| Archive::build(&folder, version);
    let (oldest, older, newer) = (image("v7")?, image("v8")?, image("v9")?);
    serve(&files, &[("20261101", &oldest), ("20261115_05:24", &older)]);
    let server = files.server();
    let web = |track: &str| {
        let image = format!(
            r#"server = "{server}", protocol = "simplestreams", alias = "app", track = "{track}""#
        );
        [app("web", 1, &image)]
    };
    site.declare(&web("pinned"))?;
    site.workspace.apply()?.succeeded()?;
    let made = site.expect("web", 1, "v8")?;
    site.expect_digest("web", &older.fingerprint)?;
    site.expect_pulled(&[&older.fingerprint])?;
    site.workspace.expect_empty_plan()?;

    serve(
        &files,
        &[("20261115_05:24", &older), ("20261130_05:24", &newer)],
    );
    site.workspace.expect_empty_plan()?;
    // Following the name is a change of its own, and what it stands for shows in the plan after it.
    site.declare(&web("follow"))?;
    site.workspace.apply()?.succeeded()?;
    ensure!(
        site.expect("web", 1, "v8")? == made,
        "the workload was replaced"
    );
    site.workspace.expect_changes()?;
    let planned = site.workspace.planned_change("homelab_app.web")?;
    let digest = &planned["after"]["image_digest"];
    ensure!(*digest == newer.fingerprint, "{planned}");
    // Incus keeps lists for an hour, and does not know the newer image by then.
    let apply = site.workspace.apply()?;
    apply.failed()?.says("for an hour")?;
    ensure!(
        site.expect("web", 1, "v8")? == made,
        "what served was touched"
    );
    forget_lists(&site)?;
    site.workspace.apply()?.succeeded()?;
    site.expect("web", 1, "v9")?;
    site.expect_digest("web", &newer.fingerprint)?;
    site.expect_pulled(&[&newer.fingerprint])?;
    site.workspace.expect_empty_plan()?;

    files.clear();
    let plan = site.workspace.expect_empty_plan()?;
    plan.says("could not be looked up")?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    site.lab.down()
}

/// What an hour would do.
fn forget_lists(site: &Site) -> Result<()> {
    let socket = site.lab.first().socket();
    let cache = socket.with_file_name("cache");
    for entry in std::fs::read_dir(&cache)? {
        let entry = entry?;
        if entry.file_name() != "resources" && entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
