//! Arrivals: a machine that has just become a member gets what every machine has.
//!
//! Before: `member.rs` has made it a member. After: the passes of each app that runs once on each machine, towards the
//! revision that it has; no new one is published. An app of which a change is on its way is left to whoever makes it.

use core::time::Duration;

use domain::app::{AppSpec, Replicas};
use domain::secret::Secrets;
use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Rollout, pin};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::observe;
use crate::store::{self, AppRecord, Fleet};

/// How often an app is taken up again whose record another executor has won meanwhile.
const TRIES: usize = 3;

/// The arrivals of one process. They are dealt with one after the other: two at a time would win each other's records.
#[derive(Default)]
pub struct Arrivals {
    turn: Mutex<()>,
}

/// An app that did not get to a machine.
#[derive(Debug)]
pub struct Left {
    /// The app.
    pub app: String,
    /// Why.
    pub error: Error,
}

impl Arrivals {
    /// Brings every app that runs once on each machine to what it has published (HO-APP-57), and tells which are not.
    ///
    /// # Guarantees
    /// Whoever changes an app goes first: one that is not at rest is left alone, and so is one that another executor takes
    /// over meanwhile. What is missing then is in the next plan of the app.
    ///
    /// # Errors
    /// If the fleet store cannot be read.
    pub async fn welcome(
        &self,
        cluster: &Cluster,
        limit: Duration,
        stop: &CancellationToken,
    ) -> Result<Vec<Left>, Error> {
        let cluster = &cluster.of_members();
        let _turn = self.turn.lock().await;
        let mut left = Vec::new();
        for _ in 0..TRIES {
            let fleet = store::snapshot(cluster).await?;
            let mut all = Vec::new();
            for (app, spec, record) in of_every_machine(&fleet) {
                all.push(async move {
                    let end = take_up(cluster, spec, record, limit, stop.clone()).await;
                    Some(Left {
                        app: app.to_owned(),
                        error: end.err()?,
                    })
                });
            }
            let failed = join_all(all).await.into_iter().flatten();
            let (overtaken, failed): (Vec<_>, Vec<_>) =
                failed.partition(|left| matches!(left.error, Error::Overtaken { .. }));
            left.extend(failed);
            if overtaken.is_empty() || !left.is_empty() {
                break;
            }
        }
        Ok(left)
    }
}

/// Whether there is any app to be brought to a machine that arrives.
pub(crate) fn has_any(fleet: &Fleet) -> bool {
    of_every_machine(fleet).next().is_some()
}

/// The apps of which every machine has a workload, and which nobody is changing.
fn of_every_machine(fleet: &Fleet) -> impl Iterator<Item = (&str, &AppSpec, &AppRecord)> {
    fleet.apps.iter().filter_map(|(app, record)| {
        let entry = record.entry.as_ref().filter(|entry| entry.is_at_rest())?;
        let spec = entry.spec.as_ref()?;
        (spec.replicas == Replicas::PerNode).then_some((app.as_str(), spec, record))
    })
}

/// Goes on with what is published of an app: all that its rollout needs is in the fleet store.
async fn take_up(
    cluster: &Cluster,
    spec: &AppSpec,
    record: &AppRecord,
    limit: Duration,
    stop: CancellationToken,
) -> Result<(), Error> {
    let secrets = match (spec.secrets_revision, record.secrets()) {
        (None, _) => Secrets::default(),
        (Some(_), Some(secrets)) => secrets.clone(),
        (Some(_), None) => {
            return Err(Error::LostSecrets {
                app: spec.name.clone(),
            });
        }
    };
    if spec.node_secrets.is_some() {
        let members = observe::members(cluster).await?;
        let mut machines = members.iter().map(|member| &member.name);
        // The app's own apply has the secrets of a new machine; without them its workload would be whole for ever.
        if machines.any(|machine| !secrets.machines.contains_key(machine)) {
            return Ok(());
        }
    }
    let (mut spec, architecture) = pin(cluster, spec, spec.image.digest.clone()).await?;
    // What was taken over once is taken over, and trials of before this arrival were watched by nobody.
    spec.adopts = Default::default();
    let mut work = record.work.clone();
    work.forget_trials();
    let rollout = Rollout {
        cluster,
        spec: &spec,
        architecture,
        secrets,
        revision: record.entry.as_ref().map_or(0, |entry| entry.revision),
        work,
        work_revision: record.work_revision,
        limit,
        stop,
    };
    rollout.converge().await.map(drop)
}
