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
        let path = diagnostic.path.filter(|path| !path.steps.is_empty());
        let shown = path.as_ref().map(resolvable);
        // What the shown path leaves out is told in words.
        let detail = match &path {
            Some(whole) if shown.as_ref() != Some(whole) => {
                format!("At `{whole}`: {}", diagnostic.detail)
            }
            Some(_) | None => diagnostic.detail,
        };
        WireDiagnostic {
            severity: severity.into(),
            summary: diagnostic.summary,
            detail,
            attribute: shown.as_ref().map(path_to_wire),
        }
    };
    diagnostics.into_iter().map(encode).collect()
}

/// The part of a path that the host can find in the configuration: it follows keys and indexes of an attribute, but no
/// attributes inside of one, and then it points at the whole resource instead.
fn resolvable(path: &Path) -> Path {
    let is_attribute = |step: &PathStep| matches!(step, PathStep::Attribute(_));
    let inner = path.steps.iter().skip(1).position(is_attribute);
    let kept = inner.map_or(path.steps.len(), |index| index + 1);
    Path {
        steps: path.steps[..kept].to_vec(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_attribute_is_pointed_at_by_its_outer_one_and_named_in_words() {
        let shown = |path: Path| {
            let wire = to_wire([Diagnostic::error("No").detail("Change it.").at(path)]);
            let steps = wire[0]
                .attribute
                .as_ref()
                .map_or(0, |path| path.steps.len());
            (steps, wire[0].detail.clone())
        };
        let plain = "Change it.".to_owned();
        assert_eq!(shown(Path::new("claims").key("a")), (2, plain.clone()));
        assert_eq!(shown(Path::new("dns").index(0)), (2, plain.clone()));
        assert_eq!(shown(Path::root()), (0, plain));
        let inner = Path::new("health").attr("check").attr("exec");
        assert_eq!(
            shown(inner),
            (1, "At `health.check.exec`: Change it.".to_owned())
        );
        let keyed = Path::new("workloads").key("a").attr("image");
        assert_eq!(
            shown(keyed),
            (2, "At `workloads[\"a\"].image`: Change it.".to_owned())
        );
    }
}
