//! What the schema alone says about a plan, before the resource has its say (`plan.rs`).
//!
//! The order is the one by which hosts and providers have come to agree: defaults where the configuration is silent;
//! write-only values out of the plan; old spellings where the meaning is the same; and then, only if anything differs
//! from the prior state, unknown values for what the provider computes, and the paths that make a replacement. Without
//! the "only if", no plan would ever be empty; without the rest, no plan with a change would ever be true.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Attribute, Kind, Nesting, Path, Replace, Schema, Value};

/// The members of an object.
type Members = BTreeMap<String, Value>;

/// Applies the schema's rules to what the host proposes, and tells what makes a replacement.
pub(crate) fn apply_rules(
    schema: &Schema,
    config: &Value,
    prior: &Value,
    proposed: Value,
) -> (Value, Vec<Path>) {
    let mut planned = proposed;
    let attributes = &schema.attributes;
    if let Value::Object(members) = &mut planned {
        fill_defaults(attributes, config, members);
    }
    forget_write_only(attributes, &mut planned);
    keep_spelling(attributes, prior, &mut planned);
    if planned == *prior {
        return (planned, Vec::new());
    }
    if let Value::Object(members) = &mut planned {
        mark_unknown(attributes, config, prior, members);
    }
    let mut replacements = Vec::new();
    if !planned.is_null() && !prior.is_null() {
        find_replacements(
            attributes,
            prior,
            &planned,
            &Path::root(),
            &mut replacements,
        );
    }
    (planned, replacements)
}

fn fill_defaults(attributes: &[Attribute], config: &Value, planned: &mut Members) {
    for attribute in attributes {
        let Some(value) = planned.get_mut(&attribute.name) else {
            continue;
        };
        let configured = config.attr(&attribute.name);
        match &attribute.default {
            Some(default) if configured.is_null() => *value = default.clone(),
            _ => for_each_object(attribute, value, |nested, at, members| {
                let configured = at.find(configured);
                // What the configuration leaves to the provider altogether is none of the defaults' business.
                if !configured.is_null() {
                    fill_defaults(nested, configured, members);
                }
            }),
        }
    }
}

/// Nulls what must never be in a plan or a state.
pub(crate) fn forget_write_only(attributes: &[Attribute], value: &mut Value) {
    let (Value::Object(members) | Value::Map(members)) = value else {
        return;
    };
    for attribute in attributes {
        let Some(value) = members.get_mut(&attribute.name) else {
            continue;
        };
        if attribute.write_only {
            *value = Value::Null;
        }
        for_each_object(attribute, value, |nested, _, members| {
            let mut object = Value::Object(std::mem::take(members));
            forget_write_only(nested, &mut object);
            if let Value::Object(kept) = object {
                *members = kept;
            }
        });
    }
}

/// Puts the old spelling wherever the new one means the same. Nested attributes are compared leaf by leaf, plain maps
/// and lists as wholes: the host accepts from the latter only what is wholly old or wholly as configured.
pub(crate) fn keep_spelling(attributes: &[Attribute], old: &Value, new: &mut Value) {
    let Value::Object(members) = new else { return };
    for attribute in attributes {
        let Some(value) = members.get_mut(&attribute.name) else {
            continue;
        };
        let old = old.attr(&attribute.name);
        if let Some(same) = attribute.same_meaning {
            let comparable = |value: &Value| !value.is_null() && value.is_wholly_known();
            if comparable(old) && comparable(value) && same(old, value) {
                *value = old.clone();
            }
        }
        for_each_object(attribute, value, |nested, at, members| {
            let mut object = Value::Object(std::mem::take(members));
            keep_spelling(nested, at.find(old), &mut object);
            if let Value::Object(kept) = object {
                *members = kept;
            }
        });
    }
}

