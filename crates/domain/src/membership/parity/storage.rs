//! Parity of storage: the pool that every member has, and the volumes in it that the daemon keeps what is its own in.
//!
//! Before: `parity.rs`. Without storage, declared or that of IncusOS, nothing is expected here.

use std::collections::BTreeMap;

use super::Gap;
use crate::membership::observation::{Cluster, Member, MemberServer, Volume};
use crate::membership::spec::{DAEMON_VOLUMES, MemberSpec, Storage, daemon_key};
use crate::membership::step::Step;

/// The project whose volumes the daemon uses.
const PROJECT: &str = "default";

/// The storage that the member is expected to have: what is declared, or else what IncusOS makes.
pub(in super::super) fn storage_of(spec: &MemberSpec, member: &Member) -> Option<Storage> {
    let on_incusos = || member.server.as_ref().is_some_and(|server| server.incusos);
    spec.storage
        .clone()
        .or_else(|| on_incusos().then(Storage::incusos))
}

pub(super) fn pool(storage: &Storage, cluster: &Cluster, member: &Member, gaps: &mut Vec<Gap>) {
    let name = &storage.pool;
    let mut lack = |words: String, repair: Option<Step>| gaps.push(Gap { words, repair });
    let note = || Step::NotePool {
        name: member.name.clone(),
        pool: storage.pool.clone(),
        driver: storage.driver.clone(),
        source: storage.source.clone(),
    };
    let Some(pool) = cluster.pool(name) else {
        return lack(format!("storage pool {name}"), Some(note()));
    };
    if pool.driver != storage.driver {
        let words = format!(
            "storage pool {name} with driver {} (it has {})",
            storage.driver, pool.driver
        );
        return lack(words, None);
    }
    let is_noted = pool.members.contains(&member.name);
    match (pool.created, is_noted) {
        (true, true) => {}
        // Incus makes a pool on all members at once, or not at all: on a single one there is nothing to repair.
        (true, false) => lack(format!("storage pool {name}"), None),
        (false, false) => lack(format!("storage pool {name}"), Some(note())),
        (false, true) => {
            let everywhere = cluster
                .members
                .iter()
                .all(|one| pool.members.contains(&one.name));
            let make = Step::MakePool {
                pool: name.clone(),
                driver: storage.driver.clone(),
            };
            lack(format!("storage pool {name}"), everywhere.then_some(make));
        }
    }
}

/// HO-JOIN-18: the volumes first, then the keys that point at them, all at once.
pub(super) fn volumes(storage: &Storage, cluster: &Cluster, member: &Member, gaps: &mut Vec<Gap>) {
    let Some(server) = &member.server else {
        return;
    };
    let ready = cluster.pool(&storage.pool).is_some_and(|pool| {
        pool.created && pool.driver == storage.driver && pool.members.contains(&member.name)
    });
    let mut pointers = BTreeMap::new();
    for volume in kept_volumes(server) {
        let path = format!("{}/{volume}", storage.pool);
        let exists = cluster.volumes_on(&member.name).any(|one| {
            (&*one.pool, &*one.project, &*one.name) == (&*storage.pool, PROJECT, volume)
        });
        let key = daemon_key(volume);
        let is_set = server
            .config
            .get(&key)
            .is_some_and(|value| !value.is_empty());
        if is_set && server.config[&key] != path {
            // Somebody has put it elsewhere; a volume of ours would be of no use.
            continue;
        }
        if !exists {
            gaps.push(Gap {
                words: format!("custom volume {path}"),
                repair: ready.then(|| Step::CreateVolume {
                    name: member.name.clone(),
                    pool: storage.pool.clone(),
                    volume: volume.to_owned(),
                }),
            });
        }
        if !is_set {
            pointers.insert(key, path);
        }
    }
    let repair = ready.then(|| Step::SetServer {
        name: member.name.clone(),
        config: pointers.clone(),
    });
    gaps.extend(pointers.iter().map(|(key, path)| Gap {
        words: format!("{key} = {path}"),
        repair: repair.clone(),
    }));
}

/// Whether it has the name and the project of a volume that the daemon keeps what is its own in.
pub(in super::super) fn is_daemon_volume(volume: &Volume) -> bool {
    volume.project == PROJECT && DAEMON_VOLUMES.contains(&volume.name.as_str())
}

/// The daemon volumes that a server of this version can use.
fn kept_volumes(server: &MemberServer) -> impl Iterator<Item = &'static str> {
    let keeps_logs = server.keeps_logs;
    DAEMON_VOLUMES
        .into_iter()
        .filter(move |volume| keeps_logs || *volume != "logs")
}
