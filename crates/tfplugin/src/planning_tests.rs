//! Tests of `planning.rs` and `plan_rules.rs`: what is planned for a configuration and a prior state.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::*;
use crate::testing;
use crate::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, ReadRequest, ReadState, Type,
    UpdateRequest, same_duration, timeouts_attribute,
};

/// A resource with an attribute of each kind that the rules know. Only its planning is of interest.
struct Thing {
    own: fn(&mut Plan<'_>),
}

#[async_trait]
impl Resource for Thing {
    fn schema(&self) -> Schema {
        Schema::new(0, "A thing.").attributes([
            Attribute::string("name").required().replace(),
            Attribute::string("kind")
                .optional_computed()
                .default("plain"),
            Attribute::string("zone").optional().replace_from_known(),
            Attribute::string("period")
                .optional()
                .same_meaning(same_duration),
            Attribute::string("secret").optional().write_only(),
            Attribute::string("id").computed().keep_prior(),
            Attribute::string("phase").computed(),
            Attribute::map("labels", Type::String).optional(),
            timeouts_attribute(&["create"]),
            Attribute::single(
                "image",
                [
                    Attribute::string("alias").optional().replace(),
                    Attribute::string("digest").computed(),
                    Attribute::string("track")
                        .optional_computed()
                        .default("pinned"),
                ],
            )
            .optional(),
            Attribute::nested_map(
                "disks",
                [
                    Attribute::string("every")
                        .optional()
                        .same_meaning(same_duration),
                    Attribute::string("serial").computed().keep_prior(),
                    Attribute::string("status").computed(),
                    Attribute::string("key").optional().write_only(),
                    Attribute::string("class").optional().replace(),
                ],
            )
            .optional(),
            Attribute::nested_list(
                "steps",
                [Attribute::string("after")
                    .optional()
                    .same_meaning(same_duration)],
            )
            .optional(),
            Attribute::nested_map("workloads", [Attribute::string("member").computed()]).computed(),
        ])
    }

    fn plan(&self, plan: &mut Plan<'_>) {
        (self.own)(plan);
    }

    async fn create(&self, request: CreateRequest, _: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn read(&self, request: ReadRequest, _: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        }
    }

