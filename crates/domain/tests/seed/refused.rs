//! What is refused, at which attribute and in which words, and beside each kind of fault what is accepted.

use domain::given::Given;
use domain::seed::{Advice, Declared};

use crate::fixtures::*;

/// The only issue of a seed as its place and its summary; its detail has to help.
pub(crate) fn only_issue(seed: &Declared) -> (String, String) {
    let issues = seed.check();
    let all: Vec<String> = issues.iter().map(ToString::to_string).collect();
    assert_eq!(issues.len(), 1, "{all:#?}");
    let (place, _) = all[0].split_once(": ").expect("a path");
    let detail = &issues[0].detail;
    let helps = ["xpected", "emove ", "Set "];
    assert!(helps.iter().any(|word| detail.contains(word)), "{detail}");
    assert!(!issues[0].summary.ends_with('.'), "{}", issues[0].summary);
    (place.to_owned(), issues[0].summary.clone())
}

fn check_table(table: Vec<(Declared, &str, &str)>) {
    for (seed, place, words) in table {
        let (seen, summary) = only_issue(&seed);
        assert_eq!(seen, place, "{summary}");
        assert!(summary.contains(words), "{place}: {summary}");
    }
}

/// HO-SEED-06, HO-SEED-07, HO-CFG-21: what the machine must bring, at `machine`.
#[test]
fn a_machine_that_could_not_come_up_is_refused() {
    check_table(vec![
        (
            set(join(), "machine.name", "Node"),
            "machine.name",
            "name of a machine",
        ),
        (
            set(join(), "machine.mac", "eth0"),
            "machine.mac",
            "MAC address",
        ),
        (without(join(), "machine.mac"), "machine.mac", "no mac"),
        (without(join(), "machine.name"), "machine.name", "no name"),
        (
            set(join(), "machine.os", "linux"),
            "machine.os",
            "Linux has no seed",
        ),
        (
            set(join(), "machine.network.gateway", "192.168.2.1"),
            "machine.network.gateway",
            "cannot be reached",
        ),
        (
            set(join(), "machine.network.gateway", "192.168.1.255"),
            "machine.network.gateway",
            "cannot be reached",
        ),
        (
            without(join(), "machine.network.gateway"),
            "machine.network.gateway",
            "no gateway",
        ),
        (
            without(join(), "machine.network.cidr"),
            "machine.network.cidr",
            "no CIDR",
        ),
        (
            changed(join(), |seed| seed.machine.network = Given::Absent),
            "machine.network",
            "no network",
        ),
        (
            changed(join(), |seed| {
                inside(&mut seed.machine.network).dns = list(&[])
            }),
            "machine.network.dns",
            "no resolver",
        ),
        (
            changed(join(), |seed| {
                inside(&mut seed.machine.network).dns = Given::Absent
            }),
            "machine.network.dns",
            "no resolver",
        ),
        (
            changed(join(), |seed| {
                inside(&mut seed.machine.network).dns = Given::Known(vec![Given::Absent])
            }),
            "machine.network.dns[0]",
            "is null",
        ),
        (
            changed(smallest(), |seed| seed.machine.dhcp = Given::Known(false)),
            "machine.dhcp",
            "no way to an address",
        ),
        (
            set(smallest(), "machine.install_disk.id", "/dev/sda"),
            "machine.install_disk.id",
            "disk",
        ),
    ]);
}

