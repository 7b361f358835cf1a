//! What is refused of machines, certificates and applications: at which attribute, and in which words.
//!
//! The overlay and the tailnet are in `refused_networks.rs`, updates in `refused_updates.rs`, files in `refused_files.rs`.

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

/// Each seed has one fault: the place, and words of the summary.
pub(crate) fn check_table(table: Vec<(Declared, &str, &str)>) {
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
    for (text, reason) in [
        ("", "holds no certificate"),
        (&both, "holds 2 certificates"),
        (&key, "holds a private key"),
        (request, "holds another PEM block"),
        (cut, "is damaged"),
        (&stray, "is damaged"),
        (not_x509, "is not an X.509 certificate"),
    ] {
        let seed = set(join(), "break_glass_certificate", text);
        let detail = seed.check().remove(0).detail;
        assert!(detail.contains(reason), "{detail}");
        table.push((
            seed,
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
    let alone = changed(smallest(), |seed| {
        seed.applications = list(&["migration-manager"]);
    });
    assert_eq!(alone.check(), [], "what is no member needs no Incus");
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
        (set(join(), order, "smallest"), vec![]),
        (set(join(), min, "50GiB"), vec![]),
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
