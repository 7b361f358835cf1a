//! What must hold for every input, whatever it is.
//!
//! No decoder panics (`run.rs` sees to that), none takes memory or time that its bytes do not pay for, and what one
//! accepts is a value of its type that every encoder and decoder passes on unchanged.

use std::time::{Duration, Instant};

use stats_alloc::Region;
use tfplugin::testing::codec;
use tfplugin::{GoDuration, Number, Path, PathStep, Type, Value, parse_duration};

use crate::MEMORY;
use crate::input::{Input, Target};
use crate::stored::{SHAPE, Thing, VERSION};

/// Memory that a decoder may ask for in all, freed or not: some for itself, and some for each byte that it is given. The
/// dearest byte is one of a binary fraction, which has up to 1074 digits behind the point and is nine bytes.
const MEMORY_AT_ALL: usize = 8 << 10;
const MEMORY_FOR_A_BYTE: usize = 1 << 10;

/// Nothing of at most 4 KiB takes longer, on a busy machine and unoptimised either.
const LONGEST_TIME: Duration = Duration::from_secs(2);

/// How deep values may be nested: what compares, shows and drops them goes down as deep.
const DEEPEST: usize = 100;

/// What came of an input, and what it cost.
pub(crate) struct Outcome {
    /// The error, or `None` when the bytes were accepted.
    pub(crate) refused: Option<String>,
    /// What the accepted value looks like, to tell new ones from old ones.
    pub(crate) shape: u64,
    /// Memory asked for by the decoder.
    pub(crate) memory: usize,
    /// Time of everything that was tried.
    pub(crate) time: Duration,
}

/// Tries an input.
///
/// # Errors
///
/// When something does not hold, with what it is.
pub(crate) fn check(input: &Input) -> Result<Outcome, String> {
    let begun = Instant::now();
    let memory = Region::new(MEMORY);
    let decoded = decode(input);
    let memory = memory.change().bytes_allocated;
    let given = input.bytes.len()
        + if input.target.takes_type() {
            size(&input.of)
        } else {
            0
        };
    if memory > MEMORY_AT_ALL + given * MEMORY_FOR_A_BYTE {
        return Err(format!("{memory} bytes of memory for {given} bytes"));
    }
    let (refused, shape) = match decoded {
        Ok(Decoded::Value(value, of)) => (None, accepted(input, &value, &of)?),
        Ok(Decoded::Type(of)) => {
            let again =
                Type::from_json(&of.to_json()).map_err(|_| "the type does not read back")?;
            same("the type", &again, &of)?;
            (None, size(&of) as u64)
        }
        Ok(Decoded::Duration(duration)) => {
            let again = parse_duration(&GoDuration(duration).to_string());
            same("the duration", &again, &Ok(duration))?;
            (None, u64::from(duration.as_nanos().max(1).ilog2()))
        }
        Err(error) => (Some(error), 0),
    };
    let time = begun.elapsed();
    if time > LONGEST_TIME {
        return Err(format!("it took {time:?}"));
    }
    Ok(Outcome {
        refused,
        shape,
        memory,
        time,
    })
}

enum Decoded {
    Value(Value, Type),
    Type(Type),
    Duration(Duration),
}

fn decode(input: &Input) -> Result<Decoded, String> {
    let (bytes, of) = (&input.bytes, &input.of);
    let text = || std::str::from_utf8(bytes).map_err(|_| "no UTF-8".to_owned());
    let value = match input.target {
        Target::Msgpack => codec::decode_msgpack(bytes, of).map_err(|error| error.to_string())?,
        Target::Json => codec::decode_json(bytes, of).map_err(|error| error.to_string())?,
        Target::Stored => return state(VERSION, bytes),
        Target::Older => return state(VERSION - 1, bytes),
        Target::Type => {
            let json = serde_json::from_slice(bytes).map_err(|_| "no JSON")?;
            let of = Type::from_json(&json).map_err(|error| error.to_string())?;
            return Ok(Decoded::Type(of));
        }
        Target::Number => {
            let number = Number::parse(text()?).map_err(|error| error.to_string())?;
            return Ok(Decoded::Value(number.into(), Type::Number));
        }
        Target::Duration => {
            let duration = parse_duration(text()?).map_err(|error| error.to_string())?;
            return Ok(Decoded::Duration(duration));
        }
    };
    Ok(Decoded::Value(value, of.clone()))
}

fn state(version: i64, bytes: &[u8]) -> Result<Decoded, String> {
    let (schema, of) = &*SHAPE;
    let state = codec::upgrade(&Thing, schema, version, bytes).map_err(told)?;
    Ok(Decoded::Value(state, of.clone()))
}

/// What the user is told. The place is where everything else is, so it has to survive the wire.
fn told(diagnostic: tfplugin::Diagnostic) -> String {
    let path = diagnostic.path.unwrap_or_default();
    assert_eq!(codec::path_over_the_wire(&path), path);
    diagnostic.detail
}

