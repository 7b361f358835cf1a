//! What only a host has to read: diagnostics, paths and schemas.

use crate::wire::tfplugin6::attribute_path::step::Selector;
use crate::wire::tfplugin6::schema::object::NestingMode;
use crate::wire::tfplugin6::{
    self as message, AttributePath, Diagnostic as WireDiagnostic,
    diagnostic::Severity as WireSeverity,
};
use crate::{Attribute, Diagnostic, Diagnostics, Path, PathStep, Schema, Severity, Type};

pub(super) fn diagnostics(diagnostics: Vec<WireDiagnostic>) -> Diagnostics {
    let decode = |diagnostic: WireDiagnostic| Diagnostic {
        severity: match diagnostic.severity() {
            WireSeverity::Warning => Severity::Warning,
            WireSeverity::Error | WireSeverity::Invalid => Severity::Error,
        },
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        path: diagnostic.attribute.map(path),
    };
    diagnostics.into_iter().map(decode).collect()
}

pub(super) fn path(path: AttributePath) -> Path {
    let steps = path.steps.into_iter().filter_map(|step| step.selector);
    let decode = |selector| match selector {
        Selector::AttributeName(name) => PathStep::Attribute(name),
        Selector::ElementKeyString(key) => PathStep::Key(key),
        Selector::ElementKeyInt(index) => PathStep::Index(index),
    };
    Path {
        steps: steps.map(decode).collect(),
    }
}

/// The schema as a host knows it: without defaults, validators and the plan's rules. `None` when a host would refuse it.
pub(super) fn schema(schema: &message::Schema) -> Option<Schema> {
    let block = schema.block.as_ref()?;
    // A resource of ours has no nested blocks; one that has them is not understood here.
    if !block.block_types.is_empty() {
        return None;
    }
    let described = Schema::new(schema.version, block.description.clone());
    Some(described.attributes(attributes(&block.attributes)?))
}

fn attributes(attributes: &[message::schema::Attribute]) -> Option<Vec<Attribute>> {
    attributes.iter().map(attribute).collect()
}

fn attribute(wire: &message::schema::Attribute) -> Option<Attribute> {
    let name = wire.name.clone();
    let mut attribute = match (&wire.nested_type, wire.r#type.is_empty()) {
        (None, false) => Attribute::of(name, type_of(&wire.r#type)?),
        (Some(object), true) => {
            let nested = attributes(&object.attributes)?;
            match object.nesting() {
                NestingMode::Single => Attribute::single(name, nested),
                NestingMode::List => Attribute::nested_list(name, nested),
                NestingMode::Set => Attribute::nested_set(name, nested),
                NestingMode::Map => Attribute::nested_map(name, nested),
                NestingMode::Invalid => return None,
            }
        }
        (None, true) | (Some(_), false) => return None,
    };
    attribute.description = wire.description.clone();
    attribute.required = wire.required;
    attribute.optional = wire.optional;
    attribute.computed = wire.computed;
    attribute.sensitive = wire.sensitive;
    attribute.write_only = wire.write_only;
    Some(attribute)
}

/// Reads the JSON form of a type.
pub(super) fn type_of(json: &[u8]) -> Option<Type> {
    Type::from_json(&serde_json::from_slice(json).ok()?).ok()
}
