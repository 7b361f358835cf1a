//! OCI images of the same layers, which Incus takes for one: those of apps, and one of somebody else.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::site::{Site, app};
use crate::lab::{Incus, POOL, Registry};
use crate::process::wait_until;
use crate::scenario::Context;

const REPOSITORY: &str = "app";

/// An app of the image with this digest.
fn exact(registry: &Registry, name: &str, digest: &str) -> String {
    let server = registry.server();
    let image =
        format!(r#"server = "{server}", protocol = "oci", alias = "{REPOSITORY}@{digest}""#);
    app(name, 1, &image)
}

/// What the workload of an app printed first, which is in the configuration of its image. It is asked once.
fn expect_line(site: &Site, app: &str, line: &str) -> Result<()> {
    let workloads = site.expect(app, 1, "v1")?;
    let name = &workloads[0].name;
    let console = format!("/1.0/instances/{name}/console");
    let mut printed = String::new();
    let limit = std::time::Duration::from_secs(10);
    let waited = wait_until(&format!("{name} prints {line:?}"), limit, || {
        let (_, more) = site.observer.exchange("GET", &console, &[], &[])?;
        printed.push_str(&String::from_utf8_lossy(&more));
        Ok(printed.lines().any(|printed| printed.trim() == line))
    });
    waited.with_context(|| format!("it printed {printed:?}"))
}

pub(super) fn apart(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-layers", Incus::V7)?;
    let registry = site.lab.registry()?;
    let red = registry.push(REPOSITORY, "red", "v1", "as red")?;
    let blue = registry.push(REPOSITORY, "blue", "v1", "as blue")?;
    let mut apps = vec![
        exact(&registry, "red", &red),
        exact(&registry, "blue", &blue),
    ];
    site.declare(&apps)?;
    site.workspace.apply()?.succeeded()?;
    expect_line(&site, "red", "as red")?;
    expect_line(&site, "blue", "as blue")?;
    site.workspace.expect_empty_plan()?;
    for (name, digest, line) in [("later", &red, "as red"), ("last", &blue, "as blue")] {
        apps.push(exact(&registry, name, digest));
        site.declare(&apps)?;
        site.workspace.apply()?.succeeded()?;
        expect_line(&site, name, line)?;
        ensure!(site.pulled()?.len() == 1, "{:?}", site.pulled()?);
    }
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?;
    site.expect_pulled(&[])?;
    drop(registry);
    site.lab.down()
}

pub(super) fn foreign(context: &Context) -> Result<()> {
    let site = Site::up(context, "pulls-foreign", Incus::V7)?;
    let registry = site.lab.registry()?;
    registry.push(REPOSITORY, "theirs", "v1", "as theirs")?;
    let ours = registry.push(REPOSITORY, "ours", "v1", "as ours")?;
    let mut source = json!({
        "type": "image", "mode": "pull", "protocol": "oci", "server": registry.server(), "alias": "app:theirs",
    });
    let image = json!({ "source": source, "aliases": [{ "name": "theirs" }] });
    let pulled = site.observer.finish("POST", "/1.0/images", Some(&image))?;
    let fingerprint = pulled["metadata"]["fingerprint"].as_str();
    let path = format!("/1.0/images/{}", fingerprint.context("a fingerprint")?);
    let before = site.observer.get(&path)?;

    site.declare(&[exact(&registry, "web", &ours)])?;
    let apply = site.workspace.apply()?;
    apply.failed()?.says("left alone")?.says("theirs")?;
    let after = site.observer.get(&path)?;
    let known = |image: &Value| (image["properties"].clone(), image["aliases"].clone());
    ensure!(known(&before) == known(&after), "{before} {after}");
    ensure!(site.observer.workloads("web")?.is_empty(), "it was made");

    // What Incus has kept for itself after an instance was made.
    site.observer.finish("DELETE", &path, None)?;
    source["alias"] = "app:theirs".into();
    let instance = json!({
        "name": "theirs", "type": "container", "source": source,
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    let made = site
        .observer
        .finish("POST", "/1.0/instances", Some(&instance));
    made.context("making an instance as anybody does")?;
    ensure!(
        site.observer.get(&path)?["cached"] == true,
        "it is kept otherwise"
    );
    site.workspace.apply()?.succeeded()?;
    expect_line(&site, "web", "as ours")?;
    site.workspace.destroy()?.succeeded()?;
    drop(registry);
    site.lab.down()
}
