//! Members reached over the network: who we are, whom we expect, and what the cluster is. Commands are typed inside of
//! the lab's namespaces.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{App, expect_serving};
use crate::lab::{Lab, VERSION_1};
use crate::observer::Observer;
use crate::pair::Pair;
use crate::scenario::{Context, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "members_are_reached_over_https_and_another_cluster_is_never_used",
        proves: "With a client certificate an app is applied over https; the server's certificate is told once and kept; a \
                 cluster that is another one is never used, first in the list or alone; certificates that do not fit are \
                 named; a remote of the Incus client and variables do as well; the cluster is shown with its warnings.",
        group: "https",
        needs: &[],
        seconds: 50,
        run: over_https,
    },
    Scenario {
        name: "the_cluster_is_shown",
        proves: "The data source lists three members with their versions, and says that one may fail.",
        group: "https",
        needs: &[],
        seconds: 5,
        run: shown,
    },
];

fn write(pair: &Pair, workspace: &Workspace) -> Result<()> {
    workspace.write("client.crt", &pair.certificate)?;
    workspace.write("client.key", &pair.key)
}

fn block(endpoints: &[String], more: &str) -> String {
    format!(
        "provider \"homelab\" {{\n  endpoints          = {endpoints:?}\n  client_certificate = file(\"client.crt\")\n  client_key \
         = file(\"client.key\")\n{more}}}\n"
    )
}

fn fingerprint(observer: &Observer) -> Result<String> {
    let server = observer.get("/1.0")?;
    let fingerprint = server["environment"]["certificate_fingerprint"].as_str();
    Ok(fingerprint.context("a fingerprint")?.to_owned())
}

fn over_https(context: &Context) -> Result<()> {
    let lab = Lab::up_beside_a_stranger("https", 2)?;
    let stranger = lab.member("m3")?;
    let mut workspace = context.workspace("https")?;
    workspace.inside(lab.first().namespace());
    let pair = Pair::new(2200)?;
    pair.add_to(&lab.observer())?;
    pair.add_to(&stranger.observer())?;
    write(&pair, &workspace)?;

    let members = [lab.first().https(), lab.member("m2")?.https()];
    let app = App::new("web", 1, VERSION_1).hcl();
    let seen = fingerprint(&lab.observer())?;
    workspace.main(&format!("{}{app}", block(&members, "")))?;
    workspace
        .apply()?
        .succeeded()?
        .says("was trusted on first use")?
        .says(&seen)?;
    expect_serving(&lab.observer(), "web", 1, VERSION_1)?;
    workspace.expect_empty_plan()?.says_not("first use")?;
    let key = pair.key.lines().nth(1).context("a key")?;
    let state = fs::read_to_string(workspace.folder().join("terraform.tfstate"))?;
    for (file, text) in [("the state", state), ("the plan", workspace.plan_file()?)] {
        ensure!(
            text.contains("homelab_app"),
            "{file} is not what was looked at"
        );
        ensure!(!text.contains(key), "{file} holds the client key");
    }

    another_cluster(&lab, &workspace, &app)?;
    wrong_certificates(&lab, &workspace, &members, &pair, &app)?;
    other_ways(&lab, &mut workspace, &pair, &members, &app)?;

    workspace.main(&block(
        &members,
        &format!("  server_fingerprints = [\"{seen}\"]\n"),
    ))?;
    workspace.apply()?.succeeded()?.says_not("first use")?;
    ensure!(
        lab.observer().workloads("web")?.is_empty(),
        "the app is still there"
    );
    lab.down()
}

/// The stranger trusts us, answers faster than a dead member, and must not be used all the same.
fn another_cluster(lab: &Lab, workspace: &Workspace, app: &str) -> Result<()> {
    let stranger = lab.member("m3")?;
    let (own, other) = (
        fingerprint(&lab.observer())?,
        fingerprint(&stranger.observer())?,
    );
    workspace.main(&format!(
        "{}{app}",
        block(&[stranger.https(), lab.first().https()], "")
    ))?;
    workspace.expect_empty_plan()?;
    let more = App::new("web", 2, VERSION_1).hcl();
    let list = block(&[stranger.https(), lab.first().https()], "");
    workspace.main(&format!("{list}{more}"))?;
    workspace.apply()?.succeeded()?;
    expect_serving(&lab.observer(), "web", 2, VERSION_1)?;
    workspace.main(&format!("{list}{app}"))?;
    workspace.apply()?.succeeded()?;
    expect_serving(&lab.observer(), "web", 1, VERSION_1)?;
    workspace.main(&format!("{}{app}", block(&[stranger.https()], "")))?;
    let before = fs::read(workspace.folder().join("terraform.tfstate"))?;
    workspace
        .plan()?
        .failed()?
        .says("another cluster")?
        .says(&other)?
        .says(&own)?
        .says("server_fingerprints")?;
    let after = fs::read(workspace.folder().join("terraform.tfstate"))?;
    ensure!(before == after, "the state was changed");
    let pins = format!("  server_fingerprints = [\"{own}\"]\n");
    workspace.main(&format!("{}{app}", block(&[stranger.https()], &pins)))?;
    workspace.plan()?.failed()?.says(&other)?.says(&own)?;
    let projects = stranger.observer().list("/1.0/projects")?;
    ensure!(
        projects == ["/1.0/projects/default"],
        "the stranger was used: {projects:?}"
    );
    Ok(())
}

