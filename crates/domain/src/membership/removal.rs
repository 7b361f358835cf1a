//! Removal: what is left to do until a member is none any more, and why it may have to stay.
//!
//! Before: `tofu destroy`, or a machine that is taken out of the configuration. After: `reconcile` performs the one step
//! and observes again. What `on_destroy` allows counts only if it was applied before: a removal reads no configuration.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, LONGEST_MOMENT};
use super::observation::{Candidate, Cluster, Member, Observation, Status};
use super::spec::{MemberSpec, OnDestroy, daemon_key};
use super::step::Step;

mod answer;

use super::leftover::outstanding_token;
use super::parity;
pub use answer::{Refusal, Removal, Waiting, Warning};

/// Chooses the next step of a removal (HO-CLUS-08). `applied` is what was last applied, not what is declared now.
///
/// # Guarantees
/// Without `force` nothing is lost: whatever is not ours is named, and the member stays. The daemon's own volumes are
/// given up first and deleted after that; what the cluster keeps for the member goes just before the member itself.
/// Workloads of apps that run once on each machine are nothing that could be lost: they are deleted with the member.
///
/// # Caveats
/// A member that is removed by force is not told, nor is one that is removed by a server that dies of it. As long as it
/// lives it can write the cluster's database, which [`Warning::Alive`] says, or [`Warning::Untold`] where nobody knows.
pub fn removal(
    spec: &MemberSpec,
    observation: &Observation,
    applied: OnDestroy,
    history: &History,
) -> Removal {
    let Some(cluster) = &observation.cluster else {
        return Removal::Wait(Waiting::Cluster);
    };
    let Some(member) = cluster.member(&spec.name) else {
        return after(spec, cluster, &observation.candidate, history);
    };
    if cluster.members.len() == 1 {
        return last(spec, cluster);
    }
    if cluster.primary.as_ref() == Some(&spec.name) {
        return Removal::Refuse(Refusal::Primary);
    }
    match member.status {
        Status::Evacuating | Status::Restoring => Removal::Wait(Waiting::Moving),
        Status::Offline => dead(spec, cluster, member, applied),
        Status::Blocked if member.server.is_none() => dead(spec, cluster, member, applied),
        // What is its own can be told from the rest only by its configuration.
        _ if member.server.is_none() => Removal::Wait(Waiting::Unanswered),
        Status::Online | Status::Evacuated | Status::Blocked => {
            alive(spec, cluster, member, applied)
        }
    }
}

/// It is not listed any more: what is left of it elsewhere.
fn after(
    spec: &MemberSpec,
    cluster: &Cluster,
    candidate: &Candidate,
    history: &History,
) -> Removal {
    if let Some(step) = kept_for_it(spec, cluster) {
        return Removal::Do(step);
    }
    let lives = candidate.fingerprint() == Some(&cluster.fingerprint);
    // Another member may have its address by now.
    let is_another =
        matches!(candidate, Candidate::Open(server) if cluster.member(&server.name).is_some());
    let name = || spec.name.clone();
    let may_be_leaving = !history.forced_out && history.outside_for < LONGEST_MOMENT;
    let warning = match candidate {
        Candidate::Silent(_) if history.forced_out => Some(Warning::Untold { name: name() }),
        Candidate::Stranded { .. } if lives && may_be_leaving => {
            return Removal::Wait(Waiting::Leaving);
        }
        _ if lives && !is_another => Some(Warning::Alive { name: name() }),
        _ => None,
    };
    Removal::Gone {
        warnings: warning.into_iter().collect(),
    }
}

fn last(spec: &MemberSpec, cluster: &Cluster) -> Removal {
    if let Some(step) = parity::trusted_for_metrics(spec, cluster) {
        return Removal::Do(step);
    }
    Removal::Gone {
        warnings: vec![Warning::LastMember {
            name: spec.name.clone(),
        }],
    }
}

/// It can neither be emptied nor told.
fn dead(spec: &MemberSpec, cluster: &Cluster, member: &Member, applied: OnDestroy) -> Removal {
    if !applied.force {
        return Removal::Refuse(Refusal::Dead);
    }
    if !keeps_quorum(cluster, member) {
        return Removal::Refuse(Refusal::Quorum);
    }
    remove(spec, cluster, member, true)
}

/// Whether those that vote can go on deciding without this one.
fn keeps_quorum(cluster: &Cluster, leaving: &Member) -> bool {
    let (online, votes) = other_votes(cluster, leaving);
    !leaving.votes || online > votes / 2
}

/// The votes of all others: of those that answer, and altogether.
fn other_votes(cluster: &Cluster, leaving: &Member) -> (usize, usize) {
    let others = cluster.members.iter();
    let votes = others.filter(|member| member.votes && member.name != leaving.name);
    let online = votes
        .clone()
        .filter(|member| member.status != Status::Offline);
    (online.count(), votes.count())
}

