//! What is refused of a machine, where, and what is completed.

use super::*;

fn known(text: &str) -> Given<String> {
    Given::Known(text.to_owned())
}

/// A member of a LAN, with nothing wrong.
fn sound() -> Declared {
    Declared {
        name: known("a"),
        mac: known("52-54-00-00-00-0A"),
        network: Given::Known(DeclaredNetwork {
            name: known("lan"),
            cidr: known("192.168.1.0/24"),
            gateway: known("192.168.1.1"),
            dns: Given::Known(vec![known("192.168.1.1")]),
        }),
        address: known("192.168.1.210"),
        role: known("join"),
        ..Declared::default()
    }
}

/// Where something is wrong.
fn places(machine: &Declared) -> Vec<String> {
    let issues = machine.check();
    let place = |issue: &Issue| {
        let text = issue.to_string();
        assert!(
            issue.detail.contains("xpected")
                || issue.detail.contains("Set ")
                || issue.detail.contains("Remove"),
            "{text}"
        );
        text.split(": ").next().unwrap_or_default().to_owned()
    };
    issues.iter().map(place).collect()
}

fn with(change: impl FnOnce(&mut Declared)) -> Declared {
    let mut machine = sound();
    change(&mut machine);
    machine
}

fn network(change: impl FnOnce(&mut DeclaredNetwork)) -> Declared {
    with(|machine| {
        if let Given::Known(network) = &mut machine.network {
            change(network);
        }
    })
}

fn disk(change: impl FnOnce(&mut disk::Declared)) -> Declared {
    let mut disk = disk::Declared::default();
    change(&mut disk);
    with(|machine| machine.install_disk = Given::Known(disk))
}

fn security(tpm: bool, secure_boot: bool) -> Declared {
    let security = DeclaredSecurity {
        tpm: Given::Known(tpm),
        secure_boot: Given::Known(secure_boot),
    };
    with(|machine| machine.security = Given::Known(security))
}

#[test]
fn a_sound_machine_is_accepted_in_every_shape() {
    for machine in [
        sound(),
        with(|machine| machine.role = known("bootstrap")),
        with(|machine| machine.os = known("linux")),
        with(|machine| machine.role = Given::Absent),
        with(|machine| machine.dhcp = Given::Known(true)),
        network(|network| network.gateway = Given::Absent),
        Declared {
            name: known("dhcp-only"),
            mac: known("525400000001"),
            ..Declared::default()
        },
        disk(|disk| disk.id = known("nvme-eui.0025385b")),
        disk(|disk| disk.id = known("sdcard-0123")),
        disk(|disk| (disk.min_size, disk.max_size) = (known("100GB"), known("2TiB"))),
        disk(|disk| (disk.bus, disk.sort_order) = (known("nvme"), known("smallest"))),
        security(false, true),
    ] {
        assert_eq!(places(&machine), [""; 0], "{machine:?}");
    }
}

