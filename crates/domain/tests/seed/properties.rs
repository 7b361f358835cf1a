//! What holds for every seed: sound ones are changed at random places, to sound values and to others.
//!
//! Tables of single faults are in `refused.rs`. The judge is `accepted.rs`.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use domain::given::Given;
use domain::seed::{Declared, DeclaredTailscale, DeclaredWindow, Keys};
use proptest::prelude::*;
use serde_json::Value;

use crate::accepted;
use crate::fixtures::*;
use crate::golden;

/// Values that an attribute may get, fitting or not.
const VALUES: [&str; 48] = [
    "",
    "a",
    "node9",
    "-",
    "A",
    "nvme",
    "lan",
    "join",
    "bootstrap",
    "incusos",
    "linux",
    "smallest",
    "largest",
    "50GiB",
    "2TB",
    "49GB",
    "02:00:00:00:00:01",
    "AA-BB-CC-00-11-22",
    "01:00:5e:00:00:01",
    "192.168.1.0/24",
    "192.168.1.9",
    "192.168.1.1",
    "192.168.1.255",
    "10.0.0.0/8",
    "10.100.0.0/30",
    "10.100.0.0/24",
    "10.100.0.7",
    "10.100.0.1",
    "10.100.0.254",
    "203.0.113.9:51820",
    "[2001:db8::1]:1",
    "h:65535",
    "hub.example.net:0",
    HUB_KEY,
    "c2hvcnQ=",
    "stable",
    "never",
    "24h",
    "1d",
    "https://login.example.net",
    "ftp://x",
    "svc:incus",
    "two words",
    "202610161222",
    "202608210000",
    BREAK_GLASS,
    JOINER,
    "{}",
];

/// Values that fit where nothing else forbids them.
const FITTING: [(&str, &[&str]); 22] = [
    ("machine.name", &["a", "node-9"]),
    (
        "machine.mac",
        &["02:00:00:00:00:01", "AABB.CC00.1122", "aabbcc001122"],
    ),
    ("machine.network.name", &["home"]),
    ("machine.network.gateway", &["192.168.1.254"]),
    ("machine.address", &["192.168.1.9", "192.168.1.254"]),
    ("machine.role", &["bootstrap", "join"]),
    ("machine.os", &["incusos"]),
    ("machine.install_disk.id", &["ata-Disk_1"]),
    ("machine.install_disk.bus", &["nvme", "usb"]),
    ("machine.install_disk.min_size", &["50GiB", "100000000000"]),
    ("machine.install_disk.sort_order", &["smallest", "largest"]),
    ("joiner_certificate", &[JOINER]),
    (
        "wireguard.network.cidr",
        &["10.100.0.0/16", "10.100.0.0/29"],
    ),
    ("wireguard.address", &["10.100.0.5", "10.100.0.3"]),
    (
        "wireguard.hub.endpoint",
        &["203.0.113.9:51820", "[2001:db8::1]:1", "h:65535"],
    ),
    ("wireguard.hub.public_key", &[PRIVATE_KEY]),
    ("update.channel", &["stable"]),
    ("update.check_frequency", &["never", "1h1m1s"]),
    ("tailscale.login_server", &["https://login.example.net"]),
    ("tailscale.exit_node", &["100.64.0.1"]),
    ("tailscale.serve_service", &["svc:incus"]),
    ("incusos_release", &["202609271243", "202701010000"]),
];

/// Texts of further files.
const FILES: [&str; 8] = [
    r#"{"console": [{"device": "tty0"}]}"#,
    r#"{"name": "images"}"#,
    r#"{"lvm": {"enabled": true, "system_id": 3}}"#,
    r#"{"pools": []}"#,
    r#"{"custom_ca_certs": []}"#,
    r#"{"console": [{"device": "tty0", "baud_rate": 1e3}]}"#,
    r#"{"version": "1"}"#,
    r#"[1, 2"#,
];