/// HO-SEED-09, HO-SEED-10, HO-SEED-17, HO-SEED-20.
#[test]
fn certificates_that_do_not_fit_the_role_are_refused() {
    let both = format!("{BREAK_GLASS}{JOINER}");
    let key =
        format!("{BREAK_GLASS}-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n");
    let request =
        "-----BEGIN CERTIFICATE REQUEST-----\nMC4CAQ==\n-----END CERTIFICATE REQUEST-----\n";
    let cut = &BREAK_GLASS[..200];
    let not_x509 = "-----BEGIN CERTIFICATE-----\nMC4CAQ==\n-----END CERTIFICATE-----\n";
    let stray = BREAK_GLASS.replace("MII", "M!I");
    let mut table = vec![
        (
            without(join(), "joiner_certificate"),
            "joiner_certificate",
            "no joiner certificate",
        ),
        (
            set(bootstrap(), "joiner_certificate", JOINER),
            "joiner_certificate",
            "joins nothing",
        ),
        (
            set(smallest(), "joiner_certificate", JOINER),
            "joiner_certificate",
            "joins nothing",
        ),
        (
            set(join(), "joiner_certificate", BREAK_GLASS),
            "joiner_certificate",
            "is the break-glass",
        ),
        (
            set(
                join(),
                "joiner_certificate",
                &BREAK_GLASS.replace('\n', "\r\n"),
            ),
            "joiner_certificate",
            "is the break-glass",
        ),
        (
            set(join(), "joiner_certificate", "joiner.crt"),
            "joiner_certificate",
            "joiner certificate is not valid",
        ),
        (
            without(join(), "break_glass_certificate"),
            "break_glass_certificate",
            "no break-glass",
        ),
    ];
    for text in ["", &both, &key, request, cut, not_x509, &stray] {
        table.push((
            set(join(), "break_glass_certificate", text),
            "break_glass_certificate",
            "break-glass certificate is not valid",
        ));
    }
    check_table(table);
    let spelled = format!("Subject: CN=x\r\n\r\n{}", BREAK_GLASS.replace('\n', "\r\n"));
    let other = set(join(), "break_glass_certificate", &spelled);
    assert_eq!(other.check(), []);
    assert!(
        other.render(Some(&keys())) == join().render(Some(&keys())),
        "one certificate has one spelling"
    );
}

/// HO-WG-03, HO-WG-05 to HO-WG-09.
#[test]
fn an_overlay_that_could_not_work_is_refused() {
    let overlay = || with_overlay(join());
    let (cidr, address) = ("wireguard.network.cidr", "wireguard.address");
    let (endpoint, key) = ("wireguard.hub.endpoint", "wireguard.hub.public_key");
    let mut table = vec![
        (without(overlay(), cidr), cidr, "no CIDR"),
        (
            without(overlay(), address),
            address,
            "no address in its overlay",
        ),
        (without(overlay(), endpoint), endpoint, "no hub endpoint"),
        (without(overlay(), key), key, "no public key of its hub"),
        (set(overlay(), cidr, "10.100.0.2/24"), cidr, "not valid"),
        (set(overlay(), cidr, "fd00::/64"), cidr, "not valid"),
        (
            set(
                set(overlay(), cidr, "192.168.0.0/16"),
                address,
                "192.168.9.9",
            ),
            cidr,
            "overlap",
        ),
        (
            set(
                set(overlay(), cidr, "192.168.1.128/25"),
                address,
                "192.168.1.130",
            ),
            cidr,
            "overlap",
        ),
        (set(overlay(), address, "10.100.1.2"), address, "outside"),
        (
            set(overlay(), address, "10.100.0.2/24"),
            address,
            "not valid",
        ),
        (set(overlay(), address, "999.1.1.1"), address, "not valid"),
        (set(overlay(), address, "10.100.0.0"), address, "not free"),
        (set(overlay(), address, "10.100.0.1"), address, "not free"),
        (set(overlay(), address, "10.100.0.254"), address, "not free"),
        (set(overlay(), address, "10.100.0.255"), address, "not free"),
        (
            set(overlay(), endpoint, "10.100.0.1:51820"),
            endpoint,
            "inside of the overlay",
        ),
        (
            changed(overlay(), |seed| {
                inside(&mut seed.wireguard).keepalive = Given::Known(65536)
            }),
            "wireguard.keepalive",
            "too long",
        ),
    ];
    for text in [
        "",
        ":",
        ":51820",
        "hub.example.net",
        "hub.example.net:",
        "hub.example.net:0",
        "hub.example.net:65536",
        "hub.example.net:+51",
        "hub.example.net:051820",
        "hub_x.example.net:1",
        "-hub:1",
        "hub..net:1",
        "1.2.3:1",
        "999.1.1.1:1",
        "fd00::1:51820",
        "[fd00::1]",
        "[hub]:51820",
        "[::]:51820",
        "0.0.0.0:51820",
        "127.0.0.1:51820",
        "https://hub:51820",
        "hub:51820 ",
    ] {
        table.push((
            set(overlay(), endpoint, text),
            endpoint,
            "endpoint of the hub is not valid",
        ));
    }
    for text in [
        "",
        "c2hvcnQ=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        &HUB_KEY.replace("U4=", "U5="),
        &HUB_KEY.replace('=', ""),
    ] {
        table.push((
            set(overlay(), key, text),
            key,
            "public key of the hub is not valid",
        ));
    }
    check_table(table);
    for text in [
        "hub:1",
        "hub.example.net.:65535",
        "203.0.113.9:51820",
        "[2001:db8::1]:51820",
        "xn--hb-hia.example:51820",
    ] {
        assert_eq!(set(overlay(), endpoint, text).check(), [], "{text}");
    }
    for keepalive in [0, 25, 65535] {
        let seed = changed(overlay(), |seed| {
            inside(&mut seed.wireguard).keepalive = Given::Known(keepalive)
        });
        assert_eq!(seed.check(), [], "{keepalive}");
    }
}

