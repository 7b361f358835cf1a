//! The lab itself: whatever happens to its runner, nothing of it is left on the machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::joins::Site;
use super::{App, endpoint, expect_serving, provider};
use crate::lab::{Incus, Lab, Member, Record, VERSION_1, VERSION_2};
use crate::observer::Observer;
use crate::process::{self, THIS_PROGRAM, run, tool, wait_until};
use crate::proxy::{Counted, Deed, Moment, Proxy, Trap};
use crate::scenario::{Context, Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_killed_runner_leaves_nothing_behind",
        proves: "A lab whose runner is killed is taken down: no process, namespace, mount or folder remains.",
        group: "lab",
        needs: &[],
        seconds: 6,
        run: |_| leaves_nothing(hold("hold", "killed", Incus::V6), 4, Signal::KILL),
    },
    Scenario {
        name: "an_interrupted_runner_leaves_nothing_behind",
        proves: "A lab whose runner gets Ctrl-C is taken down before the runner ends.",
        group: "lab",
        needs: &[],
        seconds: 6,
        run: |_| leaves_nothing(hold("hold", "interrupted", Incus::V6), 4, Signal::INT),
    },
    Scenario {
        name: "a_killed_runner_of_the_newer_incus_leaves_nothing_behind",
        proves: "The same holds for daemons in a root file system of their own: Incus 7.0.",
        group: "lab",
        needs: &[Need::Incus7],
        seconds: 6,
        run: |_| leaves_nothing(hold("hold", "killed-newer", Incus::V7), 4, Signal::KILL),
    },
    Scenario {
        name: "a_killed_runner_with_a_registry_leaves_nothing_behind",
        proves: "The same holds for the registry of a lab.",
        group: "lab",
        needs: &[Need::Registry],
        seconds: 6,
        run: |_| {
            leaves_nothing(
                hold("hold-registry", "registry", Incus::V6),
                5,
                Signal::KILL,
            )
        },
    },
    Scenario {
        name: "a_killed_runner_of_a_tunnel_leaves_nothing_behind",
        proves: "The same holds for a tunnel: no process, namespace, mount or folder remains.",
        group: "lab",
        needs: &[Need::WireGuard],
        seconds: 2,
        run: |_| {
            leaves_nothing(
                tool(THIS_PROGRAM, &["lab", "hold-tunnel", "killed"]),
                2,
                Signal::KILL,
            )
        },
    },
    Scenario {
        name: "the_newer_incus_serves_an_app_through_a_power_cut",
        proves: "On three members with Incus 7.0 an app is rolled out; its workload outlives the daemon of a member; one \
                 that is powered off is Offline, and Online with its workload when it is started again.",
        group: "lab",
        needs: &[Need::Incus7],
        seconds: 50,
        run: power_cut,
    },
    Scenario {
        name: "members_of_two_releases_are_cut_off_and_stood_before",
        proves: "In one lab 6.0 and 7.0 run side by side, a member whose packets are lost is Offline until its cable is mended, and \
                 a proxy sees every request that is meant for a member, and kills whoever sends one.",
        group: "lab",
        needs: &[Need::Incus7],
        seconds: 30,
        run: cut_and_watched,
    },
];

/// A runner that brings up a lab, in one of the ways that `main.rs` has, and waits.
fn hold(how: &str, slug: &str, incus: Incus) -> Command {
    let mut runner = tool(THIS_PROGRAM, &["lab", how, slug]);
    runner.env("LAB_INCUS", incus.number());
    runner
}

/// Ends a runner whose places must have at least this many processes together.
fn leaves_nothing(mut runner: Command, least: usize, signal: Signal) -> Result<()> {
    let mut runner = runner
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting a runner")?;
    let mut lines = BufReader::new(runner.stdout.take().context("its output")?).lines();
    let directory = lines.next().context("the runner says nothing")??;
    let record = Record::read(Path::new(&directory))?;
    let namespaces: Vec<&String> = record.places().map(|place| &place.namespace).collect();
    let mut inside = String::new();
    for namespace in &namespaces {
        inside += &run(&mut tool("ip", &["netns", "pids", namespace]))?;
    }
    let inside: Vec<u32> = inside
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    let all = process::with_descendants(&inside);
    // With Incus a daemon, a monitor, an init and a server, and perhaps a registry; in a tunnel WireGuard at either end.
    ensure!(all.len() >= least, "more than these should run: {all:?}");

    process::signal(runner.id(), signal);
    runner.wait().context("collecting the runner")?;
    wait_until("everything is gone", Duration::from_secs(20), || {
        let mut all_namespaces = namespaces.iter().copied().chain([&record.hub]);
        Ok(!record.directory.exists()
            && !all_namespaces.any(|name| Path::new("/run/netns").join(name).exists())
            && !all.iter().any(|pid| process::is_alive(*pid)))
    })?;
    let sees_a_mount = |pid: &u32| {
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mounts"));
        mounts.is_ok_and(|mounts| mounts.contains(&record.id))
    };
    let seen_by: Vec<u32> = process::all().into_iter().filter(sees_a_mount).collect();
    ensure!(seen_by.is_empty(), "mounts remain: {seen_by:?}");
    Ok(())
}

