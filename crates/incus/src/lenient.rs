//! Small readers for what Incus's JSON does differently from its documentation, and printers for
//! what must not be printed.
//!
//! The types of the API files use them in their `serde` attributes and `Debug`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `null` as the empty value: empty lists and maps are often sent as `null`.
pub(crate) fn null_as_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a map to lists, also where a server sends null for the map or for one of its lists.
pub(crate) fn text_lists<'de, D>(deserializer: D) -> Result<BTreeMap<String, Vec<String>>, D::Error>
where
    D: Deserializer<'de>,
{
    let lists: BTreeMap<String, Option<Vec<String>>> = null_as_empty(deserializer)?;
    let list = |(name, list): (String, Option<Vec<String>>)| (name, list.unwrap_or_default());
    Ok(lists.into_iter().map(list).collect())
}

/// Reads a map to texts, also where a server sends bare numbers or booleans as values.
pub(crate) fn texts<'de, D>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    let values: BTreeMap<String, Value> = null_as_empty(deserializer)?;
    Ok(values
        .into_iter()
        .map(|(key, value)| match value {
            Value::String(text) => (key, text),
            other => (key, other.to_string()),
        })
        .collect())
}

/// Prints the keys of a map: the values may be secrets.
pub(crate) struct KeysOf<'a, V>(pub(crate) &'a BTreeMap<String, V>);

impl<V> fmt::Debug for KeysOf<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Devices by name, each a flat map of settings.
pub type Devices = BTreeMap<String, BTreeMap<String, String>>;