/// HO-SEED-08, as far as one machine can have other applications.
#[test]
fn applications_that_would_not_be_installed_are_refused() {
    let with = |names: &[&str]| changed(bootstrap(), |seed| seed.applications = list(names));
    check_table(vec![
        (with(&[]), "applications", "empty list"),
        (
            with(&["incus", "Incus"]),
            "applications[1]",
            "does not know",
        ),
        (with(&["docker"]), "applications[0]", "does not know"),
        (
            with(&["debug", "incus", "debug"]),
            "applications[2]",
            "twice",
        ),
        (
            with(&["incus", "operations-center"]),
            "applications[1]",
            "two primary",
        ),
        (
            with(&["incus-lts-7.0", "incus"]),
            "applications[1]",
            "two primary",
        ),
        (
            with(&["migration-manager"]),
            "applications[0]",
            "another application than Incus",
        ),
        (
            changed(bootstrap(), |seed| {
                seed.applications = Given::Known(vec![Given::Absent])
            }),
            "applications[0]",
            "null",
        ),
    ]);
    for names in [
        &["incus"][..],
        &["incus-lts-7.0", "openfga"],
        &["gpu-support"],
    ] {
        assert_eq!(with(names).check(), [], "{names:?}");
    }
}

/// Days, hours and durations that IncusOS takes as they are, or refuses against its own documentation.
#[test]
fn updates_that_would_not_happen_are_refused() {
    let with = |change: fn(&mut domain::seed::DeclaredWindow)| {
        changed(smallest(), |seed| {
            let mut window = window();
            change(&mut window);
            inside(&mut seed.update).maintenance_windows = Given::Known(vec![window]);
        })
    };
    let at = |name: &str| format!("update.maintenance_windows[0].{name}");
    let (start_day, end_day, start_hour, end_hour) = (
        at("start_day_of_week"),
        at("end_day_of_week"),
        at("start_hour"),
        at("end_hour"),
    );
    let (start_minute, end_minute) = (at("start_minute"), at("end_minute"));
    let mut table = vec![
        (
            with(|window| window.start_day_of_week = known("saturday")),
            start_day.as_str(),
            "day that IncusOS does not know",
        ),
        (
            with(|window| window.end_day_of_week = known("Sun")),
            &end_day,
            "day that IncusOS does not know",
        ),
        (
            with(|window| window.end_day_of_week = Given::Absent),
            &end_day,
            "one day only",
        ),
        (
            with(|window| window.start_day_of_week = Given::Absent),
            &start_day,
            "one day only",
        ),
        (
            with(|window| window.start_hour = Given::Known(24)),
            &start_hour,
            "no clock shows",
        ),
        (
            with(|window| window.end_hour = Given::Known(24)),
            &end_hour,
            "no clock shows",
        ),
        (
            with(|window| window.start_minute = Given::Known(60)),
            &start_minute,
            "no clock shows",
        ),
        (
            with(|window| window.end_minute = Given::Known(60)),
            &end_minute,
            "no clock shows",
        ),
        (
            with(|window| window.end_day_of_week = known("Saturday")),
            &end_hour,
            "ends before",
        ),
        (
            set(smallest(), "update.channel", "Stable"),
            "update.channel",
            "channel",
        ),
        (
            set(smallest(), "update.channel", ""),
            "update.channel",
            "channel",
        ),
    ];
    for text in ["1d", "3h 30m", "", "0", "0s", "-6h", "6", "Never", "always"] {
        table.push((
            set(smallest(), "update.check_frequency", text),
            "update.check_frequency",
            "check frequency",
        ));
    }
    check_table(table);
    for text in ["never", "6h", "3h30m", "1.5h", "90s"] {
        assert_eq!(
            set(smallest(), "update.check_frequency", text).check(),
            [],
            "{text}"
        );
    }
}