fn cut_and_watched(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "watched", &[Incus::V6, Incus::V6, Incus::V7], 2)?;
    let lab = &site.lab;
    let version = |member: &Member| -> Result<String> {
        let server = member.observer().get("/1.0")?;
        Ok(server["environment"]["server_version"].to_string())
    };
    let (older, newer) = (version(lab.first())?, version(lab.member("m3")?)?);
    ensure!(
        older.contains("6.0") && newer.contains("7.0"),
        "{older} {newer}"
    );

    let second = lab.member("m2")?;
    lab.cut(second)?;
    second.wait_listed(&lab.observer(), "Offline")?;
    lab.mend(second)?;
    second.wait_listed(&lab.observer(), "Online")?;

    lab.divert(second)?;
    let proxy = Proxy::before(lab, &[second], &site.operator)?;
    let data = "data \"homelab_cluster\" \"this\" {}\n";
    site.declare_beside(&["m2"], &[], data)?;
    site.workspace.apply()?.succeeded()?;
    let seen = proxy.seen();
    ensure!(
        seen.iter()
            .any(|seen| seen.to_string().starts_with("m2: GET /1.0")),
        "{seen:?}"
    );
    for (moment, deed) in [
        (Moment::Before, Deed::KillClient),
        (Moment::After, Deed::KillHost),
    ] {
        proxy.arm(Trap {
            counted: Counted::All,
            nth: 2,
            moment,
            deed,
        });
        let killed = site.workspace.apply()?;
        ensure!(
            proxy.fired().is_some() && killed.code != Some(0),
            "{}",
            killed.told()
        );
    }
    drop(proxy);
    site.down()
}

fn power_cut(context: &Context) -> Result<()> {
    let lab = Lab::up_with("newer", 3, Incus::V7)?;
    let observer = lab.observer();
    let release = observer.get("/1.0")?["environment"]["server_version"].take();
    let is_newer = |release: &str| release.starts_with("7.0.");
    ensure!(release.as_str().is_some_and(is_newer), "{release}");
    let workspace = context.workspace("lab-newer")?;
    let block = provider(&[endpoint(&lab.first().socket())], "homelab");
    let app = |image| {
        workspace.main(&format!("{block}{}", App::new("wide", 3, image).hcl()))?;
        workspace.apply()?.succeeded()?;
        expect_serving(&observer, "wide", 3, image)
    };
    app(VERSION_1)?;
    let before = app(VERSION_2)?;

    // Without its daemon a container runs on, and a new daemon finds it.
    let deaf = lab.member("m2")?;
    let mut on_it = before.iter().filter(|workload| workload.location == "m2");
    let kept = on_it.next().context("nothing of the app is on m2")?;
    let process = |observer: &Observer| {
        let state = observer.get(&format!("/1.0/instances/{}/state", kept.name));
        Ok::<_, anyhow::Error>(state?["pid"].as_u64())
    };
    let running = process(&observer)?;
    deaf.kill_daemon()?;
    deaf.start()?;
    let found = process(&deaf.observer())?;
    ensure!(
        running.is_some() && found == running,
        "{running:?} {found:?}"
    );

    let dark = lab.member("m3")?;
    dark.power_off()?;
    dark.wait_listed(&observer, "Offline")?;
    dark.start()?;
    dark.wait_listed(&observer, "Online")?;
    let running = "its workload runs again";
    wait_until(running, Duration::from_secs(60), || {
        Ok(observer.workloads("wide")? == before)
    })?;
    expect_serving(&observer, "wide", 3, VERSION_2)?;
    workspace.expect_empty_plan()?;
    lab.down()
}
