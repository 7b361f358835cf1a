//! Bad input is refused whole, at its attribute, before anything changes.
//!
//! Each case is a small program in which the line that the diagnostic must point at is marked.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::provider;
use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "bad_networks_are_refused_at_their_attribute",
        proves: "Every mistake in an address plan is an error at the attribute that holds it, in the plan.",
        group: "refusals",
        needs: &[],
        seconds: 10,
        run: networks,
    },
    Scenario {
        name: "bad_apps_are_refused_at_their_attribute",
        proves: "Every mistake in an app is an error at the attribute that holds it, and Incus is not asked anything.",
        group: "refusals",
        needs: &[],
        seconds: 12,
        run: apps,
    },
    Scenario {
        name: "all_mistakes_are_told_at_once",
        proves: "A configuration with several mistakes gets all of their diagnostics in one plan.",
        group: "refusals",
        needs: &[],
        seconds: 1,
        run: all_at_once,
    },
];

/// Where the mistake lies in how two attributes go together, the diagnostic is at the one that is easier to change:
/// the pin that is the gateway, the range that is too small.
const ELSEWHERE: &[(&str, &str)] = &[
    ("gateway = \"10.20.0.12\"", "claims"),
    (
        "claims = { a = null, b = null, c = null, d = null, e = null }",
        "static_range",
    ),
];

/// Marks the line that a diagnostic must point at.
const HERE: &str = "# here";

