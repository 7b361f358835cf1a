//! Whether a host accepts a plan: every value is the configured one, or the prior one, or the provider's to choose.
//!
//! Which of the rules is broken is told from how the two values differ, since that is what an author has to know.
//! Whether a result honours its plan is `compatible.rs`'s.

use super::Rule;
use super::finding::{Finding, short};
use crate::{Attribute, Kind, Nesting, Path, Value};

/// Judges the planned state of an object that stays; all three have the schema's shape.
pub(super) fn plan_valid(
    attributes: &[Attribute],
    prior: &Value,
    config: &Value,
    planned: &Value,
) -> Result<(), Finding> {
    if planned.is_null() {
        return Err(Finding::new(Rule::PlanLosesObject, ""));
    }
    judge_object(attributes, prior, config, planned, &Path::root())
}

fn judge_object(
    attributes: &[Attribute],
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
) -> Result<(), Finding> {
    attributes.iter().try_for_each(|attribute| {
        let name = attribute.name.as_str();
        let path = path.clone().attr(name);
        let (before, configured) = (prior.attr(name), config.attr(name));
        judge(attribute, before, configured, planned.attr(name), &path)
    })
}

fn judge(
    attribute: &Attribute,
    before: &Value,
    configured: &Value,
    planned: &Value,
    path: &Path,
) -> Result<(), Finding> {
    if attribute.write_only {
        return match planned.is_null() {
            true => Ok(()),
            false => Err(Finding::new(Rule::WriteOnlyLeaks, "It is planned.").at(path)),
        };
    }
    let kept = planned == before && !before.is_null() && !configured.is_null();
    let chosen = attribute.computed && configured.is_null();
    if planned == configured || kept || chosen {
        return Ok(());
    }
    if let Kind::Nested(nesting, nested) = &attribute.kind
        && !configured.is_null()
        && !configured.is_unknown()
        && !planned.is_null()
        && !planned.is_unknown()
    {
        return judge_nested(*nesting, nested, before, configured, planned, path);
    }
    Err(differs(configured, planned, path))
}

fn judge_nested(
    nesting: Nesting,
    nested: &[Attribute],
    before: &Value,
    configured: &Value,
    planned: &Value,
    path: &Path,
) -> Result<(), Finding> {
    let judge = |before: &Value, configured: &Value, planned: &Value, path: &Path| {
        if configured.is_null() != planned.is_null() || planned.is_unknown() {
            return match planned == configured {
                true => Ok(()),
                false => Err(differs(configured, planned, path)),
            };
        }
        judge_object(nested, before, configured, planned, path)
    };
    match (nesting, configured, planned) {
        (Nesting::Single, _, _) => judge(before, configured, planned, path),
        (Nesting::Map, Value::Map(wanted), Value::Map(got)) if same_keys(wanted, got) => wanted
            .iter()
            .zip(got)
            .try_for_each(|((key, wanted), (_, got))| {
                judge(before.attr(key), wanted, got, &path.clone().key(key))
            }),
        (Nesting::List, Value::List(wanted), Value::List(got)) if wanted.len() == got.len() => {
            let before = before.as_list().unwrap_or_default();
            let pairs = wanted.iter().zip(got).enumerate();
            let mut judged = pairs.map(|(index, (wanted, got))| {
                let before = before.get(index).unwrap_or(&Value::Null);
                judge(before, wanted, got, &path.clone().index(index as i64))
            });
            let judged: Result<(), Finding> = judged.try_for_each(|one| one);
            // In another order every element differs, and that says less.
            judged.map_err(|finding| match is_reordered(configured, planned) {
                true => differs(configured, planned, path),
                false => finding,
            })
        }
        // Elements of a set have no places: each planned one has to suit one that is configured.
        (Nesting::Set, Value::Set(wanted), Value::Set(got)) if wanted.len() == got.len() => {
            let priors = before.as_list().unwrap_or_default();
            let suits = |got: &Value| {
                let before = priors.iter().chain([&Value::Null]);
                let mut pairs =
                    before.flat_map(|before| wanted.iter().map(move |wanted| (before, wanted)));
                pairs.any(|(before, wanted)| judge(before, wanted, got, path).is_ok())
            };
            match got.iter().all(suits) {
                true => Ok(()),
                false => Err(differs(configured, planned, path)),
            }
        }
        _ => Err(differs(configured, planned, path)),
    }
}

fn same_keys(
    left: &std::collections::BTreeMap<String, Value>,
    right: &std::collections::BTreeMap<String, Value>,
) -> bool {
    left.keys().eq(right.keys())
}

/// Names the rule by how the values differ.
fn differs(configured: &Value, planned: &Value, path: &Path) -> Finding {
    let rule = match how(configured, planned) {
        Difference::Emptiness => Rule::PlanConfusesNullAndEmpty,
        Difference::Order => Rule::PlanReordersList,
        Difference::Digits => Rule::PlanChangesNumber,
        Difference::Presence if configured.is_null() => Rule::PlannedWithoutComputed,
        Difference::Presence | Difference::Content => Rule::PlanDiffersFromConfig,
    };
    let seen = format!(
        "Planned is {}, configured {}.",
        short(planned),
        short(configured)
    );
    Finding::new(rule, seen).at(path)
}

/// How two values differ.
pub(super) enum Difference {
    /// One is null and the other one empty.
    Emptiness,
    /// One is null.
    Presence,
    /// The same elements in another order.
    Order,
    /// Two numbers that are nearly the same.
    Digits,
    /// In any other way.
    Content,
}

pub(super) fn how(left: &Value, right: &Value) -> Difference {
    if left.is_null() || right.is_null() {
        return match is_empty(left) && is_empty(right) {
            true => Difference::Emptiness,
            false => Difference::Presence,
        };
    }
    if is_reordered(left, right) {
        return Difference::Order;
    }
    match (left.as_number(), right.as_number()) {
        (Some(left), Some(right)) if nearly(left.as_f64(), right.as_f64()) => Difference::Digits,
        _ => Difference::Content,
    }
}

fn nearly(left: f64, right: f64) -> bool {
    (left - right).abs() <= left.abs() * 1e-6
}

/// Null too.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(elements) | Value::Set(elements) => elements.is_empty(),
        Value::Map(members) => members.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Dynamic(_, value) => is_empty(value),
        Value::Unknown | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_reordered(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left != right && Value::Set(left.clone()) == Value::Set(right.clone())
        }
        _ => false,
    }
}
