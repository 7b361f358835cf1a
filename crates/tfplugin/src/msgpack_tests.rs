//! Tests of `msgpack.rs`: tables of bytes, a second encoder as a judge, and random values and bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn object_type() -> Type {
    Type::object([("a", Type::String), ("n", Type::Number)])
}

/// An encoder that is not ours writes what ours has to read.
fn by_another_encoder(value: &rmpv::Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).expect("memory is writable");
    bytes
}

#[test]
fn what_another_encoder_writes_is_read() {
    let long = "x".repeat(70_000);
    let rows = [
        (rmpv::Value::from(7), Type::Number, Value::from(7i64)),
        (rmpv::Value::from(-7), Type::Number, Value::from(-7i64)),
        (
            rmpv::Value::from(u64::MAX),
            Type::Number,
            Value::from(u64::MAX),
        ),
        (
            rmpv::Value::from(i64::MIN),
            Type::Number,
            Value::from(i64::MIN),
        ),
        (
            rmpv::Value::from(0.5),
            Type::Number,
            Value::Number(Number::parse("0.5").expect("a number")),
        ),
        (
            rmpv::Value::from("0.1"),
            Type::Number,
            Value::Number(Number::parse("0.1").expect("a number")),
        ),
        (
            rmpv::Value::from(long.as_str()),
            Type::String,
            Value::from(long.as_str()),
        ),
        (
            rmpv::Value::from("e\u{301}"),
            Type::String,
            Value::from("\u{e9}"),
        ),
        (rmpv::Value::Nil, object_type(), Value::Null),
        // Unknown values come bare, refined (kind 12) and in kinds that do not exist yet.
        (rmpv::Value::Ext(0, vec![0]), Type::Bool, Value::Unknown),
        (
            rmpv::Value::Ext(12, vec![0x81, 1, 0xc2]),
            Type::String,
            Value::Unknown,
        ),
        (
            rmpv::Value::Ext(13, vec![0; 300]),
            Type::String,
            Value::Unknown,
        ),
        (
            rmpv::Value::Ext(99, vec![0; 70_000]),
            Type::String,
            Value::Unknown,
        ),
    ];
    for (sent, of, expected) in rows {
        assert_eq!(
            decode(&by_another_encoder(&sent), &of),
            Ok(expected),
            "{sent}"
        );
    }
}

