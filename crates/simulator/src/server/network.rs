//! Networks: one bridge that is on every member, as far as an instance can name it.
//!
//! Before: `route.rs`. Nothing goes through it.

use serde_json::json;

use super::Incus;
use super::answer::{Answer, Told};
use super::call::Call;

/// The bridge.
pub(super) const BRIDGE: &str = "incusbr0";

pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let locations: Vec<String> = state
        .members
        .iter()
        .map(|member| state.place(&member.name))
        .collect();
    let shown = match call.is_recursive() {
        true => json!([{
            "config": { "ipv4.address": "192.0.2.254/24", "ipv4.nat": "false", "ipv6.address": "none" },
            "description": "", "name": BRIDGE, "type": "bridge", "used_by": [], "managed": true, "status": "Created",
            "locations": locations, "project": "default",
        }]),
        false => json!([format!("/1.0/networks/{BRIDGE}")]),
    };
    Ok(Answer::sync(&shown))
}
