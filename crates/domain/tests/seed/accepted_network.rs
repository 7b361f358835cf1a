//! The part of `accepted.rs` that judges `network.json`, and the proof that each of its rules stops something.

use std::collections::BTreeSet;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::accepted::{Verdict, expect};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) dns: Dns,
    #[serde(default)]
    pub(crate) interfaces: Vec<Interface>,
    #[serde(default)]
    pub(crate) wireguard: Vec<Wireguard>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Dns {
    pub(crate) hostname: String,
    pub(crate) nameservers: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) hwaddr: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) routes: Vec<Route>,
    pub(crate) roles: Vec<String>,
    pub(crate) required_for_online: String,
    pub(crate) mtu: i64,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Route {
    pub(crate) to: String,
    pub(crate) via: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wireguard {
    pub(crate) name: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) mtu: i64,
    pub(crate) port: i64,
    pub(crate) private_key: String,
    pub(crate) peers: Vec<Peer>,
    pub(crate) roles: Vec<String>,
    pub(crate) routes: Vec<Route>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Peer {
    pub(crate) public_key: String,
    pub(crate) endpoint: String,
    pub(crate) allowed_ips: Vec<String>,
    pub(crate) persistent_keepalive: i64,
}

/// `ValidateNetworkConfiguration`, the strict pass.
pub(crate) fn network(text: &str) -> Result<Network, String> {
    let network: Network = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut names = BTreeSet::new();
    let mut cards = BTreeSet::new();
    for interface in &network.interfaces {
        name(&interface.name, &mut names)?;
        hwaddr(&interface.hwaddr)?;
        expect(cards.insert(interface.hwaddr.clone()), "one card twice")?;
        let online = ["", "ipv4", "ipv6", "both", "any", "no"];
        expect(
            online.contains(&interface.required_for_online.as_str()),
            "required_for_online",
        )?;
        common(
            &interface.addresses,
            &interface.routes,
            &interface.roles,
            interface.mtu,
        )?;
    }
    for tunnel in &network.wireguard {
        name(&tunnel.name, &mut names)?;
        common(&tunnel.addresses, &tunnel.routes, &tunnel.roles, tunnel.mtu)?;
        key(&tunnel.private_key)?;
        expect((0..=65535).contains(&tunnel.port), "port")?;
        for peer in &tunnel.peers {
            key(&peer.public_key)?;
            expect(!peer.public_key.is_empty(), "no public key")?;
            peer.allowed_ips.iter().try_for_each(|text| address(text))?;
            expect(
                (0..=65535).contains(&peer.persistent_keepalive),
                "keepalive",
            )?;
            let (_, port) = split_host_port(&peer.endpoint)?;
            expect(port.parse::<u16>().is_ok(), "endpoint")?;
        }
    }
    Ok(network)
}

fn name(text: &str, names: &mut BTreeSet<String>) -> Verdict {
    expect(
        !text.is_empty() && text.len() <= 13 && !text.starts_with('_'),
        format!("name {text}"),
    )?;
    expect(
        names.insert(text.to_owned()),
        format!("the name {text} twice"),
    )
}

fn hwaddr(text: &str) -> Verdict {
    let groups: Vec<&str> = text.split(':').collect();
    let is_group =
        |group: &&str| group.len() == 2 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    expect(
        groups.len() == 6 && groups.iter().all(is_group),
        format!("hwaddr {text}"),
    )
}

fn common(addresses: &[String], routes: &[Route], roles: &[String], mtu: i64) -> Verdict {
    addresses.iter().try_for_each(|text| address(text))?;
    for route in routes {
        address(&route.to)?;
        let is_ip = !route.via.is_empty()
            && route
                .via
                .bytes()
                .all(|byte| byte == b'.' || byte == b':' || byte.is_ascii_hexdigit());
        expect(is_ip || is_word(&route.via), format!("via {:?}", route.via))?;
    }
    let known = ["management", "cluster", "instances", "storage"];
    expect(
        roles.iter().all(|role| known.contains(&role.as_str())),
        "role",
    )?;
    let unique: BTreeSet<&String> = roles.iter().collect();
    expect(unique.len() == roles.len(), "a role twice")?;
    expect((0..=9000).contains(&mtu), "mtu")
}

fn is_word(text: &str) -> bool {
    ["dhcp4", "dhcp6", "slaac"].contains(&text)
}

/// IncusOS looks at the characters only; here an address has to be one, so that nobody relies on the difference.
fn address(text: &str) -> Verdict {
    let parts = text.split_once('/');
    let is_address = parts.is_some_and(|(ip, prefix)| {
        ip.parse::<IpAddr>().is_ok() && prefix.parse::<u8>().is_ok_and(|length| length <= 128)
    });
    expect(is_address || is_word(text), format!("address {text:?}"))
}

fn key(text: &str) -> Verdict {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    expect(text.is_empty() || bytes.len() == 32, "the length of a key")
}

fn split_host_port(text: &str) -> Result<(&str, &str), String> {
    let (host, port) = text.rsplit_once(':').ok_or("endpoint without port")?;
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    expect(
        bare.is_some() || !host.contains([':', '[', ']']),
        format!("endpoint {text}"),
    )?;
    Ok((bare.unwrap_or(host), port))
}

/// The second net holds: each rule of the network's validator lets one value through and stops another.
#[test]
fn the_rules_of_the_network_stop_what_they_are_for() {
    let with = |pointer: &str, value: Value| {
        let mut file = serde_json::json!({
            "interfaces": [{"name": "a", "hwaddr": "52:54:00:00:00:01", "addresses": ["10.0.0.2/24"], "routes": [{"to": "0.0.0.0/0", "via": "10.0.0.1"}]}],
            "wireguard": [{"name": "b", "peers": [{"public_key": "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=", "endpoint": "h:1", "allowed_ips": ["10.1.0.1/32"]}]}],
        });
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        file.pointer_mut(parent).expect("the parent")[field] = value;
        network(&file.to_string()).is_ok()
    };
    let (card, tunnel, peer) = ("/interfaces/0", "/wireguard/0", "/wireguard/0/peers/0");
    let key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
    for (place, good, bad) in [
        (
            format!("{card}/name"),
            Value::from("enp3s0"),
            Value::from("_lan"),
        ),
        (
            format!("{card}/name"),
            Value::from("abcdefghijklm"),
            Value::from("abcdefghijklmn"),
        ),
        (format!("{card}/name"), Value::from("c"), Value::from("b")),
        (
            format!("{card}/hwaddr"),
            Value::from("AA:bb:cc:dd:ee:ff"),
            Value::from("eth0"),
        ),
        (format!("{card}/mtu"), Value::from(9000), Value::from(9001)),
        (
            format!("{card}/addresses"),
            serde_json::json!(["dhcp4", "slaac"]),
            serde_json::json!([""]),
        ),
        (
            format!("{card}/addresses"),
            serde_json::json!(["10.0.0.2/24"]),
            serde_json::json!(["10.0.0.2"]),
        ),
        (
            format!("{card}/routes/0/to"),
            Value::from("10.0.0.0/8"),
            Value::from("default"),
        ),
        (
            format!("{card}/routes/0/via"),
            Value::from("fe80::1"),
            Value::from(""),
        ),
        (
            format!("{card}/roles"),
            serde_json::json!(["storage"]),
            serde_json::json!(["lan"]),
        ),
        (
            format!("{card}/roles"),
            serde_json::json!(["cluster", "management"]),
            serde_json::json!(["cluster", "cluster"]),
        ),
        (
            format!("{card}/required_for_online"),
            Value::from("no"),
            Value::from("yes"),
        ),
        (format!("{card}/name"), Value::from("d"), Value::from(1)),
        (
            format!("{tunnel}/private_key"),
            Value::from(key),
            Value::from("?"),
        ),
        (
            format!("{tunnel}/port"),
            Value::from(65535),
            Value::from(65536),
        ),
        (
            format!("{peer}/public_key"),
            Value::from(key),
            Value::from("c2hvcnQ="),
        ),
        (
            format!("{peer}/persistent_keepalive"),
            Value::from(0),
            Value::from(65536),
        ),
        (
            format!("{peer}/endpoint"),
            Value::from("[fd00::1]:1"),
            Value::from("h"),
        ),
        (
            format!("{peer}/allowed_ips"),
            serde_json::json!([]),
            serde_json::json!(["10.1.0.1"]),
        ),
    ] {
        assert!(with(&place, good), "{place}: the good one");
        assert!(!with(&place, bad), "{place}: the bad one");
    }
    assert!(
        !with("/config", serde_json::json!({})),
        "a seed has no wrapper"
    );
}