/// What is refused, and a word that its diagnostic must contain.
type Case = (&'static str, &'static str, &'static str);

/// (attribute, its bad value, a word of the diagnostic); the other attributes are good.
const NETWORKS: &[Case] = &[
    ("cidr", r#""10.20.0.7/24""#, "10.20.0.0/24"),
    ("cidr", r#""fd00::/64""#, "IPv4"),
    ("cidr", r#""10.20.0.0""#, "10.20.0.0"),
    ("static_range", r#""10.20.1.10-10.20.1.20""#, "10.20.0.0/24"),
    ("static_range", r#""10.20.0.20-10.20.0.10""#, "10.20.0.20"),
    ("static_range", r#""10.20.0.10""#, "10.20.0.10"),
    ("gateway", r#""10.21.0.1""#, "10.21.0.1"),
    ("gateway", r#""10.20.0.0""#, "network"),
    ("gateway", r#""10.20.0.255""#, "broadcast"),
    ("gateway", r#""10.20.0.12""#, "10.20.0.12"),
    ("dns", r#"["one.one.one.one"]"#, "one.one.one.one"),
    (
        "claims",
        r#"{ a = "10.20.0.11", b = "10.20.0.11" }"#,
        "10.20.0.11",
    ),
    ("claims", r#"{ a = "10.30.0.11" }"#, "10.30.0.11"),
    ("claims", r#"{ a = "10.20.0.1" }"#, "gateway"),
    (
        "claims",
        r#"{ a = null, b = null, c = null, d = null, e = null }"#,
        "4",
    ),
    ("claims", r#"{ "Bad_Name" = null }"#, "Bad_Name"),
    (
        "claims",
        r#"{ "a234567890a234567890a234567890a234567890a23456789" = null }"#,
        "48",
    ),
    ("kind", r#""wan""#, "overlay"),
];

const APPS: &[Case] = &[
    ("name", r#""Bad_Name""#, "Bad_Name"),
    (
        "name",
        r#""a234567890a234567890a234567890a234567890a23456789""#,
        "48",
    ),
    ("replicas", "0", "0"),
    ("replicas", "-1", "-1"),
    ("replicas", r#""02""#, "02"),
    ("replicas", r#""many""#, "many"),
    ("replicas", r#""2.5""#, "2.5"),
    ("image", "{}", "alias"),
    (
        "image",
        r#"{ alias = "app/v1", fingerprint = "0123456789ab" }"#,
        "fingerprint",
    ),
    ("type", r#""generic-stateles""#, "generic-stateless"),
    (
        "health",
        r#"{ check = { running = {} }, min_healthy_time = "10m", healthy_deadline = "10m" }"#,
        "min_healthy_time",
    ),
    (
        "health",
        r#"{ check = { running = {} }, min_healthy_time = "20m" }"#,
        "min_healthy_time",
    ),
    (
        "health",
        r#"{ check = { running = {} }, min_healthy_time = "soon" }"#,
        "soon",
    ),
    (
        "health",
        r#"{ check = { running = {}, exec = { command = ["true"] } } }"#,
        "one",
    ),
    ("health", r#"{ check = {} }"#, "one"),
    ("health", r#"{ check = { http = { port = 0 } } }"#, "65535"),
    (
        "health",
        r#"{ check = { tcp = { port = 22.5 } } }"#,
        "65535",
    ),
    (
        "health",
        r#"{ check = { http = { port = 80, path = "health" } } }"#,
        "health",
    ),
    (
        "health",
        r#"{ check = { heartbeat_file = { path = "run/beat" } } }"#,
        "run/beat",
    ),
    ("timeouts", r#"{ create = "5 minutes" }"#, "5 minutes"),
];

fn network(attribute: &str, value: &str) -> String {
    let good = [
        ("name", r#""lan""#),
        ("kind", r#""lan""#),
        ("cidr", r#""10.20.0.0/24""#),
        ("gateway", r#""10.20.0.1""#),
        ("dns", r#"["10.20.0.1"]"#),
        ("static_range", r#""10.20.0.10-10.20.0.13""#),
        ("claims", r#"{ z = "10.20.0.12" }"#),
    ];
    resource("homelab_network", &good, attribute, Some(value))
}

fn app(attribute: &str, value: Option<&str>) -> String {
    let good = [
        ("name", r#""web""#),
        ("type", r#""generic-stateless""#),
        ("replicas", "2"),
        ("image", r#"{ alias = "app/v1" }"#),
    ];
    resource("homelab_app", &good, attribute, value)
}

/// A resource with one attribute replaced or left out. One line is marked.
fn resource(kind: &str, good: &[(&str, &str)], attribute: &str, value: Option<&str>) -> String {
    let line = |name: &str, value: &str| format!("  {name} = {value}");
    let bad = value.map(|value| line(attribute, value));
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(text, _)| bad.as_ref().is_some_and(|bad| bad.trim() == *text));
    let marked = elsewhere.map_or(attribute, |(_, name)| name);
    let others = good
        .iter()
        .filter(|(name, _)| *name != attribute)
        .map(|(name, value)| line(name, value));
    let mut lines = vec![format!("resource \"{kind}\" \"bad\" {{")];
    lines.extend(others.chain(bad));
    lines.push("}".to_owned());
    let start = format!("  {marked} = ");
    // An attribute that is missing is told at the block that misses it.
    let line = lines
        .iter()
        .position(|line| line.starts_with(&start))
        .unwrap_or(0);
    lines[line] = format!("{} {HERE}", lines[line]);
    lines.join("\n")
}

fn networks(context: &Context) -> Result<()> {
    let workspace = context.workspace("refusals-networks")?;
    let programs = NETWORKS
        .iter()
        .map(|(attribute, value, word)| (network(attribute, value), *word));
    refuse_all(&workspace, programs.collect())
}

fn apps(context: &Context) -> Result<()> {
    let lab = context.single()?;
    let proxy = context.proxy("refusals-apps", &lab)?;
    let workspace = context.workspace("refusals-apps")?;
    let block = provider(&[proxy.endpoint()], "validate-refusals");
    let mut programs: Vec<(String, &str)> = APPS
        .iter()
        .map(|(attribute, value, word)| (format!("{block}{}", app(attribute, Some(value))), *word))
        .collect();
    programs.push((format!("{block}{}", app("replicas", None)), "replicas"));
    for endpoint in [
        "http://10.0.0.1:8443",
        "10.0.0.1:8443",
        "unix:relative/socket",
        "",
    ] {
        let block = format!("provider \"homelab\" {{\n  endpoints = [\"{endpoint}\"] {HERE}\n}}\n");
        programs.push((
            format!("{block}{}", app("replicas", Some("1")).replace(HERE, "")),
            "https://",
        ));
    }
    refuse_all(&workspace, programs)?;
    ensure!(
        proxy.seen().is_empty(),
        "Incus was asked: {:?}",
        proxy.seen()
    );
    Ok(())
}

fn all_at_once(context: &Context) -> Result<()> {
    let workspace = context.workspace("refusals-all")?;
    workspace.main(
        r#"
resource "homelab_network" "bad" {
  name         = "lan"
  cidr         = "10.20.0.0/24"
  gateway      = "10.20.0.255"
  dns          = ["nobody"]
  static_range = "10.20.0.20-10.20.0.10"
  claims       = { Bad = null, worse_ = null }
}
"#,
    )?;
    let found = diagnostics(&workspace)?;
    let told: Vec<String> = found.iter().map(Value::to_string).collect();
    for word in ["broadcast", "nobody", "10.20.0.20", "Bad", "worse_"] {
        ensure!(
            told.iter().any(|text| text.contains(word)),
            "nothing about {word}: {told:#?}"
        );
    }
    ensure!(
        found.len() >= 5,
        "fewer diagnostics than mistakes: {told:#?}"
    );
    Ok(())
}

fn refuse_all(workspace: &Workspace, programs: Vec<(String, &str)>) -> Result<()> {
    let wrong: Vec<String> = programs
        .iter()
        .filter_map(|(program, word)| {
            refuse(workspace, program, word)
                .err()
                .map(|error| format!("{error:#}\n{program}\n"))
        })
        .collect();
    ensure!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        programs.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// Plans a program, which must fail at the marked line with a diagnostic that contains the word.
fn refuse(workspace: &Workspace, program: &str, word: &str) -> Result<()> {
    workspace.main(program)?;
    let text = std::fs::read_to_string(workspace.folder().join("main.tf"))?;
    let marked = text
        .lines()
        .position(|line| line.ends_with(HERE))
        .context("no line is marked")? as u64
        + 1;
    let found = diagnostics(workspace)?;
    ensure!(!found.is_empty(), "it is accepted");
    for diagnostic in &found {
        ensure!(
            diagnostic["range"]["start"]["line"] == marked,
            "it points elsewhere than line {marked}: {diagnostic}"
        );
    }
    let told = found
        .iter()
        .map(|found| format!("{} {}", found["summary"], found["detail"]))
        .collect::<String>();
    ensure!(told.contains(word), "it does not say {word:?}: {told}");
    Ok(())
}

/// The errors of a plan.
fn diagnostics(workspace: &Workspace) -> Result<Vec<Value>> {
    let run = workspace.run(&["plan", "-json", "-input=false"])?;
    let mut found = Vec::new();
    for line in run.output.lines().filter(|line| line.starts_with('{')) {
        let mut line: Value = serde_json::from_str(line)?;
        if line["@level"] == "error" {
            found.push(line["diagnostic"].take());
        }
    }
    if found.is_empty() && run.code != Some(0) {
        bail!("a failure without a diagnostic: {}", run.told());
    }
    Ok(found)
}
