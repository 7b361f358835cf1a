//! Apps of which only one workload may run: stopped first, with data that stays, and a way back.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{App, endpoint, expect_serving, provider};
use crate::lab::{BROKEN, Lab, POOL, VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::scenario::{Context, Scenario};
use crate::watch::watch;
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "what_may_run_only_once_is_replaced_in_place",
        proves: "An app with a volume never runs twice, keeps its data over a new image, comes back with it after an image that \
                 fails, and again after a destroy that keeps volumes and after a replacement; a destroy that is to delete them does. Another pool is refused \
                 while the data is in this one, and a backup of the volume is left alone.",
        group: "exclusive",
        needs: &[],
        seconds: 40,
        run: in_place,
    },
    Scenario {
        name: "a_workload_stays_with_its_volume",
        proves: "In a cluster each replica has its volume on the member that it runs on, and every generation of it runs there.",
        group: "exclusive",
        needs: &[],
        seconds: 40,
        run: pinned,
    },
];

/// The app, with a volume below what its web server shows.
pub(super) fn app(name: &str, replicas: u32, image: &'static str, more: &str) -> String {
    let mut app = App::new(name, replicas, image);
    app.more = format!(
        "  volumes = {{\n    data = {{ class = \"local\", path = \"/www/data\", size = \"64MiB\" }}\n  }}\n{more}"
    );
    app.hcl().replace("generic-stateless", "generic-exclusive")
}

fn block(lab: &Lab, fleet: &str) -> String {
    provider(&[endpoint(&lab.first().socket())], fleet)
}

/// Writes something into the volume, from inside.
pub(super) fn leave(observer: &Observer, workload: &str, what: &str) -> Result<()> {
    let command = format!("echo {what} >/www/data/left");
    let body = json!({
        "command": ["sh", "-c", command],
        "wait-for-websocket": false,
        "interactive": false,
    });
    let path = format!("/1.0/instances/{workload}/exec");
    observer.finish("POST", &path, Some(&body)).map(drop)
}

fn volumes(observer: &Observer, app: &str) -> Result<Vec<Value>> {
    let path = format!("/1.0/storage-pools/{POOL}/volumes/custom?recursion=1");
    let of_app = |volume: &Value| volume["config"]["user.homelab-ops.app"] == app;
    let all = observer.list(&path)?;
    Ok(all.into_iter().filter(of_app).collect())
}

fn in_place(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let workspace = context.workspace("exclusive-volume")?;
    let write = |image, more: &str| {
        let app = app("data", 1, image, more);
        workspace.main(&format!("{}{app}", block(&lab, "validate-exclusive")))
    };
    write(VERSION_1, "")?;
    workspace.apply()?.succeeded()?;
    let first = expect_serving(&observer, "data", 1, VERSION_1)?;
    leave(&observer, &first[0].name, "kept")?;
    workspace.expect_empty_plan()?;

    write(VERSION_2, "")?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_app.data")?["after"]["rollout_steps"].take();
    let expected = json!([
        "replica 0: stop generation 0",
        format!("replica 0: create generation 1 from {VERSION_2}"),
        "replica 0: promote generation 1, remove generation 0",
    ]);
    ensure!(planned == expected, "{planned}");
    let (apply, seen) = watch(&observer, "data", || workspace.apply())?;
    apply.succeeded()?;
    ensure!(seen.most == 1, "{} ran at once", seen.most);
    expect_left(&observer, VERSION_2)?;
    workspace.expect_empty_plan()?;

    write(BROKEN, "")?;
    let (apply, seen) = watch(&observer, "data", || workspace.apply())?;
    apply.failed()?.says("cannot open /etc/app.conf")?;
    ensure!(seen.most == 1, "{} ran at once", seen.most);
    expect_left(&observer, VERSION_2)?;
    workspace.expect_changes()?;
    write(VERSION_2, "")?;
    workspace.apply()?.succeeded()?;
    expect_left(&observer, VERSION_2)?;
    workspace.expect_empty_plan()?;

    stays_in_its_pool(&workspace, &observer, write)?;
    // What is made from the volume has its keys, and is listed before it.
    let copy = json!({
        "name": "backup", "type": "custom", "content_type": "filesystem",
        "source": { "type": "copy", "pool": POOL, "name": "data-data" },
    });
    let in_pool = format!("/1.0/storage-pools/{POOL}/volumes/custom");
    observer.finish("POST", &in_pool, Some(&copy))?;
    write(VERSION_1, "")?;
    workspace.apply()?.succeeded()?;
    let serving = expect_serving(&observer, "data", 1, VERSION_1)?;
    let path = format!("/1.0/instances/{}", serving[0].name);
    let devices = observer.get(&path)?["devices"].take();
    ensure!(devices["data"]["source"] == "data-data", "{devices}");
    write(VERSION_2, "")?;
    workspace.apply()?.succeeded()?;

    workspace.destroy()?.succeeded()?;
    ensure!(volumes(&observer, "data")?.len() == 2, "the data is gone");
    workspace.apply()?.succeeded()?;
    expect_left(&observer, VERSION_2)?;
    forget(&workspace, &observer, || {
        write(VERSION_2, "  on_destroy = { delete_volumes = true }\n")
    })
}

