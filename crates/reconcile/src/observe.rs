//! Observing: one list of instances and one of members, in `domain`'s words.
//!
//! Before: a Read, or a pass of `rollout.rs`. After: `domain::observation::of_app` picks out what concerns one app.
//! Lists are read with `recursion=1`, never 2: that would ask every running instance for its state.

use std::collections::BTreeMap;

use domain::app::render::Api;
use domain::app::{is_volume_name, key};
use domain::machine::disk;
use domain::observation::{self, Member, MemberStatus, Observation, Power, Seen, VolumeSeen};
use domain::work::Work;
use incus::storage::{self, volume};
use incus::{cluster, instance};

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;

/// What Incus shows.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Every instance of the project.
    pub seen: Vec<Seen>,
    /// Every member; empty where Incus is not clustered.
    pub members: Vec<Member>,
    /// The name of the only server, where Incus is not clustered.
    pub standalone: Option<String>,
}

/// Reads both lists side by side.
///
/// # Errors
/// If no endpoint answers.
pub async fn world(cluster: &Cluster) -> Result<World, Error> {
    let (seen, (members, standalone)) = tokio::try_join!(instances(cluster), machines(cluster))?;
    Ok(World {
        seen,
        members,
        standalone,
    })
}

impl World {
    /// What of it concerns one app.
    pub fn of_app(&self, app: &str, work: &Work) -> Observation {
        let mut observation = observation::of_app(app, &self.seen, &self.members, work);
        observation.standalone.clone_from(&self.standalone);
        observation
    }
}

async fn instances(cluster: &Cluster) -> Result<Vec<Seen>, Error> {
    let instances = cluster
        .client
        .send(instance::list(&cluster.project))
        .await?;
    Ok(instances.into_iter().map(seen).collect())
}

/// The storage volumes of an app.
///
/// # Errors
/// If no endpoint answers.
pub async fn volumes(cluster: &Cluster, app: &str) -> Result<Vec<VolumeSeen>, Error> {
    let mut found = volumes_of_apps(cluster).await?;
    Ok(found.remove(app).unwrap_or_default())
}

/// The storage volumes of all apps, by app: in every pool, since data stays where it is when a default changes.
///
/// # Errors
/// If no endpoint answers.
pub async fn volumes_of_apps(
    cluster: &Cluster,
) -> Result<BTreeMap<String, Vec<VolumeSeen>>, Error> {
    let mut found: BTreeMap<String, Vec<VolumeSeen>> = BTreeMap::new();
    let pools = cluster.client.send(storage::pools()).await?;
    for pool in pools.into_iter().map(|pool| pool.name) {
        let list = volume::list_of(&cluster.project, &pool);
        let volumes = match cluster.client.send(list).await {
            // Whoever needs it will be told; nobody else has to wait for it.
            Err(error) if error.is_not_found() => Vec::new(),
            other => other?,
        };
        for volume in volumes {
            if let Some((app, volume)) = seen_volume(&pool, volume) {
                found.entry(app).or_default().push(volume);
            }
        }
    }
    Ok(found)
}

/// A volume of ours, and of which app.
fn seen_volume(pool: &str, volume: volume::Volume) -> Option<(String, VolumeSeen)> {
    let key = |name: &str| volume.config.get(name);
    let (app, of) = (key(key::APP)?.clone(), key(key::VOLUME)?.clone());
    // A copy that somebody made carries the keys, too: the name tells the one that is attached.
    let place = observation::place(&volume.config);
    if !is_volume_name(&app, &place, &of, &volume.name) {
        return None;
    }
    let seen = VolumeSeen {
        place,
        size: key("size").and_then(|text| disk::parse_size(text)),
        volume: of,
        pool: pool.to_owned(),
        member: Some(volume.location).filter(|location| !location.is_empty() && location != "none"),
        name: volume.name,
    };
    Some((app, seen))
}

/// The members; none where Incus is not clustered.
pub(crate) async fn members(cluster: &Cluster) -> Result<Vec<Member>, Error> {
    Ok(machines(cluster).await?.0)
}

/// The members, or the name of the only server.
async fn machines(cluster: &Cluster) -> Result<(Vec<Member>, Option<String>), Error> {
    let server = cluster.server().await?;
    if !server.environment.server_clustered {
        return Ok((Vec::new(), Some(server.environment.server_name.clone())));
    }
    let members = cluster.client.send(cluster::members()).await?;
    Ok((members.into_iter().map(member).collect(), None))
}

/// How each machine's own API is reached there; none of a server that listens on its socket alone.
///
/// # Errors
/// If no endpoint answers.
pub(crate) async fn apis(cluster: &Cluster) -> Result<BTreeMap<String, Api>, Error> {
    let environment = cluster.server().await?.environment.clone();
    let api = |address: &str| Api::new(address.to_owned(), environment.certificate.clone());
    if !environment.server_clustered {
        let address = environment.addresses.first();
        let alone = address.map(|address| (environment.server_name.clone(), api(address)));
        return Ok(alone.into_iter().collect());
    }
    let members = cluster.client.send(cluster::members()).await?;
    let of_member = |member: &incus::cluster::Member| {
        let address = member.url.strip_prefix("https://")?;
        Some((member.server_name.clone(), api(address)))
    };
    Ok(members.iter().filter_map(of_member).collect())
}

fn seen(instance: incus::instance::Instance) -> Seen {
    let stamp = instance
        .config
        .as_ref()
        .and_then(|config| config.get(key::HEALTHY_SINCE));
    Seen {
        healthy_since: stamp.and_then(|text| clock::parse(text)),
        started_at: instance.last_used_at.clone(),
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
        description: instance.description,
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
        groups: member.groups,
        architecture: member.architecture,
    }
}
