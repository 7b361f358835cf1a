//! Fleets from nothing in one apply: the whole program of a user, but for the seeds.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::site::{CLIENT, Site};
use crate::lab::Incus;
use crate::process::wait_until;
use crate::scenario::Context;

/// Networks and machines are offline; members use the cluster, whose addresses come from the plan itself.
const FLEET: &str = r#"
provider "homelab" {}

provider "homelab" {
  alias     = "cluster"
  endpoints = ENDPOINTS
CLIENT}

resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "10.99.0.0/24"
  gateway      = "10.99.0.1"
  dns          = ["10.99.0.1"]
  static_range = "10.99.0.11-10.99.0.19"
  claims       = { for name, m in local.machines : name => m.pin }
}

resource "homelab_instance" "node" {
  for_each = local.machines
  name     = each.key
  mac      = each.value.mac
  role     = each.value.role
  os       = "linux"
  network  = homelab_network.lan
  address  = homelab_network.lan.assignments[each.key]
}

resource "homelab_cluster_member" "node" {
  provider       = homelab.cluster
  for_each       = homelab_instance.node
  name           = each.key
  address        = each.value.address
  role           = each.value.role
  failure_domain = "rack-${each.key}"
  on_destroy     = { evacuate = true }
}
"#;

/// As a program from nothing has them.
pub(super) const FROM_PLAN: &str =
    "[for n in homelab_instance.node : \"https://${n.address}:8443\"]";

/// What a program needs from which machines are taken out: with the ones above OpenTofu finds a cycle at times, since a
/// member that leaves needs its provider, which would wait for the network, which waits for the member.
const FROM_PINS: &str = "[for m in local.machines : \"https://${m.pin}:8443\"]";

impl Site {
    /// Declares these machines as a fleet, the first one as its beginning.
    pub(super) fn declare_fleet(&self, endpoints: &str, names: &[&str]) -> Result<()> {
        let mut machines = String::new();
        for name in names {
            let role = if *name == "m1" { "bootstrap" } else { "join" };
            let address = self.lab.member(name)?.address();
            let _ = writeln!(
                machines,
                "    {name} = {{ mac = \"52:54:00:00:00:{}\", role = \"{role}\", pin = \"{address}\" }}",
                &address[address.len() - 2..]
            );
        }
        let fleet = FLEET
            .replace("ENDPOINTS", endpoints)
            .replace("CLIENT", CLIENT);
        self.workspace.main(&format!(
            "locals {{\n  machines = {{\n{machines}  }}\n}}\n{fleet}"
        ))
    }
}

/// HO-CLUS-01, HO-CLUS-02: one machine is a cluster of one.
pub(super) fn one(context: &Context) -> Result<()> {
    let site = Site::fresh(context, "one", &[Incus::V6])?;
    site.declare_fleet(FROM_PLAN, &["m1"])?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &["m1"])?;
    site.workspace.expect_empty_plan()?;
    // The last member cannot leave, so it is forgotten.
    site.workspace.destroy()?.succeeded()?.says("last member")?;
    let state = site
        .workspace
        .state_of("homelab_cluster_member.node[\"m1\"]")?;
    ensure!(state.is_none(), "it is remembered: {state:?}");
    site.expect_members(site.lab.first(), &["m1"])?;
    // And taken up again.
    site.workspace.apply()?.succeeded()?;
    site.workspace.expect_empty_plan()?;
    site.down()
}

/// HO-CLUS-03, HO-CLUS-06: three in one apply; one leaves and comes back.
pub(super) fn three(context: &Context) -> Result<()> {
    let site = Site::fresh(context, "three", &[Incus::V7; 3])?;
    let all = ["m1", "m2", "m3"];
    site.declare_fleet(FROM_PLAN, &all)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &all)?;
    site.workspace.expect_empty_plan()?;
    let domain = site.observer().get("/1.0/cluster/members/m3")?["failure_domain"].take();
    ensure!(domain == "rack-m3", "{domain}");

    site.declare_fleet(FROM_PINS, &all[..2])?;
    site.workspace.expect_changes()?.says("two members")?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &all[..2])?;
    site.workspace.expect_empty_plan()?;
    let left = site.lab.member("m3")?;
    let cluster = left.observer().get("/1.0/cluster")?;
    ensure!(cluster["enabled"] == false, "{cluster:#}");

    // A member that was removed has forgotten whom it trusted.
    left.open_to(&site.operator)?;
    site.declare_fleet(FROM_PINS, &all)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &all)?;
    site.workspace.expect_empty_plan()?;
    site.down()
}

/// Five in one apply, and down to the last one in another.
pub(super) fn five(context: &Context) -> Result<()> {
    let site = Site::fresh(context, "five", &[Incus::V6; 5])?;
    let all = ["m1", "m2", "m3", "m4", "m5"];
    site.declare_fleet(FROM_PLAN, &all)?;
    site.workspace.apply()?.succeeded()?;
    site.expect_members(site.lab.first(), &all)?;
    site.workspace.expect_empty_plan()?;
    site.workspace.destroy()?.succeeded()?.says("last member")?;
    let mut remaining = Vec::new();
    for member in site.lab.members() {
        // A daemon that was removed starts anew.
        let observer = member.observer();
        let answers = || Ok(observer.get("/1.0/cluster").is_ok());
        wait_until("it answers", Duration::from_secs(20), answers)?;
        if observer.get("/1.0/cluster")?["enabled"] == true {
            remaining.push(member);
        }
    }
    let [last] = remaining.as_slice() else {
        let names: Vec<&str> = remaining.iter().map(|member| member.name()).collect();
        anyhow::bail!("these are clustered: {names:?}");
    };
    site.expect_members(last, &[last.name()])
        .context("the last member")?;
    site.down()
}
