//! What is refused of an app, where, and what is made of the rest.

use super::*;
use crate::app::{Check, ImageReference, Kind, Replicas};
use crate::issue::Step;

mod further;

fn known(text: &str) -> Given<String> {
    Given::Known(text.to_owned())
}

/// A declaration without a fault.
fn sound() -> Declared {
    Declared {
        name: known("web"),
        r#type: known("generic-stateless"),
        replicas: known("2"),
        image: Given::Known(DeclaredImage {
            alias: known("web/v1"),
            ..DeclaredImage::default()
        }),
        ..Declared::default()
    }
}

fn image(change: impl FnOnce(&mut DeclaredImage)) -> Declared {
    let mut image = DeclaredImage::default();
    change(&mut image);
    Declared {
        image: Given::Known(image),
        ..sound()
    }
}

fn remote(protocol: &str, server: &str, alias: &str) -> Declared {
    image(|image| {
        image.server = known(server);
        image.protocol = known(protocol);
        image.alias = known(alias);
    })
}

fn oci_by_digest(track: &str) -> Declared {
    let mut declared = remote(
        "oci",
        "https://h",
        &format!("web@sha256:{}", "ab".repeat(32)),
    );
    if let Given::Known(image) = &mut declared.image {
        image.track = known(track);
    }
    declared
}

fn oci_as(kind: &str) -> Declared {
    Declared {
        workload: Given::Known(DeclaredWorkload {
            kind: known(kind),
            ..DeclaredWorkload::default()
        }),
        ..remote("oci", "https://h", "web:1")
    }
}

fn health(change: impl FnOnce(&mut DeclaredHealth)) -> Declared {
    let mut health = DeclaredHealth::default();
    change(&mut health);
    Declared {
        health: Given::Known(health),
        ..sound()
    }
}

fn check(change: impl FnOnce(&mut DeclaredCheck)) -> Declared {
    let mut check = DeclaredCheck::default();
    change(&mut check);
    health(|health| health.check = Given::Known(check))
}

fn exec(command: &[&str], timeout: Given<String>) -> Declared {
    let command = Given::Known(command.iter().map(|word| known(word)).collect());
    check(|check| check.exec = Given::Known(DeclaredExec { command, timeout }))
}

fn http(port: u64, path: Given<String>) -> Declared {
    let port = Given::Known(port);
    check(|check| check.http = Given::Known(DeclaredHttp { port, path }))
}

fn tcp(port: Given<u64>) -> Declared {
    check(|check| check.tcp = Given::Known(DeclaredTcp { port }))
}

fn heartbeat_file(path: &str) -> Declared {
    let path = known(path);
    check(|check| check.heartbeat_file = Given::Known(DeclaredHeartbeatFile { path }))
}

fn config(key: &str) -> Declared {
    Declared {
        workload: Given::Known(DeclaredWorkload {
            config: Given::Known(GivenMap::from([(key.to_owned(), known("x"))])),
            ..DeclaredWorkload::default()
        }),
        ..sound()
    }
}

/// The paths of all issues, as a user would write them.
fn refused(declared: &Declared) -> Vec<String> {
    let name = |step: &Step| match step {
        Step::Attribute(name) => format!(".{name}"),
        Step::Key(key) => format!("[{key}]"),
        Step::Index(index) => format!("[{index}]"),
    };
    let path = |issue: &Issue| issue.path.iter().map(name).collect::<String>();
    declared.check().iter().map(path).collect()
}

