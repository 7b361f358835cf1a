//! Changing an instance: its configuration, its name, its member, and its end.
//!
//! Before: `route.rs`. Unlike profiles, instances are locked while they are changed, so that no update is lost. That a
//! virtual machine moves while it runs was read in Incus's sources: no lab has shown it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Incus;
use super::super::answer::{Answer, Refusal, Told};
use super::super::call::Call;
use super::super::operation::{self, Job};
use super::super::state::{Config, Devices, Key, State, check_keys, is_on, key, merge};
use super::check::no_member;
use super::power::{job, tell};
use super::{Instance, Power};

#[derive(Deserialize)]
struct Patch {
    #[serde(default)]
    config: Config,
    devices: Option<Devices>,
    profiles: Option<Vec<String>>,
    /// Unlike everything else it is empty if it is not said (measured).
    #[serde(default)]
    description: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Post {
    name: String,
    migration: bool,
    live: bool,
}

pub(in super::super) async fn patch(incus: &Incus, of: &Key, call: &Call) -> Told {
    let patch: Patch = call.json()?;
    {
        let mut state = incus.state();
        let instance = state.instance(of)?;
        let invalid =
            |refusal: Refusal| Refusal::new(500, format!("Invalid config: {}", refusal.text));
        check_keys(&patch.config).map_err(invalid)?;
        instance.seize("update")?;
    }
    incus.work().await;
    incus.state().change(of, |instance| {
        instance.busy = None;
        merge(&mut instance.config, patch.config);
        instance.devices.extend(patch.devices.unwrap_or_default());
        patch
            .profiles
            .into_iter()
            .for_each(|profiles| instance.profiles = profiles);
        instance.description = patch.description;
    });
    tell(incus, "instance-updated", of);
    Ok(Answer::done())
}

/// A new name, or another member.
pub(in super::super) fn post(incus: &Arc<Incus>, of: &Key, call: &Call) -> Told {
    let post: Post = call.json()?;
    match call.target() {
        Some(target) if post.migration => relocate(incus, of, target, post.live),
        _ => rename(incus, of, &post.name),
    }
}

fn rename(incus: &Arc<Incus>, of: &Key, name: &str) -> Told {
    let to = key(&of.0, name);
    let location = {
        let mut state = incus.state();
        let location = state.instance(of)?.location.clone();
        if state.instances.contains_key(&to) {
            let text = format!("Name \"{name}\" already in use");
            return Err(Refusal::new(409, text));
        }
        location
    };
    let job = job(of, location, "Renaming instance");
    let (incus, of) = (Arc::clone(incus), of.clone());
    let at = Arc::clone(&incus);
    let work = |_| async move {
        let is_up = incus.state().instance(&of)?.power != Power::Stopped;
        if is_up {
            return Err(Refusal::new(
                500,
                "Renaming of running instance not allowed",
            ));
        }
        incus.state().instance(&of)?.seize("rename")?;
        incus.work().await;
        let mut state = incus.state();
        if let Some(mut instance) = state.instances.remove(&of) {
            instance.busy = None;
            instance.set("volatile.apply_template", "rename");
            state.put(to.clone(), instance);
        }
        drop(state);
        tell(&incus, "instance-renamed", &to);
        Ok(Value::Null)
    };
    Ok(operation::begin(&at, job, work))
}

fn relocate(incus: &Arc<Incus>, of: &Key, target: &str, live: bool) -> Told {
    let location = {
        let mut state = incus.state();
        state.instance(of)?;
        check_move(&state, &state.instances[of], target, live)?;
        state.instances[of].location.clone()
    };
    let job = Job {
        description: "Migrating instance",
        ..job(of, location, "")
    };
    let (at, incus) = (Arc::clone(incus), Arc::clone(incus));
    let (of, target) = (of.clone(), target.to_owned());
    let work = |_| async move {
        incus.state().instance(&of)?.seize("migrate")?;
        incus.work().await;
        incus.state().change(&of, |instance| {
            instance.busy = None;
            instance.location = target;
        });
        tell(&incus, "instance-migrated", &of);
        Ok(Value::Null)
    };
    Ok(operation::begin(&at, job, work))
}

fn check_move(state: &State, instance: &Instance, target: &str, live: bool) -> Result<(), Refusal> {
    if !state.has_member(target) {
        return Err(no_member(target));
    }
    if instance.location == target {
        let text = "Requested target server is the same as current server";
        return Err(Refusal::new(400, text));
    }
    if instance.power == Power::Stopped {
        return Ok(());
    }
    if !live {
        let text = "Instance must be stopped to be moved statelessly";
        return Err(Refusal::new(400, text));
    }
    match instance.kind == "virtual-machine" && is_on(&instance.expanded.0, "migration.stateful") {
        true => Ok(()),
        false => Err(Refusal::new(
            400,
            "Instance must be stopped to be moved: it cannot migrate live",
        )),
    }
}

pub(in super::super) fn delete(incus: &Arc<Incus>, of: &Key) -> Told {
    let location = {
        let mut state = incus.state();
        let instance = state.instance(of)?;
        if instance.power != Power::Stopped {
            return Err(Refusal::new(400, "Instance is running"));
        }
        instance.location.clone()
    };
    let job = job(of, location, "Deleting instance");
    let (at, incus, of) = (Arc::clone(incus), Arc::clone(incus), of.clone());
    let work = |_| async move {
        incus.state().instance(&of)?.seize("delete")?;
        incus.work().await;
        tell(&incus, "instance-deleted", &of);
        let mut state = incus.state();
        state.instances.remove(&of);
        Ok(json!(null))
    };
    Ok(operation::begin(&at, job, work))
}
