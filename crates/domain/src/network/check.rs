//! Checks a configuration by itself and turns its text into typed values, in one pass.
//!
//! Before: `network::plan` or `network::check`. After: `assign.rs`, which sees typed values only.
//! Not here: anything about addresses that machines hold already (`assign.rs`).
//! Every attribute is checked as far as it and what it is compared with are known; none hides the issues of another.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use super::Config;
use super::model::{Claim, Kind, Network, Reserved};
use super::subnet::{self, Range, Subnet};
use crate::given::Given;
use crate::issue::{Issue, attribute, element, item};
use crate::name;

/// The typed network and everything that is wrong with its configuration.
pub(super) fn check(config: &Config) -> (Network<'_>, Vec<Issue>) {
    let mut issues = Vec::new();
    if let Given::Known(name) = &config.name {
        issues.extend(name::issue(attribute("name"), "network", name));
    }
    let mut network = Network {
        kind: check_kind(config, &mut issues),
        ..Network::default()
    };
    check_presence(config, network.kind, &mut issues);
    network.subnet = check_cidr(config, &mut issues);
    network.gateway = check_gateway(config, network.subnet, &mut issues);
    network.dns = check_dns(config, &mut issues);
    network.static_range = check_range(config, network.subnet, &mut issues);
    network.claims = check_claims(config, &network, &mut issues);
    (network, issues)
}

fn check_kind(config: &Config, issues: &mut Vec<Issue>) -> Option<Kind> {
    match &config.kind {
        Given::Absent => Some(Kind::Lan),
        Given::Unknown => None,
        Given::Known(kind) => match kind.as_str() {
            "lan" => Some(Kind::Lan),
            "overlay" => Some(Kind::Overlay),
            _ => {
                issues.push(Issue::new(
                    attribute("kind"),
                    "The kind of a network is not known",
                    format!("The kind is {kind:?}. Expected \"lan\" or \"overlay\"."),
                ));
                None
            }
        },
    }
}

/// HO-CFG-13: the addressing of a network is declared as a whole or not at all.
fn check_presence(config: &Config, kind: Option<Kind>, issues: &mut Vec<Issue>) {
    let cidr = ("cidr", config.cidr == Given::Absent);
    let only_lan = [
        ("gateway", config.gateway == Given::Absent),
        ("dns", config.dns == Given::Absent),
        ("static_range", config.static_range == Given::Absent),
    ];
    match kind {
        None => {}
        Some(Kind::Lan) => {
            for (name, absent) in [cidr].into_iter().chain(only_lan) {
                if absent {
                    let detail = format!(
                        "A network of kind \"lan\" needs cidr, gateway, dns and static_range together, and \
                         {name} is not set. Set it, or set kind = \"overlay\" for an overlay."
                    );
                    issues.push(Issue::new(
                        attribute(name),
                        format!("The addressing of a LAN lacks {name}"),
                        detail,
                    ));
                }
            }
        }
        Some(Kind::Overlay) => {
            if cidr.1 {
                issues.push(Issue::new(
                    attribute("cidr"),
                    "The addressing of an overlay lacks cidr",
                    "A network of kind \"overlay\" takes its addresses from cidr, and cidr is not set. \
                     Set it, for instance to \"10.100.0.0/24\".",
                ));
            }
            for (name, absent) in only_lan {
                if !absent {
                    let detail = format!(
                        "A network of kind \"overlay\" takes cidr and claims only, and {name} is set. \
                         Remove it, or set kind = \"lan\" for a local network."
                    );
                    issues.push(Issue::new(
                        attribute(name),
                        format!("An overlay has no {name}"),
                        detail,
                    ));
                }
            }
        }
    }
}

fn check_cidr(config: &Config, issues: &mut Vec<Issue>) -> Option<Subnet> {
    let Given::Known(text) = &config.cidr else {
        return None;
    };
    let (corrected, issue) = match Subnet::parse(text) {
        Ok(subnet) => return Some(subnet),
        Err(error @ subnet::Error::HostBits(corrected)) => {
            let issue = Issue::new(
                attribute("cidr"),
                "The CIDR of a network has host bits set",
                format!("The CIDR {text:?} {error}. Set cidr = \"{corrected}\"."),
            );
            // The rest is checked against what was meant, so that its issues show at the same time.
            (Some(corrected), issue)
        }
        Err(error) => {
            let detail = format!(
                "The CIDR {text:?} {error}. Expected an IPv4 network such as \"192.168.1.0/24\"."
            );
            let summary = "The CIDR of a network cannot be used";
            (None, Issue::new(attribute("cidr"), summary, detail))
        }
    };
    issues.push(issue);
    corrected
}

fn check_gateway(
    config: &Config,
    subnet: Option<Subnet>,
    issues: &mut Vec<Issue>,
) -> Option<Ipv4Addr> {
    let Given::Known(text) = &config.gateway else {
        return None;
    };
    let mut refuse = |seen: String| {
        let detail = format!("{seen}. Set the address that the router has in this network.");
        issues.push(Issue::new(
            attribute("gateway"),
            "The gateway of a network cannot be used",
            detail,
        ));
    };
    let gateway = match subnet::parse_address(text) {
        Ok(gateway) => gateway,
        Err(error) => {
            refuse(format!("The gateway {text:?} {error}"));
            return None;
        }
    };
    if let Some(subnet) = subnet {
        let borders = [
            (subnet.network(), Reserved::Network),
            (subnet.broadcast(), Reserved::Broadcast),
        ];
        if !subnet.contains(gateway) {
            refuse(format!("The gateway {gateway} is outside of {subnet}"));
        } else if let Some((_, border)) = borders.iter().find(|(border, _)| *border == gateway) {
            refuse(format!("The gateway {gateway} is {border} of {subnet}"));
        }
    }
    Some(gateway)
}

