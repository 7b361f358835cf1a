//! The loop of a removal: until nothing of an app is left.
//!
//! Before: the provider has published the tombstone. After: `execute.rs`, and `store.rs` to clear what is below it.

use core::time::Duration;

use domain::app::STOP_GRACE;
use domain::entry::Kind;
use domain::observation::{self, Workload};
use domain::rollout::PROBE_INTERVAL;
use domain::rollout::removal::{self, Removal};
use domain::work::Work;
use tokio_util::sync::CancellationToken;

use super::{DISTURBANCES, until};
use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::execute::delete;
use crate::image;
use crate::observe;
use crate::store;
use crate::wake::Wake;

/// Deletes every workload of an app, gracefully, and then its records below the tombstone.
///
/// # Guarantees
/// Only workloads that carry the app's keys are touched. It may run again after any interruption.
///
/// # Errors
/// [`Error::OutOfReach`] if workloads are on members that do not answer; everything else is gone then.
pub async fn remove(
    cluster: &Cluster,
    app: &str,
    tombstone: u64,
    work: (u64, Work),
    limit: Duration,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let give_up_at = until(limit);
    let (mut work_revision, mut work) = work;
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
        let observation = observation::of_app(app, &world.seen, &world.members, &work);
        let now = clock::now();
        let (next, workloads) = match removal::decide(&observation, &work) {
            Removal::Delete { work, workloads } => (work, workloads),
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
        if now >= give_up_at {
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

fn whereabouts(workload: &Workload) -> String {
    match &workload.member {
        Some(member) => format!("{} on {member}", workload.name),
        None => workload.name.clone(),
    }
}
