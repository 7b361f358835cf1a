//! What only one instance of a member or a network can have: a port of the host, and a fixed address.
//!
//! Before: `preflight::check`; `app/declared/exclusive.rs` asks the same of a configuration alone. A proxy device listens on
//! its host unless it is bound to the instance.

use std::collections::BTreeSet;

use super::{Devices, Facts, Neighbour, of_device, of_workload};
use crate::app::{AppSpec, Replicas, Strategy};
use crate::issue::{Issue, Step};
use crate::observation::Observation;

/// The settings that give a network device an address which nobody else can have.
const ADDRESSES: [&str; 2] = ["ipv4.address", "ipv6.address"];

type Device = std::collections::BTreeMap<String, String>;

/// Ports of a host that a device takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    protocol: String,
    address: String,
    /// First and last, both included.
    ports: Vec<(u16, u16)>,
}

/// The ports of the host that a device takes; `None` if it takes none, or says so in a way that Incus will refuse.
pub(crate) fn host_ports(device: &Device) -> Option<Listener> {
    let text = |key: &str| device.get(key).map(String::as_str);
    let is_inside = matches!(text("bind"), Some("instance" | "guest" | "container"));
    if text("type") != Some("proxy") || is_inside {
        return None;
    }
    let (protocol, rest) = text("listen")?.split_once(':')?;
    let (address, ports) = rest.rsplit_once(':')?;
    let ports = ports.split(',').map(range).collect::<Option<Vec<_>>>()?;
    Some(Listener {
        protocol: protocol.to_owned(),
        address: address.trim_matches(['[', ']']).to_owned(),
        ports,
    })
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The setting by which a device has a fixed address.
pub(crate) fn fixed_address(device: &Device) -> Option<&'static str> {
    let is_fixed = |key: &&str| {
        let value = device.get(*key).map(String::as_str);
        value.is_some_and(|value| !matches!(value, "" | "none"))
    };
    let is_nic = device.get("type").is_some_and(|r#type| r#type == "nic");
    ADDRESSES.into_iter().find(is_fixed).filter(|_| is_nic)
}

impl Listener {
    fn overlaps(&self, other: &Listener) -> bool {
        let is_any = |address: &str| matches!(address, "0.0.0.0" | "::" | "");
        let meets =
            self.address == other.address || is_any(&self.address) || is_any(&other.address);
        let crosses = |(first, last): &(u16, u16)| {
            let mut others = other.ports.iter();
            others.any(|(from, to)| first <= to && from <= last)
        };
        self.protocol == other.protocol && meets && self.ports.iter().any(crosses)
    }
}

pub(super) fn check(
    spec: &AppSpec,
    facts: &Facts,
    observation: &Observation,
    issues: &mut Vec<Issue>,
) {
    of_profiles(spec, &facts.devices_of_profiles(spec), issues);
    let own = listeners(&spec.workload.devices);
    let inherited = facts.devices_of_profiles(spec);
    let inherited = listeners(&inherited)
        .into_iter()
        .map(|(_, listener)| (of_workload("profiles"), listener));
    let own = own
        .into_iter()
        .map(|(name, listener)| (of_device(name, "listen"), listener));
    for (path, listener) in own.chain(inherited) {
        issues.extend(crowded(spec, facts, observation, path, &listener));
    }
}

fn listeners(devices: &Devices) -> Vec<(&String, Listener)> {
    let listener = |(name, device)| Some((name, host_ports(device)?));
    devices.iter().filter_map(listener).collect()
}

/// A profile can make an app exclusive, too; what the workload itself declares is judged without any cluster.
fn of_profiles(spec: &AppSpec, devices: &Devices, issues: &mut Vec<Issue>) {
    for (name, device) in devices {
        let what = match (host_ports(device), fixed_address(device)) {
            (Some(_), _) => "takes a port of the host",
            (None, Some(_)) => "has a fixed address",
            (None, None) => continue,
        };
        let is_lone = matches!(spec.replicas, Replicas::Count(1));
        let advice = match spec.r#type.strategy() {
            Strategy::BlueGreen => {
                "A new generation cannot come up beside the old one with it. Expected `type = \"generic-exclusive\"`, which stops \
                 the old one first, or other profiles."
            }
            Strategy::StopReplace if fixed_address(device).is_some() && !is_lone => {
                "Two workloads cannot have one address. Expected `replicas = 1`, or other profiles."
            }
            Strategy::StopReplace => continue,
        };
        issues.push(Issue::new(
            of_workload("profiles"),
            "A profile has what only one instance can have",
            format!("The device {name:?} of a profile {what}. {advice}"),
        ));
    }
}

/// Each workload needs a member on which nobody listens there.
fn crowded(
    spec: &AppSpec,
    facts: &Facts,
    observation: &Observation,
    path: Vec<Step>,
    listener: &Listener,
) -> Option<Issue> {
    let is_ours = |one: &Neighbour| {
        let mut workloads = observation.workloads.iter();
        one.project == facts.project && workloads.any(|workload| workload.name == one.name)
    };
    let others = facts.instances.iter().filter(|one| !is_ours(one));
    let holders: Vec<&Neighbour> = others
        .filter(|one| {
            one.devices
                .values()
                .filter_map(host_ports)
                .any(|taken| taken.overlaps(listener))
        })
        .collect();
    let members = eligible(spec, observation);
    let is_free = |member: &&Option<String>| holders.iter().all(|holder| holder.member != **member);
    let free = members.iter().filter(is_free).count();
    let needed = match spec.replicas {
        Replicas::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
        Replicas::PerNode => members.len(),
    };
    // Without a member at all, that is what will be told.
    if members.is_empty() || free >= needed {
        return None;
    }
    let told: Vec<String> = holders.iter().map(|holder| told(holder)).collect();
    let seen = match told.as_slice() {
        [] => String::new(),
        told => format!(" {} already.", told.join("; ")),
    };
    Some(Issue::new(
        path,
        "A port of the host is not free for every workload",
        format!(
            "{needed} are needed, each on a member of its own, and {free} of {} can be had.{seen} Choose another port, \
             fewer replicas or other members, or bind the proxy to the instance.",
            members.len()
        ),
    ))
}

/// Where its workloads may be; the only server has no name.
fn eligible(spec: &AppSpec, observation: &Observation) -> BTreeSet<Option<String>> {
    if observation.members.is_empty() {
        return BTreeSet::from([None]);
    }
    let group = spec.placement.as_ref().map(|placement| &placement.group);
    let members = observation.members.iter();
    members
        .filter(|member| group.is_none_or(|group| member.groups.contains(group)))
        .map(|member| Some(member.name.clone()))
        .collect()
}

fn told(holder: &Neighbour) -> String {
    let place = holder.member.as_ref().map(|member| format!(" on {member}"));
    format!(
        "{} (project {}){} listens there",
        holder.name,
        holder.project,
        place.unwrap_or_default()
    )
}
