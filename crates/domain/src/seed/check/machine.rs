//! The machine of a seed: what else it needs if IncusOS is to come up on it.

use core::net::Ipv4Addr;

use super::{at, missing};
use crate::given::Given;
use crate::issue::{Issue, Step};
use crate::machine::{Declared, DeclaredNetwork};
use crate::network::subnet::{Subnet, parse_address};
use crate::seed::secret;

pub(super) fn check(machine: &Declared, issues: &mut Vec<Issue>) {
    let holds_secret = holds_secret(machine);
    for mut issue in machine.check() {
        issue.path.insert(0, Step::Attribute("machine"));
        // Those messages quote what was declared, if only its beginning.
        issues.push(if holds_secret {
            secret::hushed(issue)
        } else {
            issue
        });
    }
    for (name, given) in [("name", &machine.name), ("mac", &machine.mac)] {
        if *given == Given::Absent {
            issues.push(missing(
                &["machine", name],
                &format!("{name} of its machine"),
                "the whole homelab_instance, such as machine = homelab_instance.node[each.key].",
            ));
        }
    }
    if machine.os.known().map(String::as_str) == Some("linux") {
        issues.push(Issue::new(
            at(&["machine", "os"]),
            "A machine with Linux has no seed",
            "os is \"linux\", where the system is installed already, and a seed is read by the installer of IncusOS only. \
             Remove os from the machine, or make no seed for it.",
        ));
    }
    if machine.address.is_set() {
        check_static(machine, issues);
    }
}

/// A machine with an address of its own has nobody to ask for the rest, unless it asks a DHCP server too (HO-CFG-21).
fn check_static(machine: &Declared, issues: &mut Vec<Issue>) {
    let network = match &machine.network {
        Given::Unknown => return,
        Given::Absent => {
            issues.push(missing(
                &["machine", "network"],
                "network of its machine",
                "the homelab_network that the machine's address is from: the length of its prefix, the way out and the \
                 resolvers stand there.",
            ));
            return;
        }
        Given::Known(network) => network,
    };
    if network.cidr == Given::Absent {
        issues.push(missing(
            &["machine", "network", "cidr"],
            "CIDR for the address of its machine",
            "an IPv4 network such as \"192.168.1.0/24\".",
        ));
    }
    check_gateway(machine, network, issues);
    let has_resolver = match &network.dns {
        Given::Known(resolvers) => !resolvers.is_empty(),
        given => given.is_set(),
    };
    if asks_nobody(machine) && !has_resolver {
        issues.push(missing(
            &["machine", "network", "dns"],
            "resolver for its machine",
            "at least one: IncusOS looks a name up before it finishes its first start, and never gets further without. Set \
             dns in the network, or dhcp = true in the machine.",
        ));
    }
    for (index, resolver) in network.dns.known().into_iter().flatten().enumerate() {
        if *resolver == Given::Absent {
            let path = [at(&["machine", "network", "dns"]), vec![Step::Index(index)]].concat();
            issues.push(Issue::new(
                path,
                "A resolver of a machine is null",
                "Expected an IPv4 address. Remove the element.",
            ));
        }
    }
}

fn check_gateway(machine: &Declared, network: &DeclaredNetwork, issues: &mut Vec<Issue>) {
    let text = match &network.gateway {
        Given::Known(text) => text,
        Given::Absent if asks_nobody(machine) => {
            issues.push(missing(
                &["machine", "network", "gateway"],
                "gateway for its machine",
                "the address of the router: IncusOS downloads its applications at its first start. Set gateway in the \
                 network, or dhcp = true in the machine.",
            ));
            return;
        }
        _ => return,
    };
    let subnet = network
        .cidr
        .known()
        .and_then(|text| Subnet::parse(text).ok());
    let is_outside = |subnet: Subnet, gateway: Ipv4Addr| {
        !subnet.contains(gateway) || gateway == subnet.network() || gateway == subnet.broadcast()
    };
    if let (Some(subnet), Ok(gateway)) = (subnet, parse_address(text))
        && is_outside(subnet, gateway)
    {
        issues.push(Issue::new(
            at(&["machine", "network", "gateway"]),
            "The gateway of a machine cannot be reached from its address",
            format!(
                "The gateway is {gateway}, and the network is {subnet}. Expected an address between the first and the last \
                 of it, or no route leads out of the network."
            ),
        ));
    }
}

/// Whether a key was pasted into one of the machine's texts.
fn holds_secret(machine: &Declared) -> bool {
    let Declared {
        name,
        mac,
        address,
        role,
        os,
        ..
    } = machine;
    let mut texts = vec![name, mac, address, role, os];
    if let Given::Known(network) = &machine.network {
        texts.extend([&network.name, &network.cidr, &network.gateway]);
        texts.extend(network.dns.known().into_iter().flatten());
    }
    if let Given::Known(disk) = &machine.install_disk {
        texts.extend([
            &disk.id,
            &disk.bus,
            &disk.min_size,
            &disk.max_size,
            &disk.sort_order,
        ]);
    }
    texts
        .into_iter()
        .filter_map(Given::known)
        .any(|text| secret::looks_secret(text))
}

/// Whether all that the machine knows of the network is what its seed says.
fn asks_nobody(machine: &Declared) -> bool {
    matches!(machine.dhcp, Given::Absent | Given::Known(false))
}
