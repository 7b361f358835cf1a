//! The fleet store, as far as a pass needs it: profiles in a project of their own.
//!
//! Before: `answers.rs` has a request for that project. What is kept there, and how, is shown by the tests of
//! `reconcile::store` and on real servers.

use serde_json::{Value, json};

use crate::answers::{Answer, error, sync, text};
use crate::listener::Call;
use crate::world::World;

/// Where the provider keeps it.
pub(crate) const PROJECT: &str = "homelab";

/// Whether a request is about the fleet store.
pub(crate) fn is_meant(call: &Call) -> bool {
    call.query.get("project").map(String::as_str) == Some(PROJECT)
}

/// A cluster has profiles; the project is there already.
pub(crate) fn answer(world: &mut World, path: &[&str], call: &Call) -> Option<Answer> {
    let profiles = &mut world.cluster.entries;
    let recursive = call.query.contains_key("recursion");
    Some(match (call.method.as_str(), path) {
        ("GET", ["1.0", "profiles"]) => sync(match recursive {
            true => profiles.values().cloned().collect(),
            false => profiles
                .keys()
                .map(|name| format!("/1.0/profiles/{name}"))
                .collect(),
        }),
        ("POST", ["1.0", "profiles"]) => {
            let name = text(&call.body, "name").to_owned();
            if profiles.contains_key(&name) {
                return Some(error(409, "The profile already exists"));
            }
            profiles.insert(name, call.body.clone());
            sync(Value::Null)
        }
        ("PATCH", ["1.0", "profiles", name]) => {
            let Some(profile) = profiles.get_mut(*name) else {
                return Some(error(404, "Profile not found"));
            };
            for (key, value) in call.body["config"].as_object()? {
                profile["config"][key] = json!(value);
            }
            sync(Value::Null)
        }
        _ => return None,
    })
}
