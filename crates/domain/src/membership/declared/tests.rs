//! What is refused of a member, where, and what a sound declaration means.

use super::*;
use crate::membership::certificate::tests::PEM;
use crate::membership::spec::Address;

fn known(text: &str) -> Given<String> {
    Given::Known(text.to_owned())
}

/// A joiner with nothing but what it needs.
fn sound() -> Declared {
    Declared {
        name: known("b"),
        address: known("10.0.0.2"),
        ..Declared::default()
    }
}

fn with(change: impl FnOnce(&mut Declared)) -> Declared {
    let mut declared = sound();
    change(&mut declared);
    declared
}

fn config(key: &str, value: &str) -> Declared {
    with(|member| member.config = Given::Known([(key.to_owned(), known(value))].into()))
}

fn groups(names: &[&str]) -> Declared {
    with(|member| member.groups = Given::Known(names.iter().map(|name| known(name)).collect()))
}

fn storage(pool: Given<String>, driver: Given<String>, source: Given<String>) -> Declared {
    let storage = DeclaredStorage {
        pool,
        driver,
        source,
    };
    with(|member| member.storage = Given::Known(storage))
}

/// Where something is wrong.
fn places(declared: &Declared) -> Vec<String> {
    let place = |issue: &Issue| {
        let text = issue.to_string();
        let helps = ["xpected", "Set "]
            .iter()
            .any(|word| issue.detail.contains(word));
        assert!(helps, "{text}");
        text.split(": ").next().unwrap_or_default().to_owned()
    };
    declared.check().iter().map(place).collect()
}

#[test]
fn a_sound_member_is_accepted_in_every_shape() {
    let fingerprint = "AB:".repeat(31) + "CD";
    for declared in [
        sound(),
        with(|member| member.role = known("bootstrap")),
        with(|member| member.state = known("evacuated")),
        with(|member| member.address = Given::Unknown),
        with(|member| member.server_fingerprint = known(&"0f".repeat(32))),
        with(|member| member.server_fingerprint = known(&fingerprint)),
        with(|member| member.failure_domain = known("rack 1")),
        with(|member| member.metrics_certificate = known(PEM)),
        with(|member| member.timeouts.create = known("2h")),
        groups(&["default", "gpu_1"]),
        config("user.note", "below the stairs"),
        config("scheduler.instance", "manual"),
        storage(known("local"), known("zfs"), known("local/incus")),
        storage(known("default"), known("dir"), Given::Absent),
        storage(Given::Unknown, known("dir"), Given::Absent),
    ] {
        assert_eq!(places(&declared), [""; 0], "{declared:?}");
    }
}

/// HO-CLUS-04, HO-CLUS-13.
#[test]
fn each_fault_is_refused_at_its_attribute() {
    for (declared, expected) in [
        (with(|member| member.name = known("B_1")), "name"),
        (with(|member| member.name = known(&"b".repeat(49))), "name"),
        (with(|member| member.address = known("0.0.0.0")), "address"),
        (with(|member| member.role = known("leader")), "role"),
        (with(|member| member.state = known("Online")), "state"),
        (
            with(|member| member.server_fingerprint = known("ab")),
            "server_fingerprint",
        ),
        (
            with(|member| member.server_fingerprint = known(&"0g".repeat(32))),
            "server_fingerprint",
        ),
        (groups(&[]), "groups"),
        (groups(&["default", ""]), "groups[1]"),
        (groups(&["a/b"]), "groups[0]"),
        (groups(&["-a"]), "groups[0]"),
        (groups(&["gpu", "gpu"]), "groups[1]"),
        (
            config("core.https_address", ":8443"),
            "config[\"core.https_address\"]",
        ),
        (config("user.", "x"), "config[\"user.\"]"),
        (
            config("scheduler.instance", "none"),
            "config[\"scheduler.instance\"]",
        ),
        (
            with(|member| member.failure_domain = known(" ")),
            "failure_domain",
        ),
        (
            storage(Given::Absent, known("zfs"), Given::Absent),
            "storage.pool",
        ),
        (
            storage(known("local"), Given::Absent, Given::Absent),
            "storage.driver",
        ),
        (
            storage(known("a/b"), known("zfs"), Given::Absent),
            "storage.pool",
        ),
        (
            storage(known(""), known("zfs"), Given::Absent),
            "storage.pool",
        ),
        (
            storage(known("local"), known("ceph"), Given::Absent),
            "storage.driver",
        ),
        (
            storage(known("local"), known("zfs"), known("")),
            "storage.source",
        ),
        (
            with(|member| member.metrics_certificate = known("hello")),
            "metrics_certificate",
        ),
        (
            with(|member| member.timeouts.create = known("1d")),
            "timeouts.create",
        ),
        (
            with(|member| member.timeouts.update = known("soon")),
            "timeouts.update",
        ),
        (
            with(|member| member.timeouts.delete = known("")),
            "timeouts.delete",
        ),
    ] {
        assert_eq!(places(&declared), [expected], "{declared:?}");
    }
}

