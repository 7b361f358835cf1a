//! Preflight: the facts about a cluster that an app needs, before anything is published or stopped.
//!
//! Before: the provider is about to publish a revision. After: `domain::preflight` finds what is in the way. The number of
//! requests is constant, however many instances there are.

use std::collections::BTreeSet;

use domain::adoption;
use domain::app::AppSpec;
use domain::issue::Issue;
use domain::preflight::{self, Facts, Neighbour, Pool};
use domain::work::Work;
use incus::{cluster, instance, profile, project, storage};

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::observe;

/// Everything that is in the way of `spec`; nothing is changed.
///
/// # Errors
/// If no endpoint answers, or if instances that it takes over cannot be taken.
pub async fn check(cluster: &Cluster, spec: &AppSpec, work: &Work) -> Result<Vec<Issue>, Error> {
    let (facts, world) = tokio::try_join!(facts(cluster), observe::world(cluster))?;
    let mut observation = world.of_app(&spec.name, work);
    if !spec.adopts.is_empty() {
        let refused = |refused| Error::Adoption {
            app: spec.name.clone(),
            refused,
        };
        let found = adoption::look(&spec.name, &spec.adopts, &world.seen).map_err(refused)?;
        let after = adoption::foresee(spec, &found, &observation, clock::now());
        observation = after.map_err(refused)?.1;
    }
    if !spec.volumes.is_empty() {
        observation.volumes = observe::volumes(cluster, &spec.name).await?;
    }
    Ok(preflight::check(spec, &facts, &observation, work))
}

async fn facts(cluster: &Cluster) -> Result<Facts, Error> {
    let (limits, profiles, pools, groups, instances) = tokio::try_join!(
        limits(cluster),
        profiles(cluster),
        pools(cluster),
        groups(cluster),
        instances(cluster),
    )?;
    Ok(Facts {
        project: cluster.project.clone(),
        limits,
        profiles,
        pools,
        storage_pool: cluster.storage_pool.clone(),
        shared_pool: cluster.shared_pool.clone(),
        groups,
        instances,
    })
}

type Keys = std::collections::BTreeMap<String, String>;
type Map<T> = std::collections::BTreeMap<String, T>;

async fn limits(cluster: &Cluster) -> Result<Option<Keys>, Error> {
    match cluster.client.send(project::get(&cluster.project)).await {
        Ok(project) => Ok(Some(project.config)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// None of a project that does not exist, which is told by its limits.
async fn profiles(cluster: &Cluster) -> Result<Map<preflight::Devices>, Error> {
    let profiles = match cluster.client.send(profile::list(&cluster.project)).await {
        Err(error) if error.is_not_found() => Vec::new(),
        profiles => profiles?,
    };
    let profiles = profiles.into_iter();
    Ok(profiles
        .map(|profile| (profile.name, profile.devices))
        .collect())
}

async fn pools(cluster: &Cluster) -> Result<Map<Pool>, Error> {
    let pools = cluster.client.send(storage::pools()).await?.into_iter();
    let pool = |pool: storage::Pool| {
        // Of a member that does not answer it is unknown, which is for the rollout to find out.
        let is_ready = !matches!(pool.status.as_str(), "Pending" | "Errored");
        let driver = pool.driver;
        (pool.name, Pool { driver, is_ready })
    };
    Ok(pools.map(pool).collect())
}

async fn groups(cluster: &Cluster) -> Result<Option<BTreeSet<String>>, Error> {
    if !cluster.server().await?.environment.server_clustered {
        return Ok(None);
    }
    let groups = cluster.client.send(cluster::group::list()).await?;
    Ok(Some(groups.into_iter().map(|group| group.name).collect()))
}

async fn instances(cluster: &Cluster) -> Result<Vec<Neighbour>, Error> {
    let instances = cluster.client.send(instance::list_everywhere()).await?;
    let neighbour = |one: instance::Instance| Neighbour {
        is_vm: one.r#type == "virtual-machine",
        devices: one.expanded_devices.unwrap_or_default(),
        // Incus calls the place of an instance "none" where it is not clustered.
        member: Some(one.location).filter(|place| !place.is_empty() && place != "none"),
        name: one.name,
        project: one.project,
    };
    Ok(instances.into_iter().map(neighbour).collect())
}
