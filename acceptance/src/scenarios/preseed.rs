//! Fresh servers, and what a preseed makes of them: what IncusOS does with an install seed, on a real Incus 7.0.
//!
//! The lab's own part of it; what the product renders is judged with the same means elsewhere.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::lab::{Incus, Lab, Member};
use crate::pair::Pair;
use crate::process::{inside, run};
use crate::scenario::{Context, Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "a_preseed_makes_a_fresh_server_a_cluster_of_one",
    proves: "A server with nothing configured becomes a cluster of one by a preseed, listens on every address, and trusts \
             the client of the preseed and nobody else.",
    group: "preseed",
    needs: &[Need::Incus7],
    seconds: 4,
    run: cluster_of_one,
}];

fn cluster_of_one(_: &Context) -> Result<()> {
    let lab = Lab::up_bare("preseed", 2, Incus::V7)?;
    let observer = lab.observer();
    for fresh in ["storage-pools", "certificates", "images"] {
        let found = observer.list(&format!("/1.0/{fresh}"))?;
        ensure!(found.is_empty(), "a fresh server has {found:?}");
    }
    let (operator, metrics) = (Pair::new(2200)?, Pair::new(2200)?);
    let first = lab.first();
    first.preseed(&json!({
        "config": {
            "cluster.https_address": format!("{}:8443", first.address()),
            "core.https_address": ":8443",
        },
        "certificates": [
            { "name": "operator", "type": "client", "certificate": operator.certificate },
            { "name": "metrics", "type": "metrics", "certificate": metrics.certificate },
        ],
        "cluster": { "server_name": first.name(), "enabled": true },
    }))?;

    let members = observer.list("/1.0/cluster/members?recursion=1")?;
    ensure!(
        members.len() == 1 && members[0]["server_name"] == first.name(),
        "{members:#?}"
    );
    let mut certificates = observer.list("/1.0/certificates?recursion=1")?;
    // The member's own is among them once it is clustered.
    certificates.retain(|certificate| certificate["type"] != "server");
    let kinds: Vec<&Value> = certificates.iter().map(|one| &one["type"]).collect();
    ensure!(
        kinds.len() == 2 && kinds.contains(&&json!("client")) && kinds.contains(&&json!("metrics")),
        "{certificates:#?}"
    );
    // An address that no configuration names.
    let network = Path::new("/run/netns").join(first.namespace());
    inside(&network, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, 8443)).context("connecting to any address")
    })?;

    // A real client, from the other machine.
    let client = lab.member("m2")?;
    ensure!(trust(client, first, &operator)? == "trusted");
    ensure!(trust(client, first, &metrics)? == "untrusted");
    lab.down()
}

/// What a server thinks of a client with these keys.
fn trust(client: &Member, server: &Member, pair: &Pair) -> Result<Value> {
    let folder = client.client_folder();
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("client.crt"), &pair.certificate)?;
    fs::write(folder.join("client.key"), &pair.key)?;
    let remote = json!({ "remotes": { "server": {
        "addr": server.https(), "auth_type": "tls", "protocol": "incus",
    } } });
    fs::write(folder.join("config.yml"), remote.to_string())?;
    let known = server.observer().get("/1.0")?["environment"]["certificate"].take();
    fs::create_dir_all(folder.join("servercerts"))?;
    fs::write(
        folder.join("servercerts/server.crt"),
        known.as_str().context("the server's certificate")?,
    )?;
    let told = run(&mut client.tool("incus", &["query", "server:/1.0"])?)?;
    let mut told: Value = serde_json::from_str(&told).context("understanding the client")?;
    Ok(told["auth"].take())
}
