//! One case: what an object is configured as, first and then, and what of it is not known in the first plan.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::finding::short;
use super::generate::{self, Hints};
use crate::{Schema, Value};

/// A case of a resource, or of a data source or an ephemeral resource, which use the first configuration only.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// What the object is made as.
    pub(super) first: Value,
    /// What it is changed to.
    pub(super) second: Value,
    /// What stands for the computed values of a state where nothing can be applied.
    pub(super) filling: Value,
    /// Which parts of a configuration are not known at first.
    hidden: Vec<Index>,
}

impl Case {
    /// Cases of a schema, in its shape.
    pub(super) fn of(schema: &Schema, hints: &Hints) -> BoxedStrategy<Case> {
        let config = || generate::config(schema, hints);
        let mixed = vec(proptest::bool::weighted(0.3), schema.attributes.len());
        // What stands first here is made smaller first.
        let hidden = vec(any::<Index>(), 0..=2);
        let filling = generate::state(schema, hints).no_shrink();
        let parts = (hidden, mixed, config(), config(), filling);
        let assemble = |(hidden, mixed, other, first, filling): (_, Vec<bool>, Value, Value, _)| {
            let second = mix(&first, &other, &mixed);
            Case {
                first,
                second,
                filling,
                hidden,
            }
        };
        parts.prop_map(assemble).boxed()
    }

    /// A configuration as it is known in the first plan.
    pub(super) fn as_known_first(&self, config: &Value) -> Value {
        let mut config = config.clone();
        for hidden in &self.hidden {
            // The whole object is known, and its members are the first places.
            let places = count_places(&config);
            if places > 0 {
                let mut place = hidden.index(places);
                hide(&mut config, &mut place);
            }
        }
        config
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.as_known_first(&self.first);
        write!(formatter, "configured  {}", short(&self.first))?;
        if known != self.first {
            write!(formatter, "\n  at first    {}", short(&known))?;
        }
        if self.second != self.first {
            write!(formatter, "\n  changed to  {}", short(&self.second))?;
            let known = self.as_known_first(&self.second);
            if known != self.second {
                write!(formatter, "\n  at first    {}", short(&known))?;
            }
        }
        Ok(())
    }
}

/// The first object with some of the other one's attributes: most changes are small.
fn mix(first: &Value, other: &Value, mixed: &[bool]) -> Value {
    let (Value::Object(first), Value::Object(other)) = (first, other) else {
        return first.clone();
    };
    let pairs = first.iter().zip(other.values()).zip(mixed);
    let chosen = pairs.map(|(((name, kept), new), take)| {
        let value = if *take { new } else { kept };
        (name.clone(), value.clone())
    });
    Value::Object(chosen.collect())
}

/// The places below a value that something is at.
fn count_places(value: &Value) -> usize {
    let one = |value: &Value| match value {
        Value::Null | Value::Unknown => 0,
        value => 1 + count_places(value),
    };
    match value {
        Value::Object(members) | Value::Map(members) => members.values().map(one).sum(),
        Value::List(elements) | Value::Set(elements) => elements.iter().map(one).sum(),
        _ => 0,
    }
}

/// Makes the place of this number unknown; what is left of the number counts on.
fn hide(value: &mut Value, place: &mut usize) -> bool {
    let mut one = |value: &mut Value| {
        if matches!(value, Value::Null | Value::Unknown) {
            return false;
        }
        if *place == 0 {
            *value = Value::Unknown;
            return true;
        }
        *place -= 1;
        hide(value, place)
    };
    match value {
        Value::Object(members) | Value::Map(members) => members.values_mut().any(&mut one),
        Value::List(elements) | Value::Set(elements) => elements.iter_mut().any(&mut one),
        _ => false,
    }
}

/// A state as it could be after an apply: what is unknown becomes what stands at its place in the filling.
pub(super) fn filled(planned: &Value, filling: &Value) -> Value {
    match planned {
        Value::Unknown => match filling.is_wholly_known() {
            true => filling.clone(),
            false => Value::Null,
        },
        Value::Object(members) => {
            let filled = members
                .iter()
                .map(|(name, member)| (name.clone(), filled(member, filling.attr(name))));
            Value::Object(filled.collect())
        }
        Value::Map(members) => {
            let filled = members
                .iter()
                .map(|(key, member)| (key.clone(), filled(member, filling.attr(key))));
            Value::Map(filled.collect())
        }
        Value::List(elements) => Value::List(
            elements
                .iter()
                .map(|one| filled(one, &Value::Null))
                .collect(),
        ),
        Value::Set(elements) => Value::Set(
            elements
                .iter()
                .map(|one| filled(one, &Value::Null))
                .collect(),
        ),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_can_be_hidden_and_nothing_else_changes() {
        let value = Value::object([
            ("a", vec![1i64.into(), Value::Null].into()),
            ("b", Value::object([("c", "x".into())])),
        ]);
        let shown: Vec<String> = (0..count_places(&value))
            .map(|place| {
                let mut hidden = value.clone();
                assert!(hide(&mut hidden, &mut { place }));
                format!("{hidden:?}")
            })
            .collect();
        let expected = [
            r#"{"a": unknown, "b": {"c": "x"}}"#,
            r#"{"a": [unknown, null], "b": {"c": "x"}}"#,
            r#"{"a": [1, null], "b": unknown}"#,
            r#"{"a": [1, null], "b": {"c": unknown}}"#,
        ];
        assert_eq!(shown, expected);
    }
}