/// HO-APP-06…09, HO-APP-39, HO-CFG-10: each refused at its attribute.
#[test]
fn bad_declarations_are_refused_at_their_attribute() {
    let named = |name: &str| Declared {
        name: known(name),
        ..sound()
    };
    let times = |text: &str| Declared {
        replicas: known(text),
        ..sound()
    };
    let of_type = |text: &str| Declared {
        r#type: known(text),
        ..sound()
    };
    let both_checks = check(|check| {
        check.running = Given::Known(());
        check.exec = Given::Known(DeclaredExec::default());
    });
    let two_and_an_unknown_one = check(|check| {
        check.running = Given::Unknown;
        check.tcp = Given::Known(DeclaredTcp::default());
        check.heartbeat_file = Given::Known(DeclaredHeartbeatFile::default());
    });
    let no_check = check(|_| {});
    let long = "a".repeat(49);
    for (declared, path) in [
        (named("Web"), ".name"),
        (named("web_1"), ".name"),
        (named("-web"), ".name"),
        (named(""), ".name"),
        (named(&long), ".name"),
        (of_type("postgres"), ".type"),
        (times(""), ".replicas"),
        (times("0"), ".replicas"),
        (times("-1"), ".replicas"),
        (times("02"), ".replicas"),
        (times("+2"), ".replicas"),
        (times("2.5"), ".replicas"),
        (times("many"), ".replicas"),
        (times("1000"), ".replicas"),
        (image(|_| {}), ".image"),
        (image(|image| image.alias = known("")), ".image"),
        (
            image(|image| {
                image.alias = known("a");
                image.fingerprint = known("0123456789ab");
            }),
            ".image",
        ),
        (
            image(|image| image.fingerprint = known("ABCDEF012345")),
            ".image.fingerprint",
        ),
        (
            image(|image| image.fingerprint = known("0123")),
            ".image.fingerprint",
        ),
        (remote("gopher", "https://h", "a"), ".image.protocol"),
        (remote("oci", "https://me:pass@h", "a"), ".image.server"),
        (remote("oci", "https://h", "Web:1"), ".image.alias"),
        (
            image(|image| {
                image.protocol = known("oci");
                image.alias = known("web");
            }),
            ".image.server",
        ),
        (
            image(|image| {
                image.server = known("https://h");
                image.alias = known("web");
            }),
            ".image.protocol",
        ),
        (
            image(|image| {
                image.server = known("https://h");
                image.protocol = known("oci");
                image.fingerprint = known("0123456789ab");
            }),
            ".image.fingerprint",
        ),
        (
            image(|image| {
                image.fingerprint = known("0123456789ab");
                image.track = known("follow");
            }),
            ".image.track",
        ),
        (oci_by_digest("follow"), ".image.track"),
        (oci_as("vm"), ".workload.kind"),
        (
            health(|health| health.min_healthy_time = known("soon")),
            ".health.min_healthy_time",
        ),
        (
            health(|health| health.min_healthy_time = known("10m")),
            ".health.min_healthy_time",
        ),
        (
            health(|health| health.healthy_deadline = known("30s")),
            ".health.min_healthy_time",
        ),
        (
            health(|health| health.healthy_deadline = known("-1s")),
            ".health.healthy_deadline",
        ),
        (both_checks, ".health.check"),
        (two_and_an_unknown_one, ".health.check"),
        (no_check, ".health.check"),
        (exec(&[], Given::Absent), ".health.check.exec.command"),
        (exec(&["true"], known("10ms")), ".health.check.exec.timeout"),
        (http(0, Given::Absent), ".health.check.http.port"),
        (http(65536, Given::Unknown), ".health.check.http.port"),
        (http(80, known("")), ".health.check.http.path"),
        (http(80, known("health")), ".health.check.http.path"),
        (http(80, known("/a b")), ".health.check.http.path"),
        (http(80, known("/ü")), ".health.check.http.path"),
        (http(80, known("/#top")), ".health.check.http.path"),
        (http(80, known("/\r\nX: y")), ".health.check.http.path"),
        (tcp(Given::Known(0)), ".health.check.tcp.port"),
        (tcp(Given::Known(1 << 40)), ".health.check.tcp.port"),
        (heartbeat_file(""), ".health.check.heartbeat_file.path"),
        (
            heartbeat_file("run/beat"),
            ".health.check.heartbeat_file.path",
        ),
        (heartbeat_file("/run/"), ".health.check.heartbeat_file.path"),
        (heartbeat_file("/a\n"), ".health.check.heartbeat_file.path"),
        (
            config("user.homelab-ops.app"),
            ".workload.config[user.homelab-ops.app]",
        ),
        (config("environment.A"), ".workload.config[environment.A]"),
        (config("volatile.uuid"), ".workload.config[volatile.uuid]"),
    ] {
        assert_eq!(refused(&declared), [path], "{declared:?}");
    }
}