#[derive(Debug, Clone)]
enum Action {
    /// Sets one of the texts.
    Set(&'static str, String),
    Remove(&'static str),
    Dhcp(Option<bool>),
    Keepalive(u64),
    Applications(Vec<&'static str>),
    Routes(Vec<&'static str>),
    Window([u64; 4], Option<(&'static str, &'static str)>),
    Ports(u64, u64),
    Security(bool, bool),
}

fn action() -> impl Strategy<Value = Action> {
    let path = || prop::sample::select(&TEXTS[..]);
    let value = prop_oneof![
        8 => prop::sample::select(&VALUES[..]).prop_map(str::to_owned),
        3 => prop::sample::select(&FILES[..]).prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ];
    let names = ["incus", "debug", "openfga", "incus-lts-7.0", "docker"];
    let routes = ["10.0.0.0/8", "::/0", "10.0.0.1/8", "x"];
    let days = ["Monday", "Tuesday", "monday"];
    let day = prop::sample::select(days.to_vec());
    prop_oneof![
        20 => prop::sample::select(&FITTING[..])
            .prop_flat_map(|(path, values)| (Just(path), prop::sample::select(values)))
            .prop_map(|(path, value)| Action::Set(path, value.to_owned())),
        8 => (path(), value).prop_map(|(path, value)| Action::Set(path, value)),
        2 => path().prop_map(Action::Remove),
        1 => any::<Option<bool>>().prop_map(Action::Dhcp),
        1 => (0..70_000_u64).prop_map(Action::Keepalive),
        1 => prop::collection::vec(prop::sample::select(names.to_vec()), 0..3).prop_map(Action::Applications),
        1 => prop::collection::vec(prop::sample::select(routes.to_vec()), 0..3).prop_map(Action::Routes),
        1 => ([0..26_u64, 0..62_u64, 0..26_u64, 0..62_u64], prop::option::of((day.clone(), day)))
            .prop_map(|(times, days)| Action::Window(times, days)),
        1 => (0..70_000_u64, 0..70_000_u64).prop_map(|(serve, listen)| Action::Ports(serve, listen)),
        1 => any::<(bool, bool)>().prop_map(|(tpm, secure_boot)| Action::Security(tpm, secure_boot)),
    ]
}

fn act(seed: &mut Declared, action: &Action) {
    match action {
        Action::Set(path, value) => *text(seed, path) = known(value),
        Action::Remove(path) => *text(seed, path) = Given::Absent,
        Action::Dhcp(dhcp) => seed.machine.dhcp = dhcp.map_or(Given::Absent, Given::Known),
        Action::Keepalive(seconds) => {
            inside(&mut seed.wireguard).keepalive = Given::Known(*seconds);
        }
        Action::Applications(names) => seed.applications = list(names),
        Action::Routes(routes) => inside(&mut seed.tailscale).advertised_routes = list(routes),
        Action::Window(times, days) => {
            let [start_hour, start_minute, end_hour, end_minute] = times.map(Given::Known);
            let (start, end) = days.map_or((Given::Absent, Given::Absent), |(start, end)| {
                (known(start), known(end))
            });
            inside(&mut seed.update).maintenance_windows = Given::Known(vec![DeclaredWindow {
                start_day_of_week: start,
                start_hour,
                start_minute,
                end_day_of_week: end,
                end_hour,
                end_minute,
            }]);
        }
        Action::Ports(serve, listen) => {
            let tailscale = inside(&mut seed.tailscale);
            (tailscale.serve_port, tailscale.port) = (Given::Known(*serve), Given::Known(*listen));
        }
        Action::Security(tpm, secure_boot) => {
            let security = inside(&mut seed.machine.security);
            (security.tpm, security.secure_boot) = (Given::Known(*tpm), Given::Known(*secure_boot));
        }
    }
}

fn seed() -> impl Strategy<Value = (String, Vec<Action>)> {
    let cases: Vec<String> = golden::cases()
        .keys()
        .map(|case| (*case).to_owned())
        .collect();
    (
        prop::sample::select(cases),
        prop::collection::vec(action(), 0..4),
    )
}

fn build(case: &str, actions: &[Action]) -> Declared {
    let mut seed = golden::cases().remove(case).expect("a case");
    for action in actions {
        act(&mut seed, action);
    }
    seed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is accepted here is accepted by IncusOS, says what was declared, and is the same again.
    #[test]
    fn accepted_seeds_render_what_incusos_accepts((case, actions) in seed()) {
        let seed = build(&case, &actions);
        let rendered = seed.render(Some(&keys()));
        prop_assert!(rendered == seed.clone().render(Some(&keys())), "rendered twice");
        if seed.check().is_empty() {
            let files = invariant_every_file_is_known(&rendered);
            invariant_the_network_says_what_is_declared(&seed, &files);
            invariant_incus_becomes_what_its_role_says(&seed, &files);
            invariant_the_other_files_say_what_is_declared(&seed, &files);
        }
    }
}

proptest! {
    // Each case is every shape of a seed, and three ways to paste.
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    /// HO-SEED-28: whatever is pasted where, no issue repeats a key.
    #[test]
    fn no_issue_repeats_a_key(
        path in prop::sample::select(&TEXTS[..]),
        secret in prop::sample::select(&[PRIVATE_KEY, AUTH_KEY, "-----BEGIN PRIVATE KEY-----\nsecretsecret\n-----END PRIVATE KEY-----\n"][..]),
        around in "[ a-z{}\":,]{0,8}",
    ) {
        for seed in golden::cases().into_values() {
            for value in [secret.to_owned(), format!("{around}{secret}"), format!("{{\"{around}\": {secret:?}}}")] {
                for issue in set(seed.clone(), path, &value).check() {
                    let told = format!("{issue:?}");
                    for part in [&PRIVATE_KEY[..20], &AUTH_KEY[..16], "secretsecret"] {
                        prop_assert!(!told.contains(part), "{path}: {told}");
                    }
                }
            }
        }
    }
}

type Files = BTreeMap<String, String>;

fn invariant_every_file_is_known(rendered: &BTreeMap<String, Given<String>>) -> Files {
    let known = |(name, text): (&String, &Given<String>)| {
        let text = text
            .known()
            .unwrap_or_else(|| panic!("{name} is not known"));
        assert!(
            text.ends_with("}\n") && !text.starts_with('\u{feff}'),
            "{name}"
        );
        let file: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(file["version"], "1", "{name}");
        (name.clone(), text.clone())
    };
    rendered.iter().map(known).collect()
}

fn value(given: &Given<String>) -> String {
    given.known().cloned().unwrap_or_default()
}

/// HO-CFG-21, HO-SEED-19, HO-SEED-22, HO-SEED-23, HO-WG-05, HO-WG-06.
fn invariant_the_network_says_what_is_declared(seed: &Declared, files: &Files) {
    let network = accepted::network(&files["network.json"]).expect("a network that IncusOS takes");
    assert_eq!(
        (network.version.as_str(), network.dns.hostname),
        ("1", value(&seed.machine.name))
    );
    let declared = seed.machine.network.known();
    let resolvers = declared
        .and_then(|network| network.dns.known())
        .into_iter()
        .flatten();
    assert!(
        network
            .dns
            .nameservers
            .iter()
            .eq(resolvers.filter_map(Given::known))
    );
    let card = &network.interfaces[0];
    assert_eq!(network.interfaces.len(), 1);
    assert!(
        card.roles.iter().any(|role| role == "cluster"),
        "the LAN carries the cluster"
    );
    assert_eq!(card.hwaddr, card.hwaddr.to_lowercase());
    let digits = |text: &str| text.to_lowercase().replace([':', '-', '.'], "");
    assert_eq!(digits(&card.hwaddr), digits(&value(&seed.machine.mac)));
    let asks = card.addresses.iter().any(|address| address == "dhcp4");
    assert_eq!(
        asks,
        seed.machine.dhcp == Given::Known(true) || seed.machine.address == Given::Absent
    );
    if let Given::Known(address) = &seed.machine.address {
        assert_eq!(
            card.addresses[0].split_once('/').map(|(ip, _)| ip),
            Some(address.as_str())
        );
        let gateway = declared
            .map(|network| value(&network.gateway))
            .unwrap_or_default();
        assert_eq!(card.routes.first().map_or("", |route| &route.via), gateway);
    }
    assert_eq!(
        network.wireguard.len(),
        usize::from(seed.wireguard.is_set())
    );
    for (tunnel, overlay) in network.wireguard.iter().zip(seed.wireguard.known()) {
        assert_eq!((tunnel.routes.len(), tunnel.port, tunnel.mtu), (0, 0, 1420));
        assert_eq!(
            (tunnel.roles.as_slice(), tunnel.private_key.as_str()),
            (&["management".to_owned()][..], PRIVATE_KEY)
        );
        let peer = &tunnel.peers[0];
        assert_eq!(
            (&peer.public_key, &peer.endpoint),
            (&value(&overlay.public_key), &value(&overlay.endpoint))
        );
        assert_eq!(
            i64::try_from(*overlay.keepalive.known().unwrap_or(&25)),
            Ok(peer.persistent_keepalive)
        );
        let (_, prefix) = tunnel.addresses[0].split_once('/').expect("a prefix");
        assert!(value(&overlay.cidr).ends_with(&format!("/{prefix}")));
        assert!(peer.allowed_ips[0].ends_with("/32") && peer.allowed_ips.len() == 1);
        assert_ne!(
            peer.allowed_ips[0],
            format!("{}/32", value(&overlay.address))
        );
    }
}

/// HO-SEED-12 to HO-SEED-18, HO-SEED-20, HO-SEED-21, HO-SEED-25.
fn invariant_incus_becomes_what_its_role_says(seed: &Declared, files: &Files) {
    let incus = accepted::incus(&files["incus.json"]).expect("a preseed that Incus takes");
    assert_eq!(incus.version, "1");
    let address = seed.machine.address.known();
    let role = seed
        .machine
        .role
        .known()
        .map(String::as_str)
        .filter(|_| address.is_some());
    assert_eq!(incus.apply_defaults, role != Some("join"));
    let preseed = incus.preseed;
    let kinds: Vec<&str> = preseed
        .certificates
        .iter()
        .map(|certificate| certificate.kind.as_str())
        .collect();
    let joiners = preseed
        .certificates
        .iter()
        .filter(|certificate| certificate.name.ends_with("-joiner"));
    match role {
        Some("join") => assert_eq!(
            (kinds.as_slice(), joiners.count()),
            (&["client", "client", "metrics"][..], 1)
        ),
        _ => assert_eq!(
            (kinds.as_slice(), joiners.count()),
            (&["client", "metrics"][..], 0)
        ),
    }
    let is_first = role == Some("bootstrap");
    assert_eq!(
        preseed.cluster.map(|cluster| cluster.server_name),
        is_first.then(|| value(&seed.machine.name))
    );
    assert_eq!(preseed.profiles.len(), usize::from(is_first));
    for profile in &preseed.profiles {
        assert_eq!(
            (profile.name.as_str(), profile.project.as_str()),
            ("incus-socket", "default")
        );
        assert_eq!(profile.devices["incus-socket"]["type"], "proxy");
    }
    let wide = is_first && seed.wireguard.is_set();
    let own = address.map(|address| format!("{address}:8443"));
    let expected = if wide {
        Some(":8443".to_owned())
    } else {
        own.clone().filter(|_| role.is_some())
    };
    assert_eq!(preseed.config.get("core.https_address"), expected.as_ref());
    assert_eq!(
        preseed.config.get("cluster.https_address"),
        own.filter(|_| wide).as_ref()
    );
}

fn invariant_the_other_files_say_what_is_declared(seed: &Declared, files: &Files) {
    let install = accepted::install(&files["install.json"]).expect("an install that IncusOS takes");
    assert_eq!(install.version, "1");
    let security = seed.machine.security.known().cloned().unwrap_or_default();
    assert_eq!(
        install.security.missing_tpm,
        security.tpm == Given::Known(false)
    );
    assert_eq!(
        install.security.missing_secure_boot,
        security.secure_boot == Given::Known(false)
    );
    let disk = seed
        .machine
        .install_disk
        .known()
        .cloned()
        .unwrap_or_default();
    let target = install.target.unwrap_or_default();
    for (rendered, declared) in [
        (target.id, &disk.id),
        (target.bus, &disk.bus),
        (target.min_size, &disk.min_size),
        (target.max_size, &disk.max_size),
        (target.sort_order, &disk.sort_order),
    ] {
        assert_eq!(rendered, value(declared));
    }
    let names = accepted::applications(&files["applications.json"])
        .expect("applications that IncusOS takes");
    let declared = seed
        .applications
        .known()
        .map(|names| names.iter().map(value).collect());
    assert_eq!(names, declared.unwrap_or_else(|| vec!["incus".to_owned()]));
    if let Given::Known(declared) = &seed.update {
        let update = accepted::update(&files["update.json"]).expect("an update that IncusOS takes");
        let channel = update.get("channel").and_then(Value::as_str);
        assert_eq!(channel, declared.channel.known().map(String::as_str));
    }
    if let Given::Known(declared) = &seed.tailscale {
        let services = [
            "version",
            "iscsi",
            "lvm",
            "multipath",
            "netbird",
            "nvme",
            "ovn",
            "tailscale",
            "usbip",
        ];
        let services = accepted::object(&files["services.json"], &services)
            .expect("services that IncusOS knows");
        let tailscale = &services["tailscale"];
        assert_eq!(
            tailscale.get("auth_key").and_then(Value::as_str),
            declared.auth_key.known().map(String::as_str)
        );
        assert_eq!(
            tailscale.get("serve_port").and_then(Value::as_u64),
            declared.serve_port.known().copied()
        );
    }
}

/// How far the compiler knows of a `Debug`: the inherent constant wins where the bound holds.
struct Probe<T>(PhantomData<T>);

trait Fallback {
    const PRINTS: bool = false;
}

impl<T> Fallback for Probe<T> {}

impl<T: std::fmt::Debug> Probe<T> {
    const PRINTS: bool = true;
}

/// HO-SEED-28: no log line can print a key by accident.
#[test]
fn what_holds_a_key_cannot_be_printed() {
    assert!(Probe::<String>::PRINTS, "the probe works");
    let printable = [
        Probe::<Keys>::PRINTS,
        Probe::<Declared>::PRINTS,
        Probe::<DeclaredTailscale>::PRINTS,
    ];
    assert_eq!(printable, [false; 3]);
}
