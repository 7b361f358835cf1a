//! Observations: what Incus shows of one app, in our words.
//!
//! Before: `reconcile/src/observe.rs` turns the instance and member lists into [`Seen`] and [`Member`]. After:
//! `rollout::decide` compares the workloads with the declaration. Keys decide what is ours; an instance whose
//! keys are null sits on a member that does not answer: it is unknown, never missing and never foreign.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::app::{Replicas, key, workload_name};
use crate::moment::Moment;
use crate::place::Place;
use crate::work::{Made, Work};

/// A member of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether Incus says that it is online.
    pub status: MemberStatus,
    /// Incus's name for its processor architecture.
    pub architecture: String,
    /// Whether Incus's own scheduler may choose it; if not, neither do we.
    pub schedulable: bool,
    /// The cluster groups that it is in.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// What Incus says about a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberStatus {
    /// It takes part.
    Online,
    /// It has missed its heartbeats: what ran there must be considered gone, and may be running still.
    Offline,
    /// Evacuated, blocked or on the way: alive, but nothing is placed there.
    Other,
}

/// One Incus instance as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// The member that it is on; `None` where Incus is not clustered.
    pub member: Option<String>,
    /// Whether it runs.
    pub power: Power,
    /// Its configuration keys; `None` if its member does not answer.
    pub config: Option<BTreeMap<String, String>>,
    /// When it was first seen healthy, read from its key.
    pub healthy_since: Option<Moment>,
    /// When it was last started, as Incus words it; empty if it never was.
    pub started_at: String,
    /// Whether it was ever started.
    pub ever_started: bool,
    /// What is said about it.
    pub description: String,
}

/// Whether an instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Power {
    /// It runs.
    Running,
    /// It does not.
    Stopped,
    /// Frozen, in error, or in between.
    Other,
}

/// A workload of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The name of its Incus instance.
    pub name: String,
    /// Its place.
    pub place: Place,
    /// Its generation.
    pub generation: u64,
    /// The member that it is on.
    pub member: Option<String>,
    /// The image that it was made from, as the user wrote it; empty if unknown.
    pub image: String,
    /// The hash of the declaration that it was made from; empty if unknown.
    pub spec: String,
    /// How it is.
    pub status: Status,
    /// When it was first seen healthy without a break since.
    pub healthy_since: Option<Moment>,
    /// When it was last started, as Incus words it.
    #[serde(default)]
    pub started_at: String,
    /// Whether it has been started again since it was seen healthy: then nobody has watched it without a break.
    #[serde(default)]
    pub restarted: bool,
    /// Whether it was ever started.
    pub ever_started: bool,
    /// What is said about its Incus instance.
    #[serde(skip)]
    pub description: String,
}

/// A storage volume of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSeen {
    /// Its name in Incus.
    pub name: String,
    /// The storage pool that it is in.
    pub pool: String,
    /// The member that it is on; `None` in a pool that all members share, and where Incus is not clustered.
    pub member: Option<String>,
    /// The place of the app whose data it holds.
    pub place: Place,
    /// Which of the app's volumes it is.
    pub volume: String,
    /// How large it may become, in bytes, if that is limited.
    pub size: Option<u64>,
}

/// How a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It runs.
    Running,
    /// It does not.
    Stopped,
    /// Frozen, in error, or in between.
    Other,
    /// It was moved away from an evacuated member, or waits on one: Incus will put it back, so it is left alone.
    Evacuated,
    /// Its member does not answer, and is not Offline yet.
    Unknown,
    /// Its member is Offline.
    Lost,
}

impl Status {
    /// The word that the state shows.
    pub fn word(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Stopped => "stopped",
            Status::Other => "other",
            Status::Evacuated => "evacuated",
            Status::Unknown => "unknown",
            Status::Lost => "lost",
        }
    }

    /// Whether Incus can tell about it and act on it.
    pub fn is_live(self) -> bool {
        match self {
            Status::Running | Status::Stopped | Status::Other | Status::Evacuated => true,
            Status::Unknown | Status::Lost => false,
        }
    }
}

