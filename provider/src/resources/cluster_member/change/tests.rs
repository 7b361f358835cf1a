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
