//! Secrets of apps: they reach the workload, and nothing that is kept or printed holds them but the fleet store.
//!
//! What a collector makes of its own is in `collector.rs`.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{endpoint, provider};
use crate::lab::{Lab, VERSION_1};
use crate::observer::Observer;
use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_secret_reaches_the_workload_and_no_file",
        proves: "A write-only secret from an ephemeral variable is in the workload's environment, and in no state, plan, \
                 trace or fleet entry but `secret.*`. An unchanged version plans nothing, a raised one rolls.",
        group: "secrets",
        needs: &[],
        seconds: 25,
        run: nowhere_else,
    },
    Scenario {
        name: "a_printed_secret_is_not_told",
        proves: "A candidate that prints its secret fails, and neither the error nor the state repeats it. The version that \
                 served goes on, and an apply of it later has its own values.",
        group: "secrets",
        needs: &[],
        seconds: 25,
        run: printed,
    },
    Scenario {
        name: "each_machine_has_secrets_of_its_own",
        proves: "The workload of each machine gets that machine's secrets over those of all, on one member and on three; \
                 another machine's version rolls all of them.",
        group: "secrets",
        needs: &[],
        seconds: 40,
        run: of_machines,
    },
];

/// What no file may hold.
const FIRST: &str = "correct-horse-battery";
/// The same, after it was changed.
const SECOND: &str = "staple-was-that-a-horse";

const VARIABLE: &str = "variable \"token\" {\n  type      = string\n  ephemeral = true\n}\n";

/// An app with a secret of this version.
fn app(name: &str, replicas: &str, version: &str, more: &str) -> String {
    format!(
        r#"
resource "homelab_app" "{name}" {{
  name     = "{name}"
  type     = "generic-stateless"
  replicas = "{replicas}"
  image    = {{ alias = "{VERSION_1}" }}
  {version}
  {more}
}}
"#
    )
}

const HEALTHY: &str =
    "health = { check = { running = {} }, min_healthy_time = \"1s\", healthy_deadline = \"30s\" }";

fn version(number: u32) -> String {
    format!("secrets_wo = {{ TOKEN = var.token }}\n  secrets_wo_version = {number}")
}

fn nowhere_else(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let fleet = "validate-secret";
    let mut workspace = context.workspace("secret")?;
    let block = provider(&[endpoint(&lab.first().socket())], fleet) + VARIABLE;
    let program = |number: u32| block.clone() + &app("secret", "1", &version(number), HEALTHY);
    let trace = workspace.folder().join("trace.log");
    workspace.set("TF_LOG", "trace");
    workspace.set("TF_LOG_PATH", &trace.display().to_string());

    workspace.set("TF_VAR_token", FIRST);
    workspace.main(&program(1))?;
    workspace.expect_changes()?;
    kept_nowhere(&workspace)?;
    workspace
        .run(&["apply", "-no-color", "plan"])?
        .succeeded()?;
    ensure!(token(&observer, "secret-g0")? == FIRST, "not the first");
    kept_nowhere(&workspace)?;
    kept_in_the_store(&observer, fleet, &[("secret.secret.r1", FIRST)])?;

    // Another value alone tells nothing: nobody keeps the old one to compare.
    workspace.set("TF_VAR_token", SECOND);
    workspace.expect_empty_plan()?;

    workspace.main(&program(2))?;
    workspace.apply()?.succeeded()?;
    ensure!(token(&observer, "secret-g1")? == SECOND, "not the second");
    kept_nowhere(&workspace)?;
    // The predecessor's stay, as the predecessor itself does.
    kept_in_the_store(
        &observer,
        fleet,
        &[("secret.secret.r1", FIRST), ("secret.secret.r2", SECOND)],
    )?;
    workspace.expect_empty_plan()?;

    // A change of something else goes on with what is stored, whatever is at hand.
    workspace.set("TF_VAR_token", FIRST);
    let labelled = format!("{HEALTHY}\n  workload = {{ environment = {{ LEVEL = \"info\" }} }}");
    workspace.main(&(block.clone() + &app("secret", "1", &version(2), &labelled)))?;
    workspace.apply()?.succeeded()?;
    ensure!(
        token(&observer, "secret-g2")? == SECOND,
        "not the stored one"
    );
    kept_in_the_store(&observer, fleet, &[("secret.secret.r2", SECOND)])?;

    workspace.main(&(block + &app("secret", "1", "", HEALTHY)))?;
    workspace.apply()?.succeeded()?;
    let without = observer.get("/1.0/instances/secret-g3")?;
    ensure!(
        without["config"]["environment.TOKEN"].is_null(),
        "{without}"
    );
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    kept_nowhere(&workspace)?;
    kept_in_the_store(&observer, fleet, &[])
}