/// What is known of one app at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Its workloads, by place and generation.
    pub workloads: Vec<Workload>,
    /// Its storage volumes.
    #[serde(default)]
    pub volumes: Vec<VolumeSeen>,
    /// The names that instances of others hold and that workloads of this app could need, with the app that says it owns
    /// each, if one does; and the copies of its workloads.
    pub foreign: BTreeMap<String, Option<String>>,
    /// Names whose holder is unknown, because the member does not answer.
    pub unclear: BTreeSet<String>,
    /// How many Incus instances each member has; the choice of a target counts with them.
    pub load: BTreeMap<String, usize>,
    /// The members; empty where Incus is not clustered.
    pub members: Vec<Member>,
    /// The name of the only server, where Incus is not clustered.
    #[serde(default)]
    pub standalone: Option<String>,
    /// The architecture that the image needs; `None` if it is not known, which rules no member out.
    #[serde(default)]
    pub architecture: Option<String>,
    /// Workloads that were found stopped and were not started by this executor: whoever began their start may have
    /// been cut off in the middle of it, and Incus may still be at it.
    #[serde(default)]
    pub unfinished: BTreeSet<String>,
    /// Workloads that this executor has started and seen stopped after that: they ended by themselves. Incus may list
    /// one as running again for a moment while it clears up behind it.
    #[serde(skip)]
    pub ended: BTreeSet<String>,
    /// The answers of this pass to "healthy now?", by instance name.
    #[serde(skip)]
    pub probes: BTreeMap<String, Probe>,
    /// The last outputs that were kept of failed workloads, by instance name.
    #[serde(skip)]
    pub outputs: BTreeMap<String, String>,
    /// What Incus said when a workload could not be started, by instance name.
    #[serde(skip)]
    pub start_errors: BTreeMap<String, String>,
    /// What Incus said when a workload could not even be made, by the name that it would have had.
    #[serde(skip)]
    pub create_errors: BTreeMap<String, String>,
}

/// One answer to "healthy now?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// Yes.
    Healthy,
    /// No, and what was seen instead.
    Unhealthy(String),
}

impl Observation {
    /// The places of an app of so many workloads: for one on each machine, every machine that is a member.
    pub fn places(&self, replicas: Replicas) -> impl Iterator<Item = Place> {
        let (count, machines) = match replicas {
            Replicas::Count(count) => (count, None),
            Replicas::PerNode => (0, Some(self.machines())),
        };
        let machines = machines.into_iter().flatten();
        let machines = machines.map(|machine| Place::Machine(machine.to_owned()));
        (0..count).map(Place::Ordinal).chain(machines)
    }

    /// Whether an app of so many workloads has this place.
    pub fn has_place(&self, place: &Place, replicas: Replicas) -> bool {
        let is_here = |machine: &str| self.machines().any(|one| one == machine);
        place.is_of(replicas) && place.machine().is_none_or(is_here)
    }

    /// The machines that workloads can be on: the members, or the only server where Incus is not clustered.
    pub fn machines(&self) -> impl Iterator<Item = &str> {
        let members = self.members.iter().map(|member| member.name.as_str());
        members.chain(self.standalone.as_deref())
    }

    /// Whether a machine takes what is meant for it: it is neither offline nor evacuated.
    pub fn is_open(&self, machine: &str) -> bool {
        let is_online = |member: &Member| member.status == MemberStatus::Online;
        let found = self.members.iter().find(|member| member.name == machine);
        found.is_none_or(is_online)
    }

    /// The names of the workloads that do not run.
    pub fn stopped(&self) -> impl Iterator<Item = &String> {
        let stopped = |workload: &&Workload| workload.status == Status::Stopped;
        self.workloads
            .iter()
            .filter(stopped)
            .map(|workload| &workload.name)
    }
}

/// What of the instance list concerns `app`.
pub fn of_app(app: &str, seen: &[Seen], members: &[Member], work: &Work) -> Observation {
    let mut observation = Observation {
        members: members.to_vec(),
        ..Observation::default()
    };
    let recorded = work.by_names();
    for instance in seen {
        if let Some(member) = &instance.member {
            match observation.load.get_mut(member) {
                Some(load) => *load += 1,
                None => drop(observation.load.insert(member.clone(), 1)),
            }
        }
        match workload(app, instance, members, &recorded) {
            Whose::Ours(workload) => observation.workloads.push(workload),
            Whose::Unclear => {
                observation.unclear.insert(instance.name.clone());
            }
            // A list is of the whole fleet, and there are as many observations of it as apps.
            Whose::Foreign(owner) if is_in_the_way(app, &instance.name) => {
                let owner = owner.map(str::to_owned);
                observation.foreign.insert(instance.name.clone(), owner);
            }
            Whose::Foreign(_) => {}
        }
    }
    observation
        .workloads
        .sort_by(|one, other| (&one.place, one.generation).cmp(&(&other.place, other.generation)));
    set_copies_apart(app, &mut observation, work, &adopted(seen));
    observation
}

/// A copy of a workload that somebody made by hand carries its keys, also when the workload is long gone: what neither
/// the record nor its own name says to be ours is theirs. Of two with the same place and generation, one is the workload.
fn set_copies_apart(
    app: &str,
    observation: &mut Observation,
    work: &Work,
    adopted: &BTreeSet<&str>,
) {
    let mut workloads: Vec<Workload> = Vec::with_capacity(observation.workloads.len());
    let rank = |one: &Workload| originality(app, one, work, adopted);
    for workload in core::mem::take(&mut observation.workloads) {
        let place = |one: &Workload| (one.place.clone(), one.generation);
        let copy = match workloads.last_mut() {
            _ if rank(&workload) == Originality::default() => workload,
            Some(last) if place(last) == place(&workload) => match rank(&workload) > rank(last) {
                true => core::mem::replace(last, workload),
                false => workload,
            },
            _ => {
                workloads.push(workload);
                continue;
            }
        };
        observation.foreign.insert(copy.name, Some(app.to_owned()));
    }
    observation.workloads = workloads;
}