    async fn update(&self, request: UpdateRequest, _: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn delete(&self, _: DeleteRequest, _: &Call) -> Applied {
        Applied::new(Value::Null)
    }
}

fn plan_by(own: fn(&mut Plan<'_>), config: Value, prior: Value) -> Planned {
    testing::plan(&Thing { own }, config, prior, b"noted".to_vec()).expect("fitting values")
}

fn plan(config: Value, prior: Value) -> Planned {
    plan_by(|_| {}, config, prior)
}

fn config() -> Value {
    Value::object([("name", "a".into())])
}

/// The state of an object that was made from [`config`].
fn prior() -> Value {
    Value::object([
        ("name", "a".into()),
        ("kind", "plain".into()),
        ("id", "id-1".into()),
        ("phase", "ready".into()),
        (
            "workloads",
            map([("0", Value::object([("member", "m".into())]))]),
        ),
    ])
}

fn with(mut value: Value, name: &str, of: impl Into<Value>) -> Value {
    value.set_attr(name, of);
    value
}

fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Map(
        members
            .into_iter()
            .map(|(key, member)| (key.to_owned(), member))
            .collect::<BTreeMap<_, _>>(),
    )
}

fn conformed(value: Value) -> Value {
    value
        .conform(&Thing { own: |_| {} }.schema().object_type())
        .expect("a fit")
}

fn paths(planned: &Planned) -> Vec<String> {
    planned
        .requires_replace
        .iter()
        .map(Path::to_string)
        .collect()
}

#[test]
fn a_creation_has_defaults_and_unknown_computed_values() {
    let planned = plan(with(config(), "image", Value::object([])), Value::Null);
    assert_eq!(planned.state.attr("kind").as_str(), Some("plain"));
    assert_eq!(
        planned.state.attr("image").attr("track").as_str(),
        Some("pinned")
    );
    for name in ["id", "phase", "workloads"] {
        assert!(planned.state.attr(name).is_unknown(), "{name}");
    }
    assert!(planned.state.attr("image").attr("digest").is_unknown());
    assert!(planned.state.attr("image").attr("alias").is_null());
    assert!(planned.state.attr("labels").is_null() && planned.state.attr("disks").is_null());
    assert_eq!(planned.private, b"noted");
    assert_eq!(paths(&planned), [""; 0]);
}

#[test]
fn nothing_to_do_keeps_everything() {
    let planned = plan(config(), prior());
    assert_eq!(planned.state, conformed(prior()));
}

#[test]
fn a_change_makes_computed_values_unknown_except_those_that_keep() {
    let planned = plan(with(config(), "labels", map([("x", "y".into())])), prior());
    assert_eq!(planned.state.attr("id").as_str(), Some("id-1"));
    assert!(planned.state.attr("phase").is_unknown());
    assert!(planned.state.attr("workloads").is_unknown());
    // What would keep its value has to have one.
    let planned = plan(
        with(config(), "zone", "z"),
        with(prior(), "id", Value::Null),
    );
    assert!(planned.state.attr("id").is_unknown());
}

#[test]
fn the_same_meaning_keeps_the_old_spelling_and_is_no_change() {
    let old = with(
        with(prior(), "period", "1h30m"),
        "timeouts",
        Value::object([("create", "60s".into())]),
    );
    let new = with(
        with(config(), "period", "90m"),
        "timeouts",
        Value::object([("create", "1m".into())]),
    );
    let planned = plan(new.clone(), old.clone());
    assert_eq!(planned.state, conformed(old.clone()));
    let planned = plan(with(new, "period", "91m"), old);
    assert_eq!(planned.state.attr("period").as_str(), Some("91m"));
    assert_eq!(
        planned.state.attr("timeouts").attr("create").as_str(),
        Some("60s"),
        "leaf by leaf"
    );
}

#[test]
fn spelling_is_kept_in_nested_maps_by_key_and_in_lists_by_position() {
    let disk = |every: &str| {
        Value::object([
            ("every", every.into()),
            ("serial", "s1".into()),
            ("status", "ok".into()),
        ])
    };
    let old = with(
        prior(),
        "disks",
        map([("a", disk("60s")), ("b", disk("1h"))]),
    );
    let every = |every: &str| Value::object([("every", every.into())]);
    let planned = plan(
        with(
            config(),
            "disks",
            map([("b", every("60m")), ("c", every("60s"))]),
        ),
        old,
    );
    assert_eq!(
        planned.state.attr("disks").attr("b").attr("every").as_str(),
        Some("1h")
    );
    assert_eq!(
        planned
            .state
            .attr("disks")
            .attr("b")
            .attr("serial")
            .as_str(),
        Some("s1")
    );
    assert!(
        planned
            .state
            .attr("disks")
            .attr("b")
            .attr("status")
            .is_unknown()
    );
    assert_eq!(
        planned.state.attr("disks").attr("c").attr("every").as_str(),
        Some("60s")
    );
    assert!(
        planned
            .state
            .attr("disks")
            .attr("c")
            .attr("serial")
            .is_unknown()
    );

    let steps = |first: &str| Value::from(vec![Value::object([("after", first.into())])]);
    let planned = plan(
        with(config(), "steps", steps("60s")),
        with(prior(), "steps", steps("1m")),
    );
    assert_eq!(
        planned.state,
        conformed(with(prior(), "steps", steps("1m")))
    );
}

#[test]
fn write_only_values_are_in_no_plan_and_are_no_change() {
    let planned = plan(with(config(), "secret", "s3cret"), prior());
    assert_eq!(planned.state, conformed(prior()));
    let key = |key: Value| {
        map([(
            "a",
            Value::object([
                ("key", key),
                ("serial", "s".into()),
                ("status", "ok".into()),
            ]),
        )])
    };
    let configured = map([("a", Value::object([("key", "s3cret".into())]))]);
    let planned = plan(
        with(config(), "disks", configured),
        with(prior(), "disks", key(Value::Null)),
    );
    assert_eq!(
        planned.state,
        conformed(with(prior(), "disks", key(Value::Null)))
    );
}

#[test]
fn unknown_configurations_stay_unknown() {
    let planned = plan(
        with(
            with(config(), "zone", Value::Unknown),
            "disks",
            Value::Unknown,
        ),
        Value::Null,
    );
    assert!(planned.state.attr("zone").is_unknown() && planned.state.attr("disks").is_unknown());
    let planned = plan(
        with(config(), "period", Value::Unknown),
        with(prior(), "period", "1m"),
    );
    assert!(planned.state.attr("period").is_unknown());
}

#[test]
fn replacements_name_their_paths_and_happen_to_updates_only() {
    let image = |alias: &str| Value::object([("alias", alias.into()), ("track", "pinned".into())]);
    let disk = |class: &str| map([("a", Value::object([("class", class.into())]))]);
    let base = || with(with(prior(), "image", image("v1")), "disks", disk("local"));
    for (config, expected) in [
        (
            with(config(), "name", "b"),
            vec!["disks[\"a\"].class", "image.alias", "name"],
        ),
        (
            with(with(config(), "image", image("v2")), "disks", disk("local")),
            vec!["image.alias"],
        ),
        (
            with(
                with(config(), "image", image("v1")),
                "disks",
                disk("remote"),
            ),
            vec!["disks[\"a\"].class"],
        ),
        (
            with(
                with(
                    config(),
                    "image",
                    Value::object([("alias", Value::Unknown)]),
                ),
                "disks",
                disk("local"),
            ),
            vec!["image.alias"],
        ),
    ] {
        assert_eq!(paths(&plan(config.clone(), base())), expected, "{config:?}");
        assert_eq!(paths(&plan(config, Value::Null)), [""; 0]);
    }
    assert_eq!(
        paths(&plan(with(config(), "zone", "z"), prior())),
        [""; 0],
        "from null to a value"
    );
    assert_eq!(paths(&plan(config(), with(prior(), "zone", "z"))), ["zone"]);
    assert_eq!(
        paths(&plan(
            with(config(), "zone", Value::Unknown),
            with(prior(), "zone", "z")
        )),
        ["zone"]
    );
}

#[test]
fn the_resource_has_the_last_word() {
    let planned = plan_by(
        |plan| {
            assert!(plan.is_update() && !plan.changed());
            plan.set_unknown("phase");
            plan.set("secret", "must not stay");
            plan.replace_because_of("kind");
            plan.replace_because_of("kind");
            plan.private = b"planned".to_vec();
            plan.diagnostics.push(Diagnostic::warning("mind the gap"));
        },
        config(),
        prior(),
    );
    assert!(planned.state.attr("phase").is_unknown());
    assert!(planned.state.attr("secret").is_null());
    assert_eq!(paths(&planned), ["kind"]);
    assert_eq!(planned.private, b"planned");
    assert_eq!(planned.diagnostics.len(), 1);
}

#[test]
fn a_creation_and_a_destruction_replace_nothing_whatever_the_resource_says() {
    let own = |plan: &mut Plan<'_>| plan.requires_replace.push(Path::new("name"));
    assert_eq!(paths(&plan_by(own, config(), prior())), ["name"]);
    assert_eq!(paths(&plan_by(own, config(), Value::Null)), [""; 0]);
    assert_eq!(paths(&plan_by(own, Value::Null, prior())), [""; 0]);
}

#[test]
fn a_destruction_stays_one() {
    let planned = plan_by(
        |plan| {
            assert!(plan.is_destroy() && !plan.is_create() && !plan.is_update());
            plan.set("phase", "going");
            plan.planned = plan.prior.clone();
        },
        Value::Null,
        prior(),
    );
    assert!(planned.state.is_null());
    assert_eq!(planned.private, b"noted");
}

#[test]
fn a_plan_out_of_shape_is_an_error_at_its_place() {
    let planned = plan_by(|plan| plan.set("phase", 7i64), config(), Value::Null);
    let said: Vec<_> = planned
        .diagnostics
        .iter()
        .map(|one| one.path.clone())
        .collect();
    assert_eq!(said, [Some(Path::new("phase"))]);
    assert!(planned.state.is_null());
}
