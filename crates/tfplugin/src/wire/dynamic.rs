//! Values on the wire. They are sent as MessagePack and read as that or as JSON.

use super::tfplugin6::DynamicValue;
use crate::decode::DecodeError;
use crate::{Type, Value, json, msgpack};

/// Encodes a value that conforms to its type.
pub(crate) fn to_wire(value: &Value, of: &Type) -> DynamicValue {
    DynamicValue {
        msgpack: msgpack::encode(value, of),
        json: Vec::new(),
    }
}

/// Decodes a value. One that is not there, or that has neither encoding, is null.
pub(crate) fn from_wire(value: Option<&DynamicValue>, of: &Type) -> Result<Value, DecodeError> {
    match value {
        Some(value) if !value.msgpack.is_empty() => msgpack::decode(&value.msgpack, of),
        Some(value) if !value.json.is_empty() => json::decode(&value.json, of),
        Some(_) | None => Ok(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_are_read_and_none_is_null() {
        let of = Type::map(Type::Number);
        let value = Value::Map([("a".to_owned(), Value::from(1i64))].into());
        let packed = to_wire(&value, &of);
        let json = DynamicValue {
            msgpack: Vec::new(),
            json: br#"{"a":1}"#.to_vec(),
        };
        assert_eq!(from_wire(Some(&packed), &of), Ok(value.clone()));
        assert_eq!(from_wire(Some(&json), &of), Ok(value));
        assert_eq!(
            from_wire(Some(&DynamicValue::default()), &of),
            Ok(Value::Null)
        );
        assert_eq!(from_wire(None, &of), Ok(Value::Null));
    }
}
