//! What a host proposes as the new state, before it asks a provider to plan.
//!
//! The configuration wins; where it is silent about something computed, the prior value is proposed. Elements of nested
//! maps are paired by key, of nested lists by position. Elements of sets are taken as configured: nothing in them may
//! be computed here (`schema_check.rs`).

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
        return if attribute.computed {
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
        _ => configured.clone(),
    }
}
