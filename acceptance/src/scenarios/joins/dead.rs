//! Members that die: while somebody joins through them, while somebody plans, and when they are to go.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::site::{Declared, Site, expect_tidy, resource};
use crate::lab::Incus;
use crate::process::wait_until;
use crate::proxy::Proxy;
use crate::scenario::Context;

/// What a plan may take while a member is silent and Incus does not know it yet: it gives up on one after 20 s.
const LONGEST_PLAN: Duration = Duration::from_secs(45);

/// HO-CLUS-08, HO-CLUS-11: a member that is silent, then dead, then removed.
pub(super) fn goes(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "gone", &[Incus::V6; 3], 3)?;
    let through = ["m1", "m2", "m3"];
    let declare = |rack: &str, third: &[Declared]| {
        let second =
            Declared::join("m2").with(&format!("config = {{ \"user.rack\" = \"{rack}\" }}"));
        site.declare(
            &through,
            &[&[Declared::first("m1"), second], third].concat(),
        )
    };
    let third = || Declared::join("m3");
    declare("1", &[third()])?;
    site.workspace.apply()?.succeeded()?;
    site.workspace.expect_empty_plan()?;

    let silent = site.lab.member("m3")?;
    site.lab.cut(silent)?;
    let since = Instant::now();
    let plan = site.workspace.plan()?;
    let took = since.elapsed();
    ensure!(
        plan.code != Some(1) && took < LONGEST_PLAN,
        "{}",
        plan.told()
    );
    silent.wait_listed(&site.observer(), "Offline")?;
    site.workspace
        .expect_empty_plan()?
        .says("m3")?
        .says("Warning")?;
    site.lab.mend(silent)?;
    silent.wait_listed(&site.observer(), "Online")?;

    silent.power_off()?;
    silent.wait_listed(&site.observer(), "Offline")?;
    declare("2", &[third()])?;
    site.workspace
        .expect_changes()?
        .says("Warning")?
        .says("m3")?;
    site.workspace.apply()?.succeeded()?;
    let rack = site.observer().get("/1.0/cluster/members/m2")?["config"]["user.rack"].take();
    ensure!(rack == "2", "{rack}");

    declare("2", &[])?;
    site.workspace
        .apply()?
        .failed()?
        .says("does not answer")?
        .says("force")?;
    let kept = site.workspace.state_of(&resource("m3"))?;
    ensure!(kept.is_some(), "it was forgotten");
    // A change that it cannot get any more keeps nobody from letting it go.
    let changed = third().with("failure_domain = \"rack-3\"");
    declare("2", &[changed.with("timeouts = { update = \"4s\" }")])?;
    site.workspace.apply()?.failed()?.says("m3")?;
    declare("2", &[third().with("on_destroy = { force = true }")])?;
    site.workspace.apply()?.succeeded()?;
    declare("2", &[])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;
    site.workspace.expect_empty_plan()?;
    site.down()
}

/// The member through which somebody joins dies in the middle of it; the others remain.
pub(super) fn contacted(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "contacted", &[Incus::V6; 4], 3)?;
    let (first, second, joiner) = (
        site.lab.first(),
        site.lab.member("m2")?,
        site.lab.member("m4")?,
    );
    site.lab.divert(joiner)?;
    let proxy = Proxy::before(&site.lab, &[joiner], &site.operator)?;
    site.declare(&["m1", "m2", "m3"], &[Declared::join("m4")])?;
    let mut apply = site.workspace.start_apply()?;
    wait_until("the join is asked for", Duration::from_secs(30), || {
        let seen = proxy.mutations();
        Ok(apply.has_ended()? || seen.iter().any(|seen| seen.target == "/1.0/cluster"))
    })?;
    first.power_off()?;
    let cut_short = apply.wait()?;
    first.wait_listed(&second.observer(), "Offline")?;
    first.start()?;
    for member in site.lab.members().iter().take(3) {
        member.wait_listed(&second.observer(), "Online")?;
    }
    let again = site.workspace.apply()?;
    ensure!(
        again.code == Some(0),
        "{}\n{}",
        cut_short.told(),
        again.told()
    );
    let all = ["m1", "m2", "m3", "m4"];
    wait_until("all are Online", Duration::from_secs(30), || {
        Ok(site.expect_members(second, &all).is_ok())
    })?;
    expect_tidy(&second.observer(), &all)?;
    site.workspace.expect_empty_plan()?;
    drop(proxy);
    site.down()
}
