//! What a look at the cluster changes in the state of a member.

use domain::membership::observation::{Cluster, MemberServer, Version};

use super::*;

/// Member b, which has everything that is declared.
fn member() -> Member {
    Member {
        name: "b".to_owned(),
        address: domain::membership::declared::parse_address("10.0.0.2").ok(),
        status: Status::Online,
        groups: ["default".to_owned(), "ssd".to_owned()].into(),
        config: BTreeMap::from([("user.x".to_owned(), "1".to_owned())]),
        failure_domain: "rack-1".to_owned(),
        server: Some(MemberServer {
            version: Version {
                text: "7.0.1".to_owned(),
                extensions: 1,
            },
            ..MemberServer::default()
        }),
        ..Member::default()
    }
}

fn declared_state() -> Value {
    let config = [("user.x", "1"), ("user.y", "")];
    let config = config.map(|(key, value)| (key.to_owned(), Value::from(value)));
    Value::object([
        ("name", "b".into()),
        ("address", "10.0.0.2".into()),
        ("groups", list(vec!["ssd".to_owned(), "default".to_owned()])),
        ("config", Value::Map(config.into())),
        ("failure_domain", "rack-1".into()),
        ("state", "online".into()),
        ("missing", list(vec!["before".to_owned()])),
        ("server_version", "7.0.0".into()),
    ])
}

fn refreshed(mut state: Value, member: &Member, status: &str) -> Value {
    let listed = incus::cluster::Member {
        status: status.to_owned(),
        roles: vec!["database".to_owned()],
        architecture: "x86_64".to_owned(),
        ..incus::cluster::Member::default()
    };
    let view = View {
        seen: Cluster {
            members: vec![member.clone()],
            groups: ["default".to_owned(), "ssd".to_owned()].into(),
            ..Cluster::default()
        },
        members: BTreeMap::from([("b".to_owned(), listed)]),
        fingerprint: None,
    };
    refresh(&mut state, member, &view);
    state
}

#[test]
fn a_member_as_declared_keeps_every_spelling() {
    let before = declared_state();
    let state = refreshed(before.clone(), &member(), "Online");
    for name in ["address", "groups", "config", "failure_domain", "state"] {
        assert_eq!(state.attr(name), before.attr(name), "{name}");
    }
    assert_eq!(state.attr("missing"), &list(vec![]));
    for (name, value) in [
        ("status", "Online"),
        ("server_version", "7.0.1"),
        ("architecture", "x86_64"),
        ("location", "10.0.0.2:8443"),
    ] {
        assert_eq!(state.attr(name).as_str(), Some(value), "{name}");
    }
}

/// Drift shows where it is declared, and is not missing a second time; what is not declared stays null.
#[test]
fn drift_shows_at_its_attribute() {
    let mut changed = member();
    changed.groups = ["default".to_owned()].into();
    changed.config = BTreeMap::from([("user.y".to_owned(), "2".to_owned())]);
    changed.failure_domain = "default".to_owned();
    changed.status = Status::Evacuated;
    let state = refreshed(declared_state(), &changed, "Evacuated");
    assert_eq!(state.attr("groups"), &list(vec!["default".to_owned()]));
    let config = state.attr("config");
    assert_eq!(config.attr("user.y").as_str(), Some("2"));
    assert!(config.attr("user.x").is_null());
    assert_eq!(state.attr("failure_domain").as_str(), Some("default"));
    assert_eq!(state.attr("state").as_str(), Some("evacuated"));
    assert_eq!(state.attr("missing"), &list(vec![]));
    let bare = Value::object([("name", "b".into()), ("address", "10.0.0.2".into())]);
    let state = refreshed(bare, &changed, "Evacuated");
    for name in ["groups", "config", "failure_domain", "state"] {
        assert!(state.attr(name).is_null(), "{name}");
    }
}

/// A dead member is no reason to change anything: only its status is news.
#[test]
fn a_silent_member_keeps_what_was_known() {
    let mut dead = member();
    dead.server = None;
    dead.status = Status::Offline;
    dead.groups = ["default".to_owned()].into();
    let before = declared_state();
    let state = refreshed(before.clone(), &dead, "Offline");
    assert_eq!(state.attr("status").as_str(), Some("Offline"));
    for name in ["groups", "state", "missing", "server_version"] {
        assert_eq!(state.attr(name), before.attr(name), "{name}");
    }
}

#[test]
fn what_is_missing_is_what_no_attribute_shows() {
    let mut state = declared_state();
    let storage =
        [("pool", "tank"), ("driver", "zfs")].map(|(name, value)| (name, Value::from(value)));
    state.set_attr("storage", Value::object(storage));
    let state = refreshed(state, &member(), "Online");
    let missing = state.attr("missing").as_list().unwrap_or_default();
    assert_eq!(
        missing.first(),
        Some(&"storage pool tank".into()),
        "{missing:?}"
    );
}
