//! Parity: what a member lacks of what it is declared to be, and what repairs it, first things first.
//!
//! Before: the member is in the cluster. After: `decide.rs` takes the first repair, and `missing` shows all of them in
//! the user's words. Nothing here judges what others have set: a key that points somewhere else stays.

use std::collections::BTreeMap;

use super::observation::{
    Cluster, Member, MemberServer, Observation, Status, TrustKind, Volume, listens_everywhere,
};
use super::spec::{DAEMON_VOLUMES, MemberSpec, State, Storage, daemon_key};
use super::step::Step;

/// The project whose volumes the daemon uses.
const PROJECT: &str = "default";

/// One thing that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    /// In the user's words.
    pub(super) words: String,
    /// What repairs it, if that is in our power now.
    pub(super) repair: Option<Step>,
}

/// What a member lacks, in the user's words (HO-CLUS-06, HO-JOIN-19). Nothing is said of what cannot be seen, nor of a
/// machine that is no member.
pub fn missing(spec: &MemberSpec, observation: &Observation) -> Vec<String> {
    let Some(cluster) = &observation.cluster else {
        return Vec::new();
    };
    let Some(member) = cluster.member(&spec.name) else {
        return Vec::new();
    };
    gaps(spec, cluster, member)
        .into_iter()
        .map(|gap| gap.words)
        .collect()
}

/// The storage that the member is expected to have: what is declared, or else what IncusOS makes.
pub(super) fn storage_of(spec: &MemberSpec, member: &Member) -> Option<Storage> {
    let on_incusos = || member.server.as_ref().is_some_and(|server| server.incusos);
    spec.storage
        .clone()
        .or_else(|| on_incusos().then(Storage::incusos))
}

/// Everything that a member lacks, in the order in which it is repaired.
pub(super) fn gaps(spec: &MemberSpec, cluster: &Cluster, member: &Member) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if let Some(storage) = storage_of(spec, member) {
        pool(&storage, cluster, member, &mut gaps);
        volumes(&storage, cluster, member, &mut gaps);
    }
    listening(spec, cluster, member, &mut gaps);
    metrics(spec, cluster, &mut gaps);
    groups(spec, cluster, &mut gaps);
    settings(spec, member, &mut gaps);
    state(spec, member, &mut gaps);
    gaps
}

fn pool(storage: &Storage, cluster: &Cluster, member: &Member, gaps: &mut Vec<Gap>) {
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
fn volumes(storage: &Storage, cluster: &Cluster, member: &Member, gaps: &mut Vec<Gap>) {
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
pub(super) fn is_daemon_volume(volume: &Volume) -> bool {
    volume.project == PROJECT && DAEMON_VOLUMES.contains(&volume.name.as_str())
}

/// The daemon volumes that a server of this version can use.
fn kept_volumes(server: &MemberServer) -> impl Iterator<Item = &'static str> {
    let keeps_logs = server.keeps_logs;
    DAEMON_VOLUMES
        .into_iter()
        .filter(move |volume| keeps_logs || *volume != "logs")
}

/// A joiner is seeded with one address, since 6.0 refuses to join with more. Where others listen on all of theirs, the
/// overlay's among them, it does so afterwards.
fn listening(spec: &MemberSpec, cluster: &Cluster, member: &Member, gaps: &mut Vec<Gap>) {
    let core = |member: &Member| {
        let server = member.server.as_ref()?;
        server.config.get("core.https_address").cloned()
    };
    let others = cluster
        .members
        .iter()
        .filter(|other| other.name != member.name);
    let wide = others
        .filter_map(core)
        .any(|address| listens_everywhere(&address));
    if wide && core(member).is_some_and(|address| address == spec.address.to_string()) {
        let everywhere = format!(":{}", spec.address.port);
        gaps.push(Gap {
            words: format!("core.https_address = {everywhere}"),
            repair: Some(Step::SetServer {
                name: member.name.clone(),
                config: BTreeMap::from([("core.https_address".to_owned(), everywhere)]),
            }),
        });
    }
}

/// A join replaces the trust store of the joiner, so whoever reads its metrics has to be trusted by the cluster.
fn metrics(spec: &MemberSpec, cluster: &Cluster, gaps: &mut Vec<Gap>) {
    let Some(certificate) = &spec.metrics_certificate else {
        return;
    };
    // Trusted for anything else it may read metrics, too, and cannot be added a second time.
    if !cluster
        .trusted
        .iter()
        .any(|one| one.fingerprint == certificate.fingerprint)
    {
        gaps.push(Gap {
            words: "trust in the metrics certificate".to_owned(),
            repair: Some(Step::TrustMetrics {
                name: spec.name.clone(),
                certificate: certificate.clone(),
            }),
        });
    }
}

/// Whether the metrics certificate is trusted as one, and so is ours to remove.
pub(super) fn trusted_for_metrics(spec: &MemberSpec, cluster: &Cluster) -> Option<Step> {
    let fingerprint = &spec.metrics_certificate.as_ref()?.fingerprint;
    let ours = cluster
        .trusted
        .iter()
        .find(|one| one.kind == TrustKind::Metrics && one.fingerprint == *fingerprint)?;
    Some(Step::Distrust {
        fingerprint: ours.fingerprint.clone(),
    })
}

fn groups(spec: &MemberSpec, cluster: &Cluster, gaps: &mut Vec<Gap>) {
    for group in spec.groups.iter().flatten() {
        if !cluster.groups.contains(group) {
            gaps.push(Gap {
                words: format!("cluster group {group}"),
                repair: Some(Step::CreateGroup {
                    group: group.clone(),
                }),
            });
        }
    }
}

/// One request changes all of them, so each has the same repair.
fn settings(spec: &MemberSpec, member: &Member, gaps: &mut Vec<Gap>) {
    let groups = spec
        .groups
        .clone()
        .filter(|groups| *groups != member.groups);
    let failure_domain = spec
        .failure_domain
        .clone()
        .filter(|domain| *domain != member.failure_domain);
    let mut config = spec.config.clone();
    config.retain(|key, value| member.config.get(key).map_or("", String::as_str) != value);
    let mut words = Vec::new();
    if let Some(groups) = &groups {
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        words.push(format!("groups {}", names.join(", ")));
    }
    words.extend(
        failure_domain
            .iter()
            .map(|domain| format!("failure domain {domain}")),
    );
    words.extend(
        config
            .iter()
            .map(|(key, value)| format!("config {key} = {value}")),
    );
    let repair = Step::ChangeMember {
        name: member.name.clone(),
        groups,
        failure_domain,
        config,
    };
    gaps.extend(words.into_iter().map(|words| Gap {
        words,
        repair: Some(repair.clone()),
    }));
}

fn state(spec: &MemberSpec, member: &Member, gaps: &mut Vec<Gap>) {
    let name = member.name.clone();
    let (words, repair) = match (spec.state, member.status) {
        (Some(State::Evacuated), Status::Online) => ("evacuated", Step::Evacuate { name }),
        (Some(State::Online), Status::Evacuated) => ("online", Step::Restore { name }),
        _ => return,
    };
    gaps.push(Gap {
        words: format!("state {words}"),
        repair: Some(repair),
    });
}
