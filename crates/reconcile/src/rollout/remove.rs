//! The loop of a removal: until nothing of an app is left.
//!
//! Before: the provider has published the tombstone. After: `execute.rs`, and `store.rs` to clear what is below it.

use core::time::Duration;
use std::collections::BTreeSet;
use std::time::Instant;

use domain::app::STOP_GRACE;
use domain::entry::{Kind, RevisionName};
use domain::observation::{Observation, VolumeSeen};
use domain::rollout::PROBE_INTERVAL;
use domain::rollout::learned::DISTURBANCES;
use domain::rollout::removal::{self, Removal};
use domain::work::Work;
use incus::operation::{self, Progress};
use tokio_util::sync::CancellationToken;

use super::{until, whereabouts};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::execute::{delete, delete_volume};
use crate::image;
use crate::observe;
use crate::store;
use crate::wake::Wake;

/// How often a removal looks again for what is on record and was never seen, a second apart.
const LATE_LOOKS: u32 = 5;

/// An app that is to go.
pub struct Destroy<'a> {
    /// Its name.
    pub app: &'a str,
    /// The revision that is its tombstone.
    pub tombstone: u64,
    /// The number of its work record, and the record.
    pub work: (u64, Work),
    /// Whether its volumes are to go, too.
    pub with_volumes: bool,
    /// How long all of it may take.
    pub limit: Duration,
}

/// Deletes every workload of an app, gracefully, then its volumes if that is wanted, and then its records below the
/// tombstone.
///
/// # Guarantees
/// Only workloads that carry the app's keys are touched. It may run again after any interruption. It does not end while
/// Incus is making one.
///
/// # Errors
/// [`Error::OutOfReach`] if workloads, or what may be some, are on members that do not answer; everything else is gone then.
pub async fn remove(
    cluster: &Cluster,
    destroy: Destroy<'_>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let Destroy {
        app,
        tombstone,
        work: (mut work_revision, mut work),
        with_volumes,
        limit,
    } = destroy;
    let give_up_at = until(limit);
    work.revision = tombstone;
    // As long as there are workloads, a removal that is cut off is taken up again; after that nobody would think of the
    // images.
    let _ = image::sweep(cluster, Some(app)).await;
    let mut wake = Wake::listen(cluster).await;
    let (mut disturbed, mut outrun) = (0, 0);
    let mut late = Late::new(&work);
    // What is on record already may be of a destroy that was cut off: whoever deletes must have won a record.
    let mut recorded = false;
    loop {
        // Asked before the list: what is made between the two answers is in one of them.
        let making = making(cluster, app, &work).await?;
        let world = observe::world(cluster).await?;
        let mut observation = world.of_app(app, &work);
        if with_volumes {
            observation.volumes = observe::volumes(cluster, app).await?;
        }
        late.see(&observation);
        let removal = removal::decide(&observation, &work, with_volumes);
        let is_done = matches!(removal, Removal::Done | Removal::DeleteVolumes(_));
        let (next, workloads) = match removal {
            Removal::Delete { work, workloads } => (work, workloads),
            Removal::Done | Removal::DeleteVolumes(_)
                if !making.is_empty() || late.look_again() =>
            {
                (work.clone(), Vec::new())
            }
            Removal::DeleteVolumes(volumes) => {
                hidden(cluster, app, &observation).await?;
                delete_volumes(cluster, app, tombstone, &volumes).await?;
                continue;
            }
            Removal::Done => {
                hidden(cluster, app, &observation).await?;
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
        check_for_end(app, stop, Instant::now() >= give_up_at, limit)?;
        if is_done {
            let ours = |name: &str| making.contains(name);
            wake.wait(PROBE_INTERVAL, ours).await;
            continue;
        }
        if next != work || !recorded {
            match store::record(cluster, app, work_revision + 1, &next).await {
                Ok(()) => {
                    work_revision += 1;
                    work = next;
                    recorded = true;
                }
                Err(Error::RecordTaken { .. }) if outrun < DISTURBANCES => {
                    outrun += 1;
                    (work_revision, work) = store::catch_up(cluster, app, tombstone).await?;
                    work.revision = tombstone;
                    continue;
                }
                Err(error) => return Err(error),
            }
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

fn check_for_end(
    app: &str,
    stop: &CancellationToken,
    is_late: bool,
    limit: Duration,
) -> Result<(), Error> {
    let (app, phase) = (app.to_owned(), "deleting");
    if stop.is_cancelled() {
        return Err(Error::Stopped { app, phase });
    }
    if is_late {
        return Err(Error::TimedOut { app, phase, limit });
    }
    Ok(())
}

/// What is on record as made and was never seen: whoever recorded it may be about to send the create, and will stop after
/// that, since the tombstone is newer.
struct Late {
    names: BTreeSet<String>,
    looks: u32,
}

impl Late {
    fn new(work: &Work) -> Self {
        let made = work.slots.values().flat_map(|slot| &slot.workloads);
        let names = made.filter(|made| !made.doomed);
        Self {
            names: names.map(|made| made.name.clone()).collect(),
            looks: 0,
        }
    }

    fn see(&mut self, observation: &Observation) {
        for workload in &observation.workloads {
            self.names.remove(&workload.name);
        }
    }

    fn look_again(&mut self) -> bool {
        self.looks += 1;
        !self.names.is_empty() && self.looks <= LATE_LOOKS
    }
}

/// The instances of the app that Incus is busy with: one that is being made is in no list until its image is unpacked.
async fn making(cluster: &Cluster, app: &str, work: &Work) -> Result<BTreeSet<String>, Error> {
    let operations = operation::list(&cluster.project);
    let operations = cluster.client.send(operations).await?;
    let running = operations
        .iter()
        .filter(|operation| operation.progress() == Progress::Running);
    let named = running
        .flat_map(|operation| operation.resources.get("instances"))
        .flatten()
        .filter_map(|address| address.split('?').next()?.rsplit('/').next());
    let is_ours = |name: &&str| work.by_name(name).is_some() || removal::may_be_workload(app, name);
    Ok(named.filter(is_ours).map(str::to_owned).collect())
}

/// Makes sure that nothing which may be the app's hides on a member that does not answer: if the record was lost, the name
/// is all that is left to tell.
async fn hidden(cluster: &Cluster, app: &str, observation: &Observation) -> Result<(), Error> {
    if observation.unclear.is_empty() {
        return Ok(());
    }
    let fleet = store::snapshot(cluster).await?;
    let others = fleet.apps.iter().filter(|(name, _)| *name != app);
    let works: Vec<&Work> = others.map(|(_, record)| &record.work).collect();
    let hidden = removal::hidden(app, observation, &works);
    match hidden.is_empty() {
        true => Ok(()),
        false => Err(Error::OutOfReach {
            app: app.to_owned(),
            workloads: hidden,
        }),
    }
}

/// Whoever has taken the app up again wants its data, so that is asked first.
async fn delete_volumes(
    cluster: &Cluster,
    app: &str,
    tombstone: u64,
    volumes: &[VolumeSeen],
) -> Result<(), Error> {
    let name = RevisionName {
        kind: Kind::App,
        name: app.to_owned(),
        revision: tombstone,
    };
    store::still_highest(cluster, &name).await?;
    for volume in volumes {
        let VolumeSeen {
            pool, name, member, ..
        } = volume;
        delete_volume(cluster, pool, name, member.as_deref()).await?;
    }
    Ok(())
}