fn wrong_certificates(
    lab: &Lab,
    workspace: &Workspace,
    members: &[String],
    pair: &Pair,
    app: &str,
) -> Result<()> {
    let unknown = Pair::new(2200)?;
    workspace.main(&format!("{}{app}", block(members, "")))?;
    write(&unknown, workspace)?;
    let plan = workspace.plan()?.failed()?;
    plan.says("does not trust this client")?
        .says("incus config trust add-certificate")?;
    let expired = Pair::new(2021)?;
    expired.add_to(&lab.observer()).ok();
    write(&expired, workspace)?;
    workspace.plan()?.failed()?.says("expired")?;
    workspace.write("client.crt", &pair.certificate)?;
    let plan = workspace.plan()?.failed()?;
    plan.says("does not fit")?
        .says_not(unknown.key.lines().nth(1).context("a key")?)?;
    let alone = format!(
        "provider \"homelab\" {{\n  endpoints          = {members:?}\n  client_certificate = file(\"client.crt\")\n}}\n{app}"
    );
    workspace.main(&alone)?;
    workspace
        .plan()?
        .failed()?
        .says("without its private key")?
        .says("client_key")?;
    write(pair, workspace)
}

/// By a remote of the user's own Incus client, by variables, and what the data source says on the way.
fn other_ways(
    lab: &Lab,
    workspace: &mut Workspace,
    pair: &Pair,
    members: &[String],
    app: &str,
) -> Result<()> {
    let incus = workspace.folder().join("home/.config/incus");
    fs::create_dir_all(incus.join("servercerts"))?;
    let certificate = |observer: Observer| -> Result<String> {
        let server = observer.get("/1.0")?;
        let certificate = server["environment"]["certificate"].as_str();
        Ok(certificate.context("a certificate")?.to_owned())
    };
    let stranger = lab.member("m3")?;
    for (file, text) in [
        ("client.crt", pair.certificate.as_str()),
        ("client.key", &pair.key),
        ("servercerts/lab.crt", &certificate(lab.observer())?),
        ("servercerts/other.crt", &certificate(stranger.observer())?),
        (
            "config.yml",
            &format!(
                "default-remote: lab\nremotes:\n  lab:\n    addr: {}\n    auth_type: tls\n    project: default\n    protocol: incus\n    public: false\n  other:\n    addr: {}\n",
                members[0],
                stranger.https()
            ),
        ),
    ] {
        fs::write(incus.join(file), text)?;
    }
    let shown = "data \"homelab_cluster\" \"this\" {}\noutput \"cluster\" {\n  value = data.homelab_cluster.this\n}\n";
    let remote = |name: &str| format!("provider \"homelab\" {{\n  remote = \"{name}\"\n}}\n");
    workspace.main(&format!("{}{app}", remote("lab")))?;
    workspace.expect_empty_plan()?;
    // Accepted once by hand, and still not the cluster that the state was made on.
    workspace.main(&format!("{}{app}", remote("other")))?;
    let plan = workspace.plan()?.failed()?;
    plan.says("Two clusters are named for one provider")?;
    workspace.main(&format!("{}{app}", remote("elsewhere")))?;
    workspace
        .plan()?
        .failed()?
        .says("has no remote \"elsewhere\"")?
        .says("lab")?;

    let healing = |value: &str| {
        let body = json!({ "config": { "cluster.healing_threshold": value } });
        lab.observer()
            .request("PATCH", "/1.0", Some(&body))
            .map(drop)
    };
    healing("600")?;
    workspace.set("HOMELAB_REMOTE", "lab");
    workspace.main(&format!("{app}{shown}"))?;
    let plan = workspace.expect_changes()?;
    plan.says("has two members")?
        .says("cluster.healing_threshold is 600")?;
    let planned = workspace.planned()?;
    let cluster = &planned["planned_values"]["outputs"]["cluster"]["value"];
    ensure!(
        cluster["fault_tolerance"] == 0 && cluster["clustered"] == true,
        "{cluster}"
    );
    healing("0")?;
    workspace.set("HOMELAB_REMOTE", "");
    Ok(())
}

fn shown(context: &Context) -> Result<()> {
    let lab = context.cluster()?;
    let workspace = context.workspace("cluster-shown")?;
    let block = super::provider(&[super::endpoint(&lab.first().socket())], "homelab");
    workspace.main(&format!(
        "{block}data \"homelab_cluster\" \"this\" {{}}\noutput \"cluster\" {{\n  value = data.homelab_cluster.this\n}}\n"
    ))?;
    workspace
        .expect_changes()?
        .says_not("Warning: The cluster")?;
    let planned = workspace.planned()?;
    let cluster = &planned["planned_values"]["outputs"]["cluster"]["value"];
    let names = cluster["members"].as_array().context("members")?;
    let expected: Vec<Value> = lab
        .members()
        .iter()
        .map(|member| {
            json!([
                member.name(),
                format!("{}:8443", member.address()),
                "Online",
                true
            ])
        })
        .collect();
    let seen: Vec<Value> = names
        .iter()
        .map(|member| {
            let version = member["server_version"].as_str();
            json!([
                member["name"],
                member["address"],
                member["status"],
                version == cluster["server_version"].as_str() && version.is_some()
            ])
        })
        .collect();
    ensure!(seen == expected, "{seen:?} is not {expected:?}");
    ensure!(cluster["fault_tolerance"] == 1, "{cluster}");
    Ok(())
}
