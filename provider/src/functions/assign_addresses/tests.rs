//! `assign_addresses`: what it answers, what it refuses, and that it answers as `homelab_network` plans.

use proptest::prelude::*;
use tfplugin::testing;

use super::*;
use crate::resources::Network;

fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    let owned = members.map(|(name, value)| (name.to_owned(), value));
    Value::Map(BTreeMap::from(owned))
}

fn lan(claims: Value) -> Vec<Value> {
    vec![
        "10.0.0.0/24".into(),
        "10.0.0.1".into(),
        Value::List(vec!["10.0.0.1".into()]),
        "10.0.0.10-10.0.0.14".into(),
        claims,
    ]
}

fn overlay(claims: Value) -> Vec<Value> {
    let null = || Value::Null;
    vec!["10.100.0.0/24".into(), null(), null(), null(), claims]
}

fn with(mut arguments: Vec<Value>, position: usize, value: Value) -> Vec<Value> {
    arguments.resize(arguments.len().max(position + 1), Value::Null);
    arguments[position] = value;
    arguments
}

fn call(arguments: Vec<Value>) -> Result<Value, FunctionError> {
    AssignAddresses.call(arguments)
}

/// HO-IPAM-02, HO-IPAM-03, HO-WG-03.
#[test]
fn pins_come_first_and_the_rest_takes_the_lowest_free_address() {
    let claims = map([("a", Value::Null), ("b", "10.0.0.10".into())]);
    let expected = map([("a", "10.0.0.11".into()), ("b", "10.0.0.10".into())]);
    assert_eq!(call(lan(claims)), Ok(expected));
    assert_eq!(
        call(overlay(map([("a", Value::Null)]))),
        Ok(map([("a", "10.100.0.2".into())]))
    );
    assert_eq!(call(lan(map([]))), Ok(map([])));
}

/// HO-IPAM-04: given what machines hold, nobody moves. Null in it holds nothing.
#[test]
fn held_addresses_are_kept() {
    let claims = map([("a", Value::Null), ("b", Value::Null)]);
    let held = map([
        ("a", Value::Null),
        ("b", "10.0.0.10".into()),
        ("gone", "10.0.0.11".into()),
    ]);
    let expected = map([("a", "10.0.0.11".into()), ("b", "10.0.0.10".into())]);
    assert_eq!(call(with(lan(claims), HELD, held)), Ok(expected));
}

/// Unknown arguments make unknown only what depends on them.
#[test]
fn unknown_arguments_are_tolerated() {
    let claims = map([
        ("a", Value::Unknown),
        ("b", Value::Null),
        ("c", "10.0.0.14".into()),
    ]);
    let expected = map([
        ("a", Value::Unknown),
        ("b", Value::Unknown),
        ("c", "10.0.0.14".into()),
    ]);
    assert_eq!(call(lan(claims)), Ok(expected));
    let pinned = || map([("a", "10.0.0.12".into())]);
    for (position, name) in NAMES.iter().enumerate().take(4) {
        let called = call(with(lan(pinned()), position, Value::Unknown));
        assert_eq!(called, Ok(pinned()), "{name}");
    }
    assert_eq!(call(lan(Value::Unknown)), Ok(Value::Unknown));
    // LAN or overlay: only one of them may be told before the rest is known.
    let open = with(overlay(map([("a", Value::Null)])), 1, Value::Unknown);
    assert_eq!(call(open), Ok(map([("a", Value::Unknown)])));
}

#[test]
fn what_is_wrong_is_told_at_its_argument() {
    let pin = |address: &str| map([("a", address.into())]);
    let one = || lan(map([("a", Value::Null)]));
    let twice = with(with(one(), HELD, map([])), HELD + 1, map([]));
    let none = Value::Null;
    for (arguments, argument, parts) in [
        (
            with(one(), 0, "10.0.0.0/33".into()),
            0,
            ["\"10.0.0.0/33\"", "Expected an IPv4 network"],
        ),
        (
            with(one(), 1, "10.0.1.1".into()),
            1,
            ["10.0.1.1 is outside", "Set the address"],
        ),
        (
            with(one(), 2, vec![Value::Null].into()),
            2,
            ["dns[0]", "Expected the address of a resolver"],
        ),
        (
            with(one(), 3, "10.0.0.20".into()),
            3,
            ["\"10.0.0.20\"", "with a hyphen between"],
        ),
        (
            with(one(), 1, none.clone()),
            1,
            ["gateway is null, and dns is given", "null for all three"],
        ),
        (
            with(one(), 3, none),
            3,
            [
                "static_range is null, and gateway is given",
                "null for all three",
            ],
        ),
        (lan(pin("10.0.0.1")), 4, ["claims[\"a\"]", "is the gateway"]),
        (
            lan(map([("A", Value::Null)])),
            4,
            ["claims[\"A\"]", "Rename the machine"],
        ),
        (
            with(one(), HELD, pin("10.0.0")),
            HELD,
            ["machine \"a\" has \"10.0.0\"", "Expected the IPv4 address"],
        ),
        (twice, HELD + 1, ["more than once", "merge()"]),
    ] {
        let error = call(arguments).expect_err(parts[0]);
        assert_eq!(error.argument, Some(argument), "{error}");
        for part in parts {
            assert!(error.message.contains(part), "{part}: {error}");
        }
    }
}

/// HO-CFG-10, HO-IPAM-06: all issues at once, and no part of an answer.
#[test]
fn all_issues_are_told_at_once() {
    let claims = map([("a", "10.0.0.1".into()), ("B", Value::Null)]);
    let error = call(with(lan(claims), 0, "10.0.0.3/24".into())).expect_err("three issues");
    assert_eq!(error.message.lines().count(), 3, "{error}");
    assert_eq!(error.argument, Some(0));
}

/// What `homelab_network` plans for the same network.
fn resource(arguments: &[Value]) -> Option<Value> {
    let [cidr, gateway, dns, static_range, claims, held] = arguments else {
        return None;
    };
    let config = |claims: &Value| {
        let kind = if gateway.is_null() { "overlay" } else { "lan" };
        Value::object([
            ("name", "net".into()),
            ("kind", kind.into()),
            ("cidr", cidr.clone()),
            ("gateway", gateway.clone()),
            ("dns", dns.clone()),
            ("static_range", static_range.clone()),
            ("claims", claims.clone()),
        ])
    };
    let mut prior = config(held);
    prior.set_attr("assignments", held.clone());
    let planned = testing::plan(&Network, config(claims), prior, Vec::new()).ok()?;
    let refused = planned.diagnostics.has_errors();
    (!refused).then(|| planned.state.attr("assignments").clone())
}

fn claims() -> impl Strategy<Value = Value> {
    let pin = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(Value::Unknown),
        2 => (8..16_u8).prop_map(|last| format!("10.0.0.{last}").into()),
    ];
    proptest::collection::btree_map("[a-f]", pin, 0..6).prop_map(Value::Map)
}

proptest! {
    /// The same code for the same network: function and resource never disagree, refusals included.
    #[test]
    fn it_answers_as_the_resource_plans(
        is_lan in any::<bool>(),
        claims in claims(),
        held in proptest::collection::btree_map("[a-f]", (8..16_u8).prop_map(|last| Value::from(format!("10.0.0.{last}"))), 0..4),
    ) {
        let arguments = match is_lan {
            true => lan(claims),
            false => with(overlay(claims), 0, "10.0.0.0/28".into()),
        };
        let arguments = with(arguments, HELD, Value::Map(held));
        prop_assert_eq!(call(arguments.clone()).ok(), resource(&arguments));
    }
}
