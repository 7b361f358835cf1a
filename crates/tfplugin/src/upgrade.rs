//! Reads a stored state, which may be older than the schema.
//!
//! The host asks this of every state it reads, at the present version too. There the state is read as it is: an
//! attribute that the schema no longer has is ignored, one that it has gained is null. Only older versions go through
//! `Resource::upgrade`. Before this file stands the server (`server.rs`), after it `json.rs`.

use crate::plan_rules::forget_write_only;
use crate::{Diagnostic, Resource, Schema, Value, json};

/// Brings a stored state into the shape of the present schema.
pub(crate) fn upgrade(
    resource: &dyn Resource,
    schema: &Schema,
    version: i64,
    stored: &[u8],
) -> Result<Value, Diagnostic> {
    let of = schema.object_type();
    let state = if version == schema.version {
        json::decode(stored, &of)
    } else {
        let raw = serde_json::from_slice(stored).map_err(|_| {
            Diagnostic::error("A stored state is not JSON").detail("The state file may be damaged.")
        })?;
        let upgraded = resource.upgrade(version, raw)?;
        Value::from_json(&upgraded, &of)
    };
    let mut state = state.map_err(|error| {
        Diagnostic::error(format!(
            "A stored state of schema version {version} cannot be read"
        ))
        .detail(format!(
            "{error}. The present version of the schema is {}.",
            schema.version
        ))
        .at(error.path)
    })?;
    forget_write_only(&schema.attributes, &mut state);
    Ok(state)
}
