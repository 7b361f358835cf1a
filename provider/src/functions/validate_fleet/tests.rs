//! `validate_fleet`: the shapes that it takes and refuses, and what its answer says about unknown values. What is wrong
//! with which fleet is tested where it is decided, in `domain::fleet`.

use std::collections::BTreeMap;

use super::*;

fn call(fleet: Value) -> Result<Value, FunctionError> {
    ValidateFleet.call(vec![fleet])
}

fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    let owned = members.map(|(name, value)| (name.to_owned(), value));
    Value::Map(BTreeMap::from(owned))
}

fn list(elements: Vec<Value>) -> Value {
    Value::List(elements)
}

/// A machine as the whole resource: with attributes that do not count, and are not known yet.
fn machine(name: &str, mac: &str) -> Value {
    Value::object([
        ("name", name.into()),
        ("mac", mac.into()),
        ("role", Value::Null),
        ("hostname", Value::Unknown),
        ("security", Value::object([("tpm", true.into())])),
    ])
}

fn app(name: &str, replicas: Value) -> Value {
    let device = map([
        ("type", "proxy".into()),
        ("listen", "tcp:0.0.0.0:80".into()),
    ]);
    let workload = Value::object([("devices", map([("http", device)]))]);
    Value::object([
        ("name", name.into()),
        ("replicas", replicas),
        ("workload", workload),
        ("workloads", Value::Unknown),
        ("secrets_wo", Value::Null),
    ])
}

fn none() -> Value {
    list(Vec::new())
}

#[test]
fn a_sound_fleet_gives_an_empty_list() {
    for fleet in [
        Value::object([]),
        Value::object([("machines", Value::Null)]),
        Value::object([(
            "machines",
            map([("a", machine("a", "525400000001")), ("b", Value::Null)]),
        )]),
        Value::object([
            ("networks", list(vec![map([("name", "lan".into())])])),
            ("apps", list(vec![app("web", 2_u64.into())])),
        ]),
    ] {
        assert_eq!(call(fleet), Ok(none()));
    }
}

/// HO-CFG-10, HF-17: whole resources in maps or lists, and every issue with its place.
#[test]
fn issues_say_where_they_are() {
    let machines = [
        machine("a", "52-54-00-00-00-01"),
        machine("b", "525400000001"),
    ];
    let machines = list(machines.to_vec());
    let apps = map([
        ("x", app("web", 1_u64.into())),
        ("y", app("api", "1".into())),
    ]);
    let issues = call(Value::object([("machines", machines), ("apps", apps)])).expect("a fleet");
    let issues: Vec<&str> = issues
        .as_list()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(issues.len(), 2, "{issues:?}");
    assert!(
        issues[0].starts_with("machines[1].mac: Two machines"),
        "{issues:?}"
    );
    assert!(
        issues[1].starts_with("apps[\"y\"].workload: The apps"),
        "{issues:?}"
    );
    // Of several types in one map, as HCL makes it, each value brings its own.
    let replicas = Value::Dynamic(Box::new(Type::Number), Box::new(1_u64.into()));
    let mixed = map([
        ("x", app("web", replicas.clone())),
        ("y", app("api", replicas)),
    ]);
    let issues = call(Value::object([("apps", mixed)])).expect("a fleet");
    assert_eq!(issues.as_list().map(<[Value]>::len), Some(1));
}

/// What was found is told at once; that nothing was found only when nothing can be any more.
#[test]
fn unknown_values_leave_an_answer_open_unless_there_is_one() {
    let open = machine("c", "525400000003");
    let open = |name: &str| {
        let mut open = open.clone();
        open.set_attr(name, Value::Unknown);
        open
    };
    assert_eq!(call(Value::Unknown), Ok(Value::Unknown));
    let unknown = Value::object([("machines", Value::Unknown)]);
    assert_eq!(call(unknown), Ok(Value::Unknown));
    let fleet = |machines| Value::object([("machines", list(machines))]);
    assert_eq!(call(fleet(vec![Value::Unknown])), Ok(Value::Unknown));
    assert_eq!(call(fleet(vec![open("mac")])), Ok(Value::Unknown));
    assert_eq!(call(fleet(vec![open("hostname")])), Ok(none()));
    let twice = vec![
        machine("a", "525400000001"),
        machine("b", "525400000001"),
        open("mac"),
    ];
    let found = call(fleet(twice.clone())).expect("a fleet");
    assert_eq!(found.as_list().map(<[Value]>::len), Some(1));
    // While a configuration is validated, whole resources are unknown: one half of the issues would be told, and the
    // other half by the plan after they were corrected.
    let unknown_too = [twice, vec![Value::Unknown]].concat();
    assert_eq!(call(fleet(unknown_too)), Ok(Value::Unknown));
}

#[test]
fn another_shape_is_an_error_that_says_what_was_expected() {
    let single = machine("a", "525400000001");
    for (fleet, parts) in [
        (
            "web".into(),
            [
                "fleet is a text",
                "Expected an object of networks, machines and apps",
            ],
        ),
        (list(Vec::new()), ["fleet is a list", "Expected an object"]),
        (
            Value::object([("machine", none())]),
            [
                "has \"machine\"",
                "Expected networks, machines and apps only",
            ],
        ),
        (
            Value::object([("apps", 5_u64.into())]),
            ["apps is a number", "Expected a map or a list of apps"],
        ),
        (
            Value::object([("machines", single)]),
            ["machines[\"mac\"] is a text", "machines = [ … ]"],
        ),
        (
            Value::object([("machines", list(vec!["a".into()]))]),
            ["machines[0] is a text", "Expected an object"],
        ),
        (
            Value::object([("machines", map([("a", map([("mac", true.into())]))]))]),
            ["machines[\"a\"].mac is a bool", "Expected a text"],
        ),
        (
            Value::object([("apps", map([("a", Value::object([("workload", none())]))]))]),
            ["apps[\"a\"].workload is a list", "Expected an object"],
        ),
    ] {
        let error = call(fleet).expect_err(parts[0]);
        assert_eq!(error.argument, Some(0));
        for part in parts {
            assert!(error.message.contains(part), "{part}: {error}");
        }
    }
    let two = Value::object([("app", none()), ("machines", true.into())]);
    let error = call(two).expect_err("two faults");
    assert_eq!(error.message.lines().count(), 2, "{error}");
}
