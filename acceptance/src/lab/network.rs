//! The network namespaces of a lab: a hub with a bridge, and one per member with a cable to the hub.
//!
//! Both ends of each cable are made inside namespaces, so the machine's own namespace never sees any of it. Everything
//! vanishes with the namespaces, which `teardown.rs` deletes.

use anyhow::Result;

use super::record::{Place, Record};
use crate::process::{run, tool};

/// Makes all namespaces of a lab.
pub(super) fn create(record: &Record) -> Result<()> {
    let hub = record.hub.as_str();
    ip(&["netns", "add", hub])?;
    ip(&["-n", hub, "link", "add", "hub", "type", "bridge"])?;
    ip(&["-n", hub, "link", "set", "hub", "up"])?;
    record
        .members
        .iter()
        .try_for_each(|place| connect(hub, place))
}

fn connect(hub: &str, place: &Place) -> Result<()> {
    let (namespace, cable) = (place.namespace.as_str(), place.name.as_str());
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
    ip(&["-n", namespace, "link", "set", "eth0", "up"])?;
    ip(&["-n", hub, "link", "set", cable, "master", "hub", "up"])
}

fn ip(arguments: &[&str]) -> Result<()> {
    run(&mut tool("ip", arguments)).map(drop)
}
