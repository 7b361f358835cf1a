//! Attributes and arguments in `domain`'s words: absent, unknown, or known.
//!
//! Before: values as OpenTofu sent them. After: the checks of `domain`, which judge what is known.

use std::collections::BTreeMap;

use domain::given::Given;
use serde_json::Value as Json;
use tfplugin::Value;

/// What `read` makes of a known value.
pub(crate) fn given<T>(value: &Value, read: impl FnOnce(&Value) -> T) -> Given<T> {
    if value.is_unknown() {
        Given::Unknown
    } else if value.is_null() {
        Given::Absent
    } else {
        Given::Known(read(value))
    }
}

/// A text. The schema or the signature has seen to it that a known value is one.
pub(crate) fn text(value: &Value) -> Given<String> {
    given(value, |value| value.as_str().unwrap_or_default().to_owned())
}

/// Yes or no.
pub(crate) fn flag(value: &Value) -> Given<bool> {
    given(value, |value| value.as_bool().unwrap_or_default())
}

/// A whole number from 0. Every other is 0: the schema has refused it, or 0 itself will be.
pub(crate) fn whole(value: &Value) -> Given<u64> {
    given(value, |value| {
        let number = value.as_i64().unwrap_or_default();
        u64::try_from(number).unwrap_or_default()
    })
}

/// The texts of a map that is known.
pub(crate) fn texts(map: &Value) -> BTreeMap<String, Given<String>> {
    let element = |(key, value): (&String, &Value)| (key.clone(), text(value));
    map.as_map().into_iter().flatten().map(element).collect()
}

/// The texts of a list that is known.
pub(crate) fn list(list: &Value) -> Vec<Given<String>> {
    list.as_list().into_iter().flatten().map(text).collect()
}

/// The attributes of an object as the user spelled them: what the fleet store keeps.
pub(crate) fn spelled(object: &Value, names: &[&str]) -> Json {
    let attribute = |name: &&str| Some(((*name).to_owned(), object.attr(name).to_json()?));
    Json::Object(names.iter().filter_map(attribute).collect())
}
