//! What holds for every seed: sound ones are changed at random places, to sound values and to others.
//!
//! The sentences that are checked are in `invariants.rs`; tables of single faults in `refused.rs`.

use domain::given::Given;
use domain::seed::{Declared, DeclaredWindow};
use proptest::prelude::*;

use crate::fixtures::*;
use crate::golden;
use crate::invariants::*;

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
            invariant_passed_files_say_what_they_said(&seed, &files);
        }
    }
}
