//! The session: what one provider process shares between its resources.
//!
//! Before: `provider.rs` has read the configuration. After: the resources ask for the cluster, and for one snapshot of
//! it. Nothing is opened before the first use, so a configuration without apps needs no Incus.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use domain::app::AppSpec;
use domain::moment::Moment;
use domain::observation::VolumeSeen;
use incus::Fingerprint;
use reconcile::cluster::Cluster;
use reconcile::member::Survey;
use reconcile::observe::{self, World};
use reconcile::store::{self, Fleet};
use reconcile::{clock, error::Error, member};
use tfplugin::Diagnostic;

use crate::diagnose;
use crate::names::Names;

/// Shared by all resources of one provider process.
#[derive(Default)]
pub(crate) struct Session {
    configured: Mutex<Option<Result<Cluster, NoCluster>>>,
    snapshot: Shared<Snapshot>,
    members: Shared<Option<Survey>>,
    /// What the names of images stand for that apps follow.
    pub(crate) names: Names,
    told: Mutex<BTreeSet<String>>,
}

/// Why there is no cluster to talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoCluster {
    /// The provider was never configured.
    NotConfigured,
    /// Its endpoints are not known yet.
    NotKnownYet,
    /// What it says leads nowhere, for this reason.
    Unusable(Box<Diagnostic>),
}

/// What Incus and the fleet store showed at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The fleet store.
    pub(crate) fleet: Fleet,
    /// Instances and members.
    pub(crate) world: World,
    /// The storage volumes of apps, by app.
    pub(crate) volumes: BTreeMap<String, Vec<VolumeSeen>>,
    /// When.
    pub(crate) at: Moment,
    /// The certificate of the cluster that it is of.
    pub(crate) cluster: Option<Fingerprint>,
}

/// One look serves all Reads of a process until its first write.
type Shared<T> = tokio::sync::Mutex<Cache<T>>;

#[derive(Default)]
enum Cache<T> {
    #[default]
    Empty,
    /// Of the cluster with this certificate.
    Kept(Option<Fingerprint>, Result<Arc<T>, Arc<Error>>),
    Off,
}

impl Session {
    /// Takes over what a configuration leads to.
    pub(crate) fn configure(&self, cluster: Result<Cluster, NoCluster>) {
        *self
            .configured
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(cluster);
    }

    /// The cluster of the configuration.
    pub(crate) fn cluster(&self) -> Result<Cluster, NoCluster> {
        self.configured
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .unwrap_or(Err(NoCluster::NotConfigured))
    }

    /// The cluster of the configuration, and no other: not if `kept`, from an earlier time, says which one it is
    /// (docs/decisions/0012).
    pub(crate) fn same_cluster(&self, kept: Option<Fingerprint>) -> Result<Cluster, NoCluster> {
        let cluster = self.cluster()?;
        match kept.map(|kept| cluster.client.expect_cluster(kept)) {
            Some(Err(error)) => Err(NoCluster::Unusable(Box::new(diagnose::two_clusters(
                &error,
            )))),
            Some(Ok(())) | None => Ok(cluster),
        }
    }

    /// The shared snapshot: a constant number of requests, however many resources ask.
    pub(crate) async fn snapshot(&self, cluster: &Cluster) -> Result<Arc<Snapshot>, Arc<Error>> {
        let of = |snapshot: &Snapshot| snapshot.cluster;
        shared(&self.snapshot, cluster, || take(cluster), of).await
    }

    /// The members and their entries, seen in the same way; `None` while nobody answers who is in a cluster.
    pub(crate) async fn members(
        &self,
        cluster: &Cluster,
    ) -> Result<Arc<Option<Survey>>, Arc<Error>> {
        let of = |seen: &Option<Survey>| seen.as_ref().and_then(|seen| seen.view.fingerprint);
        shared(&self.members, cluster, || member::survey(cluster), of).await
    }

    /// Something is about to be written: from now on every look is a new one.
    pub(crate) async fn about_to_write(&self) {
        *self.snapshot.lock().await = Cache::Off;
        *self.members.lock().await = Cache::Off;
    }

    /// What an operator should know about the servers that were used, each thing once.
    pub(crate) fn notices(&self, cluster: &Cluster) -> Vec<Diagnostic> {
        let notices = cluster.client.take_notices();
        notices.iter().map(diagnose::notice).collect()
    }

    /// Whether `what` is told for the first time; a warning appears once in a plan.
    pub(crate) fn first_time(&self, what: &str) -> bool {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(what.to_owned())
    }
}

/// What `look` has found, or finds now; `of` says of which cluster it is.
async fn shared<T, F>(
    cache: &Shared<T>,
    cluster: &Cluster,
    look: impl FnOnce() -> F,
    of: impl FnOnce(&T) -> Option<Fingerprint>,
) -> Result<Arc<T>, Arc<Error>>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut cache = cache.lock().await;
    match &*cache {
        Cache::Kept(of, kept) if *of == cluster.client.cluster() => kept.clone(),
        Cache::Off => look().await.map(Arc::new).map_err(Arc::new),
        // Nothing yet, or somebody has learnt meanwhile that another cluster is the right one.
        Cache::Empty | Cache::Kept(..) => {
            // A failure is kept too: a hundred Reads must not wait for a dead endpoint one after the other.
            let taken = look().await.map(Arc::new).map_err(Arc::new);
            let of = match &taken {
                Ok(seen) => of(seen),
                Err(_) => cluster.client.cluster(),
            };
            *cache = Cache::Kept(of, taken.clone());
            taken
        }
    }
}

/// How often a snapshot is begun again because the right cluster turned out to be another one.
const ATTEMPTS: usize = 3;

/// Reads the fleet store and Incus side by side, from one cluster.
async fn take(cluster: &Cluster) -> Result<Snapshot, Error> {
    for _ in 1..ATTEMPTS {
        let snapshot = take_once(cluster).await?;
        if snapshot.cluster == cluster.client.cluster() {
            return Ok(snapshot);
        }
    }
    take_once(cluster).await
}

async fn take_once(cluster: &Cluster) -> Result<Snapshot, Error> {
    // A server was chosen when this is answered, so from here on it is known whose answers they are.
    cluster.server().await?;
    let of = cluster.client.cluster();
    let (fleet, world) = tokio::try_join!(store::snapshot(cluster), observe::world(cluster))?;
    let mut entries = fleet
        .apps
        .values()
        .filter_map(|record| record.entry.as_ref());
    let has_volumes = |spec: &AppSpec| !spec.volumes.is_empty();
    // Most fleets have none, and then nobody waits for a list of them.
    let volumes = match entries.any(|entry| entry.spec.as_ref().is_some_and(has_volumes)) {
        true => observe::volumes_of_apps(cluster).await?,
        false => BTreeMap::new(),
    };
    Ok(Snapshot {
        fleet,
        world,
        volumes,
        at: clock::now(),
        cluster: of,
    })
}

impl NoCluster {
    /// What to tell the user.
    pub(crate) fn diagnostic(self) -> Diagnostic {
        match self {
            NoCluster::NotConfigured => Diagnostic::error("The provider is not configured")
                .detail("This needs a cluster. Expected a `provider \"homelab\"` block whose configuration is valid."),
            NoCluster::NotKnownYet => Diagnostic::error("The provider's endpoints are not known yet").detail(
                "The `endpoints` of the provider block come from a value that does not exist yet, and this step needs \
                 them. Apply what they come from first, with `-target` or `-exclude`.",
            ),
            NoCluster::Unusable(diagnostic) => *diagnostic,
        }
    }
}
