//! The lab's registry of OCI images: an instance is what its tag named, and who cannot use it says so.
//!
//! The same group as `lab.rs`. What the product makes of such images is judged elsewhere with the same registry.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::lab::{Incus, Lab, POOL, Registry};
use crate::observer::Observer;
use crate::process::wait_until;
use crate::scenario::{Context, Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_instance_runs_what_the_tag_of_its_oci_image_named",
        proves: "With Incus 7.0 an instance of an OCI image runs and prints its version; after its tag was moved a new one runs \
                 the new version, and the registry tells the digest of either; while the registry is down none is made.",
        group: "lab",
        needs: &[Need::Incus7, Need::Registry],
        seconds: 20,
        run: follows_the_tag,
    },
    Scenario {
        name: "the_older_incus_has_no_oci_images",
        proves: "Incus 6.0 refuses an instance of an OCI image, and says that it does not know the protocol.",
        group: "lab",
        needs: &[Need::Registry],
        seconds: 5,
        run: refused,
    },
];

const REPOSITORY: &str = "app";
const TAG: &str = "stable";

fn follows_the_tag(_: &Context) -> Result<()> {
    let lab = Lab::up_with("oci", 1, Incus::V7)?;
    let mut registry = lab.registry()?;
    let observer = lab.observer();
    let mut digests = Vec::new();
    for (name, version) in [("before", "v1"), ("after", "v2")] {
        let pushed = registry.push(REPOSITORY, TAG, version)?;
        let named = registry.digest(REPOSITORY, TAG)?;
        ensure!(
            pushed == named,
            "{version} is {pushed}, {TAG} names {named}"
        );
        create(&observer, &registry, name)?;
        expect_version(&observer, name, version)?;
        digests.push(pushed);
    }
    ensure!(digests[0] != digests[1], "both versions are {}", digests[0]);
    // The older one runs on, and its image is still there under its digest.
    expect_version(&observer, "before", "v1")?;
    for digest in &digests {
        let manifest = registry.manifest(REPOSITORY, digest)?;
        let known = registry.digest(REPOSITORY, digest)?;
        ensure!(
            known == *digest && manifest["layers"].is_array(),
            "{known}: {manifest}"
        );
    }

    registry.stop()?;
    let made = create(&observer, &registry, "never");
    ensure!(made.is_err(), "made without a registry: {made:?}");
    registry.start()?;
    create(&observer, &registry, "again")?;
    expect_version(&observer, "again", "v2")?;
    drop(registry);
    lab.down()
}

fn refused(_: &Context) -> Result<()> {
    let lab = Lab::up_with("oci-older", 1, Incus::V6)?;
    let registry = lab.registry()?;
    registry.push(REPOSITORY, TAG, "v1")?;
    let observer = lab.observer();
    let Err(error) = create(&observer, &registry, "never") else {
        anyhow::bail!("it was made");
    };
    let told = format!("{error:#}");
    ensure!(told.contains("protocol"), "{told}");
    ensure!(
        observer.instances("default")?.is_empty(),
        "something was made"
    );
    drop(registry);
    lab.down()
}

/// An instance as anybody would make it of an OCI image.
fn create(observer: &Observer, registry: &Registry, name: &str) -> Result<Value> {
    let instance = json!({
        "name": name, "type": "container", "start": true,
        "source": {
            "type": "image", "mode": "pull", "protocol": "oci",
            "server": registry.server(), "alias": format!("{REPOSITORY}:{TAG}"),
        },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    observer.finish("POST", "/1.0/instances", Some(&instance))
}

/// What it printed, and what it serves.
fn expect_version(observer: &Observer, name: &str, version: &str) -> Result<()> {
    let console = format!("/1.0/instances/{name}/console");
    let line = format!("app {version}");
    let printed = || -> Result<String> {
        let (_, log) = observer.exchange("GET", &console, &[], &[])?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    };
    let says = format!("{name} prints {line:?}");
    wait_until(&says, Duration::from_secs(10), || {
        Ok(printed()?.lines().any(|printed| printed.trim() == line))
    })?;
    let serves = format!("{name} serves {version}");
    wait_until(&serves, Duration::from_secs(10), || {
        Ok(observer
            .answer(name, "/version")
            .is_ok_and(|answer| answer == version))
    })
}
