//! Values: null, unknown, or known to the last digit.
//!
//! Before this file stand the decoders (`msgpack.rs`, `json.rs`), after it the plan's rules (`plan.rs`) and the
//! resources. A value does not carry its type: the schema has it, and `conform` (in `conform.rs`) brings the two
//! together before anything is sent. Strings are in Unicode's normalisation form C, as OpenTofu compares them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::order::Ordered;
use crate::{Number, Type};

/// A value of a configuration, a plan or a state.
///
/// Equality is OpenTofu's: numbers by quantity, sets without order, a map and an object by their members. [`Value::Unknown`] equals itself here, because two
/// unknown values are the same plan. `Debug` shows the shape and hides what strings and numbers hold, so that no
/// secret reaches a log; under tests and with the feature `testing` it shows all.
#[derive(Clone)]
pub enum Value {
    /// Absent.
    Null,
    /// Not known before apply.
    Unknown,
    /// `true` or `false`.
    Bool(bool),
    /// An exact number.
    Number(Number),
    /// A text, in normalisation form C when it came from the wire or through [`Value::from`].
    String(String),
    /// The elements of a list, or of a tuple.
    List(Vec<Value>),
    /// The elements of a set, in any order.
    Set(Vec<Value>),
    /// The elements of a map.
    Map(BTreeMap<String, Value>),
    /// The attributes of an object.
    Object(BTreeMap<String, Value>),
    /// A value of a dynamic attribute with the type that it brought. A dynamic null or unknown may stand without one.
    Dynamic(Box<Type>, Box<Value>),
}

/// What [`Value::attr`] finds where there is nothing.
static NULL: Value = Value::Null;
/// What [`Value::attr`] finds inside of what is not known.
static UNKNOWN: Value = Value::Unknown;

impl Value {
    /// An object of these attributes. Attributes of the schema that are left out become null before anything is sent.
    pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
        Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// An attribute of an object or an element of a map. Of null and of what has no such member it is null, of unknown
    /// it is unknown, so that a way down needs no care: `config.attr("image").attr("alias")`.
    pub fn attr(&self, name: &str) -> &Value {
        match self {
            Value::Object(members) | Value::Map(members) => members.get(name).unwrap_or(&NULL),
            Value::Unknown => &UNKNOWN,
            Value::Dynamic(_, value) => value.attr(name),
            _ => &NULL,
        }
    }

    /// Sets an attribute of an object or an element of a map; anything else becomes an object first.
    pub fn set_attr(&mut self, name: &str, value: impl Into<Value>) {
        if !matches!(self, Value::Object(_) | Value::Map(_)) {
            *self = Value::Object(BTreeMap::new());
        }
        if let Value::Object(members) | Value::Map(members) = self {
            members.insert(name.to_owned(), value.into());
        }
    }

    /// Whether it is absent.
    pub fn is_null(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Dynamic(_, value) => value.is_null(),
            _ => false,
        }
    }

    /// Whether it is not known as a whole; it may be known and hold unknown members, see [`Value::is_wholly_known`].
    pub fn is_unknown(&self) -> bool {
        match self {
            Value::Unknown => true,
            Value::Dynamic(_, value) => value.is_unknown(),
            _ => false,
        }
    }

    /// Whether nothing in it is unknown.
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Value::Unknown => false,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            Value::List(elements) | Value::Set(elements) => {
                elements.iter().all(Value::is_wholly_known)
            }
            Value::Map(members) | Value::Object(members) => {
                members.values().all(Value::is_wholly_known)
            }
            Value::Dynamic(_, value) => value.is_wholly_known(),
        }
    }

    /// The text, if it is a known string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            Value::Dynamic(_, value) => value.as_str(),
            _ => None,
        }
    }

    /// The truth, if it is a known bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            Value::Dynamic(_, value) => value.as_bool(),
            _ => None,
        }
    }

    /// The number, if it is a known one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            Value::Dynamic(_, value) => value.as_number(),
            _ => None,
        }
    }

    /// The number, if it is a known whole one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The members, if it is a known map or object.
    pub fn as_map(&self) -> Option<&BTreeMap<String, Value>> {
        match self {
            Value::Map(members) | Value::Object(members) => Some(members),
            Value::Dynamic(_, value) => value.as_map(),
            _ => None,
        }
    }

    /// The elements, if it is a known list, set or tuple.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(elements) | Value::Set(elements) => Some(elements),
            Value::Dynamic(_, value) => value.as_list(),
            _ => None,
        }
    }
}