/// What was left in the volume is there, under a workload of this image.
fn expect_left(observer: &Observer, image: &str) -> Result<()> {
    let serving = expect_serving(observer, "data", 1, image)?;
    let left = observer.answer(&serving[0].name, "/data/left")?;
    ensure!(left == "kept", "{} has {left:?}", serving[0].name);
    Ok(())
}

/// Volumes go with their app once that was applied.
fn forget(
    workspace: &Workspace,
    observer: &Observer,
    declare: impl FnOnce() -> Result<()>,
) -> Result<()> {
    declare()?;
    workspace.apply()?.succeeded()?;
    // A replacement is no destroy: what comes after it takes the data up again.
    let replace = ["apply", "-no-color", "-input=false", "-auto-approve"];
    let replace = [&replace[..], &["-replace=homelab_app.data"]].concat();
    workspace.run(&replace)?.succeeded()?;
    expect_left(observer, VERSION_2)?;
    workspace.destroy()?.succeeded()?;
    let left = volumes(observer, "data")?;
    ensure!(left.len() == 1 && left[0]["name"] == "backup", "{left:#?}");
    let path = format!("/1.0/storage-pools/{POOL}/volumes/custom/backup");
    observer.finish("DELETE", &path, None).map(drop)
}

/// In another pool the app would find an empty volume.
fn stays_in_its_pool(
    workspace: &Workspace,
    observer: &Observer,
    write: impl Fn(&'static str, &str) -> Result<()>,
) -> Result<()> {
    let other = json!({ "name": "spare", "driver": "dir" });
    observer.finish("POST", "/1.0/storage-pools", Some(&other))?;
    write(VERSION_2, "")?;
    let text = fs::read_to_string(workspace.folder().join("main.tf"))?;
    let moved = text.replace(
        "path = \"/www/data\"",
        "pool = \"spare\", path = \"/www/data\"",
    );
    workspace.write("main.tf", &moved)?;
    let apply = workspace.apply()?.failed()?;
    apply.says("The volume data-data is in the pool local")?;
    expect_left(observer, VERSION_2)?;
    let spare = observer.list("/1.0/storage-pools/spare/volumes/custom")?;
    ensure!(spare.is_empty(), "{spare:?}");
    write(VERSION_2, "")?;
    workspace.expect_empty_plan()?;
    observer
        .finish("DELETE", "/1.0/storage-pools/spare", None)
        .map(drop)
}

fn pinned(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let observer = lab.observer();
    let workspace = context.workspace("exclusive-pinned")?;
    let write = |image| {
        let app = app(
            "pinned",
            2,
            image,
            "  on_destroy = { delete_volumes = true }\n",
        );
        workspace.main(&format!("{}{app}", block(&lab, "validate-pinned")))
    };
    write(VERSION_1)?;
    workspace.apply()?.succeeded()?;
    let first = expect_serving(&observer, "pinned", 2, VERSION_1)?;
    let volumes_before = volumes(&observer, "pinned")?;
    for workload in &first {
        let ordinal = &workload.ordinal;
        let volume = volumes_before
            .iter()
            .find(|volume| volume["config"]["user.homelab-ops.member"] == ordinal.as_str());
        let location = volume.context("a volume of each replica")?["location"].clone();
        ensure!(
            location == workload.location.as_str(),
            "{} is on {}, its volume on {location}",
            workload.name,
            workload.location
        );
    }
    write(VERSION_2)?;
    let (apply, seen) = watch(&observer, "pinned", || workspace.apply())?;
    apply.succeeded()?;
    ensure!(seen.fewest >= 1, "both were down at once");
    let second = expect_serving(&observer, "pinned", 2, VERSION_2)?;
    for workload in &second {
        let before = first.iter().find(|one| one.ordinal == workload.ordinal);
        let before = &before.context("the same replica")?.location;
        ensure!(*before == workload.location, "{} has moved", workload.name);
    }
    ensure!(
        volumes(&observer, "pinned")?.len() == 2,
        "a volume too many"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    let left = volumes(&observer, "pinned")?;
    ensure!(left.is_empty(), "{left:#?}");
    Ok(())
}
