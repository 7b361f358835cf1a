//! Machines: what a fleet looks like in a plan, and what does not change in it. No lab is needed.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_machine_more_changes_no_other_machine",
        proves: "Machines take whole networks; the plan completes them; another spelling of a MAC address is no change; a \
                 fourth machine is one new machine and the network's own update (HO-CFG-03, HO-IPAM-14).",
        group: "machines",
        needs: &[],
        seconds: 4,
        run: one_more,
    },
    Scenario {
        name: "everything_wrong_with_a_machine_is_told_at_once",
        proves: "A plan names each fault of a machine at its attribute, and warns of what is only unwise (HO-CFG-10).",
        group: "machines",
        needs: &[],
        seconds: 2,
        run: faults,
    },
];

const FLEET: &str = r#"
resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"
  claims       = { for name, _ in local.machines : name => null }
}

resource "homelab_instance" "node" {
  for_each     = local.machines
  name         = each.key
  mac          = each.value
  role         = each.key == "a" ? "bootstrap" : "join"
  network      = homelab_network.lan
  address      = homelab_network.lan.assignments[each.key]
  install_disk = { sort_order = "smallest" }
}
"#;

fn write(workspace: &Workspace, machines: &str) -> Result<()> {
    workspace.main(&format!(
        "locals {{\n  machines = {{ {machines} }}\n}}\n{FLEET}"
    ))
}

/// What the last plan changes, as address and actions.
pub(super) fn changes(workspace: &Workspace) -> Result<Vec<String>> {
    let planned = workspace.planned()?;
    let changes = planned["resource_changes"].as_array().context("changes")?;
    let told = |change: &Value| {
        let actions = &change["change"]["actions"];
        let address = change["address"].as_str().unwrap_or_default();
        (actions[0] != "no-op").then(|| format!("{address} {actions}"))
    };
    Ok(changes.iter().filter_map(told).collect())
}

fn one_more(context: &Context) -> Result<()> {
    let workspace = context.workspace("machines")?;
    let three = "a = \"52:54:00:00:00:0a\", b = \"52-54-00-00-00-0B\", c = \"5254.0000.000c\"";
    write(&workspace, three)?;
    workspace.expect_changes()?;
    let machine = workspace.planned_change("homelab_instance.node[\"b\"]")?;
    let after = &machine["after"];
    ensure!(
        after["address"] == "192.168.1.211"
            && after["clusterable"] == true
            && after["hostname"] == "b",
        "{after}"
    );
    workspace.apply()?.succeeded()?;
    workspace.expect_empty_plan()?;

    write(
        &workspace,
        &three.replace("52-54-00-00-00-0B", "52:54:00:00:00:0b"),
    )?;
    workspace.expect_empty_plan()?;

    write(&workspace, &format!("{three}, d = \"52:54:00:00:00:0d\""))?;
    workspace.expect_changes()?;
    let expected = [
        "homelab_instance.node[\"d\"] [\"create\"]",
        "homelab_network.lan [\"update\"]",
    ];
    let seen = changes(&workspace)?;
    ensure!(seen == expected, "{seen:#?}");
    workspace.apply()?.succeeded()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn faults(context: &Context) -> Result<()> {
    let workspace = context.workspace("machines-faults")?;
    workspace.main(
        r#"
resource "homelab_instance" "wrong" {
  name         = "wrong"
  mac          = "01:00:5e:00:00:01"
  role         = "leader"
  security     = { tpm = false, secure_boot = false }
  install_disk = { id = "/dev/sda" }
}
"#,
    )?;
    workspace
        .plan()?
        .failed()?
        .says("mac")?
        .says("leader")?
        .says("neither a TPM nor Secure Boot")?
        .says("/dev/disk/by-id")?;
    workspace.main(
        r#"
resource "homelab_instance" "unwise" {
  name     = "unwise"
  mac      = "52:54:00:00:00:01"
  role     = "join"
  security = { tpm = false }
}
"#,
    )?;
    workspace
        .apply()?
        .succeeded()?
        .says("Machine unwise has a role and no address")?
        .says("Machine unwise has no TPM")?;
    workspace.expect_empty_plan()?.says_not("Machine unwise")?;
    // A name is all that an import knows, and the next plan completes the rest without replacing anything.
    workspace
        .run(&["state", "rm", "homelab_instance.unwise"])?
        .succeeded()?;
    workspace
        .import("homelab_instance.unwise", "unwise")?
        .succeeded()?;
    workspace.expect_changes()?;
    let expected = ["homelab_instance.unwise [\"update\"]"];
    ensure!(
        changes(&workspace)? == expected,
        "{:?}",
        changes(&workspace)?
    );
    workspace.apply()?.succeeded()?;
    workspace.expect_empty_plan().map(drop)
}
