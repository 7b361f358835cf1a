//! Address plans: final in the plan, stable for ever, and without any machine or cluster in sight.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::scenario::{Context, Need, Scenario};
use crate::tofu;
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_plan_shows_final_addresses",
        proves: "The plan shows every address, the apply keeps them, and a second plan is empty.",
        group: "network",
        needs: &[],
        seconds: 2,
        run: plan_shows_final_addresses,
    },
    Scenario {
        name: "adding_and_removing_machines_moves_nobody",
        proves: "A machine keeps its address whoever comes and goes, also when its neighbours' names sort before it.",
        group: "network",
        needs: &[],
        seconds: 4,
        run: adding_and_removing_moves_nobody,
    },
    Scenario {
        name: "an_overlay_keeps_its_hub_and_broadcast_free",
        proves: "An overlay gives its claims every address but the hub's and the last usable one.",
        group: "network",
        needs: &[],
        seconds: 2,
        run: overlay,
    },
    Scenario {
        name: "a_network_cannot_be_imported_and_says_the_way_back",
        proves: "Import of an address plan is refused, and pins in claims are named as the way back.",
        group: "network",
        needs: &[],
        seconds: 1,
        run: import_is_refused,
    },
    Scenario {
        name: "a_pin_that_another_machine_holds_is_refused",
        proves: "Nobody is moved away by somebody else's pin: the plan fails and names the holder.",
        group: "network",
        needs: &[],
        seconds: 2,
        run: pin_of_a_holder,
    },
    Scenario {
        name: "terraform_plans_the_same_addresses",
        proves: "Another host of providers loads ours and comes to the same plan.",
        group: "network",
        needs: &[Need::Terraform],
        seconds: 3,
        run: terraform,
    },
];

fn lan(claims: &str) -> String {
    format!(
        r#"
resource "homelab_network" "lan" {{
  name         = "lan"
  cidr         = "10.20.0.0/24"
  gateway      = "10.20.0.1"
  dns          = ["10.20.0.1"]
  static_range = "10.20.0.10-10.20.0.13"
  claims       = {claims}
}}
output "addresses" {{ value = homelab_network.lan.assignments }}
"#
    )
}

fn assignments(workspace: &Workspace) -> Result<Value> {
    Ok(workspace.attributes("homelab_network.lan")?["assignments"].take())
}

fn plan_shows_final_addresses(context: &Context) -> Result<()> {
    let workspace = context.workspace("network-plan")?;
    workspace.main(&lan(r#"{ c = null, a = null, b = "10.20.0.10" }"#))?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_network.lan")?["after"].take();
    let addresses = json!({ "a": "10.20.0.11", "b": "10.20.0.10", "c": "10.20.0.12" });
    ensure!(planned["assignments"] == addresses, "planned: {planned}");
    ensure!(
        planned["free"] == 1 && planned["prefix_length"] == 24,
        "planned: {planned}"
    );
    workspace.apply()?.succeeded()?;
    ensure!(
        assignments(&workspace)? == addresses,
        "{}",
        assignments(&workspace)?
    );
    workspace.expect_empty_plan().map(drop)
}

fn adding_and_removing_moves_nobody(context: &Context) -> Result<()> {
    let workspace = context.workspace("network-stability")?;
    for (claims, addresses) in [
        (
            "{ b = null, d = null }",
            json!({ "b": "10.20.0.10", "d": "10.20.0.11" }),
        ),
        (
            "{ a = null, b = null, d = null }",
            json!({ "a": "10.20.0.12", "b": "10.20.0.10", "d": "10.20.0.11" }),
        ),
        (
            "{ a = null, d = null }",
            json!({ "a": "10.20.0.12", "d": "10.20.0.11" }),
        ),
        (
            "{ a = null, c = null, d = null }",
            json!({ "a": "10.20.0.12", "c": "10.20.0.10", "d": "10.20.0.11" }),
        ),
        (
            "{ a = null, c = null, d = \"10.20.0.11\" }",
            json!({ "a": "10.20.0.12", "c": "10.20.0.10", "d": "10.20.0.11" }),
        ),
    ] {
        workspace.main(&lan(claims))?;
        workspace.apply()?.succeeded()?;
        ensure!(
            assignments(&workspace)? == addresses,
            "{claims}: {}",
            assignments(&workspace)?
        );
        workspace.expect_empty_plan()?;
    }
    Ok(())
}

fn overlay(context: &Context) -> Result<()> {
    let workspace = context.workspace("network-overlay")?;
    workspace.main(
        r#"
resource "homelab_network" "lan" {
  name   = "wg"
  kind   = "overlay"
  cidr   = "10.10.0.0/29"
  claims = { a = null, b = null, c = null, d = null }
}
"#,
    )?;
    workspace.apply()?.succeeded()?;
    let addresses =
        json!({ "a": "10.10.0.2", "b": "10.10.0.3", "c": "10.10.0.4", "d": "10.10.0.5" });
    ensure!(
        assignments(&workspace)? == addresses,
        "{}",
        assignments(&workspace)?
    );
    ensure!(
        workspace.attributes("homelab_network.lan")?["free"] == 0,
        "one address is free: the reserved one?"
    );
    workspace.expect_empty_plan().map(drop)
}

fn import_is_refused(context: &Context) -> Result<()> {
    let workspace = context.workspace("network-import")?;
    workspace.main(&lan("{}"))?;
    workspace
        .import("homelab_network.lan", "lan")?
        .failed()?
        .says("claims")
        .map(drop)
}

fn pin_of_a_holder(context: &Context) -> Result<()> {
    let workspace = context.workspace("network-holder")?;
    workspace.main(&lan("{ holder = null }"))?;
    workspace.apply()?.succeeded()?;
    workspace.main(&lan(r#"{ holder = null, late = "10.20.0.10" }"#))?;
    workspace
        .plan()?
        .failed()?
        .says("holder")?
        .says("10.20.0.10")?;
    // A plan error must not stand in the way of a destroy once the configuration is right again.
    workspace.main(&lan("{ holder = null }"))?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}

fn terraform(context: &Context) -> Result<()> {
    let Some(terraform) = tofu::on_path("terraform") else {
        anyhow::bail!("terraform has gone from the PATH")
    };
    let programs = context.programs.with_host(&terraform)?;
    let workspace = Workspace::new(&programs, "terraform")?;
    workspace.main(&lan(r#"{ b = null, a = null }"#))?;
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_network.lan")?["after"].take();
    ensure!(
        planned["assignments"] == json!({ "a": "10.20.0.10", "b": "10.20.0.11" }),
        "planned: {planned}"
    );
    workspace.apply()?.succeeded()?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded().map(drop)
}