fn printed(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let observer = lab.observer();
    let fleet = "validate-printed";
    let mut workspace = context.workspace("printed")?;
    let block = provider(&[endpoint(&lab.first().socket())], fleet) + VARIABLE;
    // Healthy with a value of the first one's length alone, and it says what it has got.
    let check = format!(
        "health = {{ check = {{ exec = {{ command = [\"/bin/sh\", \"-c\", \"echo got $TOKEN; test $${{#TOKEN}} = {}\"] }} }}, \
         min_healthy_time = \"1s\", healthy_deadline = \"4s\" }}",
        FIRST.len()
    );
    let program = |number: u32| block.clone() + &app("printed", "1", &version(number), &check);
    workspace.set("TF_VAR_token", FIRST);
    workspace.main(&program(1))?;
    workspace.apply()?.succeeded()?;
    workspace.set("TF_VAR_token", SECOND);
    workspace.main(&program(2))?;
    workspace
        .apply()?
        .failed()?
        .says("the health command ended with 1: got (secret)")?
        .says_not(SECOND)?;
    // The error is in the state as soon as somebody has looked.
    workspace.run(&["refresh", "-no-color"])?.succeeded()?;
    let state = workspace.attributes("homelab_app.printed")?;
    let error = state["last_error"].as_str().unwrap_or_default();
    ensure!(error.contains("got (secret)"), "{error}");
    ensure!(token(&observer, "printed-g0")? == FIRST, "it was touched");
    kept_in_the_store(
        &observer,
        fleet,
        &[("secret.printed.r1", FIRST), ("secret.printed.r2", SECOND)],
    )?;

    // The same version again: what is stored for it, though the value at hand would be healthy.
    workspace.set("TF_VAR_token", FIRST);
    workspace.apply()?.failed()?.says("got (secret)")?;
    workspace.main(&program(3))?;
    workspace.apply()?.succeeded()?;
    workspace.expect_empty_plan()?;
    workspace.destroy()?.succeeded()?;
    kept_in_the_store(&observer, fleet, &[])
}

fn of_machines(context: &Context) -> Result<()> {
    for (name, lab) in [
        ("own-one", context.single()?),
        ("own-all", context.cluster()?),
    ] {
        on_each(context, name, &lab).with_context(|| name.to_owned())?;
    }
    Ok(())
}

fn on_each(context: &Context, name: &str, lab: &Lab) -> Result<()> {
    let observer = lab.observer();
    let machines = machines(&observer)?;
    let workspace = context.workspace(name)?;
    let fleet = format!("validate-{name}");
    let block = provider(&[endpoint(&lab.first().socket())], &fleet);
    let program = |number: u32| {
        let each: Vec<String> = machines
            .iter()
            .map(|machine| format!("{machine} = {{ TOKEN = \"of-{machine}-{number}\" }}"))
            .collect();
        let secrets = format!(
            "secrets_wo = {{ TOKEN = \"of-all\", SHARED = \"shared\" }}\n  secrets_wo_version = 1\n  \
             node_secrets_wo = {{ {} }}\n  node_secrets_wo_version = {number}",
            each.join(", ")
        );
        block.clone() + &app(name, "per-node", &secrets, HEALTHY)
    };
    for number in [1, 2] {
        workspace.main(&program(number))?;
        workspace.apply()?.succeeded()?;
        for machine in &machines {
            let workload = format!("{name}-{machine}-g{}", number - 1);
            let expected = format!("of-{machine}-{number}");
            let found = token(&observer, &workload)?;
            ensure!(found == expected, "{workload} has {found}");
            let keys = observer.get(&format!("/1.0/instances/{workload}"))?["config"].take();
            ensure!(keys["environment.SHARED"] == "shared", "{keys}");
            ensure!(keys["cluster.evacuate"] == "stop", "{keys}");
        }
        workspace.expect_empty_plan()?;
    }
    workspace.destroy()?.succeeded().map(drop)
}

