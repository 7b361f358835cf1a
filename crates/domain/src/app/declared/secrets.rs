//! The secrets of a declaration: their names and versions, and never a value.
//!
//! Before: `declared.rs` reads every part. After: the versions in `AppSpec`. A value that changes without its version is
//! not seen, since neither state nor plan hold it.

use std::collections::BTreeSet;

use super::Declared;
use crate::app::render::METRICS_FILES;
use crate::app::{AppType, PER_NODE};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};

/// The version of the secrets that all workloads get.
pub(super) fn read(declared: &Declared, issues: &mut Vec<Issue>) -> Option<Option<u64>> {
    if let Given::Known(names) = &declared.secrets {
        let environment = declared
            .workload
            .known()
            .and_then(|one| one.environment.known());
        let twice = |name: &&String| environment.is_some_and(|plain| plain.contains_key(*name));
        for name in names.iter().filter(twice) {
            issues.push(Issue::new(
                vec![Step::Attribute("secrets_wo"), Step::Key(name.clone())],
                "A variable is declared twice",
                format!("{name:?} stands in `workload.environment` and in `secrets_wo`. Expected it in one of them."),
            ));
        }
        check_names(&[Step::Attribute("secrets_wo")], names, issues);
    }
    version(
        declared.secrets.is_set(),
        &declared.secrets_version,
        "secrets_wo",
        "secrets_wo_version",
        issues,
    )
}

/// The version of the secrets that each machine's workload gets for itself.
pub(super) fn read_of_nodes(declared: &Declared, issues: &mut Vec<Issue>) -> Option<Option<u64>> {
    let counted = declared
        .replicas
        .known()
        .is_some_and(|replicas| replicas != PER_NODE);
    if counted && (declared.node_secrets.is_set() || declared.node_secrets_version.is_set()) {
        issues.push(Issue::new(
            attribute("node_secrets_wo"),
            "Only an app on every machine has secrets of machines",
            "`replicas` is a number. Expected `replicas = \"per-node\"`, or `secrets_wo` for secrets that all workloads share.",
        ));
    }
    for (machine, names) in declared.node_secrets.known().into_iter().flatten() {
        if let Given::Known(names) = names {
            let path = [
                Step::Attribute("node_secrets_wo"),
                Step::Key(machine.clone()),
            ];
            check_names(&path, names, issues);
        }
    }
    version(
        declared.node_secrets.is_set(),
        &declared.node_secrets_version,
        "node_secrets_wo",
        "node_secrets_wo_version",
        issues,
    )
}

/// A version alone is what the state holds of secrets; secrets without one would never be seen to change.
pub(super) fn version(
    is_set: bool,
    version: &Given<u64>,
    secret: &'static str,
    beside: &'static str,
    issues: &mut Vec<Issue>,
) -> Option<Option<u64>> {
    match version {
        Given::Known(version) => Some(Some(*version)),
        Given::Unknown => None,
        Given::Absent if is_set => {
            issues.push(Issue::new(
                attribute(beside),
                "Secrets have no version",
                format!(
                    "`{secret}` is set and `{beside}` is not. Values that only pass through are stored nowhere, so a change of \
                     them is told by their version alone. Expected a whole number, to be raised with each change."
                ),
            ));
            None
        }
        Given::Absent => Some(None),
    }
}

/// HO-OBS-04: a certificate is of no use without its key.
pub(super) fn check_metrics(declared: &Declared, r#type: Option<AppType>, issues: &mut Vec<Issue>) {
    if r#type != Some(AppType::Alloy) {
        return;
    }
    for (machine, names) in declared.node_secrets.known().into_iter().flatten() {
        let Given::Known(names) = names else { continue };
        let [has_certificate, has_key] = METRICS_FILES.map(|name| names.contains(name));
        if has_certificate != has_key {
            issues.push(Issue::new(
                vec![
                    Step::Attribute("node_secrets_wo"),
                    Step::Key(machine.clone()),
                ],
                "A machine has half of what reads its metrics",
                "Only one of `metrics_crt` and `metrics_key` is set. Expected both, as `homelab_seed` makes them, or neither.",
            ));
        }
    }
}

/// Incus takes no variable of more than one line. What a collector gets as files may have them.
pub(super) fn check_lines(declared: &Declared, r#type: Option<AppType>, issues: &mut Vec<Issue>) {
    for (machine, name) in &declared.of_many_lines {
        let is_file = METRICS_FILES.contains(&name.as_str());
        if r#type.is_none() || (r#type == Some(AppType::Alloy) && is_file) {
            continue;
        }
        let mut path = match machine {
            None => vec![Step::Attribute("secrets_wo")],
            Some(machine) => vec![
                Step::Attribute("node_secrets_wo"),
                Step::Key(machine.clone()),
            ],
        };
        path.push(Step::Key(name.clone()));
        issues.push(Issue::new(
            path,
            "A secret has more than one line",
            format!(
                "The value of {name:?} has a line break or a NUL in it, and no environment variable can. Expected one line: \
                 encode the value, for instance with `base64encode`."
            ),
        ));
    }
}

/// They become variables of the workload's environment.
fn check_names(path: &[Step], names: &BTreeSet<String>, issues: &mut Vec<Issue>) {
    for name in names {
        let is_sound = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_sound {
            let mut path = path.to_vec();
            path.push(Step::Key(name.clone()));
            issues.push(Issue::new(
                path,
                "A secret has no name that an environment can have",
                format!("The name is {name:?}. Expected letters, digits and underscores, not starting with a digit."),
            ));
        }
    }
}
