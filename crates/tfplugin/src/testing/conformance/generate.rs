//! Makes configurations from a schema.
//!
//! A provider refuses almost everything that a schema allows, so values come from hints wherever there are some: three
//! of four configurations hold only hinted values there, the others any. What is secret is recognisable, so that it can
//! be looked for where it must not be. Cases are put together in `case.rs`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::{Attribute, Kind, Nesting, Number, Schema, Type, Value};

/// What the caller knows about good values, by `kind` and path of attribute names such as `toy_box` and `lid.period`.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    pub(super) values: BTreeMap<String, Vec<Value>>,
    /// Of maps, by the path of the map.
    pub(super) keys: BTreeMap<String, Vec<String>>,
    /// What a good configuration gives, though the schema does not demand it.
    pub(super) always: BTreeSet<String>,
}

/// How secrets begin.
pub(super) const SECRET: &str = "secret-";

/// Elements of collections: few, so that cases stay readable and equal elements happen.
const MOST_ELEMENTS: usize = 3;

/// Configurations.
pub(super) fn config(schema: &Schema, hints: &Hints) -> BoxedStrategy<Value> {
    let configs = |tidy| object(&schema.attributes, "", hints, tidy, false);
    let of = schema.object_type();
    // Hinted objects leave attributes out. What does not fit at all is said when it is to be sent.
    let shaped = move |config: Value| config.clone().conform(&of).unwrap_or(config);
    let configs = prop_oneof![3 => configs(true), 1 => configs(false)];
    configs.prop_map(shaped).boxed()
}

/// States: what a provider could have computed stands in them too.
pub(super) fn state(schema: &Schema, hints: &Hints) -> BoxedStrategy<Value> {
    object(&schema.attributes, "", hints, true, true)
}

/// Values of a type, for functions.
pub(super) fn argument(of: &Type, path: &str, hints: &Hints) -> BoxedStrategy<Value> {
    let arbitrary = plain(of, path, hints, false);
    match hints.values.get(path) {
        Some(values) => prop_oneof![3 => select(values.clone()), 1 => arbitrary].boxed(),
        None => arbitrary,
    }
}

fn object(
    attributes: &[Attribute],
    path: &str,
    hints: &Hints,
    tidy: bool,
    computed: bool,
) -> BoxedStrategy<Value> {
    let members: Vec<BoxedStrategy<(String, Value)>> = attributes
        .iter()
        .map(|attribute| {
            let name = attribute.name.clone();
            let path = below(path, &name);
            let value = member(attribute, &path, hints, tidy, computed);
            value.prop_map(move |value| (name.clone(), value)).boxed()
        })
        .collect();
    let object = members.prop_map(|members| Value::Object(members.into_iter().collect()));
    object.boxed()
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// The value of an attribute, null where it may be left out.
fn member(
    attribute: &Attribute,
    path: &str,
    hints: &Hints,
    tidy: bool,
    computed: bool,
) -> BoxedStrategy<Value> {
    if !(attribute.required || attribute.optional || computed) {
        return Just(Value::Null).boxed();
    }
    let any = match &attribute.kind {
        Kind::Plain(Type::String) if attribute.sensitive || attribute.write_only => secret(),
        Kind::Plain(of) => plain(of, path, hints, tidy),
        Kind::Nested(nesting, nested) => {
            let element = object(nested, path, hints, tidy, computed);
            match nesting {
                Nesting::Single => element,
                Nesting::List => list(element),
                Nesting::Set => set(element),
                Nesting::Map => map(keys(path, hints), element),
            }
        }
    };
    let value = match hints.values.get(path) {
        Some(values) if tidy => select(values.clone()).boxed(),
        Some(values) => prop_oneof![select(values.clone()), any].boxed(),
        None => any,
    };
    // What is hinted at is worth giving: one attribute often needs another.
    let given = match hints.values.contains_key(path) {
        true => 4,
        false => 1,
    };
    match attribute.required || (tidy && hints.always.contains(path)) {
        true => value,
        false => prop_oneof![1 => Just(Value::Null), given => value].boxed(),
    }
}

fn secret() -> BoxedStrategy<Value> {
    let digits = any::<u64>();
    let secret = digits.prop_map(|digits| Value::from(format!("{SECRET}{digits:016x}")));
    // No secret is simpler than another one.
    secret.no_shrink().boxed()
}

fn plain(of: &Type, path: &str, hints: &Hints, tidy: bool) -> BoxedStrategy<Value> {
    let element = |of: &Type| {
        let inner = format!("{path}.*");
        let any = plain(of, &inner, hints, tidy);
        match hints.values.get(&inner) {
            Some(values) if tidy => select(values.clone()).boxed(),
            Some(values) => prop_oneof![select(values.clone()), any].boxed(),
            None => any,
        }
    };
    match of {
        Type::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Type::Number => number(),
        Type::String => text(),
        Type::Dynamic => dynamic(),
        Type::List(of) => list(element(of)),
        Type::Set(of) => set(element(of)),
        Type::Map(of) => map(keys(path, hints), element(of)),
        Type::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, of)| {
                    let value = plain(of, &below(path, name), hints, tidy);
                    let name = name.clone();
                    let value = prop_oneof![1 => Just(Value::Null), 4 => value];
                    value.prop_map(move |value| (name.clone(), value)).boxed()
                })
                .collect();
            let object = members.prop_map(|members| Value::Object(members.into_iter().collect()));
            object.boxed()
        }
        Type::Tuple(types) => {
            let elements: Vec<_> = types.iter().map(element).collect();
            elements.prop_map(Value::List).boxed()
        }
    }
}

