//! The loop: observe, probe, decide, record, execute, wait, until the app is as declared or cannot be.
//!
//! Before: the provider (later the agent) has published a revision. After: `execute.rs`. Stopping happens between two
//! steps or during a wait, never inside a step.

mod pass;
mod remove;

use core::time::Duration;
use std::collections::BTreeMap;

use domain::app::{AppSpec, ImageReference};
use domain::moment::Moment;
use domain::observation::Observation;
use domain::rollout::phase::{self, Phase};
use domain::status::AppStatus;
use domain::work::Work;
use incus::{instance, profile};
use tokio_util::sync::CancellationToken;

use crate::adoption;
use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::image;
use crate::store;

pub use remove::remove;

/// How many passes in a row may be disturbed: Incus refuses what concerns an instance that it is busy with, and so
/// does a member that is going down.
const DISTURBANCES: u32 = 10;

/// One app on its way to a revision.
pub struct Rollout<'a> {
    /// Where.
    pub cluster: &'a Cluster,
    /// What is wanted; its image has a digest.
    pub spec: &'a AppSpec,
    /// The architecture that its image is made for, if known.
    pub architecture: Option<String>,
    /// The revision that wants it.
    pub revision: u64,
    /// The record so far.
    pub work: Work,
    /// The number of that record.
    pub work_revision: u64,
    /// How long all of it may take.
    pub limit: Duration,
    /// When the user has enough.
    pub stop: CancellationToken,
}

/// An app that is as declared.
#[derive(Debug)]
pub struct Converged {
    /// What was seen last.
    pub observation: Observation,
    /// The addresses of each workload, by instance name.
    pub addresses: BTreeMap<String, Vec<String>>,
    /// The last record.
    pub work: Work,
}

impl Rollout<'_> {
    /// Brings the app to what its revision declares.
    ///
    /// # Expected flow
    /// What was made by hand and is to be taken over gets its keys. Then passes of observe → probe → decide → record →
    /// execute, with waits between them.
    ///
    /// # Guarantees
    /// What is decided is recorded before it is done. The record is won against every other executor; whoever is
    /// overtaken stops before its next step.
    ///
    /// # Errors
    /// A failed rollout leaves what served before serving; stopped and timed-out ones leave everything where it is.
    /// In each case the next apply goes on from what is there.
    pub async fn converge(self) -> Result<Converged, Error> {
        let (cluster, app, revision) = (self.cluster, self.spec.name.as_str(), self.revision);
        let ended = self.run().await;
        let told = match &ended {
            Ok(_) => Some((Phase::Serving.word(), None)),
            Err(Error::RolloutFailed { failure, .. }) => {
                Some((Phase::Reverted.word(), Some(failure.record.error.clone())))
            }
            Err(error) => phase_after(error).map(|phase| (phase, Some(error.told()))),
        };
        if let Some((phase, error)) = told {
            let status = AppStatus::new(revision, phase, error.as_deref(), clock::now());
            store::status::tell(cluster, app, &status).await;
        }
        ended
    }

    async fn run(mut self) -> Result<Converged, Error> {
        self.work.revision = self.revision;
        adoption::run(&mut self).await?;
        let needs_root_disk = needs_root_disk(self.cluster, self.spec).await?;
        let observation = pass::run(&mut self, needs_root_disk).await?;
        let addresses = addresses(self.cluster, &observation).await;
        Ok(Converged {
            observation,
            addresses,
            work: self.work,
        })
    }

    /// Stores what was decided, before it is done.
    pub(crate) async fn record(&mut self, work: Work) -> Result<(), Error> {
        let revision = self.work_revision + 1;
        store::record(self.cluster, &self.spec.name, revision, &work).await?;
        (self.work, self.work_revision) = (work, revision);
        Ok(())
    }

    /// Goes on from what an executor of an older revision has recorded meanwhile.
    pub(crate) async fn catch_up(&mut self) -> Result<(), Error> {
        let newest = store::catch_up(self.cluster, &self.spec.name, self.revision).await?;
        (self.work_revision, self.work) = newest;
        self.work.revision = self.revision;
        Ok(())
    }

    /// The word for where the rollout is.
    fn phase(&self, observation: &Observation, now: Moment) -> &'static str {
        phase::of(self.spec, observation, &self.work, now).word()
    }
}

/// Where a rollout is that has ended in an error; none if it is not its business to say so.
fn phase_after(error: &Error) -> Option<&'static str> {
    match error {
        Error::Overtaken { .. } | Error::RecordTaken { .. } => None,
        Error::Stopped { phase, .. } | Error::TimedOut { phase, .. } => Some(phase),
        // Whoever does not answer would not take it either.
        error if error.may_pass() => None,
        _ => Some(Phase::Degraded.word()),
    }
}

/// The declaration with the fingerprint that its image stands for, and the architecture that this is made for.
///
/// A `known` fingerprint is kept, whatever the reference stands for now. If its image is gone from the cluster the
/// architecture is not known: what needs no new workload, such as fewer replicas, must not fail for that.
///
/// # Errors
/// If nothing is known yet and the cluster has no such image.
pub async fn pin(
    cluster: &Cluster,
    spec: &AppSpec,
    known: Option<String>,
) -> Result<(AppSpec, Option<String>), Error> {
    let mut pinned = spec.clone();
    let Some(digest) = known else {
        let resolved = image::resolve(cluster, &spec.image.reference).await?;
        pinned.image.digest = Some(resolved.digest);
        return Ok((pinned, Some(resolved.architecture)));
    };
    let reference = ImageReference::Fingerprint(digest.clone());
    pinned.image.digest = Some(digest);
    match image::resolve(cluster, &reference).await {
        Ok(resolved) => Ok((pinned, Some(resolved.architecture))),
        Err(Error::NoImage { .. }) => Ok((pinned, None)),
        Err(error) => Err(error),
    }
}

/// Whether neither the workload nor one of its profiles brings a root disk.
async fn needs_root_disk(cluster: &Cluster, spec: &AppSpec) -> Result<bool, Error> {
    let is_root = |device: &BTreeMap<String, String>| {
        device.get("type").map(String::as_str) == Some("disk")
            && device.get("path").map(String::as_str) == Some("/")
    };
    if spec.workload.devices.values().any(is_root) {
        return Ok(false);
    }
    let profiles = cluster.client.send(profile::list(&cluster.project)).await?;
    let default = vec!["default".to_owned()];
    let used = spec.workload.profiles.as_ref().unwrap_or(&default);
    Ok(!profiles
        .iter()
        .filter(|profile| used.contains(&profile.name))
        .any(|profile| profile.devices.values().any(is_root)))
}

/// Addresses that reach further than the host, for each workload that runs; one that cannot be asked has none.
async fn addresses(cluster: &Cluster, observation: &Observation) -> BTreeMap<String, Vec<String>> {
    let ask = |name: String| async move {
        let state = cluster
            .client
            .send(instance::state(&cluster.project, &name))
            .await;
        let found = state
            .map(|state| state.global_addresses())
            .unwrap_or_default();
        (name, found.iter().map(ToString::to_string).collect())
    };
    let names = observation
        .workloads
        .iter()
        .filter(|workload| workload.status.is_live());
    let asked = names.map(|workload| ask(workload.name.clone()));
    futures_util::future::join_all(asked)
        .await
        .into_iter()
        .collect()
}

/// When `limit` from now is over.
fn until(limit: Duration) -> Moment {
    clock::now().plus(limit)
}
