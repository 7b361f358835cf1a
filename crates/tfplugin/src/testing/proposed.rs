//! What a host proposes as the new state, before it asks a provider to plan.
//!
//! The configuration wins; where it is silent about something computed, the prior value is proposed. Elements of nested
//! maps are paired by key and of nested lists by position. Elements of nested sets have neither: one is paired with the
//! first prior element that this configuration could have led to, so that computed members come along.

use crate::{Attribute, Kind, Nesting, Schema, Value};

/// The new state that a host proposes for a configuration and a prior state, both in the schema's shape.
pub fn proposed_new_state(schema: &Schema, prior: &Value, config: &Value) -> Value {
    propose(&schema.attributes, prior, config)
}

fn propose(attributes: &[Attribute], prior: &Value, config: &Value) -> Value {
    if config.is_null() || config.is_unknown() {
        return config.clone();
    }
    let proposals = attributes.iter().map(|attribute| {
        let (before, configured) = (prior.attr(&attribute.name), config.attr(&attribute.name));
        (
            attribute.name.clone(),
            propose_attribute(attribute, before, configured),
        )
    });
    Value::Object(proposals.collect())
}

fn propose_attribute(attribute: &Attribute, before: &Value, configured: &Value) -> Value {
    if configured.is_null() {
        let left_to_provider = attribute.computed && !was_configured(attribute, before);
        return if left_to_provider {
            before.clone()
        } else {
            Value::Null
        };
    }
    let Kind::Nested(nesting, nested) = &attribute.kind else {
        return configured.clone();
    };
    match (nesting, configured) {
        (Nesting::Single, Value::Object(_)) => propose(nested, before, configured),
        (Nesting::Map, Value::Map(elements)) => {
            let proposals = elements
                .iter()
                .map(|(key, element)| (key.clone(), propose(nested, before.attr(key), element)));
            Value::Map(proposals.collect())
        }
        (Nesting::List, Value::List(elements)) => {
            let before = before.as_list().unwrap_or_default();
            let proposals = elements.iter().enumerate();
            let propose = |(index, element)| {
                propose(nested, before.get(index).unwrap_or(&Value::Null), element)
            };
            Value::List(proposals.map(propose).collect())
        }
        (Nesting::Set, Value::Set(elements)) => {
            let mut before: Vec<&Value> = before.as_list().unwrap_or_default().iter().collect();
            let proposals = elements.iter().map(|element| {
                let partner = before
                    .iter()
                    .position(|prior| could_come_from(nested, prior, element));
                // Each prior element has one successor at most.
                let partner = partner.map(|index| before.remove(index));
                propose(nested, partner.unwrap_or(&Value::Null), element)
            });
            Value::Set(proposals.collect())
        }
        _ => configured.clone(),
    }
}

/// Whether a prior value of an optional and computed attribute holds what only a configuration can have given. Then a
/// configuration without it takes it away, rather than leaving it to the provider.
fn was_configured(attribute: &Attribute, before: &Value) -> bool {
    let Kind::Nested(_, nested) = &attribute.kind else {
        return false;
    };
    let given = |object: &Value| {
        let mut members = nested
            .iter()
            .map(|inner| (inner, object.attr(&inner.name)))
            .filter(|(_, value)| !value.is_null());
        members.any(|(inner, value)| !inner.computed || was_configured(inner, value))
    };
    attribute.optional && objects(before).any(given)
}