/// What providers have stumbled over, and a few plain words.
fn text() -> BoxedStrategy<Value> {
    let awkward = select(vec![
        "",
        "a",
        "B",
        "10 GiB",
        "10GiB",
        " padded ",
        "\u{e9}",
        "{\"a\": 1}",
        "0.10",
        "true",
        "a/b",
    ]);
    // As a pattern it would be parsed anew for each value.
    let plain = vec(select(vec!['a', 'k', 'z', '0', '7', '-']), 0..=6);
    let plain =
        plain.prop_map(|rest| Value::from(format!("w{}", rest.into_iter().collect::<String>())));
    prop_oneof![plain, awkward.prop_map(Value::from)].boxed()
}

/// Numbers that no binary fraction is, and numbers that fit no machine word.
fn number() -> BoxedStrategy<Value> {
    let awkward = select(vec!["0.1", "1.50", "-0.3", "18446744073709551616", "1e30"]);
    // Every one of these is a number; zero stands for the case that cannot be.
    let parse = |text: &str| Number::parse(text).map_or(Value::from(0i64), Value::from);
    prop_oneof![(-3i64..100).prop_map(Value::from), awkward.prop_map(parse)].boxed()
}

fn dynamic() -> BoxedStrategy<Value> {
    let with = |of: Type, value: Value| Value::Dynamic(Box::new(of), Box::new(value));
    let of = |of: Type, values: BoxedStrategy<Value>| {
        values
            .prop_map(move |value| with(of.clone(), value))
            .boxed()
    };
    prop_oneof![
        of(Type::String, text()),
        of(Type::Number, number()),
        of(Type::list(Type::String), list(text())),
        of(
            Type::Tuple(vec![Type::Bool, Type::String]),
            (any::<bool>(), text())
                .prop_map(|(truth, text)| Value::List(vec![truth.into(), text]))
                .boxed()
        ),
    ]
    .boxed()
}

fn list(element: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(element, 0..=MOST_ELEMENTS)
        .prop_map(Value::List)
        .boxed()
}

fn set(element: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let distinct = |elements: Vec<Value>| {
        let mut kept: Vec<Value> = Vec::new();
        for element in elements {
            if !kept.contains(&element) {
                kept.push(element);
            }
        }
        Value::Set(kept)
    };
    vec(element, 0..=MOST_ELEMENTS).prop_map(distinct).boxed()
}

fn map(keys: BoxedStrategy<String>, element: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    btree_map(keys, element, 0..=MOST_ELEMENTS)
        .prop_map(Value::Map)
        .boxed()
}

fn keys(path: &str, hints: &Hints) -> BoxedStrategy<String> {
    match hints.keys.get(path) {
        Some(keys) => select(keys.clone()).boxed(),
        None => select(vec!["a", "b c", "\u{e9}"])
            .prop_map(str::to_owned)
            .boxed(),
    }
}
