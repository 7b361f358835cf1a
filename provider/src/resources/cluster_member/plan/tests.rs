//! What the plan of a member keeps, and what it leaves to the apply.

use tfplugin::testing;

use super::*;
use crate::resources::ClusterMember;

const PEM: &str = include_str!("../../seed/tests/break-glass.crt");

fn config() -> Value {
    Value::object([
        ("name", "b".into()),
        ("address", "10.0.0.2".into()),
        ("groups", list(&["default", "ssd"])),
        ("metrics_certificate", PEM.into()),
    ])
}

fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut config = config();
    config.set_attr(name, value);
    config
}

fn list(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(*text)).collect())
}

/// The state after an apply in which nothing was left missing.
fn applied() -> Value {
    let mut state = config();
    for (name, value) in [
        ("missing", list(&[])),
        ("owner", "me".into()),
        ("status", "Online".into()),
        ("roles", list(&["database"])),
        ("server_version", "7.0.1".into()),
        ("architecture", "x86_64".into()),
        ("location", "10.0.0.2:8443".into()),
    ] {
        state.set_attr(name, value);
    }
    state
}

fn planned(config: Value, prior: Value) -> testing::Planned {
    planned_with(config, prior, Vec::new())
}

fn planned_with(config: Value, prior: Value, private: Vec<u8>) -> testing::Planned {
    let member = ClusterMember::new(
        std::sync::Arc::default(),
        std::sync::Arc::default(),
        std::sync::Arc::default(),
    );
    let plan = || {
        testing::plan(&member, config.clone(), prior.clone(), private.clone())
            .expect("a configuration of this schema")
    };
    let (first, second) = (plan(), plan());
    assert!(!first.diagnostics.has_errors(), "{:?}", first.diagnostics);
    assert_eq!(
        first.state, second.state,
        "a plan is made twice, and both must agree"
    );
    first
}

fn unknown(config: Value, prior: Value) -> Vec<&'static str> {
    let plan = planned(config, prior).state;
    COMPUTED
        .into_iter()
        .filter(|name| plan.attr(name).is_unknown())
        .collect()
}

#[test]
fn of_a_create_nothing_is_known_but_what_is_declared() {
    assert_eq!(unknown(config(), Value::Null), COMPUTED);
}

/// Another spelling, and what counts only before a machine is a member (HO-CLUS-05) or when it leaves.
#[test]
fn what_asks_nothing_of_a_member_keeps_everything() {
    let force = Value::object([("force", true.into())]);
    for config in [
        config(),
        with("address", "10.0.0.2:8443"),
        with("groups", list(&["ssd", "default"])),
        with("metrics_certificate", PEM.replace('\n', "\r\n")),
        with("role", "join"),
        with("role", "bootstrap"),
        with("server_fingerprint", "ab".repeat(32)),
        with("on_destroy", force),
        with("timeouts", Value::object([("update", "7m".into())])),
    ] {
        let plan = planned(config.clone(), applied());
        assert_eq!(unknown(config.clone(), applied()), [""; 0], "{config:?}");
        assert!(!is_change(&plan.state));
    }
}

#[test]
fn a_change_leaves_nothing_missing_and_keeps_who_and_where() {
    for config in [
        with("state", "evacuated"),
        with("failure_domain", "rack-1"),
        with("groups", list(&["default"])),
        with("groups", Value::Null),
        with("groups", Value::Unknown),
        with(
            "config",
            Value::Map([("user.x".to_owned(), "1".into())].into()),
        ),
        with("metrics_certificate", Value::Null),
    ] {
        let plan = planned(config.clone(), applied());
        assert_eq!(unknown(config, applied()), CHANGING);
        assert_eq!(plan.state.attr("missing"), &list(&[]));
        assert!(is_change(&plan.state) && plan.requires_replace.is_empty());
    }
}

/// HO-JOIN-19: what an earlier apply could not do is something to do, though nothing else differs.
#[test]
fn what_is_missing_is_repaired_by_the_next_apply() {
    let mut prior = applied();
    prior.set_attr("missing", list(&["custom volume local/logs"]));
    let plan = planned(config(), prior.clone());
    assert_eq!(unknown(config(), prior), CHANGING);
    assert_eq!(plan.state.attr("missing"), &list(&[]));
}

/// What a plan with unknown inputs says is known has to stay so when they are known, and nothing else differs.
#[test]
fn a_list_that_no_read_has_filled_stays_open_as_long_as_inputs_are() {
    let mut prior = applied();
    prior.set_attr("missing", Value::Null);
    let plan = planned(with("groups", Value::Unknown), prior.clone());
    assert!(plan.state.attr("missing").is_unknown());
    assert!(planned(config(), prior).state.attr("missing").is_null());
}

/// A change that failed, also when the configuration was changed back, and a removal that was refused half-way.
#[test]
fn what_was_cut_off_is_something_to_do() {
    let private = private::of(&reconcile::member::View::default(), true);
    let plan = planned_with(config(), applied(), private);
    assert!(is_change(&plan.state));
    assert_eq!(plan.state.attr("owner").as_str(), Some("me"));
    let plan = planned_with(
        Value::Null,
        applied(),
        private::of(&reconcile::member::View::default(), true),
    );
    assert!(plan.state.is_null());
}

/// A plan that is empty stays so; the owner comes with the first change.
#[test]
fn a_member_that_was_imported_without_an_entry_is_owned_by_its_first_change() {
    let mut prior = applied();
    prior.set_attr("owner", Value::Null);
    let plan = planned(config(), prior.clone());
    assert!(!is_change(&plan.state) && plan.state.attr("owner").is_null());
    let plan = planned(with("state", "evacuated"), prior);
    assert!(is_change(&plan.state) && plan.state.attr("owner").is_unknown());
}

#[test]
fn a_member_that_was_imported_needs_no_change() {
    let mut prior = applied();
    for name in ["groups", "metrics_certificate"] {
        prior.set_attr(name, Value::Null);
    }
    prior.set_attr("address", "10.0.0.2:8443");
    let config = Value::object([("name", "b".into()), ("address", "10.0.0.2:8443".into())]);
    let plan = planned(config, prior.clone());
    assert_eq!(
        plan.state,
        prior
            .conform(&crate::resources::cluster_member::schema::schema().object_type())
            .expect("a state")
    );
}

fn said(config: Value, prior: Value) -> Vec<String> {
    let plan = planned(config, prior);
    plan.diagnostics
        .iter()
        .map(|one| one.summary.clone())
        .collect()
}

/// HO-CLUS-05, HO-CLUS-13.
#[test]
fn what_cannot_change_is_told_before_the_apply() {
    let mut as_join = applied();
    as_join.set_attr("role", "join");
    let role = "The role of member b counts only when it is made";
    let address = "The address of member b cannot change";
    let none: [&str; 0] = [];
    assert_eq!(said(with("role", "bootstrap"), as_join.clone()), [role]);
    assert_eq!(said(with("role", Value::Null), as_join.clone()), none);
    assert_eq!(said(with("role", Value::Unknown), as_join), none);
    // An import knows no role.
    assert_eq!(said(with("role", "bootstrap"), applied()), none);
    assert_eq!(said(with("address", "10.0.0.9"), applied()), [address]);
    // A name may stand for any address.
    assert_eq!(said(with("address", "b.example.net"), applied()), none);
}
