//! The loop: observe, probe, decide, record, execute, wait, until the app is as declared or cannot be.
//!
//! Before: the provider (later the agent) has published a revision. After: `execute.rs`. Stopping happens between two
//! steps or during a wait, never inside a step.

pub mod arrival;
mod pass;
mod remove;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use domain::app::render::Surroundings;
use domain::app::{AppSpec, AppType};
use domain::moment::Moment;
use domain::observation::{Observation, Workload};
use domain::rollout::phase::Phase;
use domain::rollout::{self, phase, removal};
use domain::secret::Secrets;
use domain::status::AppStatus;
use domain::work::Work;
use incus::operation::{self, Progress};
use incus::{instance, profile};
use tokio_util::sync::CancellationToken;

use crate::adoption;
use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::image::{self, InUse, Pulling};
use crate::observe;
use crate::store;

pub use remove::{Destroy, remove};

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
    /// The values of the secrets that it declares.
    pub secrets: Secrets,
    /// The record so far.
    pub work: Work,
    /// The number of that record.
    pub work_revision: u64,
    /// How long all of it may take.
    pub limit: Duration,
    /// When the user has enough.
    pub stop: CancellationToken,
}

/// What workloads are made with, beside their declaration.
pub(crate) struct Means {
    /// Of the image, as the cluster keeps it.
    pub(crate) fingerprint: String,
    /// What else they are made of.
    pub(crate) around: Surroundings,
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
        let give_up_at = until(self.limit);
        let image = self.image(give_up_at).await?;
        if image.architecture.is_some() {
            self.architecture.clone_from(&image.architecture);
        }
        let means = Means {
            fingerprint: image.fingerprint.clone(),
            around: self.surroundings().await?,
        };
        let observation = pass::run(&mut self, &means, give_up_at).await?;
        drop(image);
        // What stays is swept by whoever comes next.
        let _ = image::sweep(self.cluster, None).await;
        let addresses = addresses(self.cluster, &observation).await;
        Ok(Converged {
            observation,
            addresses,
            work: self.work,
        })
    }

    /// What its workloads are made of beside the declaration.
    async fn surroundings(&self) -> Result<Surroundings, Error> {
        let brings_none = needs_root_disk(self.cluster, self.spec).await?;
        Ok(Surroundings {
            root_pool: brings_none.then(|| self.cluster.storage_pool.clone()),
            secrets: self.secrets.clone(),
            apis: match self.spec.r#type {
                AppType::Alloy => observe::apis(self.cluster).await?,
                AppType::GenericStateless | AppType::GenericExclusive | AppType::Agent => {
                    BTreeMap::new()
                }
            },
        })
    }

    /// The image, pulled if the cluster does not have it. One that cannot be had is an error only for workloads that are
    /// still to be made.
    async fn image(&self, give_up_at: Instant) -> Result<InUse, Error> {
        let pulling = Pulling {
            app: &self.spec.name,
            kind: self.spec.workload.kind,
            give_up_at,
            limit: self.limit,
            stop: &self.stop,
        };
        let error = match image::ensure(self.cluster, &self.spec.image, &pulling).await {
            Ok(image) => return Ok(image),
            Err(error @ (Error::Stopped { .. } | Error::TimedOut { .. })) => return Err(error),
            Err(error) => error,
        };
        let world = observe::world(self.cluster).await?;
        let seen = world.of_app(&self.spec.name, &self.work);
        match rollout::has_every_workload(self.spec, &seen) {
            true => Ok(InUse::unguarded(String::new())),
            false => Err(error),
        }
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

/// The declaration with the digest that its image stands for, and the architecture that this is made for.
///
/// A `known` digest is kept, whatever the reference stands for now. If its image is gone from the cluster the
/// architecture is not known: what needs no new workload, such as fewer replicas, must not fail for that.
///
/// # Errors
/// If nothing is known yet and there is no such image, or its server does not answer.
pub async fn pin(
    cluster: &Cluster,
    spec: &AppSpec,
    known: Option<String>,
) -> Result<(AppSpec, Option<String>), Error> {
    let mut pinned = spec.clone();
    let Some(digest) = known else {
        let resolved = image::resolve(cluster, spec).await?;
        pinned.image.digest = Some(resolved.digest);
        return Ok((pinned, resolved.architecture));
    };
    pinned.image.digest = Some(digest);
    let architecture = image::architecture_of(cluster, &pinned.image).await?;
    Ok((pinned, architecture))
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

/// A workload and the member that it is on.
fn whereabouts(workload: &Workload) -> String {
    match &workload.member {
        Some(member) => format!("{} on {member}", workload.name),
        None => workload.name.clone(),
    }
}

/// When `limit` from now is over, whatever the clock of the machine is set to meanwhile.
fn until(limit: Duration) -> Instant {
    let now = Instant::now();
    // A limit that no clock can hold is none.
    now.checked_add(limit)
        .unwrap_or_else(|| now + Duration::from_secs(u64::from(u32::MAX)))
}
