//! Profiles, which are also what the fleet store is made of.
//!
//! Before: `route.rs`. Creating one is the only compare-and-swap that Incus has: of many creations of one name exactly one
//! succeeds. A change is read, and written some time later as a whole, so that of two writers at once one is lost.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::{Call, address};
use super::instance::Instance;
use super::state::{Config, Devices, Key, Profile, State, check_keys, key, merge};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Body {
    name: String,
    description: Option<String>,
    config: Config,
    devices: Devices,
}

/// The profile that a request is about.
fn meant(state: &State, call: &Call, name: &str) -> Result<Key, Refusal> {
    Ok(key(state.home(call.project(), "profiles")?, name))
}

/// The instances that can use the profiles of a project: its own, and those of projects that have none of their own.
fn neighbours<'a>(
    state: &'a State,
    project: &'a str,
) -> impl Iterator<Item = (&'a Key, &'a Instance)> {
    let shares = |other: &&String| state.home(other, "profiles") == Ok(project);
    let projects = state.projects.keys().filter(move |other| shares(other));
    projects.flat_map(|other| state.instances_of(Some(other)))
}

/// Who uses the profiles of a project, by profile, in one pass over the instances.
fn users_of_all<'a>(state: &'a State, project: &'a str) -> BTreeMap<&'a str, Vec<String>> {
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((project, name), instance) in neighbours(state, project) {
        for profile in &instance.profiles {
            let user = address("instances", name, project);
            users.entry(profile).or_default().push(user);
        }
    }
    users
}

fn users(state: &State, (project, name): &Key) -> Vec<Key> {
    let uses = |(_, instance): &(&Key, &Instance)| instance.profiles.contains(name);
    let users = neighbours(state, project).filter(uses);
    users.map(|(user, _)| user.clone()).collect()
}

fn shown((project, name): &Key, profile: &Profile, users: &[String]) -> Value {
    json!({
        "config": profile.config, "description": profile.description, "devices": profile.devices, "name": name,
        "used_by": users, "project": project,
    })
}

pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let from = meant(&state, call, "")?;
    let project = from.0.clone();
    let profiles = state
        .profiles
        .range(from..)
        .take_while(|(of, _)| of.0 == project);
    if !call.is_recursive() {
        let addresses = profiles.map(|((project, name), _)| address("profiles", name, project));
        return Ok(Answer::sync(&addresses.collect::<Vec<_>>()));
    }
    let users = users_of_all(&state, &project);
    let shown = profiles.map(|(of, profile)| {
        let users = users.get(of.1.as_str());
        shown(of, profile, users.map_or(&[], Vec::as_slice))
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn get(incus: &Incus, call: &Call, name: &str) -> Told {
    let state = incus.state();
    let of = meant(&state, call, name)?;
    let profile = state.profiles.get(&of);
    let profile = profile.ok_or_else(|| Refusal::new(404, "Fetch profile: Profile not found"))?;
    let users = users(&state, &of);
    let users = users
        .iter()
        .map(|(project, name)| address("instances", name, project));
    Ok(Answer::sync(&shown(
        &of,
        profile,
        &users.collect::<Vec<_>>(),
    )))
}

pub(super) async fn create(incus: &Incus, call: &Call) -> Told {
    let of = {
        let state = incus.state();
        meant(&state, call, "")?
    };
    let body: Body = call.json()?;
    let name = body.name.clone();
    if name.is_empty() {
        return Err(Refusal::new(400, "No name provided"));
    }
    if name.contains('/') {
        return Err(Refusal::new(400, "Profile names may not contain slashes"));
    }
    check_keys(&body.config)?;
    let of = key(&of.0, &name);
    incus.work().await;
    {
        let mut state = incus.state();
        if state.profiles.contains_key(&of) {
            let text =
                format!("Error inserting \"{name}\" into database: The profile already exists");
            return Err(Refusal::new(500, text));
        }
        state.profiles.insert(
            of.clone(),
            Profile {
                description: body.description.unwrap_or_default(),
                config: body.config,
                devices: body.devices,
            },
        );
    }
    tell(incus, "profile-created", &of);
    Ok(Answer::created(address("profiles", &name, &of.0)))
}

/// Sets keys, and leaves the others as they were when it began.
pub(super) async fn patch(incus: &Incus, call: &Call, name: &str) -> Told {
    let (of, mut profile) = read(incus, call, name, "=")?;
    let body: Body = call.json()?;
    check_keys(&body.config)?;
    merge(&mut profile.config, body.config);
    profile.devices.extend(body.devices);
    body.description
        .into_iter()
        .for_each(|description| profile.description = description);
    write(incus, &of, profile).await
}

/// Replaces everything.
pub(super) async fn put(incus: &Incus, call: &Call, name: &str) -> Told {
    let (of, _) = read(incus, call, name, " ")?;
    let body: Body = call.json()?;
    check_keys(&body.config)?;
    let profile = Profile {
        description: body.description.unwrap_or_default(),
        config: body.config,
        devices: body.devices,
    };
    write(incus, &of, profile).await
}

/// Incus words this in two ways, which differ in a letter.
fn read(incus: &Incus, call: &Call, name: &str, letter: &str) -> Result<(Key, Profile), Refusal> {
    let state = incus.state();
    let of = meant(&state, call, name)?;
    match state.profiles.get(&of) {
        Some(profile) => Ok((of, profile.clone())),
        None => {
            let text = format!("Failed to retrieve profile{letter}\"{name}\": Profile not found");
            Err(Refusal::new(404, text))
        }
    }
}

async fn write(incus: &Incus, of: &Key, profile: Profile) -> Told {
    incus.work().await;
    {
        let mut state = incus.state();
        let Some(there) = state.profiles.get_mut(of) else {
            return Err(Refusal::new(404, "Profile not found"));
        };
        *there = profile;
        // Whoever has taken it over is another one from now on.
        for user in users(&state, of) {
            state.change(&user, |_| {});
        }
    }
    tell(incus, "profile-updated", of);
    Ok(Answer::done())
}

pub(super) async fn delete(incus: &Incus, call: &Call, name: &str) -> Told {
    let of = {
        let state = incus.state();
        meant(&state, call, name)?
    };
    if name == "default" {
        let text = "The \"default\" profile cannot be deleted";
        return Err(Refusal::new(403, text));
    }
    incus.work().await;
    {
        let mut state = incus.state();
        if !state.profiles.contains_key(&of) {
            return Err(Refusal::new(404, "Profile not found"));
        }
        if !users(&state, &of).is_empty() {
            return Err(Refusal::new(500, "Profile is currently in use"));
        }
        state.profiles.remove(&of);
    }
    tell(incus, "profile-deleted", &of);
    Ok(Answer::done())
}

fn tell(incus: &Incus, action: &str, (project, name): &Key) {
    let first = incus.state().first().to_owned();
    let source = address("profiles", name, project);
    incus
        .events
        .lifecycle(action, &source, (project, &first), None);
}
