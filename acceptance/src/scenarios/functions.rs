//! Functions and key pairs in a user's configuration: what plans show of them, and what nobody may ever see.

use std::fs;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "functions_answer_in_a_plan",
        proves: "Functions need no provider block and no cluster, and agree with the resource beside them.",
        group: "functions",
        needs: &[],
        seconds: 3,
        run: answer_in_a_plan,
    },
    Scenario {
        name: "functions_refuse_at_the_argument",
        proves: "An error of a function names the argument, says what was seen, and what to write instead.",
        group: "functions",
        needs: &[],
        seconds: 3,
        run: refuse_at_the_argument,
    },
    Scenario {
        name: "functions_find_what_is_wrong_between_resources",
        proves: "A check over whole resources warns of every clash between them, and a precondition stops the plan.",
        group: "functions",
        needs: &[],
        seconds: 4,
        run: find_what_is_wrong,
    },
    Scenario {
        name: "functions_keep_the_secret_of_a_join_token",
        proves: "What a join token says can be shown, and its secret is in no result, error or log.",
        group: "functions",
        needs: &[],
        seconds: 3,
        run: keep_the_secret,
    },
    Scenario {
        name: "functions_have_keypairs_that_nothing_stores",
        proves: "A key pair is there while it is open, and in no plan, state or log.",
        group: "functions",
        needs: &[],
        seconds: 3,
        run: keypairs,
    },
];

/// The outputs that the last saved plan shows.
fn outputs(workspace: &Workspace) -> Result<Value> {
    let mut outputs = workspace.planned()?["planned_values"]["outputs"].take();
    if let Some(outputs) = outputs.as_object_mut() {
        for output in outputs.values_mut() {
            *output = output["value"].take();
        }
    }
    Ok(outputs)
}

fn answer_in_a_plan(context: &Context) -> Result<()> {
    let workspace = context.workspace("functions-plan")?;
    workspace.main(
        r#"
locals { claims = { b = null, a = null, c = "10.20.0.10" } }

resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "10.20.0.0/24"
  gateway      = "10.20.0.1"
  dns          = ["10.20.0.1"]
  static_range = "10.20.0.10-10.20.0.13"
  claims       = local.claims
}

output "resource" { value = homelab_network.lan.assignments }
output "lan" {
  value = provider::homelab::assign_addresses("10.20.0.0/24", "10.20.0.1", ["10.20.0.1"], "10.20.0.10-10.20.0.13", local.claims)
}
output "held" {
  value = provider::homelab::assign_addresses("10.20.0.0/24", "10.20.0.1", [], "10.20.0.10-10.20.0.13", { a = null, b = null }, { b = "10.20.0.10" })
}
output "overlay" { value = provider::homelab::assign_addresses("10.10.0.0/29", null, null, null, { a = null }) }
output "mac"     { value = provider::homelab::normalize_mac("52-54-00-AB-CD-0E") }
output "one"     { value = provider::homelab::workload_name("web", 3) }
output "second"  { value = provider::homelab::workload_name("web", 3, 1) }
output "machine" { value = provider::homelab::workload_name("agent", 0, "node-a") }
"#,
    )?;
    workspace.expect_changes()?;
    let addresses = json!({ "a": "10.20.0.11", "b": "10.20.0.12", "c": "10.20.0.10" });
    let expected = json!({
        "resource": addresses,
        "lan": addresses,
        "held": { "a": "10.20.0.11", "b": "10.20.0.10" },
        "overlay": { "a": "10.10.0.2" },
        "mac": "52:54:00:ab:cd:0e",
        "one": "web-g3",
        "second": "web-1-g3",
        "machine": "agent-node-a-g0",
    });
    let planned = outputs(&workspace)?;
    ensure!(planned == expected, "planned: {planned:#}");
    workspace.apply()?.succeeded()?;
    workspace.expect_empty_plan().map(drop)
}

