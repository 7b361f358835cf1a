//! The overlay of a seed: one hub, one address, one key each.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{at, missing};
use crate::given::Given;
use crate::issue::Issue;
use crate::machine;
use crate::network::subnet::{Subnet, parse_address};
use crate::seed::declared::DeclaredWireguard;
use crate::seed::secret::{self, quoted};

/// HO-WG-03, HO-WG-07, HO-WG-08, HO-WG-09.
pub(super) fn check(
    overlay: &DeclaredWireguard,
    machine: &machine::Declared,
    issues: &mut Vec<Issue>,
) {
    check_presence(overlay, issues);
    let subnet = check_cidr(overlay, machine, issues);
    check_address(overlay, subnet, issues);
    check_endpoint(overlay, subnet, issues);
    if let Given::Known(key) = &overlay.public_key
        && let Err(error) = secret::check_wireguard_key(key)
    {
        issues.push(Issue::new(
            at(&["wireguard", "hub", "public_key"]),
            "The public key of the hub is not valid",
            // Nobody can tell a public key from a private one, so neither is repeated.
            format!(
                "The text {error}. Expected what `wg pubkey` prints on the hub: 44 characters of base64, the last of them \"=\"."
            ),
        ));
    }
    if let Given::Known(seconds) = &overlay.keepalive
        && *seconds > 65535
    {
        issues.push(Issue::new(
            at(&["wireguard", "keepalive"]),
            "The keepalive of the overlay is too long",
            format!("It is {seconds} seconds. Expected 1 to 65535, or 0 for none; 25 keeps every usual router's door open."),
        ));
    }
}

fn check_presence(overlay: &DeclaredWireguard, issues: &mut Vec<Issue>) {
    let parts: [(&[&'static str], &str, &Given<String>, &str); 4] = [
        (
            &["wireguard", "network", "cidr"],
            "CIDR of its overlay",
            &overlay.cidr,
            "the overlay's addresses, such as \"10.100.0.0/24\".",
        ),
        (
            &["wireguard", "address"],
            "address in its overlay",
            &overlay.address,
            "an address of the overlay, usually homelab_network.NAME.assignments[each.key].",
        ),
        (
            &["wireguard", "hub", "endpoint"],
            "hub endpoint",
            &overlay.endpoint,
            "host:port of the hub, best with a DNS name: the machine dials it, and it stands on the medium for good. Leave \
             wireguard out for a machine without an overlay.",
        ),
        (
            &["wireguard", "hub", "public_key"],
            "public key of its hub",
            &overlay.public_key,
            "what `wg pubkey` prints on the hub.",
        ),
    ];
    for (path, what, given, how) in parts {
        if *given == Given::Absent {
            issues.push(missing(path, what, how));
        }
    }
}

fn check_cidr(
    overlay: &DeclaredWireguard,
    machine: &machine::Declared,
    issues: &mut Vec<Issue>,
) -> Option<Subnet> {
    let text = overlay.cidr.known()?;
    let path = || at(&["wireguard", "network", "cidr"]);
    let subnet = match Subnet::parse(text) {
        Ok(subnet) => subnet,
        Err(error) => {
            issues.push(Issue::new(
                path(),
                "The CIDR of the overlay is not valid",
                format!(
                    "The CIDR is {}: it {error}. Expected an IPv4 network such as \"10.100.0.0/24\".",
                    quoted(text)
                ),
            ));
            return None;
        }
    };
    let lan = machine.network.known().and_then(|lan| lan.cidr.known());
    if let Some(lan) = lan.and_then(|text| Subnet::parse(text).ok())
        && (lan.contains(subnet.network()) || subnet.contains(lan.network()))
    {
        issues.push(Issue::new(
            path(),
            "The overlay and the network of the machine overlap",
            format!(
                "The overlay is {subnet}, and the machine's own network is {lan}: which way would a packet go? Expected two \
                 that share no address."
            ),
        ));
    }
    Some(subnet)
}

fn check_address(overlay: &DeclaredWireguard, subnet: Option<Subnet>, issues: &mut Vec<Issue>) {
    let Given::Known(text) = &overlay.address else {
        return;
    };
    let mut refuse = |summary: &str, detail: String| {
        issues.push(Issue::new(at(&["wireguard", "address"]), summary, detail));
    };
    let address = match parse_address(text) {
        Ok(address) => address,
        Err(error) => {
            return refuse(
                "The overlay address of a machine is not valid",
                format!(
                    "The address is {}: it {error}. Expected an IPv4 address without a prefix length.",
                    quoted(text)
                ),
            );
        }
    };
    let Some(subnet) = subnet else {
        return;
    };
    if !subnet.contains(address) {
        return refuse(
            "The overlay address of a machine is outside of the overlay",
            format!(
                "The address is {address}, and the overlay is {subnet}. Expected an address inside of it."
            ),
        );
    }
    if let Some(owner) = owner(subnet, address) {
        refuse(
            "The overlay address of a machine is not free for machines",
            format!("{address} is {owner}. Expected another address of {subnet}."),
        );
    }
}

/// Whose an address is that no machine can have (HO-WG-03).
fn owner(subnet: Subnet, address: Ipv4Addr) -> Option<&'static str> {
    if address == subnet.network() {
        Some("the overlay's own")
    } else if address == subnet.broadcast() {
        Some("the overlay's broadcast address")
    } else if address == subnet.first_usable() {
        Some("the hub's, the first of the overlay")
    } else if address == subnet.last_usable() {
        Some("reserved for whoever tests the overlay, the last of it")
    } else {
        None
    }
}

/// Why a text is no endpoint. The message continues "it".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum EndpointError {
    #[error("has no port")]
    MissingPort,
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    #[error("has a host that is neither a DNS name nor an address (an IPv6 one in brackets)")]
    Host,
    #[error("has an address that no hub can have")]
    Unusable,
}

