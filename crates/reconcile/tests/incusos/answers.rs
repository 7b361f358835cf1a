//! Which request is which, and what it is answered: exactly what a pass sends, and nothing beside.
//!
//! Before: `listener.rs` has taken a request apart. After: `documents.rs`, `joins.rs`. Whatever is not here is `None`.

use incus::Fingerprint;
use serde_json::{Map, Value, json};

use crate::documents::{application_of, listed, pool, server, tokens, volumes};
use crate::entries;
use crate::joins;
use crate::listener::Call;
use crate::world::{Machine, World};

/// A status and a document.
pub(crate) type Answer = (u16, Value);

/// What may stand behind the question mark; everything but the fleet store is in the default project.
fn is_known((key, value): (&String, &String)) -> bool {
    match key.as_str() {
        "target" | "timeout" => true,
        "recursion" => value == "1",
        "project" => value == "default",
        "all-projects" => value == "true",
        _ => false,
    }
}

/// What the machine of this name answers.
pub(crate) fn answer(world: &mut World, name: &str, call: &Call) -> Option<Answer> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let Machine {
        clustered, lost, ..
    } = *world.machine(name);
    // What it knows without its database it still says.
    if lost && path != ["1.0"] {
        return Some(error(503, "Database is not available"));
    }
    if clustered && entries::is_meant(call) {
        return entries::answer(world, &path, call);
    }
    if !call.query.iter().all(is_known) {
        return None;
    }
    // Only a cluster passes anything on.
    let member = match call.query.get("target") {
        None => name,
        Some(target) if clustered && world.cluster.members.contains(target) => target,
        Some(_) => return Some(error(404, "Cluster member not found")),
    }
    .to_owned();
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["os", "1.0", "applications", application]) => {
            Some(application_of(world.machine(&member), application))
        }
        ("GET", path) => look(world, name, &member, path, call),
        ("PUT", ["1.0", "cluster"]) => joins::join(world, name, &call.body),
        ("PATCH", ["1.0"]) => Some(configure(world.machine(&member), &call.body)),
        ("POST", ["1.0", "cluster", "members"]) => {
            Some(joins::mint(world, text(&call.body, "server_name")))
        }
        ("DELETE", ["1.0", "operations", id]) => {
            let there = world.cluster.tokens.remove(*id).is_some();
            Some(done(there))
        }
        ("DELETE", ["1.0", "certificates", fingerprint]) => {
            let trusted = &mut world.cluster.trusted;
            let before = trusted.len();
            trusted.retain(|(_, _, one)| one != fingerprint);
            Some(done(trusted.len() < before))
        }
        ("POST", ["1.0", "storage-pools"]) => {
            let target = call.query.get("target").map(String::as_str);
            make_pool(world, name, target, &call.body)
        }
        ("DELETE", ["1.0", "storage-pools", pool]) if !clustered => {
            let machine = world.machine(name);
            let gone = machine.store.pools.remove(*pool);
            // With the pool goes its dataset.
            for source in gone.iter().flat_map(|pool| pool.sources.values()) {
                machine.datasets.remove(source);
            }
            Some(done(gone.is_some()))
        }
        ("DELETE", ["1.0", "networks", network]) if !clustered => {
            Some(done(world.machine(name).store.networks.remove(*network)))
        }
        ("POST", ["1.0", "storage-pools", pool, "volumes", "custom"]) if clustered => {
            let volume = text(&call.body, "name");
            Some(match world.cluster.store.volume(&member, pool, volume) {
                true => done(true),
                false => error(409, "Volume by that name already exists"),
            })
        }
        _ => None,
    }
}