fn check_dns(config: &Config, issues: &mut Vec<Issue>) -> Option<Vec<IpAddr>> {
    let Given::Known(entries) = &config.dns else {
        return None;
    };
    let mut addresses = Some(Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let seen = match entry {
            Given::Unknown => None,
            Given::Absent => Some("The entry is null".to_owned()),
            Given::Known(text) => match text.parse::<IpAddr>() {
                Ok(address) => {
                    if let Some(addresses) = &mut addresses {
                        addresses.push(address);
                    }
                    continue;
                }
                Err(_) => Some(format!("The entry {text:?} is not an IP address")),
            },
        };
        addresses = None;
        issues.extend(seen.map(|seen| {
            let detail =
                format!("{seen}. Expected the address of a resolver, such as \"192.168.1.1\".");
            Issue::new(item("dns", index), "A DNS entry is not an address", detail)
        }));
    }
    addresses
}

fn check_range(config: &Config, subnet: Option<Subnet>, issues: &mut Vec<Issue>) -> Option<Range> {
    let Given::Known(text) = &config.static_range else {
        return None;
    };
    let parsed = Range::parse(text);
    // As with the CIDR, a range that is the wrong way round tells what was meant.
    let meant = match parsed {
        Ok(range) | Err(subnet::Error::Reversed(range)) => Some(range),
        Err(_) => None,
    };
    let inside = |range: &Range| {
        subnet.is_none_or(|subnet| subnet.contains(range.first) && subnet.contains(range.last))
    };
    let (meant, seen) = match (parsed, subnet) {
        (Err(error), _) => (meant.filter(inside), format!("The range {text:?} {error}")),
        (Ok(range), Some(subnet)) if !inside(&range) => (
            None,
            format!("The range {range} is not entirely inside of {subnet}"),
        ),
        (Ok(range), _) => return Some(range),
    };
    let detail = format!(
        "{seen}. Expected the first and the last address that the DHCP server leaves alone, with a hyphen \
         between, such as \"192.168.1.210-192.168.1.239\"."
    );
    issues.push(Issue::new(
        attribute("static_range"),
        "The static range of a network cannot be used",
        detail,
    ));
    meant
}

fn check_claims<'a>(
    config: &'a Config,
    network: &Network<'_>,
    issues: &mut Vec<Issue>,
) -> Option<BTreeMap<&'a str, Claim>> {
    let claims = match &config.claims {
        Given::Absent => return Some(BTreeMap::new()),
        Given::Unknown => return None,
        Given::Known(claims) => claims,
    };
    let reserved = network.reserved();
    let mut pinned_by: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    let mut typed = BTreeMap::new();
    for (machine, pin) in claims {
        issues.extend(name::issue(element("claims", machine), "machine", machine));
        let claim = match pin {
            Given::Absent => Ok(Claim::Next),
            Given::Unknown => Ok(Claim::Undecided),
            Given::Known(text) => check_pin(text, network, &reserved),
        };
        let claim = claim.and_then(|claim| match claim {
            Claim::Pinned(pin) => match pinned_by.insert(pin, machine) {
                None => Ok(claim),
                Some(other) => Err(format!(
                    "The pin {pin} is also the pin of machine {other:?}"
                )),
            },
            Claim::Next | Claim::Undecided => Ok(claim),
        });
        let claim = claim.unwrap_or_else(|seen| {
            let detail = format!(
                "{seen}. Pin machine {machine:?} to {}, or set its claim to null for the next free one.",
                expected_pin(network)
            );
            let summary = format!("The pin of machine {machine:?} cannot be used");
            issues.push(Issue::new(element("claims", machine), summary, detail));
            Claim::Undecided
        });
        typed.insert(machine.as_str(), claim);
    }
    Some(typed)
}

/// HO-CFG-08, HO-CFG-09: a pin is inside the subnet and the range, and is nobody's reserved address.
fn check_pin(
    text: &str,
    network: &Network<'_>,
    reserved: &BTreeMap<Ipv4Addr, Reserved>,
) -> Result<Claim, String> {
    let pin = subnet::parse_address(text).map_err(|error| format!("The pin {text:?} {error}"))?;
    if let Some(subnet) = network.subnet
        && !subnet.contains(pin)
    {
        return Err(format!("The pin {pin} is outside of the network {subnet}"));
    }
    if let Some(reserved) = reserved.get(&pin) {
        return Err(format!("The pin {pin} is {reserved}"));
    }
    match network.static_range {
        Some(range) if !range.contains(pin) => Err(format!(
            "The pin {pin} is outside of the static range {range}"
        )),
        _ => Ok(Claim::Pinned(pin)),
    }
}

fn expected_pin(network: &Network<'_>) -> String {
    match (network.static_range, network.subnet) {
        (Some(range), _) => format!("a free address of {range}"),
        (None, Some(subnet)) => format!("a free address of {subnet}"),
        (None, None) => "a free IPv4 address of the network".to_owned(),
    }
}
