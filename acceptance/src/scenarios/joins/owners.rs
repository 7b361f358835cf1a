//! Two configurations that declare the same member: the fleet store says whose it is.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::site::{Declared, FLEET, Site, resource};
use crate::lab::Incus;
use crate::process::wait_until;
use crate::scenario::Context;
use crate::workspace::Workspace;

/// An entry has one owner, and an import adopts it.
pub(super) fn one(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "owned", &[Incus::V6; 2], 1)?;
    let (first, second) = (&site.workspace, site.another(context, "owned-second")?);
    let declare = |workspace: &Workspace, more: &str| {
        let members = [Declared::join("m2").with(more)];
        workspace.main(&site.text(&["m1"], &members)?)
    };
    declare(first, "")?;
    first.apply()?.succeeded()?;
    let owner = owner(first)?;
    ensure!(entry(&site)? == (1, owner.clone()), "{:?}", entry(&site)?);

    // Whoever declares it too is told the way, and has changed nothing.
    declare(&second, "failure_domain = \"rack-2\"")?;
    second.apply()?.failed()?.says("tofu import ADDRESS m2")?;
    let state = second.state_of(&resource("m2"))?;
    ensure!(state.is_none(), "the refused member is in the second state");
    first.expect_empty_plan()?;
    second.import(&resource("m2"), "m2")?.succeeded()?;
    second.apply()?.succeeded()?;
    ensure!(entry(&site)? == (2, owner), "{:?}", entry(&site)?);
    second.expect_empty_plan()?;

    // Removed and made again, it is the second one's alone.
    second.destroy()?.succeeded()?;
    // A daemon that was removed starts anew.
    let left = site.lab.member("m2")?;
    wait_until("m2 answers", Duration::from_secs(20), || {
        Ok(left.open_to(&site.operator).is_ok())
    })?;
    second.apply()?.succeeded()?;
    ensure!(
        entry(&site)?.1 == self::owner(&second)?,
        "{:?}",
        entry(&site)?
    );
    let foreign = "belongs to another";
    declare(first, "failure_domain = \"rack-1\"")?;
    first.expect_changes()?.says(foreign)?;
    first.apply()?.failed()?.says(foreign)?;
    first.main(&site.text(&["m1"], &[])?)?;
    first.apply()?.succeeded()?.says("was not removed")?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;
    second.expect_empty_plan()?;
    site.down()
}

fn owner(workspace: &Workspace) -> Result<String> {
    let owner = workspace.attributes(&resource("m2"))?["owner"].take();
    owner.as_str().map(str::to_owned).context("no owner")
}

/// The number of the highest revision of the member's entry, and whose it is.
fn entry(site: &Site) -> Result<(u64, String)> {
    let (observer, prefix) = (site.observer(), "member.m2.r");
    let names = observer.profile_names(FLEET)?;
    let numbers = names
        .iter()
        .filter_map(|name| name.strip_prefix(prefix)?.parse().ok());
    let highest: u64 = numbers.max().context("there is no entry")?;
    let mut profile = observer.get(&format!("/1.0/profiles/{prefix}{highest}?project={FLEET}"))?;
    match profile["config"]["user.homelab-ops.owner"].take() {
        Value::String(owner) => Ok((highest, owner)),
        _ => anyhow::bail!("no owner in {profile:#}"),
    }
}
