//! Ports of the host that apps listen on: the `proxy` devices of Incus, as their `listen` is written.
//!
//! ```text
//! tcp:0.0.0.0:80     udp:[::]:53,5353     tcp:192.168.1.9:8000-8010     unix:/run/web.socket
//! ```
//!
//! Before: `apps.rs`. What is written otherwise is passed over: Incus says what is wrong with it.

use core::net::IpAddr;
use std::collections::BTreeMap;

use crate::app::declared::GivenMap;
use crate::given::Given;

type Devices = Given<BTreeMap<String, Given<GivenMap>>>;

/// What one device listens on.
pub(super) struct Listener<'a> {
    /// The name of the device.
    pub(super) device: &'a str,
    /// As it is written.
    pub(super) text: &'a str,
    on: On<'a>,
}

/// A socket or ports on the host.
enum On<'a> {
    Path(&'a str),
    Ports {
        protocol: &'a str,
        /// `None` is every address.
        address: IpAddr,
        /// First and last, both included.
        ports: Vec<(u16, u16)>,
    },
}

/// Whether everything that matters of a device is known.
pub(super) fn is_known(device: &Given<GivenMap>) -> bool {
    let Some(keys) = device.known() else {
        return !device.is_unknown();
    };
    let is_unknown = |key: &str| keys.get(key).is_some_and(Given::is_unknown);
    match keys.get("type").and_then(Given::known) {
        Some(r#type) if r#type == "proxy" => !is_unknown("listen") && !is_unknown("bind"),
        _ => !is_unknown("type"),
    }
}

/// Everything that these devices listen on at the host.
pub(super) fn listeners(devices: &Devices) -> Vec<Listener<'_>> {
    let devices = devices.known().into_iter().flatten();
    let listeners = devices.filter_map(|(device, keys)| {
        let keys = keys.known()?;
        let key = |name: &str| keys.get(name).unwrap_or(&Given::Absent);
        let at_host = match key("bind") {
            Given::Absent => true,
            Given::Unknown => false,
            Given::Known(bind) => bind == "host",
        };
        let text = key("listen").known()?;
        let is_proxy = key("type").known().is_some_and(|own| own == "proxy");
        let on = parse(text).filter(|_| is_proxy && at_host)?;
        Some(Listener { device, text, on })
    });
    listeners.collect()
}

fn parse(text: &str) -> Option<On<'_>> {
    let (protocol, rest) = text.split_once(':')?;
    match protocol {
        "unix" => Some(On::Path(rest)),
        "tcp" | "udp" => {
            let (address, ports) = rest.rsplit_once(':')?;
            let address = address.trim_start_matches('[').trim_end_matches(']');
            let address: IpAddr = address.parse().ok()?;
            let ports = ports.split(',').map(range).collect::<Option<_>>()?;
            Some(On::Ports {
                protocol,
                address,
                ports,
            })
        }
        _ => None,
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

impl Listener<'_> {
    /// Whether not both can listen on one host.
    pub(super) fn clashes(&self, other: &Listener<'_>) -> bool {
        match (&self.on, &other.on) {
            (On::Path(own), On::Path(other)) => own == other,
            (
                On::Ports {
                    protocol,
                    address,
                    ports,
                },
                On::Ports {
                    protocol: other_protocol,
                    address: other_address,
                    ports: other_ports,
                },
            ) => {
                let same_address = same_address(*address, *other_address);
                let overlap = |own: &(u16, u16)| {
                    other_ports
                        .iter()
                        .any(|other| own.0 <= other.1 && other.0 <= own.1)
                };
                protocol == other_protocol && same_address && ports.iter().any(overlap)
            }
            _ => false,
        }
    }
}

/// Whether one of two addresses takes in the other: `[::]` takes in all, `0.0.0.0` all of IPv4.
fn same_address(one: IpAddr, other: IpAddr) -> bool {
    let takes_in = |all: IpAddr, one: IpAddr| match all {
        IpAddr::V6(all) => all.is_unspecified(),
        IpAddr::V4(all) => all.is_unspecified() && one.is_ipv4(),
    };
    one == other || takes_in(one, other) || takes_in(other, one)
}

#[cfg(test)]
mod tests {
    use super::same_address;

    #[test]
    fn an_address_of_all_takes_in_its_own_family_only() {
        for (one, other, same) in [
            ("0.0.0.0", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("::", "10.0.0.1", true),
            ("::", "::1", true),
            // Both can listen: IPv4 leaves IPv6 alone.
            ("0.0.0.0", "::1", false),
        ] {
            let address = |text: &str| text.parse().expect("an address");
            assert_eq!(
                same_address(address(one), address(other)),
                same,
                "{one} {other}"
            );
            assert_eq!(
                same_address(address(other), address(one)),
                same,
                "{other} {one}"
            );
        }
    }
}
