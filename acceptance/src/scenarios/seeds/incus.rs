//! What a real Incus makes of rendered preseeds.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::fleet::prepare;
use crate::lab::{Incus, Lab, Member};
use crate::process::{inside, run, tool};
use crate::scenario::Context;
use crate::workspace::Workspace;

/// The first machine's address in the overlay.
const OVERLAY: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 2);

fn machines(first: &Member, second: &Member) -> String {
    let network: Vec<&str> = first.address().split('.').collect();
    let (first_name, first_address) = (first.name(), first.address());
    let (second_name, second_address) = (second.name(), second.address());
    let lan = network[..3].join(".");
    format!(
        r#"
locals {{
  machines = {{
    {first_name}  = {{ mac = "52:54:00:00:00:01", role = "bootstrap", address = "{first_address}", overlay = "{OVERLAY}" }}
    {second_name} = {{ mac = "52:54:00:00:00:02", role = "join", address = "{second_address}", overlay = "10.100.0.3" }}
  }}
}}

resource "homelab_seed" "node" {{
  for_each = local.machines
  machine = {{
    name    = each.key
    mac     = each.value.mac
    role    = each.value.role
    address = each.value.address
    network = {{ name = "lan", cidr = "{lan}.0/24", gateway = "{lan}.254", dns = ["{lan}.254"] }}
  }}
  break_glass_certificate = file("break-glass.crt")
  joiner_certificate      = each.value.role == "join" ? file("joiner.crt") : null
  wireguard = {{
    network = {{ cidr = "10.100.0.0/24" }}
    address = each.value.overlay
    hub     = {{ endpoint = "hub.example.net:51820", public_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=" }}
  }}
}}
"#
    )
}

/// The rendered preseed of a member.
fn preseed(workspace: &Workspace, member: &Member) -> Result<Value> {
    let seed = workspace.attributes(&format!("homelab_seed.node[{:?}]", member.name()))?;
    let file = seed["files"]["incus.json"].as_str().context("a file")?;
    let mut file: Value = serde_json::from_str(file)?;
    Ok(file["preseed"].take())
}

pub(super) fn preseeds(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-incus")?;
    prepare(context, &workspace)?;
    let lab = Lab::up_bare("seeds", 2, Incus::V7)?;
    let (first, second) = (lab.first(), lab.member("m2")?);
    workspace.main(&machines(first, second))?;
    workspace.apply()?.succeeded()?;

    first.preseed(&preseed(&workspace, first)?)?;
    let observer = first.observer();
    let members = observer.list("/1.0/cluster/members?recursion=1")?;
    ensure!(
        members.len() == 1
            && members[0]["server_name"] == first.name()
            && members[0]["url"] == first.https(),
        "{members:#?}"
    );
    expect_trusted(first, &["break-glass client", "m1-metrics metrics"])?;
    let profile = observer.get("/1.0/profiles/incus-socket")?;
    ensure!(
        profile["devices"]["incus-socket"]["type"] == "proxy",
        "{profile:#}"
    );
    // HO-SEED-15: the cluster has one address to meet at, and the daemon still answers on the overlay.
    let address = format!("{OVERLAY}/24");
    let add = [
        "-n",
        first.namespace(),
        "address",
        "add",
        &address,
        "dev",
        "lo",
    ];
    run(&mut tool("ip", &add))?;
    listens(first, OVERLAY)?;

    second.preseed(&preseed(&workspace, second)?)?;
    let observer = second.observer();
    let cluster = observer.get("/1.0/cluster")?;
    ensure!(cluster["enabled"] == false, "{cluster:#}");
    expect_trusted(
        second,
        &[
            "break-glass client",
            "m2-joiner client",
            "m2-metrics metrics",
        ],
    )?;
    for nothing in ["storage-pools", "instances"] {
        let found = observer.list(&format!("/1.0/{nothing}"))?;
        ensure!(found.is_empty(), "a joiner has {found:?}");
    }
    listens(second, second.address().parse()?)?;
    let loopback = listens(second, Ipv4Addr::LOCALHOST);
    ensure!(
        loopback.is_err(),
        "a joiner listens everywhere, and cannot join like that"
    );
    lab.down()?;
    workspace.destroy()?.succeeded().map(drop)
}

/// HO-SEED-09, HO-SEED-12, HO-SEED-20: these and nobody else, as name and type.
fn expect_trusted(member: &Member, expected: &[&str]) -> Result<()> {
    let certificates = member.observer().list("/1.0/certificates?recursion=1")?;
    let told = |one: &Value| format!("{} {}", one["name"], one["type"]).replace('"', "");
    let mut seen: Vec<String> = certificates.iter().map(told).collect();
    // A cluster's own members are among them.
    seen.retain(|one| !one.ends_with(" server"));
    seen.sort();
    ensure!(seen == expected, "{} trusts {seen:?}", member.name());
    Ok(())
}

fn listens(member: &Member, address: Ipv4Addr) -> Result<()> {
    let network = Path::new("/run/netns").join(member.namespace());
    inside(&network, || {
        TcpStream::connect((address, 8443)).with_context(|| format!("connecting to {address}"))
    })
    .map(drop)
}
