//! Members of a cluster that is there already: taken up by import, emptied, and filled again.

use anyhow::{Context as _, Result, ensure};

use super::site::{CLIENT, Site};
use crate::lab::{Member, VERSION_1};
use crate::scenario::Context;
use crate::scenarios::{App, expect_serving};

/// The part of an adoption that is about members.
const ADOPTION: &str = r#"
data "homelab_cluster" "this" {}

import {
  for_each = toset(MEMBERS)
  to       = homelab_cluster_member.node[each.key]
  id       = each.key
}

resource "homelab_cluster_member" "node" {
  for_each = { for m in data.homelab_cluster.this.members : m.name => m if contains(MEMBERS, m.name) }
  name     = each.key
  address  = each.value.address
"#;

const ALL: [&str; 3] = ["m1", "m2", "m3"];

fn declare(site: &Site, members: &[&str], more: &str, app: &App) -> Result<()> {
    let endpoints: Vec<String> = site.lab.members().iter().map(Member::https).collect();
    let provider = format!("provider \"homelab\" {{\n  endpoints = {endpoints:?}\n{CLIENT}}}\n");
    let adoption = ADOPTION.replace("MEMBERS", &format!("{members:?}"));
    site.workspace
        .main(&format!("{provider}{adoption}{more}}}\n{}", app.hcl()))
}

pub(super) fn adopted_and_evacuated(context: &Context) -> Result<()> {
    let site = Site::furnished(context, "adopted", 3)?;
    let app = App::new("wide", 3, VERSION_1);
    let address = |name: &str| format!("homelab_cluster_member.node[\"{name}\"]");
    declare(&site, &ALL, "", &app)?;
    site.workspace.expect_changes()?.says("3 to import")?;
    for name in ALL {
        let actions = site.workspace.planned_change(&address(name))?["actions"].take();
        ensure!(actions == serde_json::json!(["no-op"]), "{name}: {actions}");
    }
    site.workspace.apply()?.succeeded()?;
    site.workspace.expect_empty_plan()?;
    let before = expect_serving(&site.observer(), "wide", 3, VERSION_1)?;
    let moved = before.iter().find(|workload| workload.location == "m3");
    let moved = moved.context("nothing of the app is on m3")?;

    // An evacuated member is empty, and what was on it is elsewhere and not missing.
    declare(
        &site,
        &ALL,
        "  state = each.key == \"m3\" ? \"evacuated\" : null\n",
        &app,
    )?;
    site.workspace.apply()?.succeeded()?;
    let status = || -> Result<String> {
        let member = site.observer().get("/1.0/cluster/members/m3")?;
        Ok(member["status"].as_str().unwrap_or_default().to_owned())
    };
    ensure!(status()? == "Evacuated", "m3 is {}", status()?);
    site.workspace.expect_empty_plan()?;
    let evacuated = expect_serving(&site.observer(), "wide", 3, VERSION_1)?;
    let same = evacuated
        .iter()
        .find(|workload| workload.name == moved.name);
    ensure!(
        same.is_some_and(|workload| workload.location != "m3"),
        "{evacuated:#?}"
    );

    declare(
        &site,
        &ALL,
        "  state = each.key == \"m3\" ? \"online\" : null\n",
        &app,
    )?;
    site.workspace.apply()?.succeeded()?;
    ensure!(status()? == "Online", "m3 is {}", status()?);
    let after = expect_serving(&site.observer(), "wide", 3, VERSION_1)?;
    ensure!(after == before, "{before:#?}\n{after:#?}");
    site.workspace.expect_empty_plan()?;
    leaves(&site, &app)?;
    site.down()
}

/// HO-CLUS-08: one that hosts something stays, unless it was said before that it may be emptied.
fn leaves(site: &Site, app: &App) -> Result<()> {
    declare(site, &ALL[..2], "", app)?;
    let refused = site.workspace.apply()?.failed()?;
    refused
        .says("It hosts wide-")?
        .says("on_destroy = { evacuate = true }")?;
    declare(site, &ALL, "  on_destroy = { evacuate = true }\n", app)?;
    site.workspace.apply()?.succeeded()?;
    declare(site, &ALL[..2], "  on_destroy = { evacuate = true }\n", app)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &ALL[..2])?;
    expect_serving(&site.observer(), "wide", 3, VERSION_1)?;
    site.workspace.expect_empty_plan().map(drop)
}
