//! What two workloads cannot have at once: a port of their host, a fixed address, a path.
//!
//! Before: `declared.rs` reads every part. After: nothing; each clash is an issue. What profiles bring, and what others
//! have taken, is asked of the cluster before a rollout (`preflight`).

use std::collections::BTreeMap;

use super::{Declared, GivenMap};
use crate::app::{AppType, Replicas, Strategy};
use crate::issue::{Issue, Step};
use crate::preflight::{fixed_address, host_ports, of_device};

pub(super) fn check(
    declared: &Declared,
    r#type: Option<AppType>,
    replicas: Option<Replicas>,
    issues: &mut Vec<Issue>,
) {
    let workload = declared.workload.known();
    let devices = workload.and_then(|workload| workload.devices.known());
    for (name, device) in devices.into_iter().flatten() {
        let Some(device) = device.known().map(known) else {
            continue;
        };
        match r#type.map(AppType::strategy) {
            Some(Strategy::BlueGreen) => beside_itself(name, &device, issues),
            Some(Strategy::StopReplace) => one_address(name, &device, replicas, issues),
            None => {}
        }
        check_path(name, &device, declared, issues);
    }
}

/// The settings of a device that are known.
fn known(device: &GivenMap) -> BTreeMap<String, String> {
    let setting = |(key, value): (&String, &crate::given::Given<String>)| {
        Some((key.clone(), value.known()?.clone()))
    };
    device.iter().filter_map(setting).collect()
}

/// A new generation comes up beside the old one, and both would want the same.
fn beside_itself(name: &str, device: &BTreeMap<String, String>, issues: &mut Vec<Issue>) {
    let (setting, what) = match (host_ports(device), fixed_address(device)) {
        (Some(_), _) => ("listen", "takes a port of the host"),
        (None, Some(setting)) => (setting, "has a fixed address"),
        (None, None) => return,
    };
    issues.push(Issue::new(
        of_device(name, setting),
        "A new generation could not come up beside the old one",
        format!(
            "The device {name:?} {what}, and both generations would want it. Expected `type = \"generic-exclusive\"`, which \
             stops the old one first, or a workload without it."
        ),
    ));
}

fn one_address(
    name: &str,
    device: &BTreeMap<String, String>,
    replicas: Option<Replicas>,
    issues: &mut Vec<Issue>,
) {
    let several = replicas.filter(|replicas| *replicas != Replicas::Count(1));
    let (Some(setting), Some(replicas)) = (fixed_address(device), several) else {
        return;
    };
    issues.push(Issue::new(
        of_device(name, setting),
        "Several workloads cannot have one address",
        format!("`replicas` is {replicas}. Expected 1, or a device without `{setting}`."),
    ));
}

/// Incus mounts what it is given; of two at one path only one would be seen.
fn check_path(
    name: &str,
    device: &BTreeMap<String, String>,
    declared: &Declared,
    issues: &mut Vec<Issue>,
) {
    let is_disk = device.get("type").is_some_and(|r#type| r#type == "disk");
    let Some(path) = device.get("path").filter(|_| is_disk) else {
        return;
    };
    let bare = |path: &str| path.trim_end_matches('/').to_owned();
    let volumes = declared.volumes.known().into_iter().flatten();
    let at_path = volumes.filter(|(_, volume)| {
        let volume = volume.known().and_then(|volume| volume.path.known());
        volume.is_some_and(|volume| bare(volume) == bare(path))
    });
    for (volume, _) in at_path {
        issues.push(Issue::new(
            vec![
                Step::Attribute("volumes"),
                Step::Key(volume.clone()),
                Step::Attribute("path"),
            ],
            "A volume and a device have one path",
            format!(
                "The device {name:?} is at {path:?}, too. Expected a path of its own for each."
            ),
        ));
    }
}
