//! Adoption: instances that were made by hand and become the first generation of an app (docs/decisions/0022).
//!
//! ```text
//! "web=web-1,web-2" ──> adoption/id.rs ──> look: may they be taken? ──> decide: which keys make them ours
//! ```
//!
//! Before: an import names them, and writes nothing. After: the first apply publishes the app with their names in
//! [`AppSpec::adopts`], records them as made, and stamps their keys (`reconcile/src/adoption.rs`). Nothing is started,
//! stopped or made here; once an instance has its keys the rollout treats it like any other workload.

mod id;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::app::{AppSpec, ImageReference, Replicas, key};
use crate::moment::Moment;
use crate::observation::{Observation, Power, Seen, Status, Workload};
use crate::place::Place;
use crate::work::Work;

pub use id::{Id, parse};
pub use refusal::Refusal;

/// What an adopted instance is: the first of its place.
const GENERATION: u64 = 0;

/// An instance that can be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its name, which it keeps.
    pub name: String,
    /// The member that it is on; `None` where Incus is not clustered.
    pub member: Option<String>,
    /// The fingerprint of the image that it was made from, as Incus keeps it; empty if it was made from none.
    pub base_image: String,
    /// What is said about it.
    pub description: String,
}

/// Keys for one instance; an empty value removes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The instance.
    pub name: String,
    /// Its keys.
    pub keys: BTreeMap<String, String>,
    /// What is said about it, which stays its maker's word.
    pub description: String,
    /// Since when it counts as healthy: what serves has proven itself by serving, so it stands no trial.
    pub healthy_since: Moment,
}

/// What the first apply has to do before the rollout begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    /// The record, to be stored first: it names the instances as ours.
    pub work: Work,
    /// And then these keys.
    pub stamps: Vec<Stamp>,
}

/// Looks at the instances that `app` is to take over.
///
/// Those that an adoption which was cut off has stamped already are found like the others.
///
/// # Errors
/// Every reason why one of them cannot be taken.
pub fn look(app: &str, names: &[String], seen: &[Seen]) -> Result<Vec<Found>, Vec<Refusal>> {
    let mut refused = Vec::new();
    let mut found = Vec::new();
    let mut before = BTreeSet::new();
    for name in names {
        if !before.insert(name) {
            refused.push(Refusal::Twice { name: name.clone() });
            continue;
        }
        match one(app, name, seen) {
            Ok(instance) => found.push(instance),
            Err(refusal) => refused.push(refusal),
        }
    }
    match refused.is_empty() {
        true => Ok(found),
        false => Err(refused),
    }
}

fn one(app: &str, name: &str, seen: &[Seen]) -> Result<Found, Refusal> {
    let name = name.to_owned();
    let Some(instance) = seen.iter().find(|instance| instance.name == name) else {
        return Err(Refusal::Missing { name });
    };
    let member = instance.member.clone();
    let Some(config) = &instance.config else {
        return Err(Refusal::Silent { name, member });
    };
    let text = |key: &str| config.get(key).cloned().unwrap_or_default();
    let (owner, adopted_as) = (text(key::APP), text(key::ADOPTED));
    let is_free = owner.is_empty() || (owner == app && adopted_as == name);
    if !is_free {
        let generation = text(key::GENERATION);
        return Err(Refusal::HasKeys {
            name,
            app: owner,
            generation,
        });
    }
    if instance.power != Power::Running {
        return Err(Refusal::NotRunning { name });
    }
    Ok(Found {
        base_image: text("volatile.base_image"),
        description: instance.description.clone(),
        name,
        member,
    })
}

/// Which place each of them takes: ordinals in the order in which they were named, or the machine that it is on.
///
/// # Errors
/// Every reason why the declaration has no place for one of them, or says something else about it.
pub fn places(
    spec: &AppSpec,
    found: &[Found],
    machine: Option<&str>,
) -> Result<Vec<Place>, Vec<Refusal>> {
    let mut refused = Vec::new();
    if let Replicas::Count(count) = spec.replicas
        && found.len() > usize::try_from(count).unwrap_or(usize::MAX)
    {
        let surplus = found
            .iter()
            .skip(usize::try_from(count).unwrap_or(usize::MAX));
        refused.push(Refusal::TooMany {
            replicas: count,
            surplus: surplus.map(|one| one.name.clone()).collect(),
        });
    }
    if let ImageReference::Fingerprint(declared) = &spec.image.reference {
        let other =
            |one: &&Found| !one.base_image.is_empty() && !one.base_image.starts_with(declared);
        refused.extend(found.iter().filter(other).map(|one| Refusal::OtherImage {
            name: one.name.clone(),
            seen: one.base_image.clone(),
            declared: declared.clone(),
        }));
    }
    let mut taken = BTreeMap::new();
    let mut places = Vec::with_capacity(found.len());
    for (index, one) in found.iter().enumerate() {
        let place = match spec.replicas {
            Replicas::Count(_) => Place::Ordinal(u32::try_from(index).unwrap_or(u32::MAX)),
            Replicas::PerNode => Place::Machine(
                one.member
                    .as_deref()
                    .or(machine)
                    .unwrap_or_default()
                    .to_owned(),
            ),
        };
        if let Some(other) = taken.insert(place.clone(), &one.name) {
            refused.push(Refusal::SameMachine {
                machine: place.key(),
                names: [other.clone(), one.name.clone()],
            });
        }
        places.push(place);
    }
    match refused.is_empty() {
        true => Ok(places),
        false => Err(refused),
    }
}