/// What holds for a value that was accepted.
fn accepted(input: &Input, value: &Value, of: &Type) -> Result<u64, String> {
    let conformed = value
        .clone()
        .conform(of)
        .map_err(|error| error.to_string())?;
    same(
        "the value brought into the shape of its type",
        &conformed,
        value,
    )?;

    let bytes = codec::encode_msgpack(value, of);
    let again = codec::decode_msgpack(&bytes, of).map_err(|error| error.to_string())?;
    same("the value over the wire", &again, value)?;
    same("its bytes", &codec::encode_msgpack(&again, of), &bytes)?;
    let mut rest = &bytes[..];
    rmpv::decode::read_value(&mut rest).map_err(|error| format!("malformed bytes: {error}"))?;
    same("what is behind the value", &rest.len(), &0)?;

    let json = value.to_json();
    same(
        "whether it has a JSON form",
        &json.is_some(),
        &value.is_wholly_known(),
    )?;
    if let Some(json) = json {
        let again = Value::from_json(&json, of).map_err(|error| error.to_string())?;
        same("its shape in JSON", &shape(&again), &shape(value))?;
        if whole_numbers(value) {
            same("the value in JSON", &again, value)?;
        }
    } else if input.target != Target::Msgpack {
        return Err("JSON has unknown values".to_owned());
    }
    if matches!(input.target, Target::Stored | Target::Older) && !value.attr("secret").is_null() {
        return Err("a write-only value was stored".to_owned());
    }
    if depth(value) > DEEPEST {
        return Err(format!("it is nested {} levels deep", depth(value)));
    }
    if let Value::Number(number) = value {
        of_a_number(number)?;
    }
    Ok(outline(value, 0))
}

/// A number keeps its digits, and its order is that of the nearest binary fractions where these differ.
fn of_a_number(number: &Number) -> Result<(), String> {
    let again = Number::parse(&number.to_string()).map_err(|error| error.to_string())?;
    same(
        "the number's digits",
        &again.to_string(),
        &number.to_string(),
    )?;
    for other in ["0", "-1", "1e300", "0.1", "18446744073709551616"] {
        let other = Number::parse(other).map_err(|error| error.to_string())?;
        let (left, right) = (number.as_f64(), other.as_f64());
        if left != right {
            same(
                "the order",
                &Some(number.cmp(&other)),
                &left.partial_cmp(&right),
            )?;
        }
        same(
            "the order from the other side",
            &other.cmp(number),
            &number.cmp(&other).reverse(),
        )?;
    }
    if let Some(whole) = number.as_i64() {
        same("the whole number", &Number::from(whole), number)?;
    }
    if let Some(whole) = number.as_u64() {
        same("the whole number", &Number::from(whole), number)?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is {found:?} and should be {expected:?}"))
}

/// How many names, kinds and characters a type has.
fn size(of: &Type) -> usize {
    match of {
        Type::Bool | Type::Number | Type::String | Type::Dynamic => 1,
        Type::List(element) | Type::Set(element) | Type::Map(element) => 1 + size(element),
        Type::Object(types) => {
            let members = types.iter().map(|(name, of)| 1 + name.len() + size(of));
            1 + members.sum::<usize>()
        }
        Type::Tuple(types) => 1 + types.iter().map(size).sum::<usize>(),
    }
}

/// Kinds, lengths and nesting, without what strings and numbers hold.
fn shape(value: &Value) -> u64 {
    let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    match value {
        Value::Null => 1,
        Value::Unknown => 2,
        Value::Bool(_) => 3,
        Value::Number(_) => 4,
        Value::String(_) => 5,
        // Sets have no order, so neither has this.
        Value::Set(elements) => {
            let parts = elements.iter().map(|element| mix(6, shape(element)));
            mix(6, parts.fold(0, u64::wrapping_add))
        }
        Value::List(elements) => elements.iter().map(shape).fold(7, mix),
        Value::Map(members) | Value::Object(members) => members.values().map(shape).fold(8, mix),
        Value::Dynamic(_, value) => mix(9, shape(value)),
    }
}

/// What stands right inside of a value.
fn within(value: &Value) -> Vec<&Value> {
    match value {
        Value::Dynamic(_, value) => vec![value],
        _ => {
            let elements = value.as_list().unwrap_or_default().iter();
            let members = value.as_map().into_iter();
            elements
                .chain(members.flat_map(|members| members.values()))
                .collect()
        }
    }
}

fn depth(value: &Value) -> usize {
    1 + within(value)
        .into_iter()
        .map(depth)
        .max()
        .unwrap_or_default()
}

/// Which kinds stand how deep, and no more: with lengths in it almost every value would be new.
fn outline(value: &Value, depth: u32) -> u64 {
    let kind = match value {
        Value::Null => 0,
        Value::Unknown => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::List(_) => 5,
        Value::Set(_) => 6,
        Value::Map(_) | Value::Object(_) => 7,
        Value::Dynamic(..) => 8,
    };
    let inner = within(value)
        .into_iter()
        .map(|value| outline(value, (depth + 1).min(5)));
    inner.fold(1 << (kind + depth * 9), |all, one| all | one)
}

/// Whether all numbers are whole and small: of others JSON's own writer keeps only some digits.
fn whole_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some() || number.as_u64().is_some(),
        _ => within(value).into_iter().all(whole_numbers),
    }
}

/// Paths of any steps survive the wire; the decoders' own are looked at above.
#[test]
fn a_path_survives_the_wire() {
    let steps = vec![
        PathStep::Attribute("a".to_owned()),
        PathStep::Key("\u{0}\u{1f600}".to_owned()),
        PathStep::Index(i64::MIN),
    ];
    let path = Path { steps };
    assert_eq!(codec::path_over_the_wire(&path), path);
}
