//! A cluster that has lost most of its voters for good: what plans say, and the way back that the guide describes.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::guide;
use super::site::{Declared, Site};
use crate::lab::{Incus, Member};
use crate::process::wait_until;
use crate::scenario::Context;

/// What a plan may take where nobody can decide anything.
const LONGEST_PLAN: Duration = Duration::from_secs(90);

/// The last has no vote, and lives as well as the first.
const ALL: [&str; 4] = ["m1", "m2", "m3", "m4"];

/// Both releases, side by side.
pub(super) fn recovered(context: &Context) -> Result<()> {
    thread::scope(|scope| {
        let newer = scope.spawn(|| with(context, "quorum-newer", Incus::V7));
        with(context, "quorum", Incus::V6).context("with the older release")?;
        let newer = newer.join().map_err(|_| anyhow!("the thread panicked"))?;
        newer.context("with the newer release")
    })
}

fn with(context: &Context, slug: &str, incus: Incus) -> Result<()> {
    let site = Site::clustered(context, slug, &[incus; 4], 4)?;
    let declare = |dead: &[Declared]| {
        let alive = [Declared::first("m1"), Declared::join("m4")];
        site.declare(&ALL, &[&alive, dead].concat())
    };
    let others = ["m2", "m3"].map(Declared::join);
    declare(&others)?;
    site.workspace.apply()?.succeeded()?;

    let [chosen, first, second, other] = site.lab.members() else {
        bail!("these are not four");
    };
    let (alive, dead) = ([chosen, other], [first, second]);
    dead.iter().try_for_each(|member| member.power_off())?;
    // The one that leads notices only after some seconds that nobody follows.
    let lost = || Ok(site.observer().get("/1.0/cluster/members").is_err());
    wait_until("quorum is lost", Duration::from_secs(60), lost)?;
    let since = Instant::now();
    let plan = site.workspace.plan()?.failed()?;
    let took = since.elapsed();
    ensure!(took < LONGEST_PLAN, "it took {took:?}: {}", plan.told());
    plan.says("the server cannot reach the database of its cluster")?
        .says("A member answers, and the cluster can decide nothing at the moment")?
        .says("Making and keeping a cluster")?;
    let state = site.workspace.state()?["values"]["root_module"]["resources"].take();
    ensure!(state.as_array().map(Vec::len) == Some(4), "{state:#}");

    follow_the_guide(chosen, &alive)?;
    for member in alive {
        member.wait_listed(&site.observer(), "Online")?;
    }
    for member in dead {
        member.wait_listed(&site.observer(), "Offline")?;
    }
    declare(&others.map(|member| member.with("on_destroy = { force = true }")))?;
    site.workspace.apply()?.succeeded()?;
    declare(&[])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(chosen, &["m1", "m4"])?;
    site.workspace.expect_empty_plan()?;

    // A new machine in the place of a dead one.
    first.reinstall()?;
    first.open_to(&site.operator)?;
    declare(&[Declared::join("m2")])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(chosen, &["m1", "m2", "m4"])?;
    site.workspace.expect_empty_plan()?;
    site.down()
}

/// Types what the guide says, on the members that it says. Their init is the lab.
fn follow_the_guide(chosen: &Member, alive: &[&Member]) -> Result<()> {
    let commands = guide::commands("Most voters are dead: quorum is lost")?;
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["systemctl", "stop", "incus.socket", "incus.service"] => {
                alive.iter().try_for_each(|member| member.stop())?;
            }
            ["systemctl", "start", "incus.socket", "incus.service"] => {
                alive.iter().try_for_each(|member| member.start())?;
            }
            ["incus", ..] => {
                let said = chosen.run(&words, "yes\n")?;
                expect_said(&words, &said)?;
            }
            _ => bail!("nobody knows how to type {words:?} here"),
        }
    }
    ensure!(
        commands.len() >= 5,
        "the guide lost a command: {commands:?}"
    );
    Ok(())
}

/// What the guide promises of a command.
fn expect_said(words: &[&str], said: &str) -> Result<()> {
    let expected: &[&str] = match words {
        ["incus", "admin", "cluster", "list-database"] => &["10.99.0.11:8443", "10.99.0.13:8443"],
        ["incus", "cluster", "list"] => &["m1", "OFFLINE"],
        _ => &[],
    };
    for word in expected {
        ensure!(said.contains(word), "{words:?} does not say {word}: {said}");
    }
    Ok(())
}
