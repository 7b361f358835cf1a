//! Decides about a machine that is to join: what it waits for, what is cleaned up first, and how it joins.
//!
//! Before: `decide.rs` has found that the cluster does not list it. After: it is listed, and repaired there.

use super::answer::{Decision, Refusal, Waiting};
use super::history::{History, LONGEST_MOMENT, MOST_FAILED_JOINS};
use super::leftover::{leftover, outstanding_token};
use super::machine::{clustered_but_unlisted, open};
use super::observation::{
    Candidate, Cluster, Member, MemberKey, Server, Status, System, TrustKind,
};
use super::spec::{MemberSpec, Storage};
use super::step::{Join, MemberSetting, Step};

pub(super) fn decide(
    spec: &MemberSpec,
    cluster: &Cluster,
    candidate: &Candidate,
    history: &History,
) -> Decision {
    // Whatever is waited for below may take hours, and whoever has the token could use it meanwhile (HO-JOIN-23).
    if let Some(step) = outstanding_token(spec, cluster) {
        return Decision::Do(step);
    }
    if candidate.fingerprint() == Some(&cluster.fingerprint) {
        return clustered_but_unlisted(cluster, candidate, history);
    }
    if let Candidate::Stranded { why, .. } = candidate
        && history.asked_to_join
        && history.outside_for >= LONGEST_MOMENT
    {
        return Decision::Refuse(Refusal::Stuck { why: why.clone() });
    }
    let server = match open(spec, candidate) {
        Ok(server) => server,
        Err(decision) => return decision,
    };
    if let Some(decision) = unfit(spec, cluster, server, history) {
        return decision;
    }
    if let Some(step) = leftover(spec, cluster, server) {
        return Decision::Do(step);
    }
    // After the clean-up: whatever the try has left must not stand for as long as this may take.
    if let Some(said) = &history.misfit {
        return Decision::Wait(Waiting::Misfit(said.clone()));
    }
    if history.failed_joins >= MOST_FAILED_JOINS {
        return Decision::Refuse(Refusal::JoinFails {
            times: history.failed_joins,
            last: history.last_failure.clone(),
        });
    }
    Decision::Do(Step::Join(Box::new(join(spec, cluster, server))))
}

/// Why it does not join, now or ever.
fn unfit(
    spec: &MemberSpec,
    cluster: &Cluster,
    server: &Server,
    history: &History,
) -> Option<Decision> {
    if server.clustered {
        return Some(Decision::Refuse(Refusal::OtherCluster {
            seen: server.name.clone(),
        }));
    }
    // It was that member, and has been installed anew since without being removed.
    if let Some(seen) = certified_member(cluster, server) {
        return Some(Decision::Refuse(Refusal::OtherMember { seen }));
    }
    if let Some(refusal) = other_major(cluster, server) {
        return Some(Decision::Refuse(refusal));
    }
    match server.system {
        System::IncusOs { initialized: false } => {
            return Some(Decision::Wait(Waiting::Initializing));
        }
        // Its seed has told it its name; on another system the host's name is the operator's (HO-JOIN-04).
        System::IncusOs { initialized: true } if server.name != spec.name => {
            return Some(Decision::Refuse(Refusal::OtherMachine {
                seen: server.name.clone(),
            }));
        }
        System::IncusOs { initialized: true } | System::Other => {}
    }
    let holds = holdings(cluster, server, history);
    if !holds.is_empty() {
        return Some(Decision::Refuse(Refusal::NotEmpty { holds }));
    }
    // With two members the seed of the first could not make its pool any more, nor would the joiner have it.
    if cluster.is_initializing() {
        return Some(Decision::Wait(Waiting::Cluster));
    }
    other_version(cluster, server).map(Decision::Wait)
}

fn certified_member(cluster: &Cluster, server: &Server) -> Option<String> {
    let shown = cluster.trusted.iter().find(|one| {
        let same = one.fingerprint == server.fingerprint && one.kind == TrustKind::Server;
        same && cluster.member(&one.name).is_some()
    })?;
    Some(shown.name.clone())
}

