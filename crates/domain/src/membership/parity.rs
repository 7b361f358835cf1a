//! Parity: what a member lacks of what it is declared to be, and what repairs it, first things first.
//!
//! Before: the member is in the cluster. After: `decide.rs` takes the first repair, and `missing` shows all of them in
//! the user's words. Nothing here judges what others have set: a key that points somewhere else stays.

use std::collections::BTreeMap;

use super::observation::{Cluster, Member, Observation, Status, TrustKind, listens_everywhere};
use super::spec::{MemberSpec, State};
use super::step::Step;

mod storage;

pub(super) use storage::{is_daemon_volume, storage_of};

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

/// Everything that a member lacks, in the order in which it is repaired.
pub(super) fn gaps(spec: &MemberSpec, cluster: &Cluster, member: &Member) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if let Some(storage) = storage_of(spec, member) {
        storage::pool(&storage, cluster, member, &mut gaps);
        storage::volumes(&storage, cluster, member, &mut gaps);
    }
    listening(spec, cluster, member, &mut gaps);
    metrics(spec, cluster, &mut gaps);
    groups(spec, cluster, &mut gaps);
    settings(spec, member, &mut gaps);
    state(spec, member, &mut gaps);
    gaps
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