fn refuse_at_the_argument(context: &Context) -> Result<()> {
    let workspace = context.workspace("functions-refusals")?;
    for (call, says) in [
        (
            r#"normalize_mac("52:54:00:ab:cd")"#,
            ["\"mac\"", "has 10 hexadecimal digits", "from the label"],
        ),
        (
            r#"workload_name("Web", 0)"#,
            ["\"app\"", "contains 'W'", "hostname label"],
        ),
        (
            r#"workload_name("web", 0, "a", "b")"#,
            ["\"member\"", "more than once", "one ordinal or one machine"],
        ),
        (
            r#"assign_addresses("10.0.0.0/24", null, [], null, {})"#,
            [
                "\"gateway\"",
                "gateway is null, and dns is given",
                "null for all three",
            ],
        ),
        (
            r#"assign_addresses("10.0.0.0/29", null, null, null, { a = "10.0.0.1" })"#,
            ["\"claims\"", "is the hub of the overlay", "next free one"],
        ),
        (
            r#"validate_fleet({ machine = {} })"#,
            [
                "\"fleet\"",
                "has \"machine\"",
                "Expected networks, machines and apps",
            ],
        ),
    ] {
        workspace.main(&format!(
            "output \"x\" {{ value = provider::homelab::{call} }}"
        ))?;
        let mut run = workspace.plan()?.failed()?;
        for text in says {
            run = run.says(text)?;
        }
    }
    Ok(())
}

fn find_what_is_wrong(context: &Context) -> Result<()> {
    let workspace = context.workspace("functions-fleet")?;
    let fleet = |ending: &str, second: &str| {
        let app = |name: &str| {
            format!(
                "resource \"homelab_app\" \"{name}\" {{\n  name     = \"{name}\"\n  type     = \"generic-stateless\"\n  replicas = 2\n  \
                 image    = {{ alias = \"none\" }}\n}}\n"
            )
        };
        format!(
            r#"
resource "homelab_network" "lan" {{
  for_each = {{ a = "10.20.0.0/24", b = "10.21.0.0/24" }}
  kind     = "overlay"
  name     = "lan"
  cidr     = each.value
}}
{web}{second}
locals {{
  issues = provider::homelab::validate_fleet({{
    networks = homelab_network.lan
    apps     = {{ one = homelab_app.web, two = homelab_app.{name} }}
    machines = {{ a = {{ mac = "52-54-00-00-00-01" }}, b = {{ mac = "525400000001" }} }}
  }})
}}
{ending}
"#,
            web = app("web"),
            second = app(second),
            name = second,
        )
    };
    let check = "check \"fleet\" {\n  assert {\n    condition     = length(local.issues) == 0\n    \
                 error_message = join(\"\\n\", local.issues)\n  }\n}\n";
    workspace.main(&fleet(check, "api"))?;
    let told = workspace.expect_changes()?;
    let told = told.says("Check block assertion failed")?;
    told.says("Two networks are called \"lan\"")?
        .says("Two machines have the MAC address 52:54:00:00:00:01")?;
    let stop = "output \"fleet\" {\n  value = \"sound\"\n  precondition {\n    condition     = length(local.issues) == 0\n    \
                error_message = join(\"\\n\", local.issues)\n  }\n}\n";
    workspace.main(&fleet(stop, "api"))?;
    workspace
        .plan()?
        .failed()?
        .says("networks[\"b\"].name: Two networks")?
        .says("Rename one of the two")
        .map(drop)
}

const SECRET: &str = "the-secret-in-the-token";

