//! The template of a declaration: what its Incus instances look like.
//!
//! Before: `declared.rs` reads every part. After: [`Template`]. Incus's own checks of keys and devices are not
//! repeated here; only what would fight with the provider or with Incus is refused.

use std::collections::BTreeMap;

use super::{Declared, GivenMap};
use crate::app::render::{EVACUATE, STATEFUL};
use crate::app::{KEY_PREFIX, Kind, PER_NODE, Template};
use crate::given::Given;
use crate::issue::{Issue, Step};

pub(super) fn read(declared: &Declared, issues: &mut Vec<Issue>) -> Option<Template> {
    let workload = match &declared.workload {
        Given::Absent => return Some(Template::default()),
        Given::Unknown => return None,
        Given::Known(workload) => workload,
    };
    let kind = read_kind(&workload.kind, issues);
    let config = read_map(&workload.config);
    refuse_reserved_config(declared, &workload.config, issues);
    let devices = read_devices(&workload.devices);
    let profiles = match &workload.profiles {
        Given::Absent => Some(None),
        Given::Unknown => None,
        Given::Known(list) => read_list(list).map(Some),
    };
    let environment = read_map(&workload.environment);
    Some(Template {
        kind: kind?,
        config: config?,
        devices: devices?,
        profiles: profiles?,
        environment: environment?,
    })
}

fn read_kind(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<Kind> {
    match given {
        Given::Absent => Some(Kind::Container),
        Given::Unknown => None,
        Given::Known(text) => match text.as_str() {
            "container" => Some(Kind::Container),
            "vm" => Some(Kind::Vm),
            other => {
                issues.push(Issue::new(
                    vec![Step::Attribute("workload"), Step::Attribute("kind")],
                    "A kind of workload is not known",
                    format!("The kind is {other:?}. Expected \"container\" or \"vm\"."),
                ));
                None
            }
        },
    }
}

/// Keys that the provider or Incus writes: a user's value would fight with them for ever.
fn refuse_reserved_config(declared: &Declared, config: &Given<GivenMap>, issues: &mut Vec<Issue>) {
    let replicas = declared.replicas.known().map(String::as_str);
    let moves = declared.live_migration == Given::Known(true);
    for key in config.known().into_iter().flatten().map(|(key, _)| key) {
        let instead = if key.starts_with(KEY_PREFIX) {
            "Keys that start with \"user.homelab-ops.\" are how the provider recognises its workloads. Choose another key."
        } else if key.starts_with("environment.") {
            "Environment variables go into `workload.environment`, without the prefix."
        } else if key.starts_with("volatile.") || key.starts_with("image.") {
            "Incus itself writes this key. Remove it."
        } else if key == EVACUATE && replicas == Some(PER_NODE) {
            "A workload that belongs to a machine stays there, stopped, when the machine is evacuated. Remove the key."
        } else if key == STATEFUL && moves {
            "`live_migration` sets it. Remove the key."
        } else {
            continue;
        };
        issues.push(Issue::new(
            vec![
                Step::Attribute("workload"),
                Step::Attribute("config"),
                Step::Key(key.clone()),
            ],
            "A configuration key is reserved",
            format!("The key is {key:?}. {instead}"),
        ));
    }
}

fn read_map(given: &Given<GivenMap>) -> Option<BTreeMap<String, String>> {
    match given {
        Given::Absent => Some(BTreeMap::new()),
        Given::Unknown => None,
        Given::Known(map) => map
            .iter()
            .filter(|(_, value)| value.is_set())
            .map(|(key, value)| Some((key.clone(), value.known()?.clone())))
            .collect(),
    }
}

pub(super) fn read_list(list: &[Given<String>]) -> Option<Vec<String>> {
    list.iter().map(|item| item.known().cloned()).collect()
}

fn read_devices(
    given: &Given<BTreeMap<String, Given<GivenMap>>>,
) -> Option<BTreeMap<String, BTreeMap<String, String>>> {
    match given {
        Given::Absent => Some(BTreeMap::new()),
        Given::Unknown => None,
        Given::Known(devices) => devices
            .iter()
            .map(|(name, device)| Some((name.clone(), read_map(device)?)))
            .collect(),
    }
}
