//! What names an object for good: its identity, apart from its state.
//!
//! A resource says with [`crate::Resource::identity`] which attributes name its objects. From then on every answer
//! about an object carries its identity (`server.rs` sees to it), taken from the state, so that a resource cannot forget
//! it: the host stores what the last answer said, and an identity that is left out once is lost. Here also stands the
//! rule that an identity never changes while its object lives.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::{Diagnostic, Resource, Type, Value, json};

/// The attributes that name the objects of a kind.
///
/// ```
/// use tfplugin::{IdentitySchema, Type};
/// let identity = IdentitySchema::new(0)
///     .required("name", Type::String, "What it is called.")
///     .optional("project", Type::String, "Where it is; the provider's own project when left out.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentitySchema {
    /// The version under which identities are stored. It rises when a stored identity changes its shape.
    pub version: i64,
    /// In the order of the documentation.
    pub attributes: Vec<IdentityAttribute>,
}

/// One attribute of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityAttribute {
    /// Its name. By default the attribute of the state with the same name is its value.
    pub name: String,
    /// A bool, a number, a string, or a list of one of them. The host knows no others here.
    pub of: Type,
    /// An import has to give it; otherwise it may.
    pub required_for_import: bool,
    /// What it means, as plain text.
    pub description: String,
}

impl IdentitySchema {
    /// An identity without attributes, which names nothing yet.
    pub fn new(version: i64) -> IdentitySchema {
        IdentitySchema {
            version,
            attributes: Vec::new(),
        }
    }

    /// Adds an attribute that an import has to give.
    pub fn required(self, name: &str, of: Type, description: &str) -> IdentitySchema {
        self.attribute(name, of, true, description)
    }

    /// Adds an attribute that an import may leave out.
    pub fn optional(self, name: &str, of: Type, description: &str) -> IdentitySchema {
        self.attribute(name, of, false, description)
    }

    fn attribute(
        mut self,
        name: &str,
        of: Type,
        required_for_import: bool,
        description: &str,
    ) -> IdentitySchema {
        self.attributes.push(IdentityAttribute {
            name: name.to_owned(),
            of,
            required_for_import,
            description: description.to_owned(),
        });
        self
    }

    /// The type of a whole identity.
    pub fn object_type(&self) -> Type {
        let attributes = self
            .attributes
            .iter()
            .map(|attribute| (attribute.name.clone(), attribute.of.clone()));
        Type::Object(attributes.collect())
    }

    /// Every fault of it; empty when it is sound.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if !self
            .attributes
            .iter()
            .any(|attribute| attribute.required_for_import)
        {
            faults.push(Diagnostic::error(
                "Nothing in the identity is required for an import",
            ));
        }
        for attribute in &self.attributes {
            let IdentityAttribute { name, of, .. } = attribute;
            let simple = |of: &Type| matches!(of, Type::Bool | Type::Number | Type::String);
            let known = match of {
                Type::List(element) => simple(element),
                of => simple(of),
            };
            if !known {
                let fault = "It is in an identity and neither a primitive nor a list of primitives";
                faults.push(Diagnostic::error(fault).at(name.as_str()));
            }
            if attribute.description.is_empty() {
                faults.push(Diagnostic::error("It has no description").at(name.as_str()));
            }
        }
        faults
    }
}

/// The members of a state that have the names of the identity's attributes: what [`Resource::identity_of`] is by itself.
pub(crate) fn by_name(schema: Option<IdentitySchema>, state: &Value) -> Value {
    let attributes = schema.map(|schema| schema.attributes).unwrap_or_default();
    let members: BTreeMap<_, _> = attributes
        .into_iter()
        .map(|attribute| {
            let value = state.attr(&attribute.name).clone();
            (attribute.name, value)
        })
        .collect();
    Value::Object(members)
}

/// The identity that goes with a state, held against the one before. It is null as long as it is not known.
pub(crate) fn of_state(
    resource: &dyn Resource,
    schema: &IdentitySchema,
    state: &Value,
    before: &Value,
) -> Result<Value, Diagnostic> {
    if state.is_null() {
        return Ok(Value::Null);
    }
    let identity = resource.identity_of(state).conform(&schema.object_type());
    let identity = identity.map_err(|error| {
        Diagnostic::error("The provider returned an identity that does not fit its schema")
            .detail(format!("{error}. This is a bug in the provider."))
    })?;
    for attribute in &schema.attributes {
        let (old, new) = (before.attr(&attribute.name), identity.attr(&attribute.name));
        let settled = |value: &Value| !value.is_null() && value.is_wholly_known();
        if settled(old) && new.is_wholly_known() && old != new {
            return Err(changed(&attribute.name));
        }
    }
    let says_something = attributes_of(&identity).any(|value| !value.is_null());
    let complete = identity.is_wholly_known() && says_something;
    Ok(if complete { identity } else { before.clone() })
}

fn attributes_of(identity: &Value) -> impl Iterator<Item = &Value> {
    identity
        .as_map()
        .into_iter()
        .flatten()
        .map(|(_, value)| value)
}

fn changed(name: &str) -> Diagnostic {
    Diagnostic::error(format!("The identity of the object changed in {name:?}")).detail(
        "An identity stays the same for the life of an object. Either another object was found under its name, or the \
         attribute should replace the object when it changes.",
    )
}

/// Brings a stored identity into the shape of the present schema, as `upgrade.rs` does with states.
pub(crate) fn upgrade(
    resource: &dyn Resource,
    schema: &IdentitySchema,
    version: i64,
    stored: &[u8],
) -> Result<Value, Diagnostic> {
    let of = schema.object_type();
    let identity = if version == schema.version {
        json::decode(stored, &of)
    } else {
        let raw: Json = serde_json::from_slice(stored).map_err(|_| {
            Diagnostic::error("A stored identity is not JSON")
                .detail("The state file may be damaged.")
        })?;
        Value::from_json(&resource.upgrade_identity(version, raw)?, &of)
    };
    identity.map_err(|error| {
        let summary = format!("A stored identity of version {version} cannot be read");
        let present = schema.version;
        Diagnostic::error(summary).detail(format!("{error}. The present version is {present}."))
    })
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