#[test]
fn each_fault_is_refused_at_its_attribute() {
    for (machine, place) in [
        (with(|machine| machine.name = known("A_1")), "name"),
        (with(|machine| machine.name = known("")), "name"),
        (
            with(|machine| machine.name = known(&"a".repeat(49))),
            "name",
        ),
        (with(|machine| machine.mac = known("52:54:00:00:00")), "mac"),
        (
            with(|machine| machine.mac = known("01:00:5e:00:00:01")),
            "mac",
        ),
        (with(|machine| machine.mac = known("eth0")), "mac"),
        (with(|machine| machine.role = known("leader")), "role"),
        (with(|machine| machine.os = known("IncusOS")), "os"),
        (
            with(|machine| machine.address = known("192.168.2.9")),
            "address",
        ),
        (
            with(|machine| machine.address = known("192.168.1.0")),
            "address",
        ),
        (
            with(|machine| machine.address = known("192.168.1.255")),
            "address",
        ),
        (
            with(|machine| machine.address = known("192.168.1.1")),
            "address",
        ),
        (
            with(|machine| machine.address = known("192.168.1.210/24")),
            "address",
        ),
        (
            with(|machine| machine.address = known("fd00::1")),
            "address",
        ),
        (with(|machine| machine.address = Given::Absent), "address"),
        (
            network(|network| network.cidr = known("192.168.1.5/24")),
            "network.cidr",
        ),
        (
            network(|network| network.name = known("L A N")),
            "network.name",
        ),
        (
            network(|network| network.gateway = known("192.168.1")),
            "network.gateway",
        ),
        (
            network(|network| network.dns = Given::Known(vec![known("dns.lan")])),
            "network.dns[0]",
        ),
        (
            disk(|disk| disk.id = known("/dev/disk/by-id/nvme-1")),
            "install_disk.id",
        ),
        (disk(|disk| disk.id = known("sda")), "install_disk.id"),
        (disk(|disk| disk.id = known("nvme0n1")), "install_disk.id"),
        (disk(|disk| disk.id = known("")), "install_disk.id"),
        (disk(|disk| disk.bus = known("n v")), "install_disk.bus"),
        (
            disk(|disk| disk.sort_order = known("fastest")),
            "install_disk.sort_order",
        ),
        (
            disk(|disk| disk.min_size = known("1.5TB")),
            "install_disk.min_size",
        ),
        (
            disk(|disk| disk.min_size = known("100 GB")),
            "install_disk.min_size",
        ),
        (
            disk(|disk| disk.max_size = known("10GiB")),
            "install_disk.max_size",
        ),
        (
            disk(|disk| (disk.min_size, disk.max_size) = (known("2TB"), known("1TB"))),
            "install_disk.max_size",
        ),
        (security(false, false), "security"),
        (
            Declared {
                dhcp: Given::Known(false),
                ..Declared::default()
            },
            "dhcp",
        ),
    ] {
        assert_eq!(places(&machine), [place], "{machine:?}");
    }
    let linux = Declared {
        os: known("linux"),
        ..disk(|_| {})
    };
    assert_eq!(places(&linux), ["install_disk"]);
    let linux = Declared {
        os: known("linux"),
        ..security(true, true)
    };
    assert_eq!(places(&linux), ["security"]);
}

/// HO-CFG-10.
#[test]
fn everything_is_told_at_once() {
    let mut machine = network(|network| network.cidr = known("lan"));
    machine.mac = known("x");
    machine.role = known("x");
    machine.address = known("x");
    assert_eq!(places(&machine), ["mac", "role", "network.cidr", "address"]);
}

#[test]
fn what_is_not_known_yet_is_not_judged() {
    let unknown = Declared {
        name: known("a"),
        mac: Given::Unknown,
        network: Given::Known(DeclaredNetwork {
            cidr: Given::Unknown,
            ..DeclaredNetwork::default()
        }),
        address: Given::Unknown,
        role: Given::Unknown,
        os: Given::Unknown,
        dhcp: Given::Unknown,
        security: Given::Unknown,
        install_disk: Given::Unknown,
    };
    assert_eq!(places(&unknown), [""; 0]);
    assert_eq!(unknown.clusterable(), None);
}

/// HO-IPAM-14: only a machine with an address that is known beforehand becomes a member.
#[test]
fn a_member_needs_a_role_and_an_address() {
    assert_eq!(sound().clusterable(), Some(true));
    assert_eq!(
        with(|machine| machine.role = Given::Absent).clusterable(),
        Some(false)
    );
    let without = Declared {
        address: Given::Absent,
        network: Given::Absent,
        ..sound()
    };
    assert_eq!(without.clusterable(), Some(false));
    assert_eq!(without.advice(), [Advice::RoleWithoutAddress]);
    let later = with(|machine| machine.address = Given::Unknown);
    assert_eq!(later.clusterable(), None);
    assert_eq!(later.advice(), []);
}

/// HO-SEED-07.
#[test]
fn weaker_encryption_is_worth_a_word() {
    assert_eq!(security(true, false).advice(), [Advice::NoSecureBoot]);
    assert_eq!(security(false, true).advice(), [Advice::NoTpm]);
    assert_eq!(security(true, true).advice(), []);
}

#[test]
fn sizes_are_read_as_incusos_reads_them() {
    for (text, size) in [
        ("0", Some(0)),
        ("50GiB", Some(50 << 30)),
        ("500GB", Some(500_000_000_000)),
        ("1kB", Some(1_000)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("99999EB", None),
        ("GB", None),
        ("-1GB", None),
        ("1.5GB", None),
        ("1 GB", None),
        ("1gb", None),
        ("", None),
    ] {
        assert_eq!(disk::parse_size(text), size, "{text}");
    }
}
