//! The types that values have on the wire, and their JSON form.
//!
//! A schema (`schema.rs`) implies a type; the decoders (`msgpack.rs`, `json.rs`) are led by it. Types say nothing of
//! what is required or sensitive: that is the schema's.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `bool`.
    Bool,
    /// `number`, exact and of any size.
    Number,
    /// `string`.
    String,
    /// Any type; the value brings its own.
    Dynamic,
    /// Elements of one type, in order.
    List(Box<Type>),
    /// Elements of one type, without order and without equals.
    Set(Box<Type>),
    /// Elements of one type, by key.
    Map(Box<Type>),
    /// Attributes, each of its own type.
    Object(BTreeMap<String, Type>),
    /// Elements in order, each of its own type. Only what is given for a dynamic attribute has it.
    Tuple(Vec<Type>),
}

/// A text that describes no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "reading the description of a type: expected a name, or a pair such as [\"list\",\"string\"]"
)]
pub struct ParseTypeError;

impl Type {
    /// A list of such elements.
    pub fn list(element: Type) -> Type {
        Type::List(Box::new(element))
    }

    /// A set of such elements.
    pub fn set(element: Type) -> Type {
        Type::Set(Box::new(element))
    }

    /// A map of such elements.
    pub fn map(element: Type) -> Type {
        Type::Map(Box::new(element))
    }

    /// An object of these attributes.
    pub fn object<const N: usize>(attributes: [(&str, Type); N]) -> Type {
        Type::Object(
            attributes
                .into_iter()
                .map(|(name, of)| (name.to_owned(), of))
                .collect(),
        )
    }

    /// The JSON form, such as `["map","number"]`.
    pub fn to_json(&self) -> Json {
        match self {
            Type::Bool => Json::from("bool"),
            Type::Number => Json::from("number"),
            Type::String => Json::from("string"),
            Type::Dynamic => Json::from("dynamic"),
            Type::List(element) => Json::from(vec![Json::from("list"), element.to_json()]),
            Type::Set(element) => Json::from(vec![Json::from("set"), element.to_json()]),
            Type::Map(element) => Json::from(vec![Json::from("map"), element.to_json()]),
            Type::Object(attributes) => {
                let attributes = attributes
                    .iter()
                    .map(|(name, of)| (name.clone(), of.to_json()))
                    .collect();
                Json::from(vec![Json::from("object"), Json::Object(attributes)])
            }
            Type::Tuple(elements) => {
                let elements: Vec<Json> = elements.iter().map(Type::to_json).collect();
                Json::from(vec![Json::from("tuple"), Json::from(elements)])
            }
        }
    }

    /// Reads the JSON form. The parser that made the argument has bounded its depth.
    pub fn from_json(json: &Json) -> Result<Type, ParseTypeError> {
        if let Json::String(name) = json {
            return match name.as_str() {
                "bool" => Ok(Type::Bool),
                "number" => Ok(Type::Number),
                "string" => Ok(Type::String),
                "dynamic" => Ok(Type::Dynamic),
                _ => Err(ParseTypeError),
            };
        }
        // Objects may carry a third element, the names of optional attributes; it means nothing for values.
        let Some([Json::String(name), argument, ..]) = json.as_array().map(Vec::as_slice) else {
            return Err(ParseTypeError);
        };
        match (name.as_str(), argument) {
            ("list", element) => Ok(Type::list(Type::from_json(element)?)),
            ("set", element) => Ok(Type::set(Type::from_json(element)?)),
            ("map", element) => Ok(Type::map(Type::from_json(element)?)),
            ("object", Json::Object(attributes)) => {
                let read = |(name, of): (&String, &Json)| Ok((name.clone(), Type::from_json(of)?));
                Ok(Type::Object(
                    attributes.iter().map(read).collect::<Result<_, _>>()?,
                ))
            }
            ("tuple", Json::Array(elements)) => Ok(Type::Tuple(
                elements
                    .iter()
                    .map(Type::from_json)
                    .collect::<Result<_, _>>()?,
            )),
            _ => Err(ParseTypeError),
        }
    }

    /// How the type is called in messages to users.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Type::Bool => "a bool",
            Type::Number => "a number",
            Type::String => "a string",
            Type::Dynamic => "a value of any type",
            Type::List(_) => "a list",
            Type::Set(_) => "a set",
            Type::Map(_) => "a map",
            Type::Object(_) => "an object",
            Type::Tuple(_) => "a tuple",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_form_reads_back() {
        let rows = [
            r#""dynamic""#,
            r#"["list","string"]"#,
            r#"["map",["set","number"]]"#,
            r#"["object",{"a":"bool","b":["object",{}]}]"#,
            r#"["tuple",["string",["list","bool"]]]"#,
        ];
        for row in rows {
            let json: Json = serde_json::from_str(row).expect("JSON");
            let read = Type::from_json(&json).expect("a type");
            assert_eq!(read.to_json().to_string(), row);
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for row in [
            "null",
            "1",
            r#""text""#,
            "[]",
            r#"["list"]"#,
            r#"["list","x"]"#,
            r#"["object",[]]"#,
            r#"["tuple",{}]"#,
        ] {
            let json: Json = serde_json::from_str(row).expect("JSON");
            assert_eq!(Type::from_json(&json), Err(ParseTypeError), "{row}");
        }
    }
}