/// The machines of a lab, as apps that run on each name them.
pub(super) fn machines(observer: &Observer) -> Result<Vec<String>> {
    let server = observer.get("/1.0")?["environment"].take();
    if server["server_clustered"] == false {
        let name = server["server_name"].as_str().context("a name")?;
        return Ok(vec![name.to_owned()]);
    }
    let members = observer.list("/1.0/cluster/members?recursion=1")?;
    let name = |member: &Value| member["server_name"].as_str().map(str::to_owned);
    members
        .iter()
        .map(|member| name(member).context("a name"))
        .collect()
}

/// The variable as the first process of a workload has it.
fn token(observer: &Observer, workload: &str) -> Result<String> {
    let state = observer.get(&format!("/1.0/instances/{workload}/state"))?;
    let pid = state["pid"].as_u64().unwrap_or_default();
    let path = format!("/proc/{pid}/environ");
    let environment = fs::read(&path).with_context(|| format!("{path} of {workload}"))?;
    let environment = String::from_utf8_lossy(&environment);
    let found = environment
        .split('\0')
        .find_map(|variable| variable.strip_prefix("TOKEN="));
    found.map(str::to_owned).context("no TOKEN")
}

/// Looks through every file that the host has left: state, plan and trace.
fn kept_nowhere(workspace: &Workspace) -> Result<()> {
    let folder = workspace.folder();
    let mut texts = vec![
        ("the plan", workspace.plan_file()?.into_bytes()),
        ("the trace", fs::read(folder.join("trace.log"))?),
    ];
    for name in ["terraform.tfstate", "terraform.tfstate.backup"] {
        texts.push((name, fs::read(folder.join(name)).unwrap_or_default()));
    }
    let planned = workspace.run(&["show", "-json", "plan"])?.output;
    texts.push(("the plan as JSON", planned.into_bytes()));
    for (name, bytes) in texts {
        for text in with_private(&String::from_utf8_lossy(&bytes)) {
            for secret in [FIRST, SECOND] {
                ensure!(!text.contains(secret), "{name} holds {secret}");
            }
        }
    }
    let trace = fs::read_to_string(folder.join("trace.log"))?;
    ensure!(trace.contains("homelab"), "the trace tells nothing at all");
    Ok(())
}

/// A text, and what stands in it in letters that hide it from a search.
pub(super) fn with_private(text: &str) -> Vec<String> {
    use base64::Engine as _;
    let decoded = text
        .split('"')
        .filter(|word| word.len() > 40)
        .filter_map(|word| {
            let bytes = base64::prelude::BASE64_STANDARD.decode(word).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
    decoded.chain([text.to_owned()]).collect()
}

/// The fleet store holds these secrets, and nothing else in it does.
fn kept_in_the_store(observer: &Observer, fleet: &str, expected: &[(&str, &str)]) -> Result<()> {
    let profiles = observer.list(&format!("/1.0/profiles?recursion=1&project={fleet}"))?;
    let mut found = Vec::new();
    for profile in &profiles {
        let name = profile["name"].as_str().unwrap_or_default();
        let text = profile.to_string();
        for secret in [FIRST, SECOND] {
            if text.contains(secret) {
                ensure!(name.starts_with("secret."), "{name} holds {secret}");
                found.push((name, secret));
            }
        }
        let known = !name.starts_with("secret.") || expected.iter().any(|(one, _)| *one == name);
        ensure!(known, "{name} is left");
    }
    found.sort_unstable();
    ensure!(found == expected, "expected {expected:?}, found {found:?}");
    Ok(())
}
