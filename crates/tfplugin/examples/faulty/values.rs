//! Values as the wire has them, to be damaged in ways in which a well-made encoder could not.

use rmpv::Value;

use crate::wire::DynamicValue;

/// An object's attributes, in the order of the wire.
pub(crate) struct Members(Vec<(Value, Value)>);

impl Members {
    /// Of an object; of null there are none.
    pub(crate) fn of(value: Option<&DynamicValue>) -> Option<Members> {
        let mut bytes = value?.msgpack.as_slice();
        match rmpv::decode::read_value(&mut bytes).ok()? {
            Value::Map(members) => Some(Members(members)),
            _ => None,
        }
    }

    pub(crate) fn get(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|(key, _)| key.as_str() == Some(name));
        found.map_or(&Value::Nil, |(_, value)| value)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).as_str().map(str::to_owned)
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        for (key, old) in &mut self.0 {
            if key.as_str() == Some(name) {
                *old = value.clone();
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key.as_str() != Some(name));
    }

    pub(crate) fn encode(self) -> Option<DynamicValue> {
        Some(encode(&Value::Map(self.0)))
    }
}

/// Changes an object in its place; null stays.
pub(crate) fn change(value: &mut Option<DynamicValue>, change: impl FnOnce(&mut Members)) {
    if let Some(mut members) = Members::of(value.as_ref()) {
        change(&mut members);
        *value = members.encode();
    }
}

pub(crate) fn null() -> Option<DynamicValue> {
    Some(encode(&Value::Nil))
}

pub(crate) fn is_null(value: Option<&DynamicValue>) -> bool {
    Members::of(value).is_none()
}

/// What is not known.
pub(crate) fn unknown() -> Value {
    Value::Ext(0, vec![0])
}

pub(crate) fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Ext(..))
}

/// Whether anything in a value is unknown.
pub(crate) fn holds_unknown(value: Option<&DynamicValue>) -> bool {
    fn holds(value: &Value) -> bool {
        match value {
            Value::Ext(..) => true,
            Value::Array(elements) => elements.iter().any(holds),
            Value::Map(members) => members.iter().any(|(_, member)| holds(member)),
            _ => false,
        }
    }
    Members::of(value).is_some_and(|members| members.0.iter().any(|(_, member)| holds(member)))
}

fn encode(value: &Value) -> DynamicValue {
    let mut msgpack = Vec::new();
    // Writing into memory does not fail.
    let _ = rmpv::encode::write_value(&mut msgpack, value);
    DynamicValue {
        msgpack,
        json: Vec::new(),
    }
}
