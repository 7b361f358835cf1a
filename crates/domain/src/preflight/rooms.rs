//! Room for an app: the limits of its project, and the profiles, pools and groups that it names.
//!
//! Before: `preflight::check`. Not here: whether a pool has space, which only Incus can tell when it makes something.

use super::{Facts, of_device, of_workload};
use crate::app::{AppSpec, Kind, Replicas, VolumeClass};
use crate::issue::{Issue, Step, attribute};
use crate::observation::Observation;

/// The storage drivers whose volumes are the same on every member.
const SHARED_DRIVERS: [&str; 2] = ["ceph", "lvmcluster"];

pub(super) fn check(
    spec: &AppSpec,
    facts: &Facts,
    observation: &Observation,
    issues: &mut Vec<Issue>,
) {
    limits(spec, facts, observation, issues);
    profiles(spec, facts, issues);
    root_disk(spec, facts, issues);
    disks(spec, facts, issues);
    volumes(spec, facts, issues);
    group(spec, facts, issues);
}

/// A rollout has one instance more than there are places, since a generation is beside the one before.
fn limits(spec: &AppSpec, facts: &Facts, observation: &Observation, issues: &mut Vec<Issue>) {
    let is_empty = |place: &crate::place::Place| {
        let mut workloads = observation.workloads.iter();
        !workloads.any(|one| one.place == *place && one.status.is_live())
    };
    let missing = observation.places(spec.replicas).filter(is_empty).count();
    let declared = spec.hash();
    // Of a member that does not answer nobody knows what its workloads were made from.
    let live = observation
        .workloads
        .iter()
        .filter(|one| one.status.is_live());
    let outdated = live.clone().filter(|one| one.spec != declared).count();
    let is_twice = |place: &crate::place::Place| {
        let here = live.clone().filter(|one| one.place == *place);
        here.count() > 1
    };
    let beside = observation
        .places(spec.replicas)
        .any(|place| is_twice(&place));
    // Replicas roll one after the other, machines side by side; one that is on trial already needs no more room.
    let most_at_once = match spec.replicas {
        Replicas::Count(_) => 1,
        Replicas::PerNode => usize::MAX,
    };
    let beside = if beside {
        0
    } else {
        outdated.min(most_at_once)
    };
    let rolls = beside > 0;
    let needed = missing + beside;
    if needed == 0 {
        return;
    }
    let is_vm = spec.workload.kind == Kind::Vm;
    let here = || {
        facts
            .instances
            .iter()
            .filter(|one| one.project == facts.project)
    };
    let of_kind = || here().filter(|one| one.is_vm == is_vm).count();
    let kind = match is_vm {
        true => "limits.virtual-machines",
        false => "limits.containers",
    };
    for (limit, there) in [("limits.instances", here().count()), (kind, of_kind())] {
        let set = facts
            .limits
            .as_ref()
            .and_then(|limits| limits.get(limit)?.parse::<usize>().ok());
        let Some(most) = set.filter(|most| there + needed > *most) else {
            continue;
        };
        issues.push(Issue::new(
            attribute("replicas"),
            format!("The project {:?} has no room for the app", facts.project),
            format!(
                "Its `{limit}` is {most}, {there} are there, and {needed} more are needed at a time{}. Raise the limit, \
                 remove something, or declare fewer replicas.",
                match rolls {
                    true => ", since a new generation comes up before the old one goes",
                    false => "",
                }
            ),
        ));
    }
}

fn profiles(spec: &AppSpec, facts: &Facts, issues: &mut Vec<Issue>) {
    for (index, profile) in facts.used_profiles(spec).iter().enumerate() {
        if facts.profiles.contains_key(profile) {
            continue;
        }
        let mut path = of_workload("profiles");
        match spec.workload.profiles {
            Some(_) => path.push(Step::Index(index)),
            // It is Incus's own choice then, and there is nothing to point at.
            None => path.clear(),
        }
        let there: Vec<&str> = facts.profiles.keys().map(String::as_str).collect();
        issues.push(Issue::new(
            path,
            format!("The profile {profile:?} does not exist"),
            format!(
                "The project {:?} has {}. Expected one of these.",
                facts.project,
                list(&there)
            ),
        ));
    }
}

