//! Creating an instance: what is refused at once, what fails later, and what an instance is made of.
//!
//! Before: `route.rs`. After: `power.rs` starts it, if that was asked for. The order of the checks is Incus's, and so is
//! who notices: some of them only the operation makes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::answer::{Refusal, Told};
use super::super::call::{Call, address};
use super::super::operation::{self, Job};
use super::super::state::{Config, Devices, Key, State, key};
use super::super::{Incus, image};
use super::{Instance, check, power};

/// What is asked for.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Post {
    name: String,
    description: String,
    r#type: String,
    source: Source,
    config: Config,
    devices: Devices,
    profiles: Option<Vec<String>>,
    start: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Source {
    r#type: String,
    fingerprint: String,
    alias: String,
}

/// What is made, as far as that could be said at once.
pub(super) struct Order {
    pub(super) of: Key,
    pub(super) instance: Instance,
    pub(super) image: Origin,
    start: bool,
}

/// From what.
pub(super) enum Origin {
    Nothing,
    /// An image of this type.
    Image(String),
    /// An image that is not there, which only the member notices that was named.
    Missing,
}

pub(in super::super) fn create(incus: &Arc<Incus>, call: &Call) -> Told {
    let post: Post = call.json()?;
    let order = order(&mut incus.state(), call, post)?;
    let (project, name) = order.of.clone();
    let location = order.instance.location.clone();
    let is_elsewhere = incus.state().is_elsewhere(&location);
    let job = Job {
        description: "Creating instance",
        resources: json!({ "instances": [address("instances", &name, &project)] }),
        names_project: is_elsewhere,
        project,
        location,
    };
    let at = Arc::clone(incus);
    Ok(operation::begin(incus, job, |_| fill(at, order)))
}

/// Everything that is refused before there is an operation.
fn order(state: &mut State, call: &Call, post: Post) -> Result<Order, Refusal> {
    let kind = match post.r#type.as_str() {
        "" | "container" => "container",
        "virtual-machine" => "virtual-machine",
        _ => return Err(Refusal::new(400, "Invalid instance type")),
    };
    let project = call.project();
    if !state.projects.contains_key(project) {
        let text = "Failed loading project: Project not found";
        return Err(Refusal::new(404, text));
    }
    let location = location(state, call.target())?;
    let location = state.place(&location);
    let name = match post.name.as_str() {
        "" => format!("nameless-{}", state.instances.len()),
        name => {
            check::name(name)?;
            name.to_owned()
        }
    };
    let mut instance = Instance::new(kind, &location);
    (instance.config, instance.devices) = (post.config, post.devices);
    instance.description = post.description;
    let image = origin(state, call, &post.source, &mut instance)?;
    instance.profiles = post.profiles.unwrap_or_else(|| vec!["default".to_owned()]);
    let home = state.home(project, "profiles")?;
    let missing = |name: &&String| !state.profiles.contains_key(&key(home, name));
    if let Some(name) = instance.profiles.iter().find(missing) {
        let text = format!("Requested profile \"{name}\" doesn't exist");
        return Err(Refusal::new(500, text));
    }
    equip(state, &mut instance);
    Ok(Order {
        of: key(project, &name),
        instance,
        image,
        start: post.start,
    })
}

/// Finds the image, and gives the instance the keys that come with it.
fn origin(
    state: &State,
    call: &Call,
    source: &Source,
    instance: &mut Instance,
) -> Result<Origin, Refusal> {
    if source.r#type == "none" {
        return Ok(Origin::Nothing);
    }
    let found = image::for_instance(state, call.project(), &source.fingerprint, &source.alias);
    let found = match found {
        Ok(found) => found,
        // Whoever is asked passes it on unseen to the member that was named; of a group it has to choose one itself.
        Err(_) if call.target().is_some_and(|target| !target.starts_with('@')) => {
            return Ok(Origin::Missing);
        }
        Err(refusal) => return Err(refusal),
    };
    for (name, value) in &found.properties {
        instance.set(&format!("image.{name}"), value);
    }
    instance.set("volatile.base_image", &found.fingerprint);
    Ok(Origin::Image(found.kind.clone()))
}

/// The member for an instance: the one that was named, or the one with the fewest.
fn location(state: &State, target: Option<&str>) -> Result<String, Refusal> {
    let Some(target) = target else {
        return Ok(state.emptiest());
    };
    if !state.is_clustered() {
        return Err(Refusal::new(400, "Target only allowed when clustered"));
    }
    if let Some(group) = target.strip_prefix('@') {
        return match group == "default" {
            true => Ok(state.emptiest()),
            false => {
                let text = format!("Cluster group \"{group}\" doesn't exist");
                Err(Refusal::new(400, text))
            }
        };
    }
    match state.has_member(target) {
        true => Ok(target.to_owned()),
        false => Err(check::no_member(target)),
    }
}

/// The keys that Incus gives an instance of its own accord.
fn equip(state: &mut State, instance: &mut Instance) {
    let (uuid, id) = (state.operations.uuid(), state.operations.uuid());
    let mut keys = vec![
        ("volatile.apply_template", "create".to_owned()),
        ("volatile.cloud-init.instance-id", id),
        ("volatile.uuid", uuid.clone()),
        ("volatile.uuid.generation", uuid),
    ];
    if instance.kind == "container" {
        keys.push(("volatile.idmap.base", "0".to_owned()));
        keys.push(("volatile.idmap.next", power::ID_MAP.to_owned()));
        keys.push(("volatile.last_state.idmap", "[]".to_owned()));
    }
    let keys = keys.into_iter().map(|(key, value)| (key.to_owned(), value));
    instance.config.extend(keys);
}

/// The operation: everything that fails only now, then the instance, then its start.
async fn fill(incus: Arc<Incus>, order: Order) -> Result<Value, Refusal> {
    let Order { of, start, .. } = &order;
    {
        let mut state = incus.state();
        check::order(&state, &order)?;
        let mut instance = order.instance.clone();
        instance.busy = Some("create");
        state.put(of.clone(), instance);
    }
    power::tell(&incus, "instance-created", of);
    incus.work().await;
    let started = match start {
        true => power::switch_on(&incus, of),
        false => Ok(()),
    };
    incus.state().change(of, |instance| instance.busy = None);
    started?;
    Ok(match order.image {
        Origin::Image(_) => json!({
            "create_instance_from_image_unpack_progress": "Unpacking image: 100% (100.00MB/s)",
            "progress": { "percent": "100", "speed": "100000000", "stage": "create_instance_from_image_unpack" },
        }),
        Origin::Nothing | Origin::Missing => Value::Null,
    })
}
