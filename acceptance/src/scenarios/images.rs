//! The lab's registry of OCI images: an instance is what its digest or its tag named, and who cannot use it says so.
//!
//! The same group as `lab.rs`. What the product makes of such images is judged elsewhere with the same registry.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::lab::{Incus, Lab, POOL, Registry};
use crate::observer::Observer;
use crate::process::wait_until;
use crate::scenario::{Context, Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_instance_runs_what_its_oci_image_was_when_it_was_made",
        proves: "With Incus 7.0 an instance of an OCI image runs and prints its version. After its tag was moved a new one runs \
                 the new version if it names the digest, which the registry tells; by the tag it does so only when Incus keeps \
                 no image under it, and while the registry is down none is made.",
        group: "lab",
        needs: &[Need::Incus7, Need::Registry],
        seconds: 7,
        run: moved_tag,
    },
    Scenario {
        name: "oci_images_with_the_same_layers_are_one_to_incus",
        proves: "Incus 7.0 knows an OCI image by its layers alone: of two that differ in their configuration, each with a digest \
                 of its own, the one that it has is taken for both, until it is deleted.",
        group: "lab",
        needs: &[Need::Incus7, Need::Registry],
        seconds: 5,
        run: same_layers,
    },
    Scenario {
        name: "the_older_incus_has_no_oci_images",
        proves: "Incus 6.0 refuses an instance of an OCI image, and says that it does not know the protocol.",
        group: "lab",
        needs: &[Need::Registry],
        seconds: 4,
        run: refused,
    },
];

const REPOSITORY: &str = "app";
const TAG: &str = "stable";
const BY_TAG: &str = "app:stable";

/// Far more than a shell needs to print a line.
const LONGEST_START: Duration = Duration::from_secs(10);

fn moved_tag(_: &Context) -> Result<()> {
    let lab = Lab::up_with("oci", 1, Incus::V7)?;
    let mut registry = lab.registry()?;
    let observer = lab.observer();
    let older = push(&registry, "v1", "app v1")?;
    create(&observer, &registry, "first", BY_TAG)?;
    expect(&observer, "first", "v1", "app v1")?;

    let newer = push(&registry, "v2", "app v2")?;
    ensure!(older != newer, "both versions are {older}");
    // What a tag named once is kept for hours.
    create(&observer, &registry, "kept", BY_TAG)?;
    expect(&observer, "kept", "v1", "app v1")?;
    create(&observer, &registry, "exact", &by_digest(&newer))?;
    expect(&observer, "exact", "v2", "app v2")?;
    let looks_up = json!({ "config": { "images.auto_update_interval": "0" } });
    observer.request("PATCH", "/1.0", Some(&looks_up))?;
    create(&observer, &registry, "moved", BY_TAG)?;
    expect(&observer, "moved", "v2", "app v2")?;
    expect_serving(&observer, "first", "v1")?;
    ensure!(registry.digest(REPOSITORY, &older)? == older);

    registry.stop()?;
    let told = refusal(&observer, &registry)?;
    ensure!(told.contains("connection refused"), "{told}");
    registry.start()?;
    create(&observer, &registry, "again", BY_TAG)?;
    expect(&observer, "again", "v2", "app v2")?;
    drop(registry);
    lab.down()
}

fn same_layers(_: &Context) -> Result<()> {
    let lab = Lab::up_with("oci-layers", 1, Incus::V7)?;
    let registry = lab.registry()?;
    let observer = lab.observer();
    let older = push(&registry, "v1", "as it was")?;
    let newer = push(&registry, "v1", "as it is now")?;
    ensure!(older != newer, "both are {older}");
    create(&observer, &registry, "older", &by_digest(&older))?;
    expect(&observer, "older", "v1", "as it was")?;
    let kept = fingerprint(&observer, "older")?;
    // Naming the digest does not help: it leads to a fingerprint under which there is an image already.
    create(&observer, &registry, "mistaken", &by_digest(&newer))?;
    expect(&observer, "mistaken", "v1", "as it was")?;
    ensure!(fingerprint(&observer, "mistaken")? == kept);

    observer.finish("DELETE", &format!("/1.0/images/{kept}"), None)?;
    create(&observer, &registry, "right", &by_digest(&newer))?;
    expect(&observer, "right", "v1", "as it is now")?;
    ensure!(fingerprint(&observer, "right")? == kept);
    drop(registry);
    lab.down()
}