/// The objects that a value of a nested attribute holds.
fn objects(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(_) => Box::new(std::iter::once(value)),
        Value::Map(elements) => Box::new(elements.values()),
        Value::List(elements) | Value::Set(elements) => Box::new(elements.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether a configuration could have led to a prior object: they agree wherever the provider had no say.
fn could_come_from(attributes: &[Attribute], prior: &Value, config: &Value) -> bool {
    prior == config
        || attributes.iter().all(|attribute| {
            let (before, configured) = (prior.attr(&attribute.name), config.attr(&attribute.name));
            let left_to_provider = attribute.computed && configured.is_null();
            left_to_provider || before == configured || members_could(attribute, before, configured)
        })
}

fn members_could(attribute: &Attribute, before: &Value, configured: &Value) -> bool {
    let Kind::Nested(_, nested) = &attribute.kind else {
        return false;
    };
    match (before, configured) {
        (Value::Object(_), Value::Object(_)) => could_come_from(nested, before, configured),
        (Value::Map(old), Value::Map(new)) => {
            let pairs = old.iter().zip(new);
            let mut pairs = pairs.map(|((old_key, old), (new_key, new))| {
                old_key == new_key && could_come_from(nested, old, new)
            });
            old.len() == new.len() && pairs.all(|fits| fits)
        }
        (Value::List(old), Value::List(new)) | (Value::Set(old), Value::Set(new)) => {
            let mut pairs = old.iter().zip(new);
            old.len() == new.len() && pairs.all(|(old, new)| could_come_from(nested, old, new))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(size: Value, serial: Value) -> Value {
        Value::object([("size", size), ("serial", serial)])
    }

    fn attribute(make: fn(&str, [Attribute; 2]) -> Attribute) -> Attribute {
        let members = [
            Attribute::number("size").optional(),
            Attribute::string("serial").computed(),
        ];
        make("parts", members)
    }

    fn proposed(attribute: Attribute, before: Value, configured: Value) -> Value {
        let schema = Schema::new(0, "A schema.").attributes([attribute]);
        let of = schema.object_type();
        let whole = |value: Value| {
            let whole = Value::object([("parts", value)]).conform(&of);
            whole.expect("a value of the schema")
        };
        let proposed = proposed_new_state(&schema, &whole(before), &whole(configured));
        proposed.attr("parts").clone()
    }

    #[test]
    fn elements_of_a_set_keep_what_was_computed_for_their_likes() {
        let old = Value::Set(vec![
            part(1i64.into(), "a".into()),
            part(2i64.into(), "b".into()),
        ]);
        let new = Value::Set(vec![
            part(2i64.into(), Value::Null),
            part(3i64.into(), Value::Null),
        ]);
        let expected = Value::Set(vec![
            part(2i64.into(), "b".into()),
            part(3i64.into(), Value::Null),
        ]);
        let set = attribute(|name, members| Attribute::nested_set(name, members).optional());
        assert_eq!(proposed(set, old, new), expected);
    }

    #[test]
    fn a_prior_element_has_one_successor_at_most() {
        let old = Value::Set(vec![part(1i64.into(), "a".into())]);
        let twin = || part(1i64.into(), Value::Null);
        let set = attribute(|name, members| Attribute::nested_set(name, members).optional());
        let new = proposed(set, old, Value::Set(vec![twin(), twin()]));
        assert_eq!(new, Value::Set(vec![part(1i64.into(), "a".into()), twin()]));
    }

    #[test]
    fn elements_of_lists_and_maps_are_paired_by_their_places() {
        let list = attribute(|name, members| Attribute::nested_list(name, members).optional());
        let old = Value::List(vec![part(1i64.into(), "a".into())]);
        let new = Value::List(vec![part(2i64.into(), Value::Null); 2]);
        let expected = vec![
            part(2i64.into(), "a".into()),
            part(2i64.into(), Value::Null),
        ];
        assert_eq!(proposed(list, old, new), Value::List(expected));
        let map = attribute(|name, members| Attribute::nested_map(name, members).optional());
        let under = |key: &str, part| Value::object([(key, part)]);
        let old = under("x", part(1i64.into(), "a".into()));
        let same = under("x", part(2i64.into(), Value::Null));
        let expected = under("x", part(2i64.into(), "a".into()));
        assert_eq!(proposed(map.clone(), old.clone(), same), expected);
        let other = under("y", part(2i64.into(), Value::Null));
        assert_eq!(proposed(map, old, other.clone()), other);
    }

    #[test]
    fn what_only_a_configuration_can_have_given_goes_with_it() {
        let single =
            || attribute(|name, members| Attribute::single(name, members).optional_computed());
        let computed = part(Value::Null, "a".into());
        assert_eq!(proposed(single(), computed.clone(), Value::Null), computed);
        let given = part(1i64.into(), "a".into());
        assert!(proposed(single(), given, Value::Null).is_null());
    }
}