fn root_disk(spec: &AppSpec, facts: &Facts, issues: &mut Vec<Issue>) {
    let of_profiles = facts.devices_of_profiles(spec);
    let mut devices = spec.workload.devices.values().chain(of_profiles.values());
    let is_root = |device: &std::collections::BTreeMap<String, String>| {
        let has = |key: &str, value: &str| device.get(key).is_some_and(|text| text == value);
        has("type", "disk") && has("path", "/")
    };
    if !devices.any(is_root) {
        pool(
            &facts.storage_pool,
            Vec::new(),
            "the root disk, which no profile brings",
            facts,
            issues,
        );
    }
}

fn disks(spec: &AppSpec, facts: &Facts, issues: &mut Vec<Issue>) {
    for (name, device) in &spec.workload.devices {
        if let Some(named) = device.get("pool") {
            pool(
                named,
                of_device(name, "pool"),
                &format!("the device {name:?}"),
                facts,
                issues,
            );
        }
    }
}

fn volumes(spec: &AppSpec, facts: &Facts, issues: &mut Vec<Issue>) {
    for (name, volume) in &spec.volumes {
        let at = |attribute| {
            vec![
                Step::Attribute("volumes"),
                Step::Key(name.clone()),
                Step::Attribute(attribute),
            ]
        };
        let what = format!("the volume {name:?}");
        let Some(named) = facts.pool_of(volume) else {
            issues.push(Issue::new(
                at("class"),
                "There is no pool for replicated volumes",
                format!("The class of {what} is \"replicated\". Expected a `pool` here, or `shared_pool` in the provider block."),
            ));
            continue;
        };
        let path = match volume.pool {
            Some(_) => at("pool"),
            None => at("class"),
        };
        let found = pool(named, path.clone(), &what, facts, issues);
        let driver = found.map(|found| found.driver.as_str()).unwrap_or_default();
        if volume.class == VolumeClass::Replicated
            && found.is_some()
            && !SHARED_DRIVERS.contains(&driver)
        {
            issues.push(Issue::new(
                path,
                "The pool of a replicated volume is not shared",
                format!("The storage pool {named} has the driver {driver}, whose volumes stay on one member. Expected lvmcluster or ceph."),
            ));
        }
    }
}

/// The pool, if it is there and ready.
fn pool<'a>(
    name: &str,
    path: Vec<Step>,
    what: &str,
    facts: &'a Facts,
    issues: &mut Vec<Issue>,
) -> Option<&'a super::Pool> {
    match facts.pools.get(name) {
        Some(pool) if pool.is_ready => Some(pool),
        Some(_) => {
            issues.push(Issue::new(
                path,
                format!("The storage pool {name:?} is not ready"),
                format!("It is for {what}. `incus storage show {name}` says what it is; a pool of a cluster is made on every member first."),
            ));
            None
        }
        None => {
            let there: Vec<&str> = facts.pools.keys().map(String::as_str).collect();
            issues.push(Issue::new(
                path,
                format!("The storage pool {name:?} does not exist"),
                format!("It is for {what}. The cluster has {}.", list(&there)),
            ));
            None
        }
    }
}

fn group(spec: &AppSpec, facts: &Facts, issues: &mut Vec<Issue>) {
    let Some(placement) = &spec.placement else {
        return;
    };
    let seen = match &facts.groups {
        Some(groups) if groups.contains(&placement.group) => return,
        Some(groups) => {
            let there: Vec<&str> = groups.iter().map(String::as_str).collect();
            format!("The cluster has {}", list(&there))
        }
        None => "This server is not in a cluster, so it has no groups".to_owned(),
    };
    debug_assert!(
        matches!(spec.replicas, Replicas::Count(_)),
        "placement is refused with per-node"
    );
    issues.push(Issue::new(
        vec![Step::Attribute("placement"), Step::Attribute("group")],
        format!("The cluster group {:?} does not exist", placement.group),
        format!("{seen}. Expected one of the cluster's groups: `incus cluster group list`."),
    ));
}

fn list(there: &[&str]) -> String {
    match there {
        [] => "none".to_owned(),
        there => there.join(", "),
    }
}
