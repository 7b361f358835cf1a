//! Values as JSON, led by their type: how states are stored.
//!
//! The reader keeps the digits of numbers, which is why it goes from one raw text to the next instead of through a
//! tree of JSON values. States may be older than the schema: attributes that the schema lacks are ignored, those that
//! the text lacks are null. Before this file stand `wire/dynamic.rs` and `upgrade.rs`.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::decode::{DecodeError, Place};
use crate::value::normalise;
use crate::{Number, PathStep, Type, Value};

/// Decodes a JSON text.
pub(crate) fn decode(text: &[u8], of: &Type) -> Result<Value, DecodeError> {
    let raw: &RawValue =
        serde_json::from_slice(text).map_err(|_| DecodeError::new("it is not JSON"))?;
    let values = Cell::new(0);
    read(raw, of, TypeOf::TheSchema, Place::outermost(&values))
}

impl Value {
    /// Reads a JSON value of this type. Numbers that JSON's reader has rounded already stay rounded.
    pub fn from_json(json: &Json, of: &Type) -> Result<Value, DecodeError> {
        decode(json.to_string().as_bytes(), of)
    }

    /// The JSON form; `None` when something in it is unknown, which JSON has no word for. A number that JSON's readers
    /// would round is a text, which [`Value::from_json`] reads as the same number.
    pub fn to_json(&self) -> Option<Json> {
        let json = match self {
            Value::Unknown => return None,
            Value::Null => Json::Null,
            Value::Bool(truth) => Json::from(*truth),
            Value::Number(number) => number_to_json(number),
            Value::String(text) => Json::from(text.as_str()),
            Value::List(elements) | Value::Set(elements) => {
                Json::Array(elements.iter().map(Value::to_json).collect::<Option<_>>()?)
            }
            Value::Map(members) | Value::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, member)| Some((name.clone(), member.to_json()?)));
                Json::Object(members.collect::<Option<_>>()?)
            }
            Value::Dynamic(of, value) => {
                serde_json::json!({ "type": of.to_json(), "value": value.to_json()? })
            }
        };
        Some(json)
    }
}

fn number_to_json(number: &Number) -> Json {
    let whole = number
        .as_i64()
        .map(Json::from)
        .or_else(|| number.as_u64().map(Json::from));
    whole.unwrap_or_else(|| {
        let nearest = Json::from(number.as_f64());
        let exact = Number::parse(&nearest.to_string()).is_ok_and(|read| read == *number);
        if exact {
            nearest
        } else {
            Json::from(number.as_str())
        }
    })
}

/// Whose word it is that a value has this type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeOf {
    TheSchema,
    /// Its own: it stands somewhere inside of a value that brought its type.
    TheValue,
}

fn read(raw: &RawValue, of: &Type, by: TypeOf, place: Place<'_>) -> Result<Value, DecodeError> {
    let place = place.next()?;
    let text = raw.get();
    if text == "null" {
        return Ok(Value::Null);
    }
    let wrong = || DecodeError::new(format!("expected {}, found {}", of.noun(), noun(text)));
    match of {
        Type::Bool => serde_json::from_str(text)
            .map(Value::Bool)
            .map_err(|_| wrong()),
        Type::Number => {
            // The host writes numbers as such; a string is taken too, as it is everywhere else.
            let quoted: Option<String> = serde_json::from_str(text).ok();
            Number::parse(quoted.as_deref().unwrap_or(text))
                .map(Value::Number)
                .map_err(|_| wrong())
        }
        Type::String => serde_json::from_str(text)
            .map(|text| Value::String(normalise(text)))
            .map_err(|_| wrong()),
        Type::List(element) => Ok(Value::List(
            read_elements(text, |_| Some(element), by, place)?.ok_or_else(wrong)?,
        )),
        Type::Set(element) => Ok(Value::Set(
            read_elements(text, |_| Some(element), by, place)?.ok_or_else(wrong)?,
        )),
        Type::Tuple(types) => {
            let elements =
                read_elements(text, |index| types.get(index), by, place)?.ok_or_else(wrong)?;
            if elements.len() != types.len() {
                let problem = format!(
                    "expected a tuple of {}, found {}",
                    types.len(),
                    elements.len()
                );
                return Err(DecodeError::new(problem));
            }
            Ok(Value::List(elements))
        }
        Type::Map(element) => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(text).map_err(|_| wrong())?;
            let members = members.into_iter().map(|(key, raw)| {
                let member = read(raw, element, by, place)
                    .map_err(|error| error.inside(|| PathStep::Key(key.clone())))?;
                Ok((normalise(key), member))
            });
            Ok(Value::Map(members.collect::<Result<_, _>>()?))
        }
        Type::Object(types) => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(text).map_err(|_| wrong())?;
            // Type and value were written together, so nothing is missing. If it might be, a few bytes of type and a few
            // of value could ask for as many attributes as the product of both.
            if by == TypeOf::TheValue && members.len() < types.len() {
                let problem = format!(
                    "expected an object with {} attributes, found {}",
                    types.len(),
                    members.len()
                );
                return Err(DecodeError::new(problem));
            }
            let read_member = |(name, of): (&String, &Type)| {
                let member = members
                    .get(name)
                    .map_or(Ok(Value::Null), |raw| read(raw, of, by, place));
                let member =
                    member.map_err(|error| error.inside(|| PathStep::Attribute(name.clone())))?;
                Ok((name.clone(), member))
            };
            Ok(Value::Object(
                types.iter().map(read_member).collect::<Result<_, _>>()?,
            ))
        }
        Type::Dynamic => read_dynamic(text, place)?.ok_or_else(wrong),
    }
}