fn mark_unknown(attributes: &[Attribute], config: &Value, prior: &Value, planned: &mut Members) {
    for attribute in attributes {
        let Some(value) = planned.get_mut(&attribute.name) else {
            continue;
        };
        let (configured, before) = (config.attr(&attribute.name), prior.attr(&attribute.name));
        if !configured.is_null() {
            for_each_object(attribute, value, |nested, at, members| {
                mark_unknown(nested, at.find(configured), at.find(before), members);
            });
        } else if attribute.computed && attribute.default.is_none() {
            let keeps = attribute.keep_prior && !before.is_null();
            *value = if keeps {
                before.clone()
            } else {
                Value::Unknown
            };
        }
    }
}

fn find_replacements(
    attributes: &[Attribute],
    prior: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Path>,
) {
    for attribute in attributes {
        let (before, after) = (prior.attr(&attribute.name), planned.attr(&attribute.name));
        let path = path.clone().attr(&attribute.name);
        let replaces = match attribute.replace {
            Replace::Never => false,
            Replace::Always => before != after,
            Replace::FromKnown => before != after && !before.is_null(),
        };
        if replaces {
            found.push(path.clone());
        }
        let Kind::Nested(nesting, nested) = &attribute.kind else {
            continue;
        };
        for at in places(*nesting, before, after) {
            find_replacements(
                nested,
                at.find(before),
                at.find(after),
                &at.extend(path.clone()),
                found,
            );
        }
    }
}

/// Where an object stands in a nested attribute.
enum Place {
    Itself,
    Key(String),
    Index(usize),
}

impl Place {
    /// The object at this place of another value of the attribute.
    fn find<'a>(&self, value: &'a Value) -> &'a Value {
        match self {
            Place::Itself => value,
            Place::Key(key) => value.attr(key),
            // Asking an unknown or absent list for a member gives unknown or null, as it should.
            Place::Index(index) => value
                .as_list()
                .and_then(|elements| elements.get(*index))
                .unwrap_or_else(|| value.attr("")),
        }
    }

    fn extend(&self, path: Path) -> Path {
        match self {
            Place::Itself => path,
            Place::Key(key) => path.key(key),
            Place::Index(index) => path.index(*index as i64),
        }
    }
}

/// Every place at which one of two values of a nested attribute has an object. Sets have no places.
fn places(nesting: Nesting, before: &Value, after: &Value) -> Vec<Place> {
    let length = |value: &Value| value.as_list().map_or(0, <[Value]>::len);
    match nesting {
        Nesting::Single => vec![Place::Itself],
        Nesting::List => (0..length(before).max(length(after)))
            .map(Place::Index)
            .collect(),
        Nesting::Set => Vec::new(),
        Nesting::Map => {
            let keys = [before, after]
                .into_iter()
                .filter_map(Value::as_map)
                .flat_map(BTreeMap::keys);
            keys.collect::<BTreeSet<_>>()
                .into_iter()
                .cloned()
                .map(Place::Key)
                .collect()
        }
    }
}

/// Calls back for every object that a value of a nested attribute holds, with its place. Sets are left alone: nothing
/// in them can be computed, write-only or spelled anew (`schema_check.rs`).
fn for_each_object(
    attribute: &Attribute,
    value: &mut Value,
    mut visit: impl FnMut(&[Attribute], Place, &mut Members),
) {
    let Kind::Nested(nesting, nested) = &attribute.kind else {
        return;
    };
    match (nesting, value) {
        (Nesting::Single, Value::Object(members)) => visit(nested, Place::Itself, members),
        (Nesting::List, Value::List(elements)) => {
            for (index, element) in elements.iter_mut().enumerate() {
                if let Value::Object(members) = element {
                    visit(nested, Place::Index(index), members);
                }
            }
        }
        (Nesting::Map, Value::Map(elements)) => {
            for (key, element) in elements.iter_mut() {
                if let Value::Object(members) = element {
                    visit(nested, Place::Key(key.clone()), members);
                }
            }
        }
        _ => {}
    }
}