#[test]
fn dynamic_values_are_pairs() {
    let pair = vec![
        rmpv::Value::Binary(br#"["list","number"]"#.to_vec()),
        rmpv::Value::Array(vec![1.into()]),
    ];
    let bytes = by_another_encoder(&rmpv::Value::Array(pair));
    let value = decode(&bytes, &Type::Dynamic).expect("a value");
    let expected = Value::Dynamic(
        Box::new(Type::list(Type::Number)),
        Box::new(vec![Value::from(1i64)].into()),
    );
    assert_eq!(value, expected);
    assert_eq!(
        decode(&encode(&value, &Type::Dynamic), &Type::Dynamic),
        Ok(expected)
    );
}

#[test]
fn wrong_bytes_are_refused_by_name() {
    let missing = by_another_encoder(&rmpv::Value::Map(vec![("a".into(), "x".into())]));
    let foreign = by_another_encoder(&rmpv::Value::Map(vec![("z".into(), "x".into())]));
    let wrong = by_another_encoder(&rmpv::Value::Map(vec![("n".into(), true.into())]));
    for (bytes, of, expected) in [
        (
            missing,
            object_type(),
            "expected an object with 2 attributes, found 1",
        ),
        (foreign, object_type(), "`z`: there is no such attribute"),
        (wrong, object_type(), "`n`: expected a number, found a bool"),
        (vec![0xc1], Type::Bool, "where no value can begin"),
        (vec![], Type::Bool, "end in the middle"),
        (vec![0xc3, 0xc3], Type::Bool, "bytes follow"),
        (vec![0xa1, 0xff], Type::String, "not in UTF-8"),
        (
            vec![0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0],
            Type::Number,
            "infinite",
        ),
        // A claim of four thousand million elements, and not one of them there.
        (
            vec![0xdd, 0xff, 0xff, 0xff, 0xff],
            Type::list(Type::Bool),
            "end in the middle",
        ),
        (
            vec![0xdf, 0xff, 0xff, 0xff, 0xff],
            Type::map(Type::Bool),
            "end in the middle",
        ),
        (
            vec![0xc9, 0xff, 0xff, 0xff, 0xff, 0],
            Type::Bool,
            "end in the middle",
        ),
    ] {
        let error = decode(&bytes, &of).expect_err("an error").to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_deep_value_is_refused_and_not_followed() {
    // Each level of a dynamic value may be a dynamic value again.
    let level = [&[0x92, 0xc4, 18][..], br#"["list","dynamic"]"#, &[0x91]].concat();
    let bytes = level.repeat(10_000);
    assert!(
        decode(&bytes, &Type::Dynamic).is_err_and(|error| error.problem.contains("deeper than"))
    );
}

#[test]
fn a_value_of_too_many_is_refused() {
    let mut bytes = vec![0xdd, 0xff, 0xff, 0xff, 0xff];
    bytes.resize(2 << 20, 0xc0);
    let error = decode(&bytes, &Type::list(Type::Bool)).expect_err("an error");
    assert_eq!(error.problem, "it holds more than 1048576 values");
}

/// A type with a value of it.
fn typed_value() -> impl Strategy<Value = (Type, Value)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|truth| (Type::Bool, Value::Bool(truth))),
        any::<i64>().prop_map(|number| (Type::Number, Value::from(number))),
        any::<u64>().prop_map(|number| (Type::Number, Value::from(number))),
        "-?[0-9]{1,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,3})?".prop_map(|text| (
            Type::Number,
            Value::Number(Number::parse(&text).expect("a number"))
        )),
        ".{0,40}".prop_map(|text| (Type::String, Value::from(text))),
        Just((Type::String, Value::Null)),
        Just((Type::Number, Value::Unknown)),
    ];
    leaf.prop_recursive(4, 64, 20, |inner| {
        let members = prop::collection::btree_map("[a-z]{1,3}", inner.clone(), 0..20);
        prop_oneof![
            (inner.clone(), 0usize..20)
                .prop_map(|((of, value), count)| (Type::list(of), vec![value; count].into())),
            (inner.clone(), 0usize..3)
                .prop_map(|((of, value), count)| (Type::set(of), Value::Set(vec![value; count]))),
            (inner.clone(), prop::collection::btree_set(".{0,5}", 0..20)).prop_map(
                |((of, value), keys)| {
                    let members = keys
                        .into_iter()
                        .map(|key| (normalise(key), value.clone()))
                        .collect();
                    (Type::map(of), Value::Map(members))
                }
            ),
            members.prop_map(|members| {
                let types = members
                    .iter()
                    .map(|(name, (of, _))| (name.clone(), of.clone()))
                    .collect();
                let values: BTreeMap<_, _> = members
                    .into_iter()
                    .map(|(name, (_, value))| (name, value))
                    .collect();
                (Type::Object(types), Value::Object(values))
            }),
            inner.prop_map(|(of, value)| (
                Type::Dynamic,
                Value::Dynamic(Box::new(of), Box::new(value))
            )),
        ]
    })
}

/// Whether all numbers are whole and small: of others JSON's own writer keeps only some digits.
fn fits_json(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some() || number.as_u64().is_some(),
        Value::Dynamic(_, value) => fits_json(value),
        _ => {
            let elements = value.as_list().unwrap_or_default().iter();
            elements
                .chain(value.as_map().into_iter().flat_map(BTreeMap::values))
                .all(fits_json)
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back((of, value) in typed_value()) {
        let bytes = encode(&value, &of);
        prop_assert_eq!(decode(&bytes, &of), Ok(value));
        // Another decoder finds the bytes well-formed to the last.
        let mut rest = &bytes[..];
        rmpv::decode::read_value(&mut rest).expect("well-formed");
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn known_values_read_back_from_json((of, value) in typed_value()) {
        if let Some(json) = value.to_json().filter(|_| fits_json(&value)) {
            prop_assert_eq!(Value::from_json(&json, &of), Ok(value));
        }
    }

    #[test]
    fn truncated_values_are_errors((of, value) in typed_value(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&value, &of);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())], &of).is_err());
    }

    #[test]
    fn no_bytes_make_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), (of, value) in typed_value(), at in any::<prop::sample::Index>()) {
        let _ = decode(&bytes, &of);
        let _ = crate::json::decode(&bytes, &of);
        // One wrong byte in a good value gets deeper than noise does.
        let mut damaged = encode(&value, &of);
        let position = at.index(damaged.len());
        damaged[position] = bytes.first().copied().unwrap_or(0xc1);
        let _ = decode(&damaged, &of);
    }
}
