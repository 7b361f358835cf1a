//! The server itself, its members and their groups, and the certificates that it trusts.
//!
//! Before: `route.rs`. Members are there from the start and stay: joins, removals, evacuations and dead members are not
//! here.

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::Call;
use super::state::{ARCHITECTURE, Config, Member, State, merge};

/// The release whose answers these are.
const VERSION: &str = "6.0.4";

/// Those that somebody asks for; the release has 450.
const EXTENSIONS: [&str; 5] = [
    "clustering_join_token",
    "clustering_evacuation",
    "clustering_groups",
    "cluster_member_state",
    "instance_move_config",
];

#[derive(Deserialize, Default)]
#[serde(default)]
struct Body {
    name: String,
    config: Config,
}

/// What a member is known by.
fn fingerprint(of: &str) -> String {
    let digest = Sha256::digest(format!("certificate of {of}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn server(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let name = call.target().unwrap_or(state.first());
    if !state.has_member(name) {
        return Err(no_member());
    }
    let clustered = state.is_clustered();
    let shown = match clustered {
        true => name,
        false => "simulator",
    };
    Ok(Answer::sync(&json!({
        "config": state.config, "api_extensions": EXTENSIONS, "api_status": "stable", "api_version": "1.0",
        "auth": "trusted", "public": false, "auth_methods": ["tls"], "auth_user_name": "root",
        "auth_user_method": "unix",
        "environment": {
            "addresses": [], "architectures": [ARCHITECTURE, "i686"], "certificate": "",
            "certificate_fingerprint": fingerprint("the cluster"), "driver": "lxc", "driver_version": "5.0.2",
            "firewall": "nftables", "kernel": "Linux", "kernel_architecture": ARCHITECTURE, "kernel_features": {},
            "kernel_version": "6.1.0", "lxc_features": {}, "os_name": "Simulator", "os_version": "1",
            "project": "default", "server": "incus", "server_clustered": clustered,
            "server_event_mode": "full-mesh", "server_name": shown, "server_pid": std::process::id(),
            "server_version": VERSION, "storage": "", "storage_version": "",
            "storage_supported_drivers": [{ "Name": "dir", "Version": "1", "Remote": false }],
        },
    })))
}

/// Sets keys of the server's configuration.
pub(super) fn configure(incus: &Incus, call: &Call) -> Told {
    let body: Body = call.json()?;
    const GROUPS: [&str; 11] = [
        "acme",
        "backups",
        "cluster",
        "core",
        "images",
        "instances",
        "logging",
        "network",
        "oidc",
        "storage",
        "user",
    ];
    let is_known = |key: &str| {
        let group = key.split_once('.');
        group.is_some_and(|(group, _)| GROUPS.contains(&group))
    };
    if let Some((key, value)) = body.config.iter().find(|(key, _)| !is_known(key)) {
        let text = format!("cannot set '{key}' to '{value}': unknown key");
        return Err(Refusal::new(400, text));
    }
    merge(&mut incus.state().config, body.config);
    Ok(Answer::done())
}

fn shown(member: &Member, index: usize) -> Value {
    // As in Incus, three members vote, one of which leads.
    let roles: &[&str] = match index {
        0 => &["database-leader", "database"],
        1 | 2 => &["database"],
        _ => &[],
    };
    json!({
        "roles": roles, "failure_domain": "default", "description": "", "config": member.config,
        "groups": ["default"], "server_name": member.name, "url": format!("https://192.0.2.{}:8443", index + 1),
        "database": index < 3, "status": "Online", "message": "Fully operational", "architecture": ARCHITECTURE,
    })
}

fn clustered(state: &State) -> Result<(), Refusal> {
    match state.is_clustered() {
        true => Ok(()),
        false => Err(Refusal::new(500, "Server is not clustered")),
    }
}

pub(super) fn members(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    clustered(&state)?;
    let members = state.members.iter().enumerate();
    let shown = members.map(|(index, member)| match call.is_recursive() {
        true => shown(member, index),
        false => json!(format!("/1.0/cluster/members/{}", member.name)),
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

pub(super) fn member(incus: &Incus, name: &str) -> Told {
    let state = incus.state();
    clustered(&state)?;
    let mut members = state.members.iter().enumerate();
    let found = members.find(|(_, member)| member.name == name);
    let (index, member) = found.ok_or_else(no_member)?;
    Ok(Answer::sync(&shown(member, index)))
}

/// Changes what can be changed of a member; only its configuration is kept.
pub(super) fn put_member(incus: &Incus, call: &Call, name: &str) -> Told {
    let body: Body = call.json()?;
    let mut state = incus.state();
    clustered(&state)?;
    let found = state.members.iter_mut().find(|member| member.name == name);
    found.ok_or_else(no_member)?.config = body.config;
    Ok(Answer::done())
}

fn no_member() -> Refusal {
    Refusal::new(404, "Cluster member not found")
}

pub(super) fn groups(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    grouped(&state)?;
    let all: Vec<&str> = state.members.iter().map(|one| one.name.as_str()).collect();
    let none = Vec::new();
    let others = state.groups.iter();
    let others = others.map(|(name, description)| (name.as_str(), description.as_str(), &none));
    let groups = [("default", "Default cluster group", &all)];
    let shown = groups
        .into_iter()
        .chain(others)
        .map(|(name, description, members)| match call.is_recursive() {
            true => json!({ "description": description, "members": members, "name": name }),
            false => json!(format!("/1.0/cluster/groups/{name}")),
        });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}

fn grouped(state: &State) -> Result<(), Refusal> {
    match state.is_clustered() {
        true => Ok(()),
        false => Err(Refusal::new(400, "This server is not clustered")),
    }
}

pub(super) fn create_group(incus: &Incus, call: &Call) -> Told {
    let body: Body = call.json()?;
    let mut state = incus.state();
    grouped(&state)?;
    if body.name == "default" || state.groups.contains_key(&body.name) {
        let text = "Failed to create \"cluster_groups\" entry: UNIQUE constraint failed: cluster_groups.name";
        return Err(Refusal::new(500, text));
    }
    let address = format!("/1.0/cluster/groups/{}", body.name);
    state.groups.insert(body.name, String::new());
    Ok(Answer::created(address))
}

pub(super) fn delete_group(incus: &Incus, name: &str) -> Told {
    let mut state = incus.state();
    grouped(&state)?;
    let found = state.groups.remove(name);
    found
        .map(|_| Answer::done())
        .ok_or_else(|| Refusal::new(404, "Cluster_group not found"))
}

/// Those of the members alone: nobody else is let in over a network.
pub(super) fn certificates(incus: &Incus, call: &Call) -> Told {
    let state = incus.state();
    let of_members = state.members.iter().filter(|_| state.is_clustered());
    let shown = of_members.map(|member| {
        let fingerprint = fingerprint(&member.name);
        match call.is_recursive() {
            true => json!({
                "name": member.name, "type": "server", "restricted": false, "projects": [], "certificate": "",
                "fingerprint": fingerprint, "description": "",
            }),
            false => json!(format!("/1.0/certificates/{fingerprint}")),
        }
    });
    Ok(Answer::sync(&shown.collect::<Vec<_>>()))
}