/// What Tailscale or Incus would only log.
#[test]
fn a_tailnet_that_would_not_be_joined_is_refused() {
    let with = |change: fn(&mut domain::seed::DeclaredTailscale)| {
        changed(join(), |seed| {
            let mut tailscale = tailscale();
            change(&mut tailscale);
            seed.tailscale = Given::Known(tailscale);
        })
    };
    let mut table = vec![
        (
            with(|tailscale| tailscale.auth_key = known("tskey-auth-x y")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.auth_key = known("tskey-auth-x\n")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.auth_key = known("")),
            "tailscale.auth_key",
            "auth key",
        ),
        (
            with(|tailscale| tailscale.login_server = known("login.example.net")),
            "tailscale.login_server",
            "login server",
        ),
        (
            with(|tailscale| tailscale.login_server = known("https://")),
            "tailscale.login_server",
            "login server",
        ),
        (
            with(|tailscale| tailscale.exit_node = known("a b")),
            "tailscale.exit_node",
            "name on the tailnet",
        ),
        (
            with(|tailscale| {
                (tailscale.exit_node, tailscale.advertise_exit_node) =
                    (known("a"), Given::Known(true))
            }),
            "tailscale.exit_node",
            "is one",
        ),
        (
            with(|tailscale| tailscale.exit_node_allow_lan_access = Given::Known(true)),
            "tailscale.exit_node_allow_lan_access",
            "without an exit node",
        ),
        (
            with(|tailscale| tailscale.serve_port = Given::Known(8443)),
            "tailscale.serve_port",
            "port of Incus",
        ),
        (
            with(|tailscale| tailscale.serve_port = Given::Known(65536)),
            "tailscale.serve_port",
            "not valid",
        ),
        (
            with(|tailscale| tailscale.port = Given::Known(41641)),
            "tailscale.port",
            "release of IncusOS does not know",
        ),
    ];
    let routes = [
        "192.168.1.0",
        "192.168.1.1/24",
        "192.168.1.0/33",
        "192.168.1.0/024",
        "lan/24",
        "fd00::1/64",
        "fd00::/129",
        "",
    ];
    for text in routes {
        let seed = changed(with(|_| {}), |seed| {
            inside(&mut seed.tailscale).advertised_routes = list(&[text])
        });
        table.push((
            seed,
            "tailscale.advertised_routes[0]",
            "route for the tailnet",
        ));
    }
    check_table(table);
    for text in ["0.0.0.0/0", "::/0", "10.0.0.9/32", "fd00::1/128"] {
        let seed = changed(with(|_| {}), |seed| {
            inside(&mut seed.tailscale).advertised_routes = list(&[text])
        });
        assert_eq!(seed.check(), [], "{text}");
    }
}

/// HO-SEED-03.
#[test]
fn a_release_that_is_none_is_refused() {
    for text in ["", "stable", "20260927", "202601010000", "202609271243 "] {
        let seed = set(join(), "incusos_release", text);
        check_table(vec![(
            seed,
            "incusos_release",
            "release of IncusOS is not valid",
        )]);
    }
}

/// HO-SEED-16, HO-SEED-32, HO-WG-07: nothing is wrong, and a careful operator would want to know.
#[test]
fn advice_is_given_where_nothing_is_wrong() {
    let endpoint = "wireguard.hub.endpoint";
    let (min, order) = (
        "machine.install_disk.min_size",
        "machine.install_disk.sort_order",
    );
    for (seed, expected) in [
        (bootstrap(), vec![]),
        (with_overlay(join()), vec![]),
        (smallest(), vec![Advice::PlainServer]),
        (
            set(with_overlay(join()), endpoint, "203.0.113.9:51820"),
            vec![Advice::HubByAddress],
        ),
        (
            set(with_overlay(join()), endpoint, "[2001:db8::1]:51820"),
            vec![Advice::HubByAddress],
        ),
        (set(join(), order, "smallest"), vec![Advice::SmallDisk]),
        (set(set(join(), order, "smallest"), min, "50GiB"), vec![]),
        (
            set(set(join(), order, "smallest"), min, "50GB"),
            vec![Advice::SmallDisk],
        ),
        (set(join(), order, "largest"), vec![]),
        (
            changed(bootstrap(), |seed| seed.machine.address = Given::Unknown),
            vec![],
        ),
    ] {
        assert_eq!(seed.advice(), expected);
    }
}