/// HO-CFG-10: no issue hides another.
#[test]
fn every_issue_is_told_at_once() {
    let mut declared = image(|image| {
        image.server = known("images.example.net");
        image.track = known("latest");
    });
    declared.name = known("Web");
    declared.replicas = known("0");
    let expected = [
        ".name",
        ".replicas",
        ".image.server",
        ".image.protocol",
        ".image.track",
        ".image",
    ];
    assert_eq!(refused(&declared), expected);
}

#[test]
fn what_is_not_known_yet_is_left_alone() {
    let unknown = Declared {
        name: Given::Unknown,
        r#type: Given::Unknown,
        replicas: Given::Unknown,
        image: Given::Unknown,
        workload: Given::Unknown,
        health: Given::Unknown,
        volumes: Given::Unknown,
        placement: Given::Unknown,
        live_migration: Given::Unknown,
        secrets: Given::Unknown,
        secrets_version: Given::Unknown,
        node_secrets: Given::Unknown,
        of_many_lines: BTreeSet::new(),
        node_secrets_version: Given::Unknown,
        params: Given::Unknown,
        alloy: Given::Unknown,
        primary: Given::Unknown,
        joiner_key: Given::Unknown,
        joiner_key_version: Given::Unknown,
        wait: Given::Unknown,
    };
    let alias = image(|image| image.alias = Given::Unknown);
    let whole_check = health(|health| health.check = Given::Unknown);
    let command = exec(&["check"], Given::Unknown);
    let port = tcp(Given::Unknown);
    let path = http(80, Given::Unknown);
    let only = check(|check| check.heartbeat_file = Given::Unknown);
    let which = check(|check| {
        check.running = Given::Known(());
        check.tcp = Given::Unknown;
    });
    let server = image(|image| {
        image.alias = known("a");
        image.server = Given::Unknown;
    });
    assert_eq!(refused(&server), [""; 0]);
    for declared in [
        unknown,
        alias,
        whole_check,
        command,
        port,
        path,
        only,
        which,
    ] {
        assert_eq!(refused(&declared), [""; 0], "{declared:?}");
        assert_eq!(declared.spec(), Err(NotASpec::Unknown));
    }
}

/// HO-CFG-10: an unknown command hides no timeout that is wrong.
#[test]
fn what_is_known_beside_something_unknown_is_checked() {
    let mut declared = exec(&[], known("10ms"));
    if let Given::Known(health) = &mut declared.health
        && let Given::Known(check) = &mut health.check
        && let Given::Known(exec) = &mut check.exec
    {
        exec.command = Given::Unknown;
    }
    assert_eq!(refused(&declared), [".health.check.exec.timeout"]);
    let beside = check(|check| {
        check.exec = Given::Unknown;
        check.tcp = Given::Known(DeclaredTcp {
            port: Given::Known(0),
        });
    });
    assert_eq!(refused(&beside), [".health.check.tcp.port"]);
}

#[test]
fn what_is_absent_has_its_default() {
    let spec = sound().spec().expect("a sound declaration");
    assert_eq!(spec.replicas, Replicas::Count(2));
    assert_eq!(
        spec.image.reference,
        ImageReference::Alias("web/v1".to_owned())
    );
    assert_eq!(spec.workload.kind, Kind::Container);
    assert_eq!(spec.health.check, Check::Running {});
    assert_eq!(spec.health.min_healthy_time, crate::app::MIN_HEALTHY_TIME);
    assert_eq!(spec.health.healthy_deadline, crate::app::HEALTHY_DEADLINE);
    let spec = http(8080, Given::Absent)
        .spec()
        .expect("a sound declaration");
    let (port, path) = (8080, "/".to_owned());
    assert_eq!(spec.health.check, Check::Http { port, path });
}

/// Only what must cause a new generation is in the hash: spelling and replicas are not.
#[test]
fn the_hash_is_of_the_meaning_and_not_of_replicas() {
    let spelled = |text: &str| health(|health| health.min_healthy_time = known(text));
    let hash = |declared: &Declared| declared.spec().expect("a sound declaration").hash();
    let more = Declared {
        replicas: known("3"),
        ..sound()
    };
    assert_eq!(hash(&spelled("1m30s")), hash(&spelled("90s")));
    assert_eq!(hash(&sound()), hash(&more));
    assert_ne!(hash(&sound()), hash(&spelled("90s")));
    assert_ne!(
        hash(&sound()),
        hash(&image(|image| image.alias = known("web/v2")))
    );
    assert_ne!(hash(&sound()), hash(&config("limits.memory")));
}

