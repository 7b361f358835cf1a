//! Checks a machine by itself. Each attribute is judged as far as it and what it is compared with are known.

use core::net::Ipv4Addr;

use super::{Declared, DeclaredNetwork, disk};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};
use crate::mac::{self, Mac};
use crate::name;
use crate::network::subnet::{Subnet, parse_address};

pub(super) fn check(machine: &Declared) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Given::Known(name) = &machine.name {
        issues.extend(name::issue(attribute("name"), "machine", name));
    }
    if let Given::Known(text) = &machine.mac
        && let Err(error) = Mac::parse(text)
    {
        issues.push(Issue::new(
            attribute("mac"),
            "The MAC address of a machine is not valid",
            format!("{}.", mac::refusal(text, &error)),
        ));
    }
    one_of(&machine.role, "role", &["bootstrap", "join"], &mut issues);
    one_of(&machine.os, "os", &["incusos", "linux"], &mut issues);
    check_address(machine, &mut issues);
    check_linux(machine, &mut issues);
    if let Given::Known(security) = &machine.security
        && (&security.tpm, &security.secure_boot) == (&Given::Known(false), &Given::Known(false))
    {
        issues.push(Issue::new(
            attribute("security"),
            "A machine has neither a TPM nor Secure Boot",
            "tpm and secure_boot are both false, and IncusOS refuses to be installed like that. Expected at least one of \
             them; most machines have a switch for each in their firmware.",
        ));
    }
    if let Given::Known(declared) = &machine.install_disk {
        issues.extend(disk::check(declared));
    }
    issues
}

fn one_of(given: &Given<String>, name: &'static str, known: &[&str; 2], issues: &mut Vec<Issue>) {
    if let Given::Known(text) = given
        && !known.contains(&text.as_str())
    {
        issues.push(Issue::new(
            attribute(name),
            format!("The {name} of a machine is not known"),
            format!("It is {text:?}. Expected {:?} or {:?}.", known[0], known[1]),
        ));
    }
}

fn check_address(machine: &Declared, issues: &mut Vec<Issue>) {
    match (&machine.network, &machine.address) {
        (Given::Known(_), Given::Absent) => issues.push(Issue::new(
            attribute("address"),
            "A machine in a network has no address",
            "network is set and address is not. Set it, usually to homelab_network.NAME.assignments[each.key], or leave \
             network out and let the machine use DHCP.",
        )),
        (Given::Absent, Given::Absent) if machine.dhcp == Given::Known(false) => {
            issues.push(Issue::new(
                attribute("dhcp"),
                "A machine has no way to an address",
                "dhcp is false, and there is no address. Set network and address, or dhcp = true.",
            ));
        }
        _ => {}
    }
    let nothing = DeclaredNetwork::default();
    let network = machine.network.known().unwrap_or(&nothing);
    let subnet = check_network(network, issues);
    let Given::Known(text) = &machine.address else {
        return;
    };
    match parse_address(text) {
        Ok(address) => check_inside(address, subnet, network, issues),
        Err(error) => issues.push(Issue::new(
            attribute("address"),
            "The address of a machine is not valid",
            format!(
                "The address {text:?} {error}. Expected an IPv4 address without a prefix length, such as \
                 homelab_network.NAME.assignments[each.key]."
            ),
        )),
    }
}

fn check_network(network: &DeclaredNetwork, issues: &mut Vec<Issue>) -> Option<Subnet> {
    let at = |name| vec![Step::Attribute("network"), Step::Attribute(name)];
    if let Given::Known(name) = &network.name {
        issues.extend(name::issue(at("name"), "network", name));
    }
    let mut addresses = vec![(at("gateway"), &network.gateway)];
    for (index, resolver) in network.dns.known().into_iter().flatten().enumerate() {
        addresses.push(([at("dns"), vec![Step::Index(index)]].concat(), resolver));
    }
    for (path, given) in addresses {
        if let Given::Known(text) = given
            && let Err(error) = parse_address(text)
        {
            issues.push(Issue::new(
                path,
                "An address in the network of a machine is not valid",
                format!("The address {text:?} {error}. Expected an IPv4 address."),
            ));
        }
    }
    let Given::Known(text) = &network.cidr else {
        return None;
    };
    match Subnet::parse(text) {
        Ok(subnet) => Some(subnet),
        Err(error) => {
            issues.push(Issue::new(
                at("cidr"),
                "The CIDR in the network of a machine is not valid",
                format!("The CIDR {text:?} {error}. Expected an IPv4 network such as \"192.168.1.0/24\"."),
            ));
            None
        }
    }
}

/// HO-IPAM-02, HO-CFG-08, HO-CFG-09.
fn check_inside(
    address: Ipv4Addr,
    subnet: Option<Subnet>,
    network: &DeclaredNetwork,
    issues: &mut Vec<Issue>,
) {
    let mut refuse = |summary: &str, detail: String| {
        issues.push(Issue::new(attribute("address"), summary, detail));
    };
    if let Some(subnet) = subnet {
        if !subnet.contains(address) {
            refuse(
                "The address of a machine is outside of its network",
                format!(
                    "The address is {address}, and the network is {subnet}. Expected an address inside of it."
                ),
            );
        } else if address == subnet.network() || address == subnet.broadcast() {
            refuse(
                "The address of a machine is one that no machine can have",
                format!(
                    "{address} is the network's own or its broadcast address. Expected one between the two."
                ),
            );
        }
    }
    let gateway = network
        .gateway
        .known()
        .and_then(|text| parse_address(text).ok());
    if gateway == Some(address) {
        refuse(
            "The address of a machine is the gateway's",
            format!(
                "{address} is the gateway of the network. Expected an address of the machine's own."
            ),
        );
    }
}

/// What is decided by somebody else on a Linux that is there already.
fn check_linux(machine: &Declared, issues: &mut Vec<Issue>) {
    if machine.os.known().map(String::as_str) != Some("linux") {
        return;
    }
    for (name, is_set) in [
        ("security", machine.security.is_set()),
        ("install_disk", machine.install_disk.is_set()),
    ] {
        if is_set {
            issues.push(Issue::new(
                attribute(name),
                format!("A machine with Linux has no {name}"),
                format!(
                    "os is \"linux\", where nothing is installed, and {name} is set. Remove it, or leave os out for a \
                     machine that IncusOS is installed on."
                ),
            ));
        }
    }
}
