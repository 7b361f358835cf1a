//! A member that was removed by force while it lived, cut off: the danger that it is, and what is said of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::site::{Declared, Site};
use crate::lab::Incus;
use crate::process::wait_until;
use crate::scenario::Context;

/// HO-CLUS-08, HO-JOIN-20.
pub(super) fn not_told(context: &Context) -> Result<()> {
    let site = Site::clustered(context, "not-told", &[Incus::V6; 3], 3)?;
    let declare = |third: &[Declared]| {
        let others = [Declared::first("m1"), Declared::join("m2")];
        site.declare(&["m1", "m2"], &[&others, third].concat())
    };
    let third = || Declared::join("m3").with("on_destroy = { force = true }");
    declare(&[third()])?;
    site.workspace.apply()?.succeeded()?;

    let member = site.lab.member("m3")?;
    site.lab.cut(member)?;
    member.wait_listed(&site.observer(), "Offline")?;
    declare(&[])?;
    let removed = site.workspace.apply()?.succeeded()?;
    removed
        .says("Warning: Member m3 was removed and does not know it")?
        .says("it can read and write the cluster's database")?
        .says("Switch it off, and reset it or install it anew")?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;
    site.workspace.expect_empty_plan()?;

    // The warning is true: back in the network, it takes itself for a member.
    site.lab.mend(member)?;
    let observer = member.observer();
    let cluster = observer.get("/1.0/cluster")?;
    ensure!(cluster["enabled"] == true, "{cluster:#}");
    let profile = json!({ "name": "from-outside" });
    wait_until("it writes", Duration::from_secs(60), || {
        let written = observer.request("POST", "/1.0/profiles", Some(&profile));
        Ok(written.is_ok())
    })?;
    let profiles = site.observer().profile_names("default")?;
    ensure!(
        profiles.contains(&"from-outside".to_owned()),
        "{profiles:?}"
    );

    // Whoever declares it again is told, and it is not touched.
    declare(&[third()])?;
    let refused = site.workspace.apply()?.failed()?;
    refused
        .says("it was removed without being told, and still runs")?
        .says("switch it off and reset it")?;
    site.expect_members(site.lab.first(), &["m1", "m2"])?;

    // What the warning advises lets it in again.
    member.reinstall()?;
    member.open_to(&site.operator)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1", "m2", "m3"])?;
    site.workspace.expect_empty_plan()?;
    site.down()
}
