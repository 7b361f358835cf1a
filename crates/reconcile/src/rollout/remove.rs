//! The loop of a removal: until nothing of an app is left.
//!
//! Before: the provider has published the tombstone. After: `execute.rs`, and `store.rs` to clear what is below it.

use core::time::Duration;
use std::time::Instant;

use domain::app::{AppSpec, STOP_GRACE};
use domain::entry::{Kind, RevisionName};
use domain::observation::VolumeSeen;
use domain::rollout::PROBE_INTERVAL;
use domain::rollout::learned::DISTURBANCES;
use domain::rollout::removal::{self, Removal};
use domain::work::Work;
use tokio_util::sync::CancellationToken;

use super::{until, whereabouts};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::execute::{delete, delete_volume};
use crate::image;
use crate::observe;
use crate::store;
use crate::wake::Wake;

/// An app that is to go.
pub struct Destroy<'a> {
    /// Its name.
    pub app: &'a str,
    /// The revision that is its tombstone.
    pub tombstone: u64,
    /// The number of its work record, and the record.
    pub work: (u64, Work),
    /// The declaration whose volumes are to go, too; none keeps them.
    pub volumes_of: Option<&'a AppSpec>,
    /// How long all of it may take.
    pub limit: Duration,
}

/// Deletes every workload of an app, gracefully, then its volumes if that is wanted, and then its records below the
/// tombstone.
///
/// # Guarantees
/// Only workloads that carry the app's keys are touched. It may run again after any interruption.
///
/// # Errors
/// [`Error::OutOfReach`] if workloads are on members that do not answer; everything else is gone then.
pub async fn remove(
    cluster: &Cluster,
    destroy: Destroy<'_>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let Destroy {
        app,
        tombstone,
        work: (mut work_revision, mut work),
        volumes_of,
        limit,
    } = destroy;
    let give_up_at = until(limit);
    work.revision = tombstone;
    // As long as there are workloads, a removal that is cut off is taken up again; after that nobody would think of the
    // images.
    let _ = image::sweep(cluster, Some(app)).await;
    let mut wake = Wake::listen(cluster).await;
    let mut disturbed = 0;
    // What is on record already may be of a destroy that was cut off: whoever deletes must have won a record.
    let mut recorded = false;
    loop {
        let world = observe::world(cluster).await?;
        let mut observation = world.of_app(app, &work);
        if let Some(spec) = volumes_of {
            observation.volumes = observe::volumes(cluster, spec).await?;
        }
        let decision = removal::decide(&observation, &work, volumes_of.is_some());
        let (next, workloads) = match decision {
            Removal::Delete { work, workloads } => (work, workloads),
            Removal::DeleteVolumes(volumes) => {
                let name = RevisionName {
                    kind: Kind::App,
                    name: app.to_owned(),
                    revision: tombstone,
                };
                // Whoever has taken the app up again wants its data.
                store::still_highest(cluster, &name).await?;
                for volume in volumes {
                    let VolumeSeen {
                        pool, name, member, ..
                    } = &volume;
                    delete_volume(cluster, pool, name, member.as_deref()).await?;
                }
                continue;
            }
            Removal::Done => {
                store::clear(cluster, Kind::App, app, tombstone).await?;
                // What stays is swept by whoever comes next.
                let _ = image::sweep(cluster, None).await;
                return Ok(());
            }
            Removal::Unreachable(workloads) => {
                return Err(Error::OutOfReach {
                    app: app.to_owned(),
                    workloads: workloads.iter().map(whereabouts).collect(),
                });
            }
        };
        if stop.is_cancelled() {
            return Err(Error::Stopped {
                app: app.to_owned(),
                phase: "deleting",
            });
        }
        if Instant::now() >= give_up_at {
            return Err(Error::TimedOut {
                app: app.to_owned(),
                phase: "deleting",
                limit,
            });
        }
        if next != work || !recorded {
            work_revision += 1;
            store::record(cluster, app, work_revision, &next).await?;
            work = next;
            recorded = true;
        }
        let turn = cluster.steps.acquire().await.ok();
        let deletes = workloads
            .iter()
            .map(|workload| delete(cluster, &workload.name, STOP_GRACE));
        let failed = futures_util::future::join_all(deletes)
            .await
            .into_iter()
            .find_map(Result::err);
        drop(turn);
        match failed {
            None => disturbed = 0,
            Some(error) if disturbed >= DISTURBANCES => return Err(error),
            // Incus may be busy with it, for instance with a start that a killed apply began.
            Some(_) => {
                disturbed += 1;
                let ours = |name: &str| workloads.iter().any(|workload| workload.name == name);
                wake.wait(PROBE_INTERVAL, ours).await;
            }
        }
    }
}
