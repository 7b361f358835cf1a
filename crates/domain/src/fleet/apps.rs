//! What is wrong between apps, and between apps and machines.
//!
//! Before: `fleet::check`. After: the issues, each at the later of the two apps. Not here: how ports are written
//! (`ports.rs`), and how workloads are named (`workload`).

use std::collections::{BTreeMap, BTreeSet};

use super::machines::same_names;
use super::ports::{self, Listener};
use super::{App, Fleet, Place, entries, repeated};
use crate::app::declared::MOST_REPLICAS;
use crate::issue::{Issue, Step};
use crate::workload::{self, APP_AND_MACHINE_LENGTH};

/// An app that has a name, with its place.
struct Named<'a> {
    place: Place<'a>,
    name: &'a str,
    app: &'a App,
}

pub(super) fn check(fleet: &Fleet, issues: &mut Vec<Issue>) {
    let all: Vec<(Place<'_>, &App)> = entries("apps", &fleet.apps).collect();
    let names = all.iter().map(|(place, app)| (*place, &app.name));
    same_names("app", names, issues);
    let named = all.iter().filter_map(|(place, app)| {
        let (place, name) = (*place, place.name(&app.name)?);
        Some(Named { place, name, app })
    });
    let apps: Vec<Named<'_>> = named.collect();
    let machines: BTreeSet<&str> = entries("machines", &fleet.machines)
        .filter_map(|(place, machine)| place.name(&machine.name))
        .collect();
    same_per_node_types(&apps, issues);
    same_workloads(&apps, &machines, issues);
    long_names(&apps, &machines, issues);
    primaries(fleet, &apps, &machines, issues);
    same_ports(&apps, issues);
}

fn is_per_node(app: &App) -> bool {
    app.replicas
        .known()
        .is_some_and(|replicas| replicas == "per-node")
}

/// HO-APP-16: of each type, at most one app is per-node.
fn same_per_node_types(apps: &[Named<'_>], issues: &mut Vec<Issue>) {
    let per_node = apps.iter().filter(|one| is_per_node(one.app));
    let types = per_node.filter_map(|one| Some((one.place, one.app.r#type.known()?.as_str())));
    for (earlier, place, r#type) in repeated(types) {
        let detail = format!(
            "{} and {} are of type {type:?} with replicas = \"per-node\". Expected at most one such app of a type. Remove one \
             of the two, or give it a number of replicas.",
            earlier.told(),
            place.told()
        );
        let summary = format!("Two per-node apps are of type {type:?}");
        issues.push(Issue::new(place.at("replicas"), summary, detail));
    }
}

/// HO-APP-14, HO-APP-27: what the names of an app's workloads begin with, before the generation.
fn stems(one: &Named<'_>, machines: &BTreeSet<&str>) -> Vec<String> {
    if is_per_node(one.app) {
        let derived = machines
            .iter()
            .map(|machine| workload::stem(one.name, Some(machine)));
        return derived.collect();
    }
    let replicas = one
        .app
        .replicas
        .known()
        .and_then(|text| text.parse::<u32>().ok());
    match replicas {
        Some(1) => vec![workload::stem(one.name, None)],
        Some(count) => (0..count.min(MOST_REPLICAS))
            .map(|ordinal| workload::stem(one.name, Some(&ordinal.to_string())))
            .collect(),
        None => Vec::new(),
    }
}

/// Two apps of different names that are after the same names for their workloads. One issue for each pair of apps.
fn same_workloads(apps: &[Named<'_>], machines: &BTreeSet<&str>, issues: &mut Vec<Issue>) {
    let mut owners: BTreeMap<String, &Named<'_>> = BTreeMap::new();
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    for one in apps {
        for stem in stems(one, machines) {
            let Some(other) = owners.get(&stem) else {
                owners.insert(stem, one);
                continue;
            };
            if other.name == one.name || !told.insert((other.name, one.name)) {
                continue;
            }
            let detail = format!(
                "{} ({:?}) and {} ({:?}) would both have a workload {stem}-g0. Expected names that stay apart with the \
                 ordinals and machines behind them. Rename one of the two.",
                other.place.told(),
                other.name,
                one.place.told(),
                one.name
            );
            let summary = format!("The workloads of two apps would be called {stem}");
            issues.push(Issue::new(one.place.at("name"), summary, detail));
        }
    }
}

/// The name of a per-node app leaves room for every machine's and for generations.
fn long_names(apps: &[Named<'_>], machines: &BTreeSet<&str>, issues: &mut Vec<Issue>) {
    for one in apps.iter().filter(|one| is_per_node(one.app)) {
        let length = |machine: &str| one.name.len() + machine.len();
        let longest = machines.iter().max_by_key(|machine| length(machine));
        let Some(machine) = longest.filter(|machine| length(machine) > APP_AND_MACHINE_LENGTH)
        else {
            continue;
        };
        let detail = format!(
            "The per-node app {:?} and machine {machine:?} have {} characters together. Expected at most \
             {APP_AND_MACHINE_LENGTH}, which leaves room for the generation in the name of the instance. Shorten the name of \
             the app or of the machine.",
            one.name,
            length(machine)
        );
        let summary = "A per-node app and a machine have too long names together";
        issues.push(Issue::new(one.place.at("name"), summary, detail));
    }
}

/// HO-CFG-05: the primary is one of the declared machines.
fn primaries(
    fleet: &Fleet,
    apps: &[Named<'_>],
    machines: &BTreeSet<&str>,
    issues: &mut Vec<Issue>,
) {
    // As long as a machine has no name yet, it may be the one.
    let all = fleet.machines.known().map_or(&[][..], Vec::as_slice);
    if all.is_empty() || all.iter().any(|(step, entry)| unnamed(step, entry)) {
        return;
    }
    for one in apps {
        if let Some(primary) = one.app.primary.known()
            && !machines.contains(primary.as_str())
        {
            let names: Vec<&str> = machines.iter().copied().collect();
            let detail = format!(
                "The primary of app {:?} is {primary:?}. Expected one of the machines: {}. Set it to one of these.",
                one.name,
                names.join(", ")
            );
            let summary = "The primary is no declared machine";
            issues.push(Issue::new(one.place.at("primary"), summary, detail));
        }
    }
}

fn unnamed(step: &Step, entry: &crate::given::Given<super::Machine>) -> bool {
    let place = Place {
        kind: "machines",
        step,
    };
    entry.is_unknown()
        || entry
            .known()
            .is_some_and(|machine| place.name(&machine.name).is_none())
}

/// HF-17: a port of the host is one app's, wherever the two can meet on one member.
fn same_ports(apps: &[Named<'_>], issues: &mut Vec<Issue>) {
    let listeners: Vec<(&Named<'_>, Vec<Listener<'_>>)> = apps
        .iter()
        .map(|one| (one, ports::listeners(&one.app.devices)))
        .collect();
    for (index, (one, own)) in listeners.iter().enumerate() {
        for (other, others) in listeners.iter().take(index) {
            if !may_meet(one.app, other.app) {
                continue;
            }
            let clash = own
                .iter()
                .find_map(|own| Some((own, others.iter().find(|other| own.clashes(other))?)));
            let Some((own, others)) = clash else {
                continue;
            };
            let detail = format!(
                "Device {:?} of app {:?} listens on {:?}, and device {:?} of app {:?} on {:?}. Both can run on one member, and \
                 the later one would not start. Choose another port, or place the two apps in different groups.",
                own.device, one.name, own.text, others.device, other.name, others.text
            );
            let summary = format!(
                "The apps {:?} and {:?} listen on the same port of the host",
                other.name, one.name
            );
            issues.push(Issue::new(one.place.at("workload"), summary, detail));
        }
    }
}

/// Whether both can be on one member: not if each has a group, and not the same one. An unknown group may be another.
fn may_meet(one: &App, other: &App) -> bool {
    match (one.group.known(), other.group.known()) {
        (Some(one), Some(other)) => one == other,
        _ => !one.group.is_unknown() && !other.group.is_unknown(),
    }
}