#[test]
fn every_fault_is_said_at_once_and_no_key_is_repeated() {
    let key = "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----";
    let declared = Declared {
        name: known(""),
        address: known(""),
        role: known(""),
        metrics_certificate: known(key),
        ..Declared::default()
    };
    assert_eq!(
        places(&declared),
        ["name", "address", "role", "metrics_certificate"]
    );
    let said: Vec<String> = declared.check().iter().map(ToString::to_string).collect();
    let said = said.join("\n");
    assert!(
        said.contains("holds a private key") && !said.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn an_address_is_one_machines_with_a_port() {
    let address = |host: &str, port: u16| {
        Ok(Address {
            host: host.to_owned(),
            port,
        })
    };
    for (text, expected) in [
        ("10.0.0.2", address("10.0.0.2", 8443)),
        ("10.0.0.2:8443", address("10.0.0.2", 8443)),
        ("10.0.0.2:9443", address("10.0.0.2", 9443)),
        ("fd00::2", address("fd00::2", 8443)),
        ("[fd00:0::2]:9443", address("fd00::2", 9443)),
        ("[fd00::2]", address("fd00::2", 8443)),
        ("Node-B.lan", address("node-b.lan", 8443)),
    ] {
        assert_eq!(parse_address(text), expected, "{text}");
    }
    for (text, error) in [
        ("", "is empty"),
        ("https://10.0.0.2:8443", "has a scheme in front"),
        ("10.0.0.2/24", "has a slash in it"),
        ("10.0.0.2:0", "has the port \"0\", which is none"),
        ("10.0.0.2:+1", "has the port \"+1\", which is none"),
        ("10.0.0.2:65536", "has the port \"65536\", which is none"),
        ("10.0.0.2:", "has the port \"\", which is none"),
        ("0.0.0.0", "stands for every address"),
        ("0.0.0.0:8443", "stands for every address"),
        ("[::]:8443", "stands for every address"),
        ("::", "stands for every address"),
        (":8443", "stands for every address"),
        ("*:8443", "stands for every address"),
        ("224.0.0.1", "is not the address of one machine"),
        ("255.255.255.255", "is not the address of one machine"),
        ("10.0.0.256", "is neither"),
        ("10.0.0", "is neither"),
        ("node_b", "is neither"),
        ("node b", "is neither"),
    ] {
        let refused = parse_address(text).expect_err(text).to_string();
        assert!(refused.starts_with(error), "{text}: {refused}");
    }
    let printed = |text: &str| parse_address(text).expect(text).to_string();
    assert_eq!(printed("10.0.0.2"), "10.0.0.2:8443");
    assert_eq!(printed("[fd00::2]:9443"), "[fd00::2]:9443");
}

#[test]
fn a_declaration_becomes_a_spec_once_everything_is_known() {
    let spec = sound().spec().expect("a spec");
    assert_eq!(
        (spec.role, spec.groups, spec.storage),
        (Role::Join, None, None)
    );
    let full = Declared {
        role: known("bootstrap"),
        server_fingerprint: known(&("AB:".repeat(31) + "CD")),
        state: known("online"),
        ..groups(&["gpu", "default"])
    };
    let spec = full.spec().expect("a spec");
    assert_eq!(
        (spec.role, spec.state),
        (Role::Bootstrap, Some(State::Online))
    );
    assert_eq!(spec.server_fingerprint, Some("ab".repeat(31) + "cd"));
    let names: Vec<String> = spec.groups.into_iter().flatten().collect();
    assert_eq!(names, ["default", "gpu"]);
    for unknown in [
        with(|member| member.address = Given::Unknown),
        with(|member| member.role = Given::Unknown),
        with(|member| member.groups = Given::Known(vec![Given::Unknown])),
        with(|member| member.config = Given::Known([("user.x".to_owned(), Given::Unknown)].into())),
        storage(known("local"), Given::Unknown, Given::Absent),
        storage(known("local"), known("zfs"), Given::Unknown),
        with(|member| member.metrics_certificate = Given::Unknown),
    ] {
        assert_eq!(unknown.spec(), Err(NotASpec::Unknown), "{unknown:?}");
    }
    let wrong = with(|member| member.name = known(""));
    assert!(matches!(wrong.spec(), Err(NotASpec::Refused(_))));
}

#[test]
fn a_removal_may_do_only_what_is_said() {
    let of = |evacuate, force| {
        let given = DeclaredOnDestroy { evacuate, force };
        with(|member| member.on_destroy = Given::Known(given)).on_destroy()
    };
    let (yes, no) = (|| Given::Known(true), || Given::Known(false));
    for (given, evacuate, force) in [
        (sound().on_destroy(), false, false),
        (of(yes(), no()), true, false),
        (of(Given::Absent, yes()), false, true),
        (of(Given::Unknown, Given::Unknown), false, false),
    ] {
        assert_eq!(given, OnDestroy { evacuate, force });
    }
}

#[test]
fn one_waits_as_long_as_is_declared() {
    let minutes = |count: u64| Duration::from_secs(count * 60);
    let of = |declared: Declared| {
        let deadlines = declared.deadlines();
        (deadlines.create, deadlines.update, deadlines.delete)
    };
    let defaults = (minutes(60), minutes(30), minutes(30));
    assert_eq!(of(sound()), defaults);
    let declared = with(|member| {
        member.timeouts = DeclaredTimeouts {
            create: known("2h"),
            update: known("5m"),
            delete: known("1m"),
        };
    });
    assert_eq!(of(declared), (minutes(120), minutes(5), minutes(1)));
    let unknown = with(|member| member.timeouts.create = Given::Unknown);
    assert_eq!(of(unknown), defaults);
}
