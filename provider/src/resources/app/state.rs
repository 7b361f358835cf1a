//! The state of `homelab_app`: what was observed, as OpenTofu keeps it.
//!
//! Before: a Read, or the end of an apply. After: `tfplugin` encodes it. Declared attributes are never taken from the
//! server, so nothing that Incus adds or rewrites can look like a change.

use std::collections::BTreeMap;

use domain::observation::{Observation, Workload};
use domain::place::Place;
use domain::work::Work;
use serde_json::Value as Json;
use tfplugin::{Number, Schema, Value};

use super::model::DECLARED;
use crate::given::spelled;

/// The declared attributes of an object, as the fleet store keeps them for an import.
pub(super) fn declaration(object: &Value) -> Json {
    spelled(object, &DECLARED)
}

/// An object of declared attributes alone, from what the fleet store kept of them; those of later or earlier versions
/// of the schema are left out, or null.
pub(super) fn from_declaration(schema: &Schema, kept: &Json) -> Value {
    let mut object = empty(schema);
    for attribute in schema
        .attributes
        .iter()
        .filter(|one| DECLARED.contains(&one.name.as_str()))
    {
        let kept = kept.get(&attribute.name).unwrap_or(&Json::Null);
        if let Ok(value) = Value::from_json(kept, &attribute.value_type()) {
            object.set_attr(&attribute.name, value);
        }
    }
    object
}

fn empty(schema: &Schema) -> Value {
    let null = |attribute: &tfplugin::Attribute| (attribute.name.clone(), Value::Null);
    Value::Object(schema.attributes.iter().map(null).collect())
}

/// The `workloads` attribute. Addresses come from `addresses` (by instance name) or, while instance and generation are
/// the same, from `before`; so do images, which a member that does not answer cannot tell.
pub(super) fn workloads(
    observation: &Observation,
    addresses: &BTreeMap<String, Vec<String>>,
    before: &Value,
) -> Value {
    let mut shown: BTreeMap<&Place, &Workload> = BTreeMap::new();
    for workload in &observation.workloads {
        let better = shown
            .get(&workload.place)
            .is_none_or(|other| rank(workload) >= rank(other));
        if better {
            shown.insert(&workload.place, workload);
        }
    }
    let element = |(place, workload): (&Place, &Workload)| {
        let key = place.key();
        let value = element(workload, addresses, before.attr(&key));
        (key, value)
    };
    Value::Map(shown.into_iter().map(element).collect())
}

/// What serves is shown before what is on trial, and what can be seen before what cannot; of equals the newer.
fn rank(workload: &Workload) -> (bool, bool, u64) {
    (
        workload.status.is_live(),
        workload.healthy_since.is_some(),
        workload.generation,
    )
}

fn element(
    workload: &Workload,
    addresses: &BTreeMap<String, Vec<String>>,
    before: &Value,
) -> Value {
    let generation = Number::from(workload.generation);
    let same = before.attr("instance").as_str() == Some(&workload.name)
        && before.attr("generation").as_number() == Some(&generation);
    let kept = |name: &str| {
        same.then(|| before.attr(name).clone())
            .filter(|value| !value.is_null())
    };
    let texts = |list: &Vec<String>| Value::List(list.iter().map(Value::from).collect());
    let image = match workload.image.as_str() {
        "" => kept("image").unwrap_or(Value::Null),
        image => Value::from(image),
    };
    Value::object([
        ("instance", Value::from(&workload.name)),
        ("generation", Value::from(generation)),
        ("member", Value::from(workload.member.as_deref())),
        ("image", image),
        ("status", Value::from(workload.status.word())),
        (
            "addresses",
            addresses
                .get(&workload.name)
                .map(texts)
                .or_else(|| kept("addresses"))
                .unwrap_or(Value::List(Vec::new())),
        ),
    ])
}

/// Why the last rollout failed.
pub(super) fn last_error(work: &Work) -> Value {
    let failure = work.failure.as_ref().map(|failure| {
        format!(
            "{}, generation {}, image {}: {}",
            failure.place, failure.generation, failure.image, failure.error
        )
    });
    Value::from(failure)
}