/// What changes nothing.
fn look(world: &World, name: &str, member: &str, path: &[&str], call: &Call) -> Option<Answer> {
    let machine = &world.machines[name];
    let cluster = Some(&world.cluster).filter(|_| machine.clustered);
    let store = cluster.map_or(&machine.store, |cluster| &cluster.store);
    let recursive = call.query.contains_key("recursion");
    let metadata = match path {
        ["1.0"] => server(world, member),
        ["1.0", "operations"] => tokens(world, machine),
        ["1.0", "operations", _, "wait"] => {
            let code = if machine.outcome.is_empty() { 200 } else { 400 };
            json!({ "id": "work", "class": "task", "status_code": code, "err": machine.outcome })
        }
        ["1.0", "instances"] => json!([]),
        ["1.0", "networks"] => store
            .networks
            .iter()
            .map(|name| json!({ "name": name, "managed": true }))
            .collect(),
        ["1.0", "storage-pools"] => store
            .pools
            .iter()
            .map(|(name, one)| pool(name, one))
            .collect(),
        ["1.0", "storage-pools", pool, "volumes", "custom"] => volumes(store, pool),
        ["1.0", "cluster", "members"] if recursive => {
            let members = &cluster?.members;
            members.iter().map(|name| listed(world, name)).collect()
        }
        ["1.0", "cluster", "members"] => {
            let members = &cluster?.members;
            members
                .iter()
                .map(|name| format!("/1.0/cluster/members/{name}"))
                .collect()
        }
        ["1.0", "cluster", "groups"] => json!([{ "name": "default", "members": cluster?.members }]),
        ["1.0", "cluster"] => joins::asked_for(cluster?, name),
        ["1.0", "certificates"] => {
            let one = |(name, kind, fingerprint): &(String, &str, String)| json!({ "name": name, "type": kind, "fingerprint": fingerprint });
            cluster?.trusted.iter().map(one).collect()
        }
        _ => return None,
    };
    Some(sync(metadata))
}

fn configure(machine: &mut Machine, body: &Value) -> Answer {
    for (key, value) in body["config"].as_object().unwrap_or(&Map::new()) {
        let value = value.as_str().unwrap_or_default().to_owned();
        machine.config.insert(key.clone(), value);
    }
    done(true)
}

/// In a cluster a pool is noted for each member and then made; a server by itself is never asked to.
fn make_pool(world: &mut World, name: &str, target: Option<&str>, body: &Value) -> Option<Answer> {
    if !world.machine(name).clustered {
        return None;
    }
    let store = &mut world.cluster.store;
    let pool = store
        .pools
        .entry(text(body, "name").to_owned())
        .or_default();
    pool.driver = text(body, "driver").to_owned();
    let source = body["config"]["source"].as_str();
    match target {
        Some(member) => {
            let source = source.unwrap_or_default().to_owned();
            pool.sources.insert(member.to_owned(), source);
        }
        None if source.is_some() => {
            return Some(error(
                400,
                "Config key \"source\" is cluster member specific",
            ));
        }
        None if pool.sources.len() < world.cluster.members.len() => {
            return Some(error(400, "Pool not defined on nodes"));
        }
        None => pool.created = true,
    }
    Some(done(true))
}

/// A text in a document.
pub(crate) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

pub(crate) fn sync(metadata: Value) -> Answer {
    (
        200,
        json!({ "type": "sync", "status_code": 200, "metadata": metadata }),
    )
}

/// Work that goes on; its end is in `Machine::outcome`, or it is a token.
pub(crate) fn working(operation: Value) -> Answer {
    let address = format!("/1.0/operations/{}", text(&operation, "id"));
    (
        202,
        json!({ "type": "async", "operation": address, "metadata": operation }),
    )
}

pub(crate) fn error(code: u16, message: &str) -> Answer {
    (
        code,
        json!({ "type": "error", "error": message, "error_code": code, "metadata": null }),
    )
}

fn done(there: bool) -> Answer {
    match there {
        true => sync(Value::Null),
        false => error(404, "Not Found"),
    }
}

/// Whether a text is the certificate with this fingerprint.
pub(crate) fn is_certificate(pem: &str, fingerprint: &str) -> bool {
    Fingerprint::of_pem(pem).is_ok_and(|one| one.to_string() == fingerprint)
}
