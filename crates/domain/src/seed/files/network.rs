//! `network.json`: one network card, known by its MAC address, and the overlay.
//!
//! Roles are always written: without any, IncusOS puts management and cluster on every interface, the overlay too, and
//! members must not meet there (HO-WG-15). None has the role `instances`, which would make a network of its own out of
//! the card, one more thing for every joiner to match.

use core::net::Ipv4Addr;

use serde::Serialize;

use super::{VERSION, settled, settled_list, text};
use crate::mac::Mac;
use crate::machine;
use crate::network::subnet::Subnet;
use crate::seed::declared::{Declared, DeclaredWireguard, Keys};

/// What IncusOS calls the bridge that it makes of the card; at most 13 bytes.
const CARD: &str = "uplink";

/// What it calls the tunnel (HO-SEED-22).
const TUNNEL: &str = "wg0";

/// What is left of 1500 bytes for a tunnel over IPv6; IncusOS would assume all of them.
const TUNNEL_MTU: u16 = 1420;

/// In seconds. Routers forget who sent nothing for half a minute, and then the hub cannot reach the machine.
const KEEPALIVE: u64 = 25;

#[derive(Serialize)]
struct File {
    version: &'static str,
    dns: Dns,
    interfaces: [Interface; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    wireguard: Option<[Tunnel; 1]>,
}

#[derive(Serialize)]
struct Dns {
    /// HO-SEED-19: without it a machine is called by its serial number, and nobody would know which one came up.
    hostname: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nameservers: Vec<String>,
}

#[derive(Serialize)]
struct Interface {
    name: &'static str,
    hwaddr: String,
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
    roles: [&'static str; 2],
    /// A card that is required and has no carrier stops every start, after a power cut with a slow switch for good. At
    /// the first start IncusOS looks a name up anyway, and repeats that until the network is there.
    required_for_online: &'static str,
}

#[derive(Serialize)]
struct Route {
    to: &'static str,
    via: String,
}

/// No port and no routes: the machine dials, and the prefix of its address is the only route (HO-SEED-22, HO-SEED-23).
#[derive(Serialize)]
struct Tunnel {
    name: &'static str,
    addresses: [String; 1],
    mtu: u16,
    private_key: String,
    peers: [Peer; 1],
    roles: [&'static str; 1],
}

#[derive(Serialize)]
struct Peer {
    public_key: String,
    endpoint: String,
    allowed_ips: [String; 1],
    persistent_keepalive: u64,
}

/// The tunnel's private key in a file that was rendered: the one place where it is kept (HO-SEED-24). Secret.
pub fn tunnel_key(network_file: &str) -> Option<String> {
    let file: serde_json::Value = serde_json::from_str(network_file).ok()?;
    let key = file["wireguard"][0]["private_key"].as_str();
    key.map(str::to_owned)
}

pub(super) fn render(seed: &Declared, keys: Option<&Keys>) -> Option<String> {
    let machine = &seed.machine;
    let network = settled(&machine.network)?;
    let nameservers = match network {
        None => Vec::new(),
        Some(network) => settled_list(&network.dns)?,
    };
    let wireguard = match settled(&seed.wireguard)? {
        None => None,
        Some(declared) => Some([tunnel(declared, keys?.wireguard.as_ref()?)?]),
    };
    text(&File {
        version: VERSION,
        dns: Dns {
            hostname: settled(&machine.name)?.cloned().unwrap_or_default(),
            nameservers,
        },
        interfaces: [interface(machine)?],
        wireguard,
    })
}

/// HO-CFG-20, HO-CFG-21.
fn interface(machine: &machine::Declared) -> Option<Interface> {
    let mac = settled(&machine.mac)?.cloned().unwrap_or_default();
    let network = settled(&machine.network)?;
    let address = settled(&machine.address)?;
    let dhcp = settled(&machine.dhcp)?.copied();
    let cidr = match network {
        None => None,
        Some(network) => settled(&network.cidr)?,
    };
    let gateway = match network {
        None => None,
        Some(network) => settled(&network.gateway)?,
    };
    let mut addresses: Vec<String> = address
        .map(|address| with_prefix(address, cidr))
        .into_iter()
        .collect();
    // With an address of its own a machine asks only if that is wanted, for the resolvers or the way out.
    if dhcp.unwrap_or(address.is_none()) {
        addresses.push("dhcp4".to_owned());
    }
    let routes = match (address, gateway) {
        (Some(_), Some(gateway)) => vec![Route {
            to: "0.0.0.0/0",
            via: gateway.clone(),
        }],
        _ => Vec::new(),
    };
    Some(Interface {
        name: CARD,
        // IncusOS compares MAC addresses letter by letter.
        hwaddr: Mac::parse(&mac).map_or(mac, |mac| mac.to_string()),
        addresses,
        routes,
        roles: ["management", "cluster"],
        required_for_online: "no",
    })
}

fn tunnel(declared: &DeclaredWireguard, private_key: &str) -> Option<Tunnel> {
    let cidr = settled(&declared.cidr)?;
    let address = settled(&declared.address)?.cloned().unwrap_or_default();
    let hub = cidr
        .and_then(|text| Subnet::parse(text).ok())
        .map_or(Ipv4Addr::UNSPECIFIED, Subnet::first_usable);
    let peer = Peer {
        public_key: settled(&declared.public_key)?.cloned().unwrap_or_default(),
        endpoint: settled(&declared.endpoint)?.cloned().unwrap_or_default(),
        // HO-WG-06: the hub alone, so that it cannot claim the address of another machine.
        allowed_ips: [format!("{hub}/32")],
        persistent_keepalive: settled(&declared.keepalive)?.copied().unwrap_or(KEEPALIVE),
    };
    Some(Tunnel {
        name: TUNNEL,
        // HO-WG-05: with the prefix of the overlay, which makes the route to the hub.
        addresses: [with_prefix(&address, cidr)],
        mtu: TUNNEL_MTU,
        private_key: private_key.to_owned(),
        peers: [peer],
        roles: ["management"],
    })
}

fn with_prefix(address: &str, cidr: Option<&String>) -> String {
    let prefix = cidr
        .and_then(|text| Subnet::parse(text).ok())
        .map_or(32, Subnet::prefix_length);
    format!("{address}/{prefix}")
}
