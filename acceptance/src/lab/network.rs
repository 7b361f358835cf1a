//! The network namespaces of a lab: one per member, with a cable to a hub with a bridge; or two, and a router between.
//!
//! Both ends of each cable are made inside namespaces, so the machine's own namespace never sees any of it. Everything
//! vanishes with the namespaces, which `teardown.rs` deletes.

use anyhow::Result;

use super::record::{Place, Record};
use crate::process::{run, run_with_input, tool};

/// Between the two ends of a tunnel, as a home router does it: whoever asks from inside is let out under the router's own
/// address and gets the answers; nobody gets in unasked.
const ROUTER: &str = "
table ip router {
    chain out { type nat hook postrouting priority srcnat; oifname wan masquerade; }
    chain through {
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        iifname lan accept
    }
}
";

/// Makes all namespaces of a lab.
pub(super) fn create(record: &Record) -> Result<()> {
    let hub = record.hub.as_str();
    ip(&["netns", "add", hub])?;
    ip(&["-n", hub, "link", "add", "hub", "type", "bridge"])?;
    ip(&["-n", hub, "link", "set", "hub", "up"])?;
    record.places().try_for_each(|place| {
        connect(hub, place, &place.name)?;
        ip(&["-n", hub, "link", "set", &place.name, "up"])?;
        plug(hub, place)
    })?;
    record.operator.iter().try_for_each(stand_in)
}

/// Puts the cable of a place into the bridge.
pub(super) fn plug(hub: &str, place: &Place) -> Result<()> {
    ip(&["-n", hub, "link", "set", &place.name, "master", "hub"])
}

/// Takes it out: whatever is sent is lost, and neither end can see why.
pub(super) fn unplug(hub: &str, place: &Place) -> Result<()> {
    ip(&["-n", hub, "link", "set", &place.name, "nomaster"])
}

/// An operator's place may have the addresses of members, for a proxy to listen on, and must not tell the others.
fn stand_in(operator: &Place) -> Result<()> {
    let namespace = format!("--net=/run/netns/{}", operator.namespace);
    let silent = "echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore";
    run(&mut tool("nsenter", &[&namespace, "sh", "-c", silent])).map(drop)
}

/// Gives a place a further address, which it has for itself alone.
pub(super) fn add_address(place: &Place, address: &str) -> Result<()> {
    let address = format!("{address}/32");
    let namespace = place.namespace.as_str();
    ip(&["-n", namespace, "address", "add", &address, "dev", "lo"])
}

/// Makes both networks and the router between them: the first place is outside, the second behind the router.
pub(super) fn create_behind_router(record: &Record, gateways: [&str; 2]) -> Result<()> {
    let router = record.hub.as_str();
    ip(&["netns", "add", router])?;
    for ((place, cable), gateway) in record.members.iter().zip(["wan", "lan"]).zip(gateways) {
        connect(router, place, cable)?;
        let gateway = format!("{gateway}/24");
        ip(&["-n", router, "address", "add", &gateway, "dev", cable])?;
        ip(&["-n", router, "link", "set", cable, "up"])?;
    }
    let inside = &record.members[1].namespace;
    ip(&["-n", inside, "route", "add", "default", "via", gateways[1]])?;
    let namespace = format!("--net=/run/netns/{router}");
    let forward = "echo 1 >/proc/sys/net/ipv4/ip_forward";
    run(&mut tool("nsenter", &[&namespace, "sh", "-c", forward]))?;
    run_with_input(
        &mut tool("nsenter", &[&namespace, "nft", "-f", "-"]),
        ROUTER,
    )
    .map(drop)
}

fn connect(hub: &str, place: &Place, cable: &str) -> Result<()> {
    let namespace = place.namespace.as_str();
    ip(&["netns", "add", namespace])?;
    ip(&["-n", namespace, "link", "set", "lo", "up"])?;
    ip(&[
        "-n", namespace, "link", "add", "eth0", "type", "veth", "peer", "name", cable, "netns", hub,
    ])?;
    ip(&[
        "-n",
        namespace,
        "address",
        "add",
        &format!("{}/24", place.address),
        "dev",
        "eth0",
    ])?;
    ip(&["-n", namespace, "link", "set", "eth0", "up"])
}

pub(super) fn ip(arguments: &[&str]) -> Result<()> {
    run(&mut tool("ip", arguments)).map(drop)
}
