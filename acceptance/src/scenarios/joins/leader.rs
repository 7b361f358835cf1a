//! The leader of the cluster's database dies while a change goes through another member.
//!
//! `dead.rs` has the member that a change goes through itself.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::site::{Declared, Site, expect_tidy};
use crate::lab::{Incus, Member};
use crate::process::wait_until;
use crate::proxy::Proxy;
use crate::scenario::Context;
use crate::workspace::Run;

const VOTERS: [&str; 3] = ["m1", "m2", "m3"];

/// First a removal, then a join, of the same machine. In this order: a removal beside a dead leader takes two votes of three
/// where the leader died before and the machine has got a vote for it.
pub(super) fn dies(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "leader", &[Incus::V6; 4], 4)?;
    let members: Vec<&Member> = site.lab.members().iter().collect();
    members
        .iter()
        .try_for_each(|member| site.lab.divert(member))?;
    let proxy = Proxy::before(&site.lab, &members, &site.operator)?;
    site.declare(&VOTERS, &[Declared::join("m4")])?;
    site.workspace.apply()?.succeeded()?;
    let removal = ("DELETE", "/1.0/cluster/members/m4");
    let removed = outlived(&site, &proxy, &[], removal).context("a removal")?;
    // The leader is who tells it, so it may be left as it was.
    let left = site.lab.member("m4")?;
    let cluster = left.observer().get("/1.0/cluster")?;
    if cluster["enabled"] != false {
        removed.says("Member m4 was removed and is still alive")?;
    }
    left.reinstall()?;
    left.open_to(&site.operator)?;
    let join = ("PUT", "/1.0/cluster");
    outlived(&site, &proxy, &[Declared::join("m4")], join).context("a join")?;
    drop(proxy);
    site.down()
}

/// An apply of these members goes through one that is not the leader, which dies when this request is made.
fn outlived(
    site: &Site,
    proxy: &Proxy,
    members: &[Declared],
    (method, path): (&str, &str),
) -> Result<Run> {
    let leader = site.lab.member(&leader(site)?)?;
    let others: Vec<&str> = VOTERS
        .into_iter()
        .filter(|name| *name != leader.name())
        .collect();
    let through = site.lab.member(others[0])?;
    site.declare(&others, members)?;
    proxy.clear();
    let mut apply = site.workspace.start_apply()?;
    wait_until("the request is made", Duration::from_secs(60), || {
        let seen = proxy.mutations();
        let is_it = |target: &str| target.split('?').next() == Some(path);
        let made = seen
            .iter()
            .any(|seen| seen.method == method && is_it(&seen.target));
        Ok(apply.has_ended()? || made)
    })?;
    leader.power_off()?;
    let first = apply.wait()?;
    leader.wait_listed(&through.observer(), "Offline")?;
    leader.start()?;
    for name in VOTERS {
        site.lab
            .member(name)?
            .wait_listed(&through.observer(), "Online")?;
    }
    let told = || first.told();
    // Incus may not come out of a join that was cut off; then the error says what to do.
    if first.output.contains("Restart Incus on it") {
        let joiner = site.lab.member("m4")?;
        joiner.kill_daemon()?;
        joiner.start()?;
    }
    site.workspace.apply()?.succeeded().with_context(told)?;
    let mut names = VOTERS.to_vec();
    names.extend((!members.is_empty()).then_some("m4"));
    wait_until("all are Online", Duration::from_secs(30), || {
        Ok(site.expect_members(through, &names).is_ok())
    })
    .with_context(told)?;
    expect_tidy(&through.observer(), &names)?;
    site.workspace.expect_empty_plan()?;
    Ok(first)
}

/// The name of the member that leads the database.
fn leader(site: &Site) -> Result<String> {
    let members = site.observer().list("/1.0/cluster/members?recursion=1")?;
    let leads = |member: &&serde_json::Value| {
        let roles = member["roles"].as_array().into_iter().flatten();
        roles.into_iter().any(|role| role == "database-leader")
    };
    let found = members.iter().find(leads).context("nobody leads")?;
    let name = found["server_name"].as_str().unwrap_or_default().to_owned();
    ensure!(VOTERS.contains(&name.as_str()), "{name} leads");
    Ok(name)
}
