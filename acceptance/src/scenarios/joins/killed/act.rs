//! The acts that are interrupted: how each begins, what a user types, and how one sees that nothing is left over.
//!
//! `killed.rs` calls these, with a kill in the middle.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::site::{Declared, Site, expect_daemon_volumes, metrics, resource};
use crate::lab::{Incus, POOL};
use crate::process::wait_until;
use crate::scenario::Context;
use crate::workspace::Run;

/// What members have: a pool and the daemon's volumes in it, with the keys that point at them.
const STORAGE: &str = "storage = { pool = \"local\", driver = \"dir\" }";

/// And a certificate that the cluster trusts for them.
const METRICS: &str = "metrics_certificate = file(\"metrics.crt\")";

/// What the member that leaves hosts, stopped.
const STILL: &str = "still";

/// What is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A machine becomes a cluster of one, with everything that a member has.
    Bootstrap,
    /// A second one joins it.
    Join,
    /// That one leaves, without losing anything.
    Removal,
}

impl Act {
    pub(super) fn site(self, context: &Context, slug: &str, incus: Incus) -> Result<Site> {
        match self {
            Act::Bootstrap => Site::fresh(context, slug, &[incus]),
            Act::Join | Act::Removal => Site::clustered(context, slug, &[incus; 2], 1),
        }
    }

    /// What is there before.
    pub(super) fn prepare(self, site: &Site) -> Result<()> {
        match self {
            Act::Bootstrap => Ok(()),
            Act::Join => alone(site)?.succeeded().map(drop),
            Act::Removal => {
                alone(site)?.succeeded()?;
                complete(site)
            }
        }
    }

    /// What the user does, and does again after an interruption.
    pub(super) fn perform(self, site: &Site) -> Result<Run> {
        match self {
            Act::Bootstrap => {
                let first = Declared::first("m1").with(STORAGE).with(METRICS);
                site.declare(&["m1"], &[first])?;
                site.workspace.apply()
            }
            Act::Join => both(site),
            Act::Removal => alone(site),
        }
    }

    /// A create that was finished except for the state is imported, as its error says; whether it was one.
    pub(super) fn import(self, site: &Site, refused: &Run) -> Result<bool> {
        let name = match self {
            Act::Bootstrap => "m1",
            Act::Join => "m2",
            Act::Removal => return Ok(false),
        };
        let command = format!("tofu import ADDRESS {name}");
        if !refused.error().contains(&command) {
            return Ok(false);
        }
        let imported = site.workspace.import(&resource(name), name)?;
        imported.succeeded().map(|_| true)
    }

    /// It came to its end, and nothing is left of what was interrupted.
    pub(super) fn check(self, site: &Site) -> Result<()> {
        let names: &[&str] = match self {
            Act::Bootstrap | Act::Removal => &["m1"],
            Act::Join => &["m1", "m2"],
        };
        site.expect_members(site.lab.first(), names)?;
        site.workspace.expect_empty_plan()?;
        let observer = site.observer();
        let pools = observer.list("/1.0/storage-pools")?;
        ensure!(pools == ["/1.0/storage-pools/local"], "{pools:?}");
        let last = names[names.len() - 1];
        let missing = site.workspace.attributes(&resource(last))?["missing"].take();
        ensure!(missing == json!([]), "missing: {missing}");
        expect_daemon_volumes(&observer, site.lab.member(last)?)?;
        let metrics = metrics(&observer)?.len();
        let expected = usize::from(self != Act::Removal);
        ensure!(
            metrics == expected,
            "{metrics} certificates are trusted for metrics"
        );
        match self {
            Act::Removal => expect_left(site),
            Act::Bootstrap | Act::Join => Ok(()),
        }
    }

    /// Back to before.
    pub(super) fn reset(self, site: &Site) -> Result<()> {
        match self {
            Act::Bootstrap => {
                forget(site, "m1")?;
                site.lab.first().reinstall()?;
                site.lab.first().open_to(&site.operator)
            }
            Act::Join => {
                forget(site, "m2")?;
                let observer = site.observer();
                for fingerprint in metrics(&observer)? {
                    let path = format!("/1.0/certificates/{fingerprint}");
                    observer.finish("DELETE", &path, None)?;
                }
                site.forget_entries("m2")?;
                site.start_over(site.lab.member("m2")?)?;
                site.expect_members(site.lab.first(), &["m1"])
            }
            Act::Removal => {
                // A member that was removed has forgotten whom it trusted.
                site.lab.member("m2")?.open_to(&site.operator)?;
                complete(site)
            }
        }
    }
}

/// The first member alone.
fn alone(site: &Site) -> Result<Run> {
    site.declare(&["m1", "m2"], &[Declared::first("m1").with(STORAGE)])?;
    site.workspace.apply()
}

/// Both.
fn both(site: &Site) -> Result<Run> {
    let joiner = Declared::join("m2").with(STORAGE).with(METRICS);
    let joiner = joiner.with("on_destroy = { evacuate = true }");
    let first = Declared::first("m1").with(STORAGE);
    site.declare(&["m1", "m2"], &[first, joiner])?;
    site.workspace.apply()
}

/// Both, and something on the second that has to move.
fn complete(site: &Site) -> Result<()> {
    both(site)?.succeeded()?;
    let observer = site.observer();
    expect_daemon_volumes(&observer, site.lab.member("m2")?)?;
    if !observer.instances("default")?.is_empty() {
        observer.delete(STILL)?;
    }
    let instance = json!({
        "name": STILL, "type": "container", "source": { "type": "none" },
        "devices": { "root": { "type": "disk", "path": "/", "pool": POOL } },
    });
    let created = observer.finish("POST", "/1.0/instances?target=m2", Some(&instance));
    created.map(drop)
}

fn forget(site: &Site, name: &str) -> Result<()> {
    let removed = site.workspace.run(&["state", "rm", &resource(name)])?;
    removed.succeeded().map(drop)
}

/// The second is nobody's member, and has nothing of one; what it hosted is on the first.
fn expect_left(site: &Site) -> Result<()> {
    let state = site.workspace.state_of(&resource("m2"))?;
    ensure!(state.is_none(), "it is remembered: {state:?}");
    let instance = site.observer().get(&format!("/1.0/instances/{STILL}"))?;
    ensure!(
        instance["location"] == "m1" && instance["status"] == "Stopped",
        "{instance:#}"
    );
    let volumes = "/1.0/storage-pools/local/volumes/custom?recursion=1";
    let volumes = site.observer().list(volumes)?;
    let strays = volumes.iter().filter(|volume| volume["location"] != "m1");
    ensure!(strays.count() == 0, "volumes are left: {volumes:#?}");
    let left = site.lab.member("m2")?.observer();
    // A daemon that was removed starts anew.
    wait_until("it answers", Duration::from_secs(20), || {
        Ok(left.get("/internal/ready").is_ok() && left.get("/1.0/cluster").is_ok())
    })?;
    let (cluster, server) = (left.get("/1.0/cluster")?, left.get("/1.0")?);
    ensure!(cluster["enabled"] == false, "{cluster:#}");
    let pools = left.list("/1.0/storage-pools")?;
    ensure!(pools.is_empty(), "pools are left: {pools:?}");
    // Where it listens Incus leaves as it is.
    let config = server["config"].as_object().into_iter().flatten();
    let keys: Vec<&String> = config.map(|(key, _)| key).collect();
    let others = keys.iter().filter(|key| !key.ends_with(".https_address"));
    ensure!(others.count() == 0, "keys are left: {keys:?}");
    Ok(())
}