fn keep_the_secret(context: &Context) -> Result<()> {
    let mut workspace = context.workspace("functions-token")?;
    let token = json!({
        "server_name": "m2",
        "fingerprint": "ab".repeat(32),
        "addresses": ["10.0.0.10:8443"],
        "secret": SECRET,
        "expires_at": "2026-08-01T12:00:00Z",
    });
    let token = STANDARD.encode(token.to_string());
    workspace.set("TF_LOG", "TRACE");
    workspace.set("TF_LOG_PATH", "log");
    workspace.set("TF_VAR_token", &token);
    let main =
        "variable \"token\" {\n  type      = string\n  sensitive = true\n  ephemeral = true\n}\n";
    // What is ephemeral goes into conditions, and not into outputs: of these the user may see what is said.
    let says = "check \"token\" {\n  assert {\n    condition     = provider::homelab::decode_join_token(var.token).server_name == \"m2\"\n    \
                error_message = \"another member\"\n  }\n}\n";
    workspace.main(&format!("{main}{says}"))?;
    workspace.plan()?.succeeded()?.says_not("another member")?;
    let shown = "variable \"token\" {\n  type      = string\n  sensitive = true\n}\n\
                 output \"token\" { value = nonsensitive(provider::homelab::decode_join_token(var.token)) }\n";
    workspace.main(shown)?;
    workspace.expect_changes()?;
    let expected = json!({ "token": {
        "server_name": "m2",
        "fingerprint": "ab".repeat(32),
        "addresses": ["10.0.0.10:8443"],
        "expires_at": "2026-08-01T12:00:00Z",
    }});
    let planned = outputs(&workspace)?;
    ensure!(planned == expected, "planned: {planned:#}");
    workspace.apply()?.succeeded()?;
    // Cut off while it was copied.
    let cut = &token[..token.len() - 5];
    workspace.set("TF_VAR_token", cut);
    let refused = workspace.plan()?.failed()?;
    let refused = refused
        .says("\"token\"")?
        .says("is not whole")?
        .says("Copy it again")?;
    refused.says_not(&token[..40])?;
    for file in ["log", "terraform.tfstate"] {
        let text = fs::read_to_string(workspace.folder().join(file))?;
        for secret in [SECRET, &token[..40]] {
            ensure!(!text.contains(secret), "{file} has {secret}");
        }
    }
    Ok(())
}

fn keypairs(context: &Context) -> Result<()> {
    let mut workspace = context.workspace("functions-keypair")?;
    workspace.set("TF_LOG", "TRACE");
    workspace.set("TF_LOG_PATH", "log");
    let kinds = |wireguard: &str| {
        format!(
            r#"
ephemeral "homelab_keypair" "tunnel" {{
  kind = "{wireguard}"
  lifecycle {{
    postcondition {{
      condition     = length(self.private_key) == 44 && length(self.public_key) == 44 && self.certificate == null
      error_message = "no pair for WireGuard"
    }}
  }}
}}
ephemeral "homelab_keypair" "client" {{
  kind        = "client-certificate"
  common_name = "acceptance"
  lifecycle {{
    postcondition {{
      condition     = startswith(self.private_key, "-----BEGIN PRIVATE KEY") && length(self.fingerprint) == 64
      error_message = "no pair for Incus"
    }}
  }}
}}
output "opened" {{ value = "yes" }}
"#
        )
    };
    workspace.main(&kinds("wireguard"))?;
    workspace.expect_changes()?;
    workspace.apply()?.succeeded()?;
    // The conditions above are looked at: they fail for another kind.
    workspace.main(&kinds("client-certificate"))?;
    workspace.plan()?.failed()?.says("no pair for WireGuard")?;
    workspace.main(&kinds("ssh"))?;
    workspace.plan()?.failed()?.says("Expected \"wireguard\"")?;
    for file in ["log", "terraform.tfstate", "plan"] {
        let text = fs::read(workspace.folder().join(file))?;
        let text = String::from_utf8_lossy(&text);
        for secret in ["BEGIN PRIVATE KEY", "BEGIN CERTIFICATE", "private_key\":\""] {
            ensure!(!text.contains(secret), "{file} has {secret}");
        }
    }
    let planned = workspace.planned()?.to_string();
    ensure!(!planned.contains("PRIVATE KEY"), "the plan has the key");
    Ok(())
}