/// The elements, or `None` when it is no array.
fn read_elements<'t>(
    text: &str,
    type_of: impl Fn(usize) -> Option<&'t Type>,
    by: TypeOf,
    place: Place<'_>,
) -> Result<Option<Vec<Value>>, DecodeError> {
    let Ok(raws) = serde_json::from_str::<Vec<&RawValue>>(text) else {
        return Ok(None);
    };
    let elements = raws.into_iter().enumerate().map(|(index, raw)| {
        let of = type_of(index).ok_or_else(|| DecodeError::new("it has too many elements"))?;
        read(raw, of, by, place).map_err(|error| error.inside(|| PathStep::Index(index as i64)))
    });
    elements.collect::<Result<_, _>>().map(Some)
}

/// The pair of a type and a value, or `None` when it is none.
fn read_dynamic(text: &str, place: Place<'_>) -> Result<Option<Value>, DecodeError> {
    let Ok(pair) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        return Ok(None);
    };
    let (Some(of), Some(value)) = (pair.get("type"), pair.get("value")) else {
        return Ok(None);
    };
    let of = serde_json::from_str(of.get())
        .ok()
        .and_then(|json| Type::from_json(&json).ok());
    let of = of.ok_or_else(|| DecodeError::new("its description of a type describes none"))?;
    let value = read(value, &of, TypeOf::TheValue, place)?;
    Ok(Some(Value::Dynamic(Box::new(of), Box::new(value))))
}

fn noun(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b't' | b'f') => "a bool",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, of: &Type) -> Result<Value, String> {
        decode(text.as_bytes(), of).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_keep_every_digit() {
        for digits in [
            "0.1",
            "0.12345678901234567890",
            "123456789012345678901234567890",
            "1e400",
            "-7",
        ] {
            let value = read_text(digits, &Type::Number).expect("a number");
            assert_eq!(
                value.as_number().map(ToString::to_string).as_deref(),
                Some(digits)
            );
        }
    }

    #[test]
    fn a_number_that_readers_would_round_is_written_as_a_text() {
        for (digits, written) in [
            ("7", "7"),
            ("0.1", "0.1"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", r#""18446744073709551616""#),
            ("0.12345678901234567890", r#""0.12345678901234567890""#),
            ("1e400", r#""1e400""#),
        ] {
            let number = read_text(digits, &Type::Number).expect("a number");
            let json = number.to_json().expect("a known value");
            assert_eq!(json.to_string(), written);
            assert_eq!(Value::from_json(&json, &Type::Number), Ok(number));
        }
    }

    #[test]
    fn older_states_read_with_missing_and_surplus_attributes() {
        let of = Type::object([("a", Type::String), ("b", Type::Bool)]);
        let value = read_text(r#"{"a":"x","gone":[1,{"y":2}]}"#, &of);
        assert_eq!(
            value,
            Ok(Value::object([("a", "x".into()), ("b", Value::Null)]))
        );
    }

    #[test]
    fn errors_name_the_place_and_not_the_value() {
        let of = Type::object([("a", Type::map(Type::list(Type::Number)))]);
        let error = read_text(r#"{"a":{"k":[1,"secret"]}}"#, &of).expect_err("no number");
        assert_eq!(
            error,
            r#"decoding the value of `a["k"][1]`: expected a number, found a string"#
        );
        let error = read_text("{", &of).expect_err("no JSON");
        assert_eq!(error, "decoding a value: it is not JSON");
    }

    #[test]
    fn dynamic_values_bring_their_type() {
        let text = r#"{"type":["tuple",["string","number"]],"value":["a",0.1]}"#;
        let value = read_text(text, &Type::Dynamic).expect("a value");
        assert_eq!(
            value.to_json().map(|json| json.to_string()).as_deref(),
            Some(text)
        );
    }

    #[test]
    fn a_value_that_brings_its_type_is_complete() {
        let whole = r#"{"type":["object",{"a":"bool","b":"bool"}],"value":{"a":true,"b":null}}"#;
        assert!(read_text(whole, &Type::Dynamic).is_ok());
        let error = read_text(&whole.replace(r#","b":null"#, ""), &Type::Dynamic);
        assert!(error.is_err_and(|error| error.contains("with 2 attributes, found 1")));
    }

    #[test]
    fn a_value_of_too_many_is_refused() {
        let text = format!("[{}0]", "0,".repeat(crate::decode::MAXIMUM_VALUES));
        let error = read_text(&text, &Type::list(Type::Number));
        assert!(error.is_err_and(|error| error.contains("more than 1048576 values")));
    }

    #[test]
    fn a_deep_type_is_refused_and_not_followed() {
        let deep = (0..200).fold(Type::Bool, |of, _| Type::list(of));
        let text = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(read_text(&text, &deep).is_err_and(|error| error.contains("deeper than")));
    }
}
