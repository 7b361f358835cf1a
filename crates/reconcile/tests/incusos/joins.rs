//! Tokens, and a join as Incus does it: what it checks, what it leaves behind when it fails.
//!
//! Before: `answers.rs`. The order of the checks is Incus's: the address is written down first, the pools are made next,
//! and only then the cluster is asked.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::answers::{Answer, error, is_certificate, text, working};
use crate::world::{Cluster, Machine, NOWHERE, Store, World};

/// What joiners set for themselves. Incus hides the keys that begin with `volatile`, and lists no values.
pub(crate) fn asked_for(cluster: &Cluster, name: &str) -> Value {
    let keys = |pool: &String| {
        let key =
            |key: &str| json!({ "entity": "storage-pool", "name": pool, "key": key, "value": "" });
        ["source", "source.wipe", "zfs.pool_name", "size"].map(key)
    };
    let keys: Vec<Value> = cluster.store.pools.keys().flat_map(keys).collect();
    json!({ "server_name": name, "enabled": true, "member_config": keys })
}

/// The operation that stands for a token.
pub(crate) fn token(world: &World, id: &str, name: &str) -> Value {
    let online = world
        .cluster
        .members
        .iter()
        .map(|name| &world.machines[name].address);
    json!({ "id": id, "class": "token", "status_code": 103, "metadata": {
        "serverName": name,
        "secret": secret(id),
        "fingerprint": world.cluster.certificate.fingerprint,
        "addresses": online.collect::<Vec<_>>(),
        "expiresAt": "2100-01-01T00:00:00Z",
    } })
}

fn secret(id: &str) -> String {
    format!("secret of {id}")
}

pub(crate) fn mint(world: &mut World, name: &str) -> Answer {
    if !world.cluster.mints {
        return error(500, "Failed to make a token");
    }
    world.cluster.minted += 1;
    let id = format!("token-{}", world.cluster.minted);
    world.cluster.tokens.insert(id.clone(), name.to_owned());
    working(token(world, &id, name))
}

/// `None` if it is a bootstrap, which the seed of IncusOS does and nobody else.
pub(crate) fn join(world: &mut World, name: &str, body: &Value) -> Option<Answer> {
    if text(body, "cluster_address").is_empty() {
        return None;
    }
    let World { machines, cluster } = world;
    let machine = machines.get_mut(name).expect("a machine");
    if let Some(refusal) = refusal(cluster, machine, body) {
        return Some(error(400, refusal));
    }
    let address = text(body, "server_address").to_owned();
    machine
        .config
        .insert("cluster.https_address".to_owned(), address);
    machine.outcome = match join_now(cluster, machine, text(body, "server_name"), body) {
        Ok(()) => String::new(),
        Err(reason) => reason,
    };
    Some(working(
        json!({ "id": "work", "class": "task", "status_code": 103 }),
    ))
}

/// What is refused before anything is written.
fn refusal(cluster: &Cluster, machine: &Machine, body: &Value) -> Option<&'static str> {
    if machine.clustered {
        return Some("This server is already clustered");
    }
    if text(body, "server_name").is_empty() || body["enabled"] != true {
        return Some("ServerName is required when enabling clustering");
    }
    if text(body, "server_address") != machine.address {
        return Some("Invalid server address");
    }
    if !is_certificate(
        text(body, "cluster_certificate"),
        &cluster.certificate.fingerprint,
    ) {
        return Some("No target cluster member certificate provided");
    }
    None
}

fn join_now(
    cluster: &mut Cluster,
    machine: &mut Machine,
    name: &str,
    body: &Value,
) -> Result<(), String> {
    spend(cluster, text(body, "cluster_token"))?;
    let trusted = (
        name.to_owned(),
        "server",
        machine.certificate.fingerprint.clone(),
    );
    cluster.trusted.push(trusted);
    let sources = make_pools(&cluster.store, machine, &body["member_config"])?;
    if let Some(reason) = &cluster.rejects {
        return Err(format!("Failed request to add member: {reason}"));
    }
    for (pool, source) in sources {
        let joined = cluster
            .store
            .pools
            .get_mut(&pool)
            .expect("a pool of the cluster");
        joined.sources.insert(name.to_owned(), source);
    }
    cluster.members.push(name.to_owned());
    machine.clustered = true;
    machine.store = Store::default();
    Ok(())
}

/// A token lets in once.
fn spend(cluster: &mut Cluster, token: &str) -> Result<(), String> {
    let decoded = STANDARD.decode(token).unwrap_or_default();
    let decoded: Value = serde_json::from_slice(&decoded).unwrap_or_default();
    let valid = cluster
        .tokens
        .keys()
        .find(|id| secret(id) == decoded["secret"])
        .cloned();
    let id =
        valid.ok_or("Failed to setup cluster trust: No matching cluster join operation found")?;
    cluster.tokens.remove(&id);
    Ok(())
}

/// Makes the pools and the networks of the cluster on the machine, where they stay if the join fails later.
fn make_pools(
    of: &Store,
    machine: &mut Machine,
    config: &Value,
) -> Result<BTreeMap<String, String>, String> {
    let mut sources = BTreeMap::new();
    for (name, pool) in &of.pools {
        let given = config.as_array().into_iter().flatten().find(|one| {
            (text(one, "entity"), text(one, "name"), text(one, "key"))
                == ("storage-pool", name, "source")
        });
        // Without one Incus puts the pool into a file on the disk of the system.
        let source = given.map_or("a file", |one| text(one, "value"));
        if machine.store.pools.contains_key(name) {
            return Err(
                "Failed to initialize member: Config key \"source\" is cluster member specific"
                    .to_owned(),
            );
        }
        if !machine.datasets.insert(source.to_owned()) {
            return Err(
                "Failed to initialize member: Provided ZFS pool (or dataset) isn't empty"
                    .to_owned(),
            );
        }
        machine.store.pool(name, &pool.driver, NOWHERE, source);
        sources.insert(name.clone(), source.to_owned());
    }
    machine.store.networks.clone_from(&of.networks);
    Ok(sources)
}
