//! What Incus and IncusOS show of the world, as documents: with the fields that a pass reads, and few beside.
//!
//! Before: `answers.rs` knows what is asked. Not here: what joiners and tokens show, which is in `joins.rs`.

use serde_json::{Value, json};

use crate::answers::{Answer, error, sync};
use crate::joins;
use crate::world::{Machine, Pool, Store, System, World};

pub(crate) fn server(world: &World, name: &str) -> Value {
    let machine = &world.machines[name];
    let certificate = match machine.clustered {
        true => &world.cluster.certificate,
        false => &machine.certificate,
    };
    let (os, version) = match machine.system {
        System::IncusOs { .. } => ("IncusOS", "7.0.1"),
        System::Refusing => ("Debian GNU/Linux", "7.0.1"),
        System::Silent => ("Debian GNU/Linux", "6.0.6"),
    };
    json!({
        "auth": "trusted",
        "api_extensions": ["instance_oci", "daemon_storage_logs"],
        "config": machine.config,
        "environment": {
            "server_name": name,
            "server_version": version,
            "server_clustered": machine.clustered,
            "certificate": certificate.pem,
            "certificate_fingerprint": certificate.fingerprint,
            "os_name": os,
        },
    })
}

/// Incus passes this on to the system below, and says so where there is none.
pub(crate) fn application_of(machine: &Machine, asked: &str) -> Answer {
    match machine.system {
        System::IncusOs {
            application,
            initialized,
        } if application == asked => sync(
            json!({ "config": {}, "state": { "is_primary": true, "initialized": initialized } }),
        ),
        System::IncusOs { .. } | System::Silent => error(404, "Not Found"),
        System::Refusing => error(400, "System isn't running IncusOS"),
    }
}

pub(crate) fn tokens(world: &World, machine: &Machine) -> Value {
    if !machine.clustered {
        return json!({});
    }
    let token = |(id, name): (&String, &String)| joins::token(world, id, name);
    let running: Vec<Value> = world.cluster.tokens.iter().map(token).collect();
    json!({ "running": running })
}

pub(crate) fn pool(name: &str, pool: &Pool) -> Value {
    let members: Vec<&String> = pool.sources.keys().collect();
    let status = if pool.created { "Created" } else { "Pending" };
    json!({ "name": name, "driver": pool.driver, "status": status, "locations": members, "config": {} })
}

pub(crate) fn volumes(store: &Store, pool: &str) -> Value {
    let here = store.volumes.iter().filter(|(_, of, _)| of == pool);
    here.map(|(member, _, name)| {
        json!({ "name": name, "type": "custom", "project": "default", "location": member })
    })
    .collect()
}

pub(crate) fn listed(world: &World, name: &str) -> Value {
    json!({
        "server_name": name,
        "url": format!("https://{}", world.machines[name].address),
        "status": "Online",
        "roles": ["database"],
        "groups": ["default"],
        "config": {},
    })
}
