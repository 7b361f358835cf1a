//! A fleet from nothing in two steps, and the second one stopped by its user.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::guide;
use super::nothing::FROM_PLAN;
use super::site::Site;
use crate::lab::{Incus, Member};
use crate::process::wait_until;
use crate::proxy::Proxy;
use crate::scenario::Context;

const BOTH: [&str; 2] = ["m1", "m2"];

pub(super) fn two_and_stopped(context: &Context) -> Result<()> {
    let site = Site::fresh(context, "steps", &[Incus::V6; 2])?;
    site.declare_fleet(FROM_PLAN, &BOTH)?;

    // No machine is up.
    site.lab.members().iter().try_for_each(Member::power_off)?;
    let commands = guide::commands("From nothing, in two steps")?;
    let [first, second] = commands.as_slice() else {
        anyhow::bail!("these are not two steps: {commands:?}");
    };
    let typed: Vec<&str> = first.iter().map(String::as_str).skip(1).collect();
    let unattended = ["-no-color", "-input=false", "-auto-approve"];
    let run = site.workspace.run(&[&typed[..], &unattended].concat())?;
    run.succeeded()?.says_not("homelab_cluster_member")?;
    for name in BOTH {
        let state = |kind: &str| site.workspace.state_of(&format!("{kind}.node[\"{name}\"]"));
        ensure!(
            state("homelab_instance")?.is_some(),
            "{name} is not declared"
        );
        ensure!(
            state("homelab_cluster_member")?.is_none(),
            "{name} is a member"
        );
    }
    site.lab.members().iter().try_for_each(Member::start)?;

    ensure!(second.join(" ") == "tofu apply", "{second:?}");
    stopped(&site)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &BOTH)?;
    site.workspace.expect_empty_plan()?;
    site.down()
}

/// Ctrl-C while the second machine joins.
fn stopped(site: &Site) -> Result<()> {
    let joiner = site.lab.member("m2")?;
    site.lab.divert(joiner)?;
    let proxy = Proxy::before(&site.lab, &[joiner], &site.operator)?;
    let mut apply = site.workspace.start_apply()?;
    wait_until("it joins", Duration::from_secs(30), || {
        let seen = proxy.mutations();
        Ok(apply.has_ended()? || seen.iter().any(|seen| seen.target == "/1.0/cluster"))
    })?;
    apply.interrupt()?;
    let run = apply.wait()?.failed()?;
    run.says("Warning: Member m2 has joined, and is not complete yet")?
        .says("Apply again to go on from there")?;
    drop(proxy);
    Ok(())
}
