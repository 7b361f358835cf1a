//! What is checked of an instance that is to be made, each with Incus's words.
//!
//! Before: `create.rs`, at once or in the operation. Nothing is changed here.

use super::super::answer::Refusal;
use super::super::network::BRIDGE;
use super::super::state::{Config, Devices, Key, State, check_keys};
use super::Instance;
use super::create::{Order, Origin};

pub(super) fn no_member(name: &str) -> Refusal {
    Refusal::new(404, format!("Cluster member \"{name}\" not found"))
}

pub(super) fn name(name: &str) -> Result<(), Refusal> {
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

/// What only the operation notices.
pub(super) fn order(state: &State, order: &Order) -> Result<(), Refusal> {
    let Order { of, instance, .. } = order;
    let no = |text| Err(Refusal::new(500, text));
    match &order.image {
        Origin::Missing => return no("Image not provided for instance creation".to_owned()),
        Origin::Image(image) if *image != instance.kind => {
            return no(format!(
                "Requested image's type \"{image}\" doesn't match instance type \"{}\"",
                instance.kind
            ));
        }
        Origin::Image(_) | Origin::Nothing => {}
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
    devices(state, of, instance).map_err(|refusal| failed(refusal.code, &refusal.text))
}

/// Every instance has a root disk, and what its devices name has to be there.
fn devices(state: &State, of: &Key, instance: &Instance) -> Result<(), Refusal> {
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
        if text(device, "type") == "nic" && !network.is_empty() && network != BRIDGE {
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
