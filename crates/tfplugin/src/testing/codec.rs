//! The decoders by themselves, for the fuzzer (`tests/fuzz.rs`) and for whoever wants to look at bytes.
//!
//! A provider never needs these: the server decodes before it calls, and encodes what it is given.

use crate::decode::DecodeError;
use crate::wire::diagnostic;
use crate::{Diagnostic, Path, Resource, Schema, Type, Value, json, msgpack, upgrade};

/// Reads a value as hosts send it.
///
/// # Errors
///
/// When the bytes are no value of this type.
pub fn decode_msgpack(bytes: &[u8], of: &Type) -> Result<Value, DecodeError> {
    msgpack::decode(bytes, of)
}

/// Writes a value as it is sent to hosts. It has to conform to its type.
pub fn encode_msgpack(value: &Value, of: &Type) -> Vec<u8> {
    msgpack::encode(value, of)
}

/// Reads a value as it is stored.
///
/// # Errors
///
/// When the text is no value of this type.
pub fn decode_json(text: &[u8], of: &Type) -> Result<Value, DecodeError> {
    json::decode(text, of)
}

/// Reads a stored state of a resource with this schema; it may be of an older version of its schema.
///
/// # Errors
///
/// When it cannot be read, with what the user is told.
pub fn upgrade(
    resource: &dyn Resource,
    schema: &Schema,
    version: i64,
    stored: &[u8],
) -> Result<Value, Diagnostic> {
    upgrade::upgrade(resource, schema, version, stored)
}

/// A path as the other side of the wire reads it.
pub fn path_over_the_wire(path: &Path) -> Path {
    super::from_wire::path(diagnostic::path_to_wire(path))
}