/// The text in normalisation form C. Almost every text already is, and is passed through.
pub(crate) fn normalise(text: String) -> String {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text,
        IsNormalized::No | IsNormalized::Maybe => text.nfc().collect(),
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        Ordered::of(self).compare(&Ordered::of(other)) == Ordering::Equal
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = cfg!(any(test, feature = "testing"));
        Shape { value: self, shown }.fmt(formatter)
    }
}

/// A value in a log or a test's failure, with or without what its strings and numbers hold.
struct Shape<'a> {
    value: &'a Value,
    shown: bool,
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |value| Shape {
            value,
            shown: self.shown,
        };
        match self.value {
            Value::Null => formatter.write_str("null"),
            Value::Unknown => formatter.write_str("unknown"),
            Value::Bool(truth) => write!(formatter, "{truth}"),
            Value::Number(number) if self.shown => write!(formatter, "{number}"),
            Value::Number(_) => formatter.write_str("number"),
            Value::String(text) if self.shown => write!(formatter, "{text:?}"),
            Value::String(_) => formatter.write_str("string"),
            Value::List(elements) => formatter
                .debug_list()
                .entries(elements.iter().map(of))
                .finish(),
            Value::Set(elements) => formatter
                .debug_set()
                .entries(elements.iter().map(of))
                .finish(),
            Value::Map(members) | Value::Object(members) => {
                let members = members.iter().map(|(name, member)| (name, of(member)));
                formatter.debug_map().entries(members).finish()
            }
            Value::Dynamic(_, value) => write!(formatter, "dynamic {:?}", of(value)),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::from(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(normalise(text))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.clone())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number.into())
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value {
        Value::List(elements)
    }
}

impl From<BTreeMap<String, Value>> for Value {
    fn from(members: BTreeMap<String, Value>) -> Value {
        Value::Map(members)
    }
}

/// `None` is null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_equal_in_any_order_and_lists_are_not() {
        let elements = || vec![Value::from("a"), Value::from("b"), Value::Null];
        let reversed = || elements().into_iter().rev().collect::<Vec<_>>();
        assert_eq!(Value::Set(elements()), Value::Set(reversed()));
        assert_ne!(Value::List(elements()), Value::List(reversed()));
        assert_ne!(
            Value::Set(elements()),
            Value::Set(vec![Value::from("a"), Value::from("b")])
        );
    }

    #[test]
    fn the_way_down_needs_no_care() {
        let config = Value::object([
            ("image", Value::object([("alias", "web".into())])),
            ("health", Value::Unknown),
        ]);
        assert_eq!(config.attr("image").attr("alias").as_str(), Some("web"));
        assert!(config.attr("image").attr("server").is_null());
        assert!(config.attr("volumes").attr("data").attr("path").is_null());
        assert!(config.attr("health").attr("check").is_unknown());
        assert!(!config.is_wholly_known());
    }

    #[test]
    fn strings_are_in_normalisation_form_c() {
        assert_eq!(Value::from("e\u{301}").as_str(), Some("\u{e9}"));
    }

    #[test]
    fn setting_an_attribute_of_null_makes_an_object() {
        let mut value = Value::Null;
        value.set_attr("a", 1i64);
        value.set_attr("b", None::<bool>);
        assert_eq!(
            value,
            Value::object([("a", 1i64.into()), ("b", Value::Null)])
        );
    }

    #[test]
    fn logs_show_the_shape_and_no_secret() {
        let secret = || Value::from("s3cret");
        let value = Value::object([
            ("a", vec![secret(), Value::Null, true.into()].into()),
            (
                "b",
                Value::Dynamic(Box::new(Type::String), Box::new(secret())),
            ),
            ("c", Value::Set(vec![4711i64.into()])),
        ]);
        let shape = Shape {
            value: &value,
            shown: false,
        };
        assert_eq!(
            format!("{shape:?}"),
            r#"{"a": [string, null, true], "b": dynamic string, "c": {number}}"#
        );
        assert!(
            format!("{value:?}").contains("s3cret"),
            "a test's failure shows all"
        );
    }
}