/// What makes these instances the first generation of `spec`.
///
/// # Guarantees
/// They count as what is declared, whatever their image and configuration are, so no rollout follows. It may be done
/// again after any interruption.
///
/// # Errors
/// As [`places`].
pub fn decide(
    spec: &AppSpec,
    found: &[Found],
    machine: Option<&str>,
    work: &Work,
    now: Moment,
) -> Result<Adoption, Vec<Refusal>> {
    let healthy_since = healthy_since(spec, now);
    let mut adoption = Adoption {
        work: work.clone(),
        stamps: Vec::new(),
    };
    adoption.work.decided.clear();
    for (place, one) in places(spec, found, machine)?.into_iter().zip(found) {
        let workload = workload(spec, one, place, healthy_since);
        adoption.work.note(&workload);
        adoption.work.decided.push(line(&workload.place, &one.name));
        let mut keys = spec.workload_keys(&workload.place, GENERATION);
        keys.insert(key::ADOPTED.to_owned(), one.name.clone());
        for key in [key::MEMBER, key::NODE] {
            keys.entry(key.to_owned()).or_default();
        }
        adoption.stamps.push(Stamp {
            name: one.name.clone(),
            keys,
            description: one.description.clone(),
            healthy_since,
        });
    }
    Ok(adoption)
}

/// The lines of a plan, and the world as it is after the adoption.
///
/// # Errors
/// As [`places`].
pub fn foresee(
    spec: &AppSpec,
    found: &[Found],
    observation: &Observation,
    now: Moment,
) -> Result<(Vec<String>, Observation), Vec<Refusal>> {
    let mut after = observation.clone();
    let mut lines = Vec::new();
    let places = places(spec, found, observation.standalone.as_deref())?;
    for (place, one) in places.into_iter().zip(found) {
        lines.push(line(&place, &one.name));
        after.foreign.remove(&one.name);
        after.workloads.retain(|workload| workload.name != one.name);
        let workload = workload(spec, one, place, healthy_since(spec, now));
        after.workloads.push(workload);
    }
    after
        .workloads
        .sort_by(|one, other| (&one.place, one.generation).cmp(&(&other.place, other.generation)));
    Ok((lines, after))
}

/// As the state shows them before the first apply: by the order in which they were named.
pub fn shown(found: &[Found]) -> Vec<Workload> {
    let workload = |(index, one): (usize, &Found)| Workload {
        name: one.name.clone(),
        place: Place::Ordinal(u32::try_from(index).unwrap_or(u32::MAX)),
        generation: GENERATION,
        member: one.member.clone(),
        image: String::new(),
        spec: String::new(),
        status: Status::Running,
        healthy_since: None,
        started_at: String::new(),
        restarted: false,
        ever_started: true,
        description: String::new(),
    };
    found.iter().enumerate().map(workload).collect()
}

fn line(place: &Place, name: &str) -> String {
    format!("{place}: adopt {name}")
}

fn healthy_since(spec: &AppSpec, now: Moment) -> Moment {
    let proven = i64::try_from(spec.health.min_healthy_time.as_millis()).unwrap_or(i64::MAX);
    Moment(now.0.saturating_sub(proven))
}

fn workload(spec: &AppSpec, one: &Found, place: Place, healthy_since: Moment) -> Workload {
    Workload {
        name: one.name.clone(),
        place,
        generation: GENERATION,
        member: one.member.clone(),
        image: spec.image.reference.written().to_owned(),
        spec: spec.hash(),
        status: Status::Running,
        healthy_since: Some(healthy_since),
        started_at: String::new(),
        restarted: false,
        ever_started: true,
        description: String::new(),
    }
}

#[cfg(test)]
mod tests;