/// Who is dialled.
enum Host {
    Name,
    V4(Ipv4Addr),
    V6,
}

fn parse_endpoint(text: &str) -> Result<Host, EndpointError> {
    let (host, port) = text.rsplit_once(':').ok_or(EndpointError::MissingPort)?;
    let is_plain = port.bytes().all(|byte| byte.is_ascii_digit()) && !port.starts_with('0');
    if !is_plain || port.parse::<u16>().is_err() {
        return Err(EndpointError::Port);
    }
    if let Some(inner) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let address: Ipv6Addr = inner.parse().map_err(|_| EndpointError::Host)?;
        if address.is_unspecified() || address.is_loopback() || address.is_multicast() {
            return Err(EndpointError::Unusable);
        }
        return Ok(Host::V6);
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        if matches!(address.octets()[0], 0 | 127 | 224..) {
            return Err(EndpointError::Unusable);
        }
        return Ok(Host::V4(address));
    }
    if is_dns_name(host) {
        Ok(Host::Name)
    } else {
        Err(EndpointError::Host)
    }
}

/// Labels of letters, digits and hyphens; one that ends in a number would be a misspelled address.
fn is_dns_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 253
        && text.split('.').all(is_label)
        && !text.rsplit('.').next().is_some_and(is_number)
}

/// Whether the host of an endpoint is an address rather than a name (HO-WG-07).
pub(in crate::seed) fn is_by_address(endpoint: &str) -> bool {
    matches!(parse_endpoint(endpoint), Ok(Host::V4(_) | Host::V6))
}

fn check_endpoint(overlay: &DeclaredWireguard, subnet: Option<Subnet>, issues: &mut Vec<Issue>) {
    let Given::Known(text) = &overlay.endpoint else {
        return;
    };
    let (summary, detail) = match (parse_endpoint(text), subnet) {
        (Err(error), _) => (
            "The endpoint of the hub is not valid",
            format!(
                "The endpoint is {}: it {error}. Expected host:port, such as \"hub.example.net:51820\".",
                quoted(text)
            ),
        ),
        (Ok(Host::V4(address)), Some(subnet)) if subnet.contains(address) => (
            "The endpoint of the hub is inside of the overlay",
            format!(
                "The endpoint is {address}, and the overlay {subnet} is only reached through it. Expected the address or \
                 the name that the hub has outside."
            ),
        ),
        _ => return,
    };
    issues.push(Issue::new(
        at(&["wireguard", "hub", "endpoint"]),
        summary,
        detail,
    ));
}
