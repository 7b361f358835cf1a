//! The applications of a seed. IncusOS downloads them at its first start, and only logs a name that it does not know.

use crate::given::Given;
use crate::issue::{Issue, item};
use crate::machine;
use crate::seed::secret::quoted;

/// What IncusOS knows, and whether a machine can have only one of that kind.
const KNOWN: [(&str, bool); 9] = [
    ("debug", false),
    ("gpu-support", false),
    ("incus", true),
    ("incus-ceph", false),
    ("incus-linstor", false),
    ("incus-lts-7.0", true),
    ("migration-manager", true),
    ("openfga", false),
    ("operations-center", true),
];

/// HO-SEED-08.
pub(super) fn check(names: &[Given<String>], machine: &machine::Declared, issues: &mut Vec<Issue>) {
    if names.is_empty() {
        issues.push(Issue::new(
            crate::issue::attribute("applications"),
            "A seed has an empty list of applications",
            "IncusOS refuses to be installed with one. Expected at least \"incus\", which is also the default: leave \
             applications out.",
        ));
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut primary: Option<&str> = None;
    for (index, given) in names.iter().enumerate() {
        let mut refuse = |summary: &str, detail: String| {
            issues.push(Issue::new(item("applications", index), summary, detail));
        };
        let name = match given {
            Given::Unknown => continue,
            Given::Absent => {
                refuse(
                    "An application of a seed is null",
                    "Expected a name. Remove the element.".to_owned(),
                );
                continue;
            }
            Given::Known(name) => name.as_str(),
        };
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        let Some((_, is_primary)) = known else {
            let all: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
            refuse(
                "IncusOS does not know an application of a seed",
                format!(
                    "It is {}. Expected one of {}.",
                    quoted(name),
                    all.join(", ")
                ),
            );
            continue;
        };
        if seen.contains(&name) {
            refuse(
                "An application stands twice in a seed",
                format!("{name:?} is named before. Remove one of the two."),
            );
        } else if let (Some(first), true) = (primary, *is_primary) {
            refuse(
                "A seed has two primary applications",
                format!(
                    "{first:?} and {name:?} are both what a machine is for, and IncusOS runs one of those. Remove one."
                ),
            );
        } else if *is_primary && !name.starts_with("incus") && machine.role.is_set() {
            refuse(
                "A member of a cluster runs another application than Incus",
                format!(
                    "The machine has a role, and {name:?} takes the place of Incus. Expected \"incus\" or \
                     \"incus-lts-7.0\". Remove {name:?}, or the role."
                ),
            );
        }
        if *is_primary && primary.is_none() {
            primary = Some(name);
        }
        seen.push(name);
    }
}