fn alive(spec: &MemberSpec, cluster: &Cluster, member: &Member, applied: OnDestroy) -> Removal {
    // One that is alive can hand its vote on, but not to the dead.
    if other_votes(cluster, member).1 > 0 && !keeps_quorum(cluster, member) {
        return Removal::Refuse(Refusal::Quorum);
    }
    let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
    let (ours, foreign) = volumes(spec, cluster, member);
    let foreign = (!foreign.is_empty()).then_some(Refusal::Volumes(foreign));
    let images =
        (!member.sole_images.is_empty()).then(|| Refusal::Images(names(&member.sole_images)));
    let lost = foreign.or(images);
    // Before anything is moved: it would be moved in vain.
    if let Some(refusal) = lost.clone().filter(|_| !applied.force) {
        return Removal::Refuse(refusal);
    }
    if !member.instances.is_empty() {
        let evacuated = member.status == Status::Evacuated;
        return match (evacuated, applied.evacuate, applied.force) {
            (false, true, _) => Removal::Do(Step::Evacuate {
                name: member.name.clone(),
            }),
            (_, _, true) => remove(spec, cluster, member, true),
            (true, _, false) => Removal::Refuse(Refusal::Stuck(names(&member.instances))),
            (false, false, false) => Removal::Refuse(Refusal::Instances(names(&member.instances))),
        };
    }
    if lost.is_some() {
        return remove(spec, cluster, member, true);
    }
    if let Some(step) = unset_keys(member, &ours) {
        return Removal::Do(step);
    }
    let is_busy = |volume: &&Ours| member.busy_volumes.contains(&volume.name);
    if let Some(volume) = ours.iter().find(|volume| !is_busy(volume)) {
        return Removal::Do(Step::DeleteVolume {
            name: member.name.clone(),
            pool: volume.pool.clone(),
            volume: volume.name.clone(),
        });
    }
    match (ours.is_empty(), applied.force) {
        // After each removal the cluster takes some seconds to give a vote to somebody else.
        (true, _) if is_choosing(cluster) => Removal::Wait(Waiting::Votes),
        (true, _) => {
            without_workloads(member).unwrap_or_else(|| remove(spec, cluster, member, false))
        }
        (false, true) => remove(spec, cluster, member, true),
        (false, false) => {
            let paths = ours
                .iter()
                .map(|volume| format!("{}/{}", volume.pool, volume.name));
            Removal::Refuse(Refusal::Busy(paths.collect()))
        }
    }
}

/// Its own workloads go with it, and as late as possible.
fn without_workloads(member: &Member) -> Option<Removal> {
    let workload = member.workloads.first()?;
    Some(Removal::Do(Step::DeleteWorkload {
        name: member.name.clone(),
        workload: workload.clone(),
    }))
}

/// Whether a cluster that is well has not the votes yet that it will have, three, or one of two members: another one must
/// not go before.
fn is_choosing(cluster: &Cluster) -> bool {
    let members = &cluster.members;
    let is_well = members
        .iter()
        .all(|member| member.status != Status::Offline);
    let votes = members.iter().filter(|member| member.votes).count();
    is_well && (members.len() >= 3 && votes < 3 || members.len() == 2 && votes != 1)
}

/// What the cluster keeps for the member goes first: whoever is stopped in between finds the member gone, and has nothing
/// left that would lead him to the rest.
fn remove(spec: &MemberSpec, cluster: &Cluster, member: &Member, force: bool) -> Removal {
    Removal::Do(kept_for_it(spec, cluster).unwrap_or_else(|| Step::Remove {
        name: member.name.clone(),
        force,
    }))
}

/// What the cluster keeps for a member and would go on keeping without it: a token, the trust in its metrics certificate.
fn kept_for_it(spec: &MemberSpec, cluster: &Cluster) -> Option<Step> {
    outstanding_token(spec, cluster).or_else(|| parity::trusted_for_metrics(spec, cluster))
}

/// A volume that the daemon keeps what is its own in.
struct Ours {
    pool: String,
    name: String,
}

/// The daemon's own volumes on the member, and the paths of all others.
fn volumes(spec: &MemberSpec, cluster: &Cluster, member: &Member) -> (Vec<Ours>, Vec<String>) {
    let storage = parity::storage_of(spec, member);
    let mut ours = Vec::new();
    let mut foreign = Vec::new();
    for volume in cluster.volumes_on(&member.name) {
        let is_ours = storage
            .as_ref()
            .is_some_and(|storage| storage.pool == volume.pool)
            && parity::is_daemon_volume(volume);
        match is_ours {
            true => ours.push(Ours {
                pool: volume.pool.clone(),
                name: volume.name.clone(),
            }),
            false => foreign.push(format!("{}/{}", volume.pool, volume.name)),
        }
    }
    (ours, foreign)
}

/// The keys that point at the daemon's own volumes: a volume that is pointed at cannot be deleted.
fn unset_keys(member: &Member, ours: &[Ours]) -> Option<Step> {
    let server = member.server.as_ref()?;
    let set = ours.iter().filter_map(|volume| {
        let key = daemon_key(&volume.name);
        let path = format!("{}/{}", volume.pool, volume.name);
        (server.config.get(&key) == Some(&path)).then(|| (key, String::new()))
    });
    let config: BTreeMap<String, String> = set.collect();
    (!config.is_empty()).then(|| Step::SetServer {
        name: member.name.clone(),
        config,
    })
}
