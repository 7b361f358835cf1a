//! Further seed files, which are passed through: checked against the fields that the release knows, and spelled anew.
//!
//! ```text
//! extra_files["kernel"] ── json.rs reads it ── fields.rs says what may stand there ── walk.rs compares the two
//! ```
//!
//! IncusOS refuses a file with a field that it does not know, on an external medium without a word. So a field that is
//! unknown here is refused here. Not here: the files that are made from attributes.

use super::declared::Declared;
use super::json::{self, Json};
use super::release::Release;
use super::secret::quoted;
use crate::given::Given;
use crate::issue::{Issue, element};

mod fields;
mod rules;
mod walk;

/// The files that attributes make, and which those are.
const OURS: [(&str, &str); 5] = [
    ("applications", "applications"),
    (
        "incus",
        "machine, break_glass_certificate and joiner_certificate",
    ),
    ("install", "machine, with its install_disk and security"),
    (
        "network",
        "machine, with its network and address, and wireguard",
    ),
    ("update", "update"),
];

/// The names of all files that IncusOS looks for, without their endings, in their order.
pub fn file_names() -> Vec<&'static str> {
    let mut names = fields::names();
    names.extend(OURS.map(|(name, _)| name));
    names.sort_unstable();
    names
}

/// What is passed through, or what is wrong with it; each text is one sentence or more for the detail.
type Read = Result<Json, Vec<String>>;

pub(super) fn check(seed: &Declared, release: Option<Release>, issues: &mut Vec<Issue>) {
    let Given::Known(files) = &seed.extra_files else {
        return;
    };
    for (name, given) in files {
        // One that is not known may turn out to be left out.
        let Given::Known(text) = given else {
            continue;
        };
        let path = || element("extra_files", name);
        if let Err((summary, detail)) = check_name(name, release) {
            issues.push(Issue::new(path(), summary, detail));
            continue;
        }
        let Some(release) = release else {
            continue;
        };
        match read(name, text, release) {
            Err(faults) => {
                for fault in faults {
                    issues.push(Issue::new(
                        path(),
                        format!("The seed file {name} is not valid"),
                        fault,
                    ));
                }
            }
            Ok(file) if name == "services" && file.get("tailscale").is_some() => {
                if seed.tailscale.is_set() {
                    issues.push(Issue::new(
                        path(),
                        "Tailscale is declared twice in a seed",
                        "tailscale is set, and the file services has it too. Remove one of the two.",
                    ));
                }
            }
            Ok(_) => {}
        }
    }
}

fn check_name(name: &str, release: Option<Release>) -> Result<(), (String, String)> {
    if let Some((_, attributes)) = OURS.iter().find(|(ours, _)| *ours == name) {
        return Err((
            format!("The seed file {name} is made from attributes"),
            format!("extra_files has {name:?}. Set {attributes} instead, and remove the file."),
        ));
    }
    if let Some(file) = fields::file(name) {
        return match release {
            Some(release) if release < file.since => Err((
                format!("The release of IncusOS does not know the seed file {name}"),
                format!(
                    "Seeds are rendered for {release}. Expected incusos_release to be {} or later; remove the file for an \
                     older one.",
                    file.since
                ),
            )),
            _ => Ok(()),
        };
    }
    // `kernel.json`, `Kernel.YAML`: the name is right, and only its spelling is not.
    let lower = name.to_ascii_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let is_known = fields::file(stem).is_some() || OURS.iter().any(|(ours, _)| *ours == stem);
    let detail = if is_known {
        format!(
            "The name is {}. Expected {stem:?}: in lower case, without an extension, and with JSON as its value.",
            quoted(name)
        )
    } else {
        format!(
            "The name is {}. Expected one of {}.",
            quoted(name),
            fields::names().join(", ")
        )
    };
    Err((
        "A seed file has a name that IncusOS does not look for".to_owned(),
        detail,
    ))
}

/// Reads one file as the release would, and spells it anew: known fields in their order, and nothing that is null.
pub(super) fn read(name: &str, text: &str, release: Release) -> Read {
    let json = json::parse(text).map_err(|error| {
        vec![format!(
            "The text is not JSON: {error}. Expected one object, such as jsonencode({{ … }}) gives."
        )]
    })?;
    let Some(file) = fields::file(name) else {
        return Err(vec![
            "IncusOS does not look for a file of that name.".to_owned(),
        ]);
    };
    if !matches!(json, Json::Object(_)) {
        return Err(vec![format!(
            "The text is {}. Expected an object with the fields of the file.",
            json.kind()
        )]);
    }
    let mut faults = Vec::new();
    let file = walk::walk(file, json, release, &mut faults);
    if faults.is_empty() {
        rules::check(name, &file, &mut faults);
    }
    if faults.is_empty() {
        Ok(file)
    } else {
        Err(faults)
    }
}
