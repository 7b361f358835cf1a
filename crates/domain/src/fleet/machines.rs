//! What is wrong between machines, and between machines and networks.
//!
//! Before: `fleet::check`. After: the issues, each at the later of the two entries. Not here: apps (`apps.rs`).

use core::net::Ipv4Addr;

use super::{Fleet, Machine, Network, Place, entries, repeated};
use crate::issue::Issue;
use crate::mac::Mac;

pub(super) fn check(fleet: &Fleet, issues: &mut Vec<Issue>) {
    let networks = entries("networks", &fleet.networks);
    let networks: Vec<(Place<'_>, &Network)> = networks.collect();
    let machines = entries("machines", &fleet.machines);
    let machines: Vec<(Place<'_>, &Machine)> = machines.collect();
    let names = networks
        .iter()
        .map(|(place, network)| (*place, &network.name));
    same_names("network", names, issues);
    let names = machines
        .iter()
        .map(|(place, machine)| (*place, &machine.name));
    same_names("machine", names, issues);
    same_macs(&machines, issues);
    same_addresses(&machines, issues);
    bootstraps(fleet, &machines, issues);
    two_sources(&networks, &machines, issues);
}

/// HO-CFG-09, HO-APP-06: names are unique among their kind; the last one never wins silently.
pub(super) fn same_names<'a>(
    bearer: &str,
    named: impl Iterator<Item = (Place<'a>, &'a crate::given::Given<String>)>,
    issues: &mut Vec<Issue>,
) {
    let named = named.filter_map(|(place, given)| Some((place, place.name(given)?)));
    for (earlier, place, name) in repeated(named) {
        let detail = format!(
            "{} and {} are both called {name:?}. Expected one {bearer} of a name. Rename one of the two, or remove it.",
            earlier.told(),
            place.told()
        );
        let summary = format!("Two {bearer}s are called {name:?}");
        issues.push(Issue::new(place.at("name"), summary, detail));
    }
}

/// HO-CFG-03: a MAC address is what a machine is known by, however it is spelled.
fn same_macs(machines: &[(Place<'_>, &Machine)], issues: &mut Vec<Issue>) {
    let macs = machines.iter().filter_map(|(place, machine)| {
        let mac = Mac::parse(machine.mac.known()?).ok()?;
        Some((*place, mac))
    });
    for (earlier, place, mac) in repeated(macs) {
        let detail = format!(
            "{} and {} have the MAC address {mac}. Expected another one for each machine, which is known by it. Correct the \
             one that was copied.",
            earlier.told(),
            place.told()
        );
        let summary = format!("Two machines have the MAC address {mac}");
        issues.push(Issue::new(place.at("mac"), summary, detail));
    }
}

/// HO-IPAM-05: an address is unique within its network; two networks may use the same one.
fn same_addresses(machines: &[(Place<'_>, &Machine)], issues: &mut Vec<Issue>) {
    let addresses = machines.iter().filter_map(|(place, machine)| {
        let address: Ipv4Addr = machine.address.known()?.parse().ok()?;
        Some((*place, (network_of(machine)?, address)))
    });
    for (earlier, place, (_, address)) in repeated(addresses) {
        let detail = format!(
            "{} and {} have the address {address} in the same network. Expected another one for each machine. Take it from \
             the network, as in homelab_network.lan.assignments[each.key].",
            earlier.told(),
            place.told()
        );
        let summary = format!("Two machines have the address {address}");
        issues.push(Issue::new(place.at("address"), summary, detail));
    }
}

/// What tells the machine's network from others; `None` while that is unknown. Machines without one share one.
fn network_of(machine: &Machine) -> Option<&str> {
    if machine.network.is_unknown() {
        return None;
    }
    let Some(network) = machine.network.known() else {
        return Some("");
    };
    if network.name.is_unknown() {
        return None;
    }
    Some(network.name.known().map_or("", String::as_str))
}

/// HO-CFG-22: a cluster begins with exactly one machine.
fn bootstraps(fleet: &Fleet, machines: &[(Place<'_>, &Machine)], issues: &mut Vec<Issue>) {
    let has = |machine: &Machine, role: &str| machine.role.known().is_some_and(|own| own == role);
    let of_role = |role: &'static str| {
        let machines = machines
            .iter()
            .filter(move |(_, machine)| has(machine, role));
        machines.map(|(place, _)| *place)
    };
    let mut bootstraps = of_role("bootstrap");
    let first = bootstraps.next();
    for place in bootstraps {
        let earlier = first.map(Place::told).unwrap_or_default();
        let detail = format!(
            "{earlier} and {} have the role \"bootstrap\". Expected exactly one machine that the cluster begins with. Set \
             role = \"join\" for the others.",
            place.told()
        );
        let summary = "Two machines have the role bootstrap";
        issues.push(Issue::new(place.at("role"), summary, detail));
    }
    // One whose role or existence is not known yet may be it.
    let all = fleet.machines.known();
    let open = |entry: &crate::given::Given<Machine>| {
        entry.is_unknown()
            || entry
                .known()
                .is_some_and(|machine| machine.role.is_unknown())
    };
    let is_open = all.is_some_and(|all| all.iter().any(|(_, entry)| open(entry)));
    if first.is_none()
        && !is_open
        && let Some(place) = of_role("join").next()
    {
        let detail = format!(
            "{} has the role \"join\", and no machine has the role \"bootstrap\". Expected exactly one machine that the \
             cluster begins with. Set role = \"bootstrap\" for one; if the cluster exists already, for the machine that it \
             began with.",
            place.told()
        );
        let summary = "Machines join, and none has the role bootstrap";
        issues.push(Issue::new(place.at("role"), summary, detail));
    }
}

/// HO-CFG-13: a network has one source for its addressing.
fn two_sources(
    networks: &[(Place<'_>, &Network)],
    machines: &[(Place<'_>, &Machine)],
    issues: &mut Vec<Issue>,
) {
    for (place, machine) in machines {
        let Some(own) = machine.network.known() else {
            continue;
        };
        let Some(name) = own.name.known() else {
            continue;
        };
        let declared = networks
            .iter()
            .find(|(place, network)| place.name(&network.name) == Some(name.as_str()));
        let Some((source, declared)) = declared else {
            continue;
        };
        let attributes = [
            ("cidr", &own.cidr, &declared.cidr),
            ("gateway", &own.gateway, &declared.gateway),
        ];
        for (attribute, own, declared) in attributes {
            let (Some(own), Some(declared)) = (own.known(), declared.known()) else {
                continue;
            };
            if own != declared {
                let detail = format!(
                    "For network {name:?}, {} has the {attribute} {own:?} and {} has {declared:?}. Expected one source for a \
                     network. Pass the network itself to the machine, as in network = homelab_network.lan.",
                    place.told(),
                    source.told()
                );
                let summary = format!("The network {name:?} has two values for {attribute}");
                issues.push(Issue::new(place.at("network"), summary, detail));
            }
        }
    }
}
