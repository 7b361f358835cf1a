//! Diagnostics and paths on the wire.

use super::tfplugin6::attribute_path::{Step, step::Selector};
use super::tfplugin6::{
    AttributePath, Diagnostic as WireDiagnostic, diagnostic::Severity as WireSeverity,
};
use crate::{Diagnostic, Path, PathStep, Severity};

/// Encodes diagnostics in their order.
pub(crate) fn to_wire(diagnostics: impl IntoIterator<Item = Diagnostic>) -> Vec<WireDiagnostic> {
    let encode = |diagnostic: Diagnostic| {
        let severity = match diagnostic.severity {
            Severity::Error => WireSeverity::Error,
            Severity::Warning => WireSeverity::Warning,
        };
        WireDiagnostic {
            severity: severity.into(),
            summary: diagnostic.summary,
            detail: diagnostic.detail,
            attribute: diagnostic
                .path
                .as_ref()
                .filter(|path| !path.steps.is_empty())
                .map(path_to_wire),
        }
    };
    diagnostics.into_iter().map(encode).collect()
}

/// Encodes a path.
pub(crate) fn path_to_wire(path: &Path) -> AttributePath {
    let encode = |step: &PathStep| match step {
        PathStep::Attribute(name) => Selector::AttributeName(name.clone()),
        PathStep::Key(key) => Selector::ElementKeyString(key.clone()),
        PathStep::Index(index) => Selector::ElementKeyInt(*index),
    };
    AttributePath {
        steps: path
            .steps
            .iter()
            .map(|step| Step {
                selector: Some(encode(step)),
            })
            .collect(),
    }
}