/// What speaks for an instance being the one that we made, the strongest first; by default nothing does.
#[derive(Default, PartialEq, PartialOrd)]
struct Originality {
    /// The record names it.
    recorded: bool,
    /// It has the name that we would give it, or that it was taken over by.
    named: bool,
}

fn originality(
    app: &str,
    workload: &Workload,
    work: &Work,
    adopted: &BTreeSet<&str>,
) -> Originality {
    let (place, generation) = (&workload.place, workload.generation);
    let recorded = work.made(place, generation);
    let names = [
        workload_name(app, None, generation),
        workload_name(app, Some(&place.key()), generation),
    ];
    Originality {
        recorded: recorded.is_some_and(|made| made.name == workload.name),
        named: names.contains(&workload.name) || adopted.contains(workload.name.as_str()),
    }
}

/// The instances that were taken over and still have the name that they had then; a copy of one has another.
fn adopted(seen: &[Seen]) -> BTreeSet<&str> {
    let is_adopted = |instance: &&Seen| {
        let config = instance.config.as_ref();
        config.and_then(|config| config.get(key::ADOPTED)) == Some(&instance.name)
    };
    let adopted = seen.iter().filter(is_adopted);
    adopted.map(|instance| instance.name.as_str()).collect()
}

/// Where a workload or a volume stands, by its keys; without any it is the only one of its app.
pub fn place(config: &BTreeMap<String, String>) -> Place {
    if let Some(machine) = config.get(key::NODE).filter(|name| !name.is_empty()) {
        return Place::Machine(machine.clone());
    }
    let ordinal = config.get(key::MEMBER).and_then(|text| text.parse().ok());
    ordinal.map_or(Place::FIRST, Place::Ordinal)
}

/// Whether a workload of this app could be called so.
fn is_in_the_way(app: &str, name: &str) -> bool {
    name.strip_prefix(app)
        .is_some_and(|rest| rest.starts_with('-'))
}

enum Whose<'a> {
    Ours(Workload),
    Unclear,
    Foreign(Option<&'a str>),
}

fn workload<'a>(
    app: &str,
    instance: &'a Seen,
    members: &[Member],
    recorded: &BTreeMap<&str, (&Place, &Made)>,
) -> Whose<'a> {
    let Some(config) = &instance.config else {
        let Some((place, made)) = recorded.get(instance.name.as_str()) else {
            return Whose::Unclear;
        };
        let offline = members.iter().any(|member| {
            Some(&member.name) == instance.member.as_ref() && member.status == MemberStatus::Offline
        });
        return Whose::Ours(Workload {
            name: instance.name.clone(),
            place: (*place).clone(),
            generation: made.generation,
            member: instance.member.clone(),
            image: String::new(),
            spec: String::new(),
            status: if offline {
                Status::Lost
            } else {
                Status::Unknown
            },
            healthy_since: None,
            started_at: String::new(),
            restarted: false,
            ever_started: true,
            description: String::new(),
        });
    };
    let owner = config.get(key::APP).map(String::as_str);
    if owner != Some(app) {
        return Whose::Foreign(owner);
    }
    let number = |name: &str| config.get(name).and_then(|text| text.parse().ok());
    let text = |name: &str| config.get(name).cloned().unwrap_or_default();
    Whose::Ours(Workload {
        name: instance.name.clone(),
        place: place(config),
        generation: number(key::GENERATION).unwrap_or(0),
        member: instance.member.clone(),
        image: text(key::IMAGE),
        spec: text(key::SPEC),
        status: live_status(instance, config),
        healthy_since: instance.healthy_since,
        started_at: instance.started_at.clone(),
        restarted: config
            .get(key::HEALTHY_START)
            .is_some_and(|start| *start != instance.started_at),
        ever_started: instance.ever_started,
        description: instance.description.clone(),
    })
}

fn live_status(instance: &Seen, config: &BTreeMap<String, String>) -> Status {
    let evacuated = config
        .get("volatile.evacuate.origin")
        .is_some_and(|origin| !origin.is_empty());
    match instance.power {
        Power::Running => Status::Running,
        Power::Stopped if evacuated => Status::Evacuated,
        Power::Stopped => Status::Stopped,
        Power::Other => Status::Other,
    }
}

#[cfg(test)]
mod tests;
