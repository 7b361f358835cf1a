//! What is refused of an app, where, and what is made of the rest.

use super::*;
use crate::app::{Check, ImageReference, Kind};
use crate::issue::Step;

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

fn health(change: impl FnOnce(&mut DeclaredHealth)) -> Declared {
    let mut health = DeclaredHealth::default();
    change(&mut health);
    Declared {
        health: Given::Known(health),
        ..sound()
    }
}

fn exec(command: &[&str], timeout: Given<String>) -> Declared {
    health(|health| {
        health.check = Given::Known(DeclaredCheck {
            running: Given::Absent,
            exec: Given::Known(DeclaredExec {
                command: Given::Known(command.iter().map(|word| known(word)).collect()),
                timeout,
            }),
        });
    })
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
    let both_checks = health(|health| {
        health.check = Given::Known(DeclaredCheck {
            running: Given::Known(()),
            exec: Given::Known(DeclaredExec::default()),
        });
    });
    let no_check = health(|health| health.check = Given::Known(DeclaredCheck::default()));
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
        (times("per-node"), ".replicas"),
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
        (no_check, ".health.check"),
        (exec(&[], Given::Absent), ".health.check.exec.command"),
        (exec(&["true"], known("10ms")), ".health.check.exec.timeout"),
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
        image.server = known("https://images.example.net");
        image.track = known("follow");
    });
    declared.name = known("Web");
    declared.replicas = known("0");
    let expected = [
        ".name",
        ".replicas",
        ".image.server",
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
    };
    let alias = image(|image| image.alias = Given::Unknown);
    let check = health(|health| health.check = Given::Unknown);
    let command = exec(&["check"], Given::Unknown);
    let server = image(|image| {
        image.alias = known("a");
        image.server = Given::Unknown;
    });
    assert_eq!(refused(&server), [""; 0]);
    for declared in [unknown, alias, check, command] {
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
}

#[test]
fn what_is_absent_has_its_default() {
    let spec = sound().spec().expect("a sound declaration");
    assert_eq!(spec.replicas, 2);
    assert_eq!(
        spec.image.reference,
        ImageReference::Alias("web/v1".to_owned())
    );
    assert_eq!(spec.workload.kind, Kind::Container);
    assert_eq!(spec.health.check, Check::Running {});
    assert_eq!(spec.health.min_healthy_time, crate::app::MIN_HEALTHY_TIME);
    assert_eq!(spec.health.healthy_deadline, crate::app::HEALTHY_DEADLINE);
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
    let mut spec = exec(&["check", "-v"], known("3s"))
        .spec()
        .expect("a sound declaration");
    spec.image.digest = Some("0123".to_owned());
    let text = serde_json::to_string(&spec).expect("JSON");
    assert_eq!(
        serde_json::from_str::<AppSpec>(&text).expect("the same"),
        spec
    );
}
