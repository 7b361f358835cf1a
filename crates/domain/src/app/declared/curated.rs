//! What only the curated types know: parameters, the destinations of a collector, the leader among agents.
//!
//! Before: `declared.rs` reads every part. After: their parts of `AppSpec`.

use std::collections::BTreeMap;

use super::{Declared, DeclaredDestination, secrets};
use crate::app::{AppType, Destination};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};
use crate::name;

/// Parameters of the renderer; the types of today take none, so a misspelt one is told.
pub(super) fn read_params(
    declared: &Declared,
    r#type: Option<AppType>,
    issues: &mut Vec<Issue>,
) -> Option<BTreeMap<String, String>> {
    let params = match &declared.params {
        Given::Absent => return Some(BTreeMap::new()),
        Given::Unknown => return None,
        Given::Known(params) => params,
    };
    for key in params.keys() {
        let Some(r#type) = r#type else { continue };
        issues.push(Issue::new(
            vec![Step::Attribute("params"), Step::Key(key.clone())],
            "An app of this type has no such parameter",
            format!(
                "The parameter is {key:?}, and apps of type {:?} take none. Remove it.",
                r#type.name()
            ),
        ));
    }
    Some(BTreeMap::new())
}

/// A collector gets its files before it starts, and a virtual machine takes none then.
pub(super) fn check_kind(declared: &Declared, r#type: Option<AppType>, issues: &mut Vec<Issue>) {
    let workload = declared.workload.known();
    let kind = workload.and_then(|workload| workload.kind.known());
    if r#type == Some(AppType::Alloy) && kind.is_some_and(|kind| kind == "vm") {
        issues.push(Issue::new(
            vec![Step::Attribute("workload"), Step::Attribute("kind")],
            "A collector is a container",
            "The kind is \"vm\", and the type \"alloy\". Its configuration is put into it before it starts, which Incus does with \
             containers only. Remove `kind`.",
        ));
    }
}

/// Where a collector sends what it collects.
pub(super) fn read_destinations(
    declared: &Declared,
    r#type: Option<AppType>,
    issues: &mut Vec<Issue>,
) -> Option<BTreeMap<String, Destination>> {
    let is_alloy = r#type == Some(AppType::Alloy);
    let destinations = match &declared.alloy {
        Given::Unknown => return None,
        Given::Absent if is_alloy => {
            issues.push(Issue::new(
                attribute("alloy"),
                "A collector has no destination",
                "The type is \"alloy\". Expected `alloy = { destinations = { … } }` with where logs and metrics go.",
            ));
            return None;
        }
        Given::Absent => return Some(BTreeMap::new()),
        Given::Known(_) if r#type.is_some() && !is_alloy => {
            issues.push(belongs_to("alloy", AppType::Alloy));
            return None;
        }
        Given::Known(alloy) => alloy.destinations.known()?,
    };
    if destinations.is_empty() {
        issues.push(Issue::new(
            vec![Step::Attribute("alloy"), Step::Attribute("destinations")],
            "A collector has no destination",
            "There is none. Expected at least one, with `loki_url` for logs, `prometheus_url` for metrics, or both.",
        ));
        return None;
    }
    let read = |(name, one): (&String, &Given<DeclaredDestination>)| {
        Some((
            name.clone(),
            read_destination(declared, name, one.known()?, issues)?,
        ))
    };
    let read: Vec<_> = destinations.iter().map(read).collect();
    read.into_iter().collect()
}

fn read_destination(
    declared: &Declared,
    name: &str,
    one: &DeclaredDestination,
    issues: &mut Vec<Issue>,
) -> Option<Destination> {
    let before = issues.len();
    let mut refuse = |attribute: Option<&'static str>, summary: &str, detail: String| {
        let mut path = vec![
            Step::Attribute("alloy"),
            Step::Attribute("destinations"),
            Step::Key(name.to_owned()),
        ];
        path.extend(attribute.map(Step::Attribute));
        issues.push(Issue::new(path, summary, detail));
    };
    let label = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !label {
        let detail = format!(
            "The name is {name:?}, and stands in the collector's configuration. Expected letters, digits and underscores, not starting with a digit."
        );
        refuse(
            None,
            "A destination has no name that can be written",
            detail,
        );
    }
    for (attribute, url) in [
        ("loki_url", &one.loki_url),
        ("prometheus_url", &one.prometheus_url),
    ] {
        if let Given::Known(url) = url
            && !(is_address(url))
        {
            let detail = format!(
                "It is {url:?}. Expected an address that starts with http:// or https://, without a user in it: that is `username` and `password_secret`."
            );
            refuse(Some(attribute), "A destination has no address", detail);
        }
    }
    if !one.loki_url.is_set() && !one.prometheus_url.is_set() {
        let detail =
            "Neither `loki_url` nor `prometheus_url` is set. Expected at least one of them."
                .to_owned();
        refuse(None, "A destination takes nothing", detail);
    }
    if one.username.is_set() != one.password_secret.is_set() {
        let detail =
            "Only one of `username` and `password_secret` is set. Expected both or neither."
                .to_owned();
        refuse(None, "A destination has half a login", detail);
    }
    if let (Given::Known(secret), Given::Known(names)) = (&one.password_secret, &declared.secrets)
        && !names.contains(secret)
    {
        let detail = format!(
            "It is {secret:?}, and `secrets_wo` has no such secret. Expected the name of one."
        );
        refuse(
            Some("password_secret"),
            "A password is not among the secrets",
            detail,
        );
    }
    let whole = [
        &one.loki_url,
        &one.prometheus_url,
        &one.username,
        &one.password_secret,
    ];
    if issues.len() > before || whole.iter().any(|given| given.is_unknown()) {
        return None;
    }
    Some(Destination {
        loki_url: one.loki_url.known().cloned(),
        prometheus_url: one.prometheus_url.known().cloned(),
        username: one.username.known().cloned(),
        password_secret: one.password_secret.known().cloned(),
    })
}

fn is_address(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '@');
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(plain))
}

/// HO-ELECT-01: which machine's agent leads.
pub(super) fn read_primary(
    declared: &Declared,
    r#type: Option<AppType>,
    issues: &mut Vec<Issue>,
) -> Option<Option<String>> {
    let is_agent = r#type == Some(AppType::Agent);
    let key = &declared.joiner_key;
    let of_key = secrets::version(
        key.is_set(),
        &declared.joiner_key_version,
        "joiner_key_wo",
        "joiner_key_wo_version",
        issues,
    );
    if r#type.is_some() && !is_agent {
        for (name, is_set) in [
            ("primary", declared.primary.is_set()),
            ("joiner_key_wo", key.is_set()),
            (
                "joiner_key_wo_version",
                declared.joiner_key_version.is_set(),
            ),
        ] {
            if is_set {
                issues.push(belongs_to(name, AppType::Agent));
            }
        }
    }
    of_key?;
    match &declared.primary {
        Given::Unknown => None,
        Given::Absent if is_agent => {
            issues.push(Issue::new(
                attribute("primary"),
                "No agent leads",
                "The type is \"agent\". Expected `primary`, the name of the machine whose agent acts for the fleet.",
            ));
            None
        }
        Given::Absent => Some(None),
        Given::Known(machine) => {
            issues.extend(name::issue(attribute("primary"), "machine", machine));
            Some(Some(machine.clone()))
        }
    }
}

fn belongs_to(name: &'static str, r#type: AppType) -> Issue {
    Issue::new(
        attribute(name),
        "An attribute belongs to another type of app",
        format!(
            "`{name}` is set. Expected it only with `type = {:?}`; remove it.",
            r#type.name()
        ),
    )
}
