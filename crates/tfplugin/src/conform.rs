//! Brings a value into the exact shape of its type, as the host demands it.
//!
//! Resources build values by hand: they leave attributes out, and write a map where the schema has an object. Here the
//! missing becomes null and the kinds become the schema's; what cannot be brought into shape is an error that names the
//! place. After this the encoder (`msgpack.rs`) has nothing left to judge.

use std::collections::BTreeMap;

use crate::{Path, PathStep, Type, Value};

/// A value that is not of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fitting the value of `{path}` to the schema: {problem}")]
pub struct ConformError {
    /// Where it is.
    pub path: Path,
    /// What was expected and what was there. It never shows the value.
    pub problem: String,
}

impl ConformError {
    /// Puts a step in front: called on the way out, so that successes build no paths.
    fn inside(mut self, step: PathStep) -> ConformError {
        self.path.steps.insert(0, step);
        self
    }
}

impl Value {
    /// The same value in the exact shape of the type.
    pub fn conform(self, of: &Type) -> Result<Value, ConformError> {
        match (of, self) {
            (_, Value::Null) => Ok(Value::Null),
            (_, Value::Unknown) => Ok(Value::Unknown),
            (Type::Dynamic, Value::Dynamic(own, value)) => {
                let value = value.conform(&own)?;
                Ok(Value::Dynamic(own, Box::new(value)))
            }
            // What has only one type needs not to say it.
            (Type::Dynamic, value @ Value::Bool(_)) => {
                Ok(Value::Dynamic(Box::new(Type::Bool), Box::new(value)))
            }
            (Type::Dynamic, value @ Value::Number(_)) => {
                Ok(Value::Dynamic(Box::new(Type::Number), Box::new(value)))
            }
            (Type::Dynamic, value @ Value::String(_)) => {
                Ok(Value::Dynamic(Box::new(Type::String), Box::new(value)))
            }
            (Type::Bool, value @ Value::Bool(_))
            | (Type::Number, value @ Value::Number(_))
            | (Type::String, value @ Value::String(_)) => Ok(value),
            (Type::List(element), Value::List(elements) | Value::Set(elements)) => Ok(Value::List(
                conform_elements(elements, std::iter::repeat(&**element))?,
            )),
            (Type::Set(element), Value::List(elements) | Value::Set(elements)) => Ok(Value::Set(
                conform_elements(elements, std::iter::repeat(&**element))?,
            )),
            (Type::Tuple(types), Value::List(elements)) if types.len() == elements.len() => {
                Ok(Value::List(conform_elements(elements, types.iter())?))
            }
            (Type::Map(element), Value::Map(members) | Value::Object(members)) => {
                let conformed =
                    members
                        .into_iter()
                        .map(|(key, member)| match member.conform(element) {
                            Ok(member) => Ok((key, member)),
                            Err(error) => Err(error.inside(PathStep::Key(key))),
                        });
                Ok(Value::Map(conformed.collect::<Result<_, _>>()?))
            }
            (Type::Object(types), Value::Map(members) | Value::Object(members)) => {
                Ok(Value::Object(conform_members(members, types)?))
            }
            (_, value) => {
                let problem = format!("expected {}, found {}", of.noun(), value.noun());
                Err(ConformError {
                    path: Path::root(),
                    problem,
                })
            }
        }
    }

    /// What kind of value it is, for messages to users.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Unknown => "an unknown value",
            Value::Bool(_) => "a bool",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Set(_) => "a set",
            Value::Map(_) => "a map",
            Value::Object(_) => "an object",
            Value::Dynamic(..) => "a value with a type of its own",
        }
    }
}

fn conform_elements<'a>(
    elements: Vec<Value>,
    types: impl Iterator<Item = &'a Type>,
) -> Result<Vec<Value>, ConformError> {
    let conformed = elements
        .into_iter()
        .zip(types)
        .enumerate()
        .map(|(index, (element, of))| {
            // A list longer than i64 does not exist.
            element
                .conform(of)
                .map_err(|error| error.inside(PathStep::Index(index as i64)))
        });
    conformed.collect()
}

fn conform_members(
    mut members: BTreeMap<String, Value>,
    types: &BTreeMap<String, Type>,
) -> Result<BTreeMap<String, Value>, ConformError> {
    let mut conformed = BTreeMap::new();
    for (name, of) in types {
        let member = members.remove(name).unwrap_or(Value::Null).conform(of);
        let member = member.map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
        conformed.insert(name.clone(), member);
    }
    match members.into_keys().next() {
        Some(extra) => Err(ConformError {
            path: Path::new(extra),
            problem: "there is no such attribute".to_owned(),
        }),
        None => Ok(conformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_becomes_null_and_kinds_become_the_schemas() {
        let of = Type::object([
            ("a", Type::String),
            ("b", Type::set(Type::Bool)),
            ("c", Type::map(Type::Number)),
        ]);
        let value = Value::object([
            ("b", vec![Value::from(true)].into()),
            ("c", Value::object([("x", 1i64.into())])),
        ]);
        let conformed = value.conform(&of).expect("a fit");
        assert!(matches!(conformed.attr("a"), Value::Null));
        assert!(matches!(conformed.attr("b"), Value::Set(_)));
        assert!(matches!(conformed.attr("c"), Value::Map(_)));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_place_and_not_shown() {
        let of = Type::object([("a", Type::map(Type::list(Type::Number)))]);
        let value = Value::object([(
            "a",
            Value::object([("k", vec![1i64.into(), "secret".into()].into())]),
        )]);
        let error = value.conform(&of).expect_err("no fit");
        assert_eq!(
            error.to_string(),
            r#"fitting the value of `a["k"][1]` to the schema: expected a number, found a string"#
        );
        let error = Value::object([("z", Value::Null)])
            .conform(&of)
            .expect_err("no fit");
        assert_eq!(error.path, Path::new("z"));
    }
}