fn refused(_: &Context) -> Result<()> {
    let lab = Lab::up_with("oci-older", 1, Incus::V6)?;
    let registry = lab.registry()?;
    push(&registry, "v1", "app v1")?;
    let observer = lab.observer();
    let told = refusal(&observer, &registry)?;
    ensure!(told.contains("Unsupported protocol: oci"), "{told}");
    drop(registry);
    lab.down()
}

/// Pushes a version under the tag and returns its digest: the one that HEAD and GET tell.
fn push(registry: &Registry, version: &str, line: &str) -> Result<String> {
    let pushed = registry.push(REPOSITORY, TAG, version, line)?;
    let named = registry.digest(REPOSITORY, TAG)?;
    ensure!(
        pushed == named,
        "{version} is {pushed}, {TAG} names {named}"
    );
    let [by_tag, by_digest] = [TAG, &pushed].map(|name| registry.manifest(REPOSITORY, name));
    let (by_tag, by_digest) = (by_tag?, by_digest?);
    ensure!(by_tag == by_digest, "{by_tag} {by_digest}");
    Ok(pushed)
}

fn by_digest(digest: &str) -> String {
    format!("{REPOSITORY}@{digest}")
}

/// An instance as anybody would make it of an OCI image.
fn create(observer: &Observer, registry: &Registry, name: &str, image: &str) -> Result<Value> {
    let instance = json!({
        "name": name, "type": "container", "start": true,
        "source": {
            "type": "image", "mode": "pull", "protocol": "oci",
            "server": registry.server(), "alias": image,
        },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    observer.finish("POST", "/1.0/instances", Some(&instance))
}

/// Why no instance is made; nothing of one may be left.
fn refusal(observer: &Observer, registry: &Registry) -> Result<String> {
    let Err(error) = create(observer, registry, "never", BY_TAG) else {
        bail!("it was made");
    };
    let instances = observer.instances("default")?;
    let left = instances.iter().any(|instance| instance["name"] == "never");
    ensure!(!left, "it is there in spite of {error:#}");
    Ok(format!("{error:#}"))
}

/// The name of the image that an instance was made of, as Incus keeps it.
fn fingerprint(observer: &Observer, name: &str) -> Result<String> {
    let instance = observer.get(&format!("/1.0/instances/{name}"))?;
    let base = instance["config"]["volatile.base_image"].as_str();
    Ok(base.context("an image")?.to_owned())
}

/// What a new one printed, and what it serves. Reading takes the console's content away, so that this is asked once.
fn expect(observer: &Observer, name: &str, version: &str, line: &str) -> Result<()> {
    let console = format!("/1.0/instances/{name}/console");
    let mut printed = String::new();
    let waited = wait_until(&format!("{name} prints {line:?}"), LONGEST_START, || {
        let (_, more) = observer.exchange("GET", &console, &[], &[])?;
        printed.push_str(&String::from_utf8_lossy(&more));
        Ok(printed.lines().any(|printed| printed.trim() == line))
    });
    waited.with_context(|| format!("it printed {printed:?}"))?;
    expect_serving(observer, name, version)
}

fn expect_serving(observer: &Observer, name: &str, version: &str) -> Result<()> {
    wait_until(&format!("{name} serves {version}"), LONGEST_START, || {
        let answer = observer.answer(name, "/version");
        Ok(answer.is_ok_and(|answer| answer == version))
    })
}
