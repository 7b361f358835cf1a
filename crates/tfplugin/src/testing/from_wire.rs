//! What only a host has to read: diagnostics, paths and schemas.

use crate::wire::tfplugin6::attribute_path::step::Selector;
use crate::wire::tfplugin6::schema::Attribute;
use crate::wire::tfplugin6::schema::object::NestingMode;
use crate::wire::tfplugin6::{
    AttributePath, Diagnostic as WireDiagnostic, Schema, diagnostic::Severity as WireSeverity,
};
use crate::{Diagnostic, Diagnostics, Path, PathStep, Severity, Type};

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

/// The type that a schema implies; `None` when a host would refuse it.
pub(super) fn schema(schema: &Schema) -> Option<Type> {
    object(&schema.block.as_ref()?.attributes)
}

fn object(attributes: &[Attribute]) -> Option<Type> {
    let attributes = attributes
        .iter()
        .map(|attribute| Some((attribute.name.clone(), attribute_type(attribute)?)));
    attributes.collect::<Option<_>>().map(Type::Object)
}

fn attribute_type(attribute: &Attribute) -> Option<Type> {
    match (&attribute.nested_type, attribute.r#type.is_empty()) {
        (None, false) => Type::from_json(&serde_json::from_slice(&attribute.r#type).ok()?).ok(),
        (Some(nested), true) => {
            let element = object(&nested.attributes)?;
            match nested.nesting() {
                NestingMode::Single => Some(element),
                NestingMode::List => Some(Type::list(element)),
                NestingMode::Set => Some(Type::set(element)),
                NestingMode::Map => Some(Type::map(element)),
                NestingMode::Invalid => None,
            }
        }
        (None, true) | (Some(_), false) => None,
    }
}
