//! IncusOS's own rules for a seed, written down a second time: what its parser and its validators take.
//!
//! They judge rendered files only, from the bytes, and share nothing with the product: a mistake there shows here. The
//! parser takes more (names in any case, repeated names), which nothing that is rendered may need.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

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

type Verdict = Result<(), String>;

fn expect(holds: bool, what: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(what.into()) }
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Install {
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) security: Security,
    pub(crate) target: Option<Target>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Security {
    pub(crate) missing_tpm: bool,
    pub(crate) missing_secure_boot: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) bus: String,
    pub(crate) min_size: String,
    pub(crate) max_size: String,
    pub(crate) sort_order: String,
}

pub(crate) fn install(text: &str) -> Result<Install, String> {
    let install: Install = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let security = &install.security;
    expect(
        !(security.missing_tpm && security.missing_secure_boot),
        "nothing is left",
    )?;
    if let Some(target) = &install.target {
        let order = target.sort_order.to_lowercase();
        expect(
            ["", "smallest", "largest"].contains(&order.as_str()),
            "sort_order",
        )?;
        for size in [&target.min_size, &target.max_size] {
            let unit = size.trim_start_matches(|character: char| character.is_ascii_digit());
            let units = [
                "", "B", " bytes", "kB", "MB", "GB", "TB", "PB", "EB", "KiB", "MiB", "GiB", "TiB",
                "PiB", "EiB",
            ];
            expect(
                size.is_empty() || unit.len() < size.len() && units.contains(&unit),
                format!("size {size}"),
            )?;
        }
    }
    Ok(install)
}

pub(crate) fn applications(text: &str) -> Result<Vec<String>, String> {
    let file = object(text, &["version", "applications"])?;
    let list = file
        .get("applications")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let names: Vec<String> = list
        .iter()
        .filter_map(|entry| entry.get("name")?.as_str().map(str::to_owned))
        .collect();
    expect(
        !names.is_empty() && names.len() == list.len(),
        "an application without a name",
    )?;
    let primary = [
        "incus",
        "incus-lts-7.0",
        "migration-manager",
        "operations-center",
    ];
    let others = [
        "debug",
        "gpu-support",
        "incus-ceph",
        "incus-linstor",
        "openfga",
    ];
    for name in &names {
        expect(
            primary.contains(&name.as_str()) || others.contains(&name.as_str()),
            format!("application {name}"),
        )?;
    }
    let primaries = names.iter().filter(|name| primary.contains(&name.as_str()));
    expect(primaries.count() <= 1, "two primary applications")?;
    Ok(names)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incus {
    pub(crate) version: String,
    pub(crate) apply_defaults: bool,
    pub(crate) preseed: Preseed,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Preseed {
    pub(crate) config: std::collections::BTreeMap<String, String>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) project: String,
    #[serde(rename = "description")]
    _description: String,
    pub(crate) devices:
        std::collections::BTreeMap<String, std::collections::BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Certificate {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) certificate: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    pub(crate) server_name: String,
    pub(crate) enabled: bool,
}

/// What Incus refuses of a preseed, and what it refuses when it becomes a cluster.
pub(crate) fn incus(text: &str) -> Result<Incus, String> {
    let incus: Incus = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let preseed = &incus.preseed;
    let (mut names, mut trusted) = (BTreeSet::new(), BTreeSet::new());
    for certificate in &preseed.certificates {
        expect(
            ["client", "metrics"].contains(&certificate.kind.as_str()),
            "type",
        )?;
        expect(names.insert(&certificate.name), "a name twice")?;
        expect(
            trusted.insert(&certificate.certificate),
            "a certificate twice",
        )?;
        let blocks = certificate
            .certificate
            .matches("-----BEGIN CERTIFICATE-----\n")
            .count();
        expect(
            blocks == 1
                && certificate
                    .certificate
                    .ends_with("-----END CERTIFICATE-----\n"),
            "PEM",
        )?;
    }
    let core = preseed.config.get("core.https_address");
    let cluster = preseed.config.get("cluster.https_address");
    for address in [core, cluster]
        .into_iter()
        .flatten()
        .filter(|address| *address != ":8443")
    {
        expect(
            address.parse::<SocketAddr>().is_ok(),
            format!("address {address}"),
        )?;
    }
    let advertised = cluster.or(core);
    if let Some(cluster) = &preseed.cluster {
        expect(
            cluster.enabled && !cluster.server_name.is_empty(),
            "cluster",
        )?;
        expect(
            advertised.is_some_and(|address| !address.starts_with(':')),
            "wildcard",
        )?;
    }
    Ok(incus)
}

pub(crate) fn update(text: &str) -> Result<Map<String, Value>, String> {
    let file = object(
        text,
        &[
            "version",
            "auto_reboot",
            "channel",
            "check_frequency",
            "maintenance_windows",
        ],
    )?;
    for window in file
        .get("maintenance_windows")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let day = |name: &str| {
            window
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let minute = |side: &str| {
            let number = |part: &str| {
                window
                    .get(format!("{side}_{part}"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0)
            };
            (number("hour"), number("minute"))
        };
        let (start, end) = (day("start_day_of_week"), day("end_day_of_week"));
        expect(start.is_empty() == end.is_empty(), "one day")?;
        expect(start != end || minute("end") >= minute("start"), "order")?;
    }
    Ok(file)
}

/// An object with fields of these names only.
pub(crate) fn object(text: &str, known: &[&str]) -> Result<Map<String, Value>, String> {
    let file: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file.keys().find(|name| !known.contains(&name.as_str())) {
        Some(stranger) => Err(format!("unknown field {stranger}")),
        None => Ok(file),
    }
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
