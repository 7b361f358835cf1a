//! What a finished change hands back.

use super::*;

/// What was planned as known is returned so, whatever was seen; what was unknown is known, or null.
#[test]
fn a_success_returns_what_was_planned() {
    let config = Value::object([("name", "b".into()), ("address", "10.0.0.2".into())]);
    let spec = spec_of(&config).expect("a declaration");
    let member = domain::membership::observation::Member {
        name: "b".to_owned(),
        address: Some(spec.address.clone()),
        ..Default::default()
    };
    let mut view = View::default();
    view.seen.members.push(member);
    let mut planned = config;
    planned.set_attr("location", Value::Unknown);
    planned.set_attr("status", Value::Unknown);
    planned.set_attr("architecture", "x86_64");
    let applied = finished(planned, &spec, &view);
    assert!(!applied.diagnostics.has_errors());
    assert_eq!(
        applied.state.attr("location").as_str(),
        Some("10.0.0.2:8443")
    );
    assert_eq!(applied.state.attr("architecture").as_str(), Some("x86_64"));
    assert!(applied.state.attr("status").is_null());
}

/// A dead member cannot be changed, and what allows it to be removed counts as it was applied.
#[test]
fn a_failed_update_keeps_what_concerns_the_state_alone() {
    let force = Value::object([("force", true.into())]);
    let prior = Value::object([
        ("name", "b".into()),
        ("failure_domain", "rack-1".into()),
        ("on_destroy", Value::Null),
        ("timeouts", Value::Null),
    ]);
    let mut planned = prior.clone();
    planned.set_attr("failure_domain", "rack-2");
    planned.set_attr("on_destroy", force.clone());
    let state = unchanged(&prior, &planned);
    assert_eq!(state.attr("failure_domain").as_str(), Some("rack-1"));
    assert_eq!(state.attr("on_destroy"), &force);
}