fn other_major(cluster: &Cluster, server: &Server) -> Option<Refusal> {
    let differing = cluster.members.iter().find_map(|member| {
        let theirs = &member.server.as_ref()?.version;
        (theirs.major() != server.version.major()).then_some((member, theirs))
    });
    differing.map(|(member, theirs)| Refusal::Major {
        machine: server.version.text.clone(),
        member: member.name.clone(),
        theirs: theirs.text.clone(),
    })
}

/// HO-JOIN-08. Incus compares with every member, also with those that do not answer and cannot be asked here.
fn other_version(cluster: &Cluster, server: &Server) -> Option<Waiting> {
    let blocked = cluster
        .members
        .iter()
        .find(|member| member.status == Status::Blocked);
    if let Some(member) = blocked {
        return Some(Waiting::Blocked {
            member: member.name.clone(),
        });
    }
    cluster.members.iter().find_map(|member| {
        let theirs = &member.server.as_ref()?.version;
        (*theirs != server.version).then(|| Waiting::Version {
            machine: server.version.clone(),
            member: member.name.clone(),
            theirs: theirs.clone(),
        })
    })
}

/// What a join would destroy, or stumble over, and is not left of an earlier one (HO-JOIN-02).
fn holdings(cluster: &Cluster, server: &Server, history: &History) -> Vec<String> {
    let tried = has_tried(server, history);
    let is_left = |there: bool| tried && there;
    let mut holds = Vec::new();
    holds.extend(
        server
            .instances
            .iter()
            .map(|name| format!("instance {name}")),
    );
    holds.extend(
        server
            .volumes
            .iter()
            .map(|path| format!("custom volume {path}")),
    );
    let pools = server
        .pools
        .iter()
        .filter(|pool| !is_left(cluster.pool(pool).is_some()));
    holds.extend(pools.map(|pool| format!("storage pool {pool}")));
    let networks = server
        .networks
        .iter()
        .filter(|network| !is_left(cluster.networks.contains(*network)));
    holds.extend(networks.map(|network| format!("network {network}")));
    holds
}

/// Whether a join of this machine was tried before: Incus writes down the address before anything that can fail, and
/// keeps it. Another machine that has taken its address has left nothing of ours.
fn has_tried(server: &Server, history: &History) -> bool {
    history.tried.as_ref() == Some(&server.fingerprint) || server.cluster_address.is_some()
}

fn join(spec: &MemberSpec, cluster: &Cluster, server: &Server) -> Join {
    let online = |member: &&Member| member.status == Status::Online && member.votes;
    Join {
        name: spec.name.clone(),
        address: spec.address.clone(),
        cluster_fingerprint: cluster.fingerprint.clone(),
        server_fingerprint: server.fingerprint.clone(),
        through: cluster
            .members
            .iter()
            .find(online)
            .and_then(|member| member.address.clone()),
        member_config: member_config(spec, cluster, server),
    }
}

/// HO-JOIN-14: what the cluster asks for, as far as it is declared; the rest is left out, and Incus chooses.
fn member_config(spec: &MemberSpec, cluster: &Cluster, server: &Server) -> Vec<MemberSetting> {
    let on_incusos = server.system != System::Other;
    let storage = spec
        .storage
        .clone()
        .or_else(|| on_incusos.then(Storage::incusos));
    let Some((pool, source)) = storage.and_then(|storage| Some((storage.pool, storage.source?)))
    else {
        return Vec::new();
    };
    let asked = cluster.member_keys.iter().filter(|asked| {
        (&*asked.entity, &*asked.name, &*asked.key) == ("storage-pool", &*pool, "source")
    });
    let setting = |asked: &MemberKey| MemberSetting {
        entity: asked.entity.clone(),
        name: asked.name.clone(),
        key: asked.key.clone(),
        value: source.clone(),
    };
    asked.map(setting).collect()
}
