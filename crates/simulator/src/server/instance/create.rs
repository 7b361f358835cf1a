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
use super::super::state::{Config, Devices, Key, State, check_keys, key};
use super::super::{Incus, image};
use super::{Instance, power};

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
struct Order {
    of: Key,
    instance: Instance,
    /// The type of the image, if there is one.
    image_type: Option<String>,
    start: bool,
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
            check_name(name)?;
            name.to_owned()
        }
    };
    let mut instance = Instance::new(kind, &location);
    (instance.config, instance.devices) = (post.config, post.devices);
    instance.description = post.description;
    let mut image_type = None;
    if post.source.r#type != "none" {
        let found =
            image::for_instance(state, project, &post.source.fingerprint, &post.source.alias)?;
        image_type = Some(found.kind.clone());
        let properties = found.properties.iter();
        let keys = properties.map(|(name, value)| (format!("image.{name}"), value.clone()));
        let keys: Config = keys.collect();
        let fingerprint = found.fingerprint.clone();
        instance.config.extend(keys);
        instance
            .config
            .insert("volatile.base_image".to_owned(), fingerprint);
    }
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
        image_type,
        start: post.start,
    })
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
        false => Err(no_member(target)),
    }
}

pub(super) fn no_member(name: &str) -> Refusal {
    Refusal::new(404, format!("Cluster member \"{name}\" not found"))
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.contains('/') {
        let text = "The character \"/\" is reserved for snapshots";
        return Err(Refusal::new(400, text));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let fault = if name.len() > 63 {
        "must be 1-63 characters long"
    } else if name.starts_with('-') {
        "must not start with \"-\" character"
    } else if name.ends_with('-') {
        "must not end with \"-\" character"
    } else if name.chars().all(|letter| letter.is_ascii_digit()) {
        "cannot be a number"
    } else if !name.chars().all(is_plain) {
        "can only contain alphanumeric and hyphen characters"
    } else {
        return Ok(());
    };
    Err(Refusal::new(
        400,
        format!("Invalid instance name: Name {fault}"),
    ))
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
        check(&state, &order)?;
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
    Ok(match order.image_type {
        Some(_) => json!({
            "create_instance_from_image_unpack_progress": "Unpacking image: 100% (100.00MB/s)",
            "progress": { "percent": "100", "speed": "100000000", "stage": "create_instance_from_image_unpack" },
        }),
        None => Value::Null,
    })
}

fn check(state: &State, order: &Order) -> Result<(), Refusal> {
    let Order { of, instance, .. } = order;
    if let Some(image) = order
        .image_type
        .as_ref()
        .filter(|image| **image != instance.kind)
    {
        let text = format!(
            "Requested image's type \"{image}\" doesn't match instance type \"{}\"",
            instance.kind
        );
        return Err(Refusal::new(500, text));
    }
    let failed =
        |code, text: &str| Refusal::new(code, format!("Failed creating instance record: {text}"));
    // Its own code is for those who are answered at once.
    check_keys(&instance.config).map_err(|refusal| failed(500, &refusal.text))?;
    if state.instances.contains_key(of) {
        return Err(failed(
            500,
            "Add instance info to the database: Failed to create \"instances\" entry: UNIQUE constraint failed: \
             instances.project_id, instances.name",
        ));
    }
    check_devices(state, of, instance).map_err(|refusal| failed(refusal.code, &refusal.text))
}

/// Every instance has a root disk, and what its devices name has to be there.
fn check_devices(state: &State, of: &Key, instance: &Instance) -> Result<(), Refusal> {
    let profiles = state.profiles_of(&of.0, &instance.profiles);
    let mut devices: Devices = profiles
        .flat_map(|profile| profile.devices.clone())
        .collect();
    devices.extend(instance.devices.clone());
    let text = |device: &Config, key: &str| device.get(key).cloned().unwrap_or_default();
    let is_root = |device: &&Config| text(device, "type") == "disk" && text(device, "path") == "/";
    let Some(root) = devices.values().find(is_root) else {
        let text =
            "Failed initializing instance: Failed getting root disk: No root device could be found";
        return Err(Refusal::new(500, text));
    };
    if !state.pools.contains_key(&text(root, "pool")) {
        let text =
            "Failed initializing instance: Failed loading storage pool: Storage pool not found";
        return Err(Refusal::new(404, text));
    }
    for (name, device) in &devices {
        let network = text(device, "network");
        if text(device, "type") == "nic"
            && !network.is_empty()
            && network != super::super::network::BRIDGE
        {
            let text = format!(
                "Failed initializing instance: Invalid devices: Device validation failed for \"{name}\": Failed \
                 loading device \"{name}\": Failed to load network \"{network}\" for project \"default\": Network not \
                 found"
            );
            return Err(Refusal::new(404, text));
        }
    }
    Ok(())
}