#[test]
fn a_published_declaration_reads_back() {
    for (declared, check) in [
        (
            exec(&["check", "-v"], known("3s")),
            r#"{"exec":{"command":["check","-v"],"timeout":3000}}"#,
        ),
        (
            http(8080, known("/health?full=1")),
            r#"{"http":{"port":8080,"path":"/health?full=1"}}"#,
        ),
        (tcp(Given::Known(65535)), r#"{"tcp":{"port":65535}}"#),
        (
            heartbeat_file("/run/beat"),
            r#"{"heartbeat_file":{"path":"/run/beat"}}"#,
        ),
    ] {
        let mut spec = declared.spec().expect("a sound declaration");
        spec.image.digest = Some("0123".to_owned());
        let text = serde_json::to_string(&spec).expect("JSON");
        assert!(text.contains(check), "{text}");
        let back: AppSpec = serde_json::from_str(&text).expect("the same");
        assert_eq!(back, spec);
    }
}

/// A version of the provider that knows more must not roll what an earlier one has made: these are its hashes.
#[test]
fn hashes_stay_what_they_were() {
    let hash = |declared: &Declared| declared.spec().expect("a sound declaration").hash();
    for (declared, expected) in [
        (sound(), "0ab72b87dcb1e3949e78a145f2987c75"),
        (
            exec(&["check", "-v"], known("3s")),
            "35d320d03709553191f39f368e5bc5ab",
        ),
    ] {
        assert_eq!(hash(&declared), expected, "{declared:?}");
    }
    // As it is published, with what its image stands for.
    let mut published = sound().spec().expect("a sound declaration");
    published.image.digest = Some("ab12".to_owned());
    assert_eq!(published.hash(), "586f8e667c01259ed8fed697d424697e");
}

/// HO-APP-12: what a name stands for is looked up by whoever publishes; how it is tracked makes no generation.
#[test]
fn images_of_every_protocol_are_read() {
    let spec = |declared: &Declared| declared.spec().expect("a sound declaration");
    let simplestreams = remote("simplestreams", "https://Images.example.net/", "debian/13");
    let server = spec(&simplestreams).image.server.expect("a server");
    assert_eq!(
        (server.protocol.word(), server.url.as_str()),
        ("simplestreams", "https://images.example.net")
    );
    spec(&oci_by_digest("pinned"));
    spec(&oci_as("container"));
    let own = spec(&image(|image| {
        image.protocol = known("incus");
        image.alias = known("web/v1");
    }));
    assert_eq!(own, spec(&sound()));
}

#[test]
fn following_a_name_is_a_change_that_starts_no_generation() {
    let spec = |track: &str| {
        let declared = image(|image| {
            image.alias = known("web/v1");
            image.track = known(track);
        });
        declared.spec().expect("a sound declaration")
    };
    let (pinned, follow) = (spec("pinned"), spec("follow"));
    assert!(!pinned.declares_same(&follow));
    assert!(pinned.names_same_image(&follow));
    assert_eq!(pinned.hash(), follow.hash());
    assert_eq!(pinned.hash(), sound().spec().expect("sound").hash());
}

/// One name may be an image for containers and another for virtual machines.
#[test]
fn another_kind_of_workload_is_another_image_of_a_server() {
    let of_kind = |mut declared: Declared, kind: Kind| {
        declared.workload = Given::Absent;
        let mut spec = declared.spec().expect("a sound declaration");
        spec.workload.kind = kind;
        spec
    };
    let server = || remote("simplestreams", "https://h", "debian/13");
    let container = of_kind(server(), Kind::Container);
    assert!(!container.names_same_image(&of_kind(server(), Kind::Vm)));
    assert!(of_kind(sound(), Kind::Container).names_same_image(&of_kind(sound(), Kind::Vm)));
}
