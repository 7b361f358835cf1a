//! Observing: one list of instances and one of members, in `domain`'s words.
//!
//! Before: a Read, or a pass of `rollout.rs`. After: `domain::observation::of_app` picks out what concerns one app.
//! Lists are read with `recursion=1`, never 2: that would ask every running instance for its state.

use domain::observation::{Member, MemberStatus, Power, Seen};
use incus::{cluster, instance};

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use domain::app::key;

/// What Incus shows.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Every instance of the project.
    pub seen: Vec<Seen>,
    /// Every member; empty where Incus is not clustered.
    pub members: Vec<Member>,
}

/// Reads both lists side by side.
///
/// # Errors
/// If no endpoint answers.
pub async fn world(cluster: &Cluster) -> Result<World, Error> {
    let (seen, members) = tokio::try_join!(instances(cluster), members(cluster))?;
    Ok(World { seen, members })
}

async fn instances(cluster: &Cluster) -> Result<Vec<Seen>, Error> {
    let instances = cluster
        .client
        .send(instance::list(&cluster.project))
        .await?;
    Ok(instances.into_iter().map(seen).collect())
}

pub(crate) async fn members(cluster: &Cluster) -> Result<Vec<Member>, Error> {
    if !cluster.server().await?.environment.server_clustered {
        return Ok(Vec::new());
    }
    let members = cluster.client.send(cluster::members()).await?;
    Ok(members.into_iter().map(member).collect())
}

fn seen(instance: incus::instance::Instance) -> Seen {
    let stamp = instance
        .config
        .as_ref()
        .and_then(|config| config.get(key::HEALTHY_SINCE));
    Seen {
        healthy_since: stamp.and_then(|text| clock::parse(text)),
        ever_started: clock::parse(&instance.last_used_at).is_some_and(|at| at.0 > 0),
        power: match instance.status.as_str() {
            "Running" | "Ready" => Power::Running,
            "Stopped" => Power::Stopped,
            _ => Power::Other,
        },
        // Incus calls the place of an instance "none" where it is not clustered.
        member: Some(instance.location)
            .filter(|location| !location.is_empty() && location != "none"),
        name: instance.name,
        config: instance.config,
    }
}

fn member(member: incus::cluster::Member) -> Member {
    let chooser = member.config.get("scheduler.instance").map(String::as_str);
    Member {
        status: match member.status.as_str() {
            "Online" => MemberStatus::Online,
            "Offline" => MemberStatus::Offline,
            _ => MemberStatus::Other,
        },
        schedulable: matches!(chooser, None | Some("" | "all")),
        name: member.server_name,
        architecture: member.architecture,
    }
}
