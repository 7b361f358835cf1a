//! The private state of `homelab_app`: what a Read has seen and a plan needs, so that plans need no requests.
//!
//! Before: a Read, or the end of an apply. After: `app/plan.rs`. It is a cache that OpenTofu sometimes loses: every
//! reader copes with an empty one.

use domain::adoption::Found;
use domain::app::AppSpec;
use domain::moment::Moment;
use domain::observation::Observation;
use domain::work::Work;
use incus::Fingerprint;
use reconcile::store::AppRecord;
use serde::{Deserialize, Serialize};

/// What was seen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Private {
    /// The highest revision.
    pub(super) revision: u64,
    /// The revision that last converged; lower than `revision` after a failure.
    pub(super) applied_revision: u64,
    /// What the highest revision declares.
    pub(super) spec: Option<AppSpec>,
    /// The workloads.
    pub(super) observation: Observation,
    /// The record of the executor.
    pub(super) work: Work,
    /// When it was seen.
    pub(super) at: Moment,
    /// What the declared image stood for then, if a rollout of it has failed: the next apply looks it up anew
    /// (docs/decisions/0007), and its plan must know the workloads that have it already.
    #[serde(default)]
    pub(super) failed_image: Option<String>,
    /// What the declared image stood for then, if its name is followed and was answered for.
    #[serde(default)]
    pub(super) followed: Option<String>,
    /// The instances that the next apply takes over.
    #[serde(default)]
    pub(super) adopts: Vec<Found>,
    /// Whether a destroy that gets this is a part of a replacement: what comes after it takes the volumes up again.
    #[serde(default)]
    pub(super) replaced: bool,
    /// The certificate of the cluster that it was seen on: no other one is asked about this app.
    #[serde(default)]
    pub(super) cluster: Option<String>,
}

/// The cluster that an app was seen on, if that is still known.
pub(super) fn cluster(bytes: &[u8]) -> Option<Fingerprint> {
    // Read alone: which cluster it was must be known also when the rest has another shape than it had.
    #[derive(Deserialize)]
    struct Alone {
        cluster: Option<String>,
    }
    let alone: Alone = serde_json::from_slice(bytes).ok()?;
    Fingerprint::parse(&alone.cluster?).ok()
}

impl Private {
    /// What is kept of one look at an app.
    pub(super) fn new(
        app: &str,
        record: &AppRecord,
        observation: &Observation,
        at: Moment,
        cluster: Option<Fingerprint>,
    ) -> Self {
        let entry = record.entry.as_ref();
        let applied = entry.and_then(|entry| entry.applied.as_ref());
        let spec = entry.and_then(|entry| entry.spec.clone());
        Self {
            revision: entry.map_or(0, |entry| entry.revision),
            applied_revision: applied.map_or(0, |applied| applied.revision),
            spec,
            observation: for_plans(app, observation),
            work: record.work.clone(),
            at,
            failed_image: None,
            followed: None,
            adopts: Vec::new(),
            replaced: false,
            cluster: cluster.map(|cluster| cluster.to_string()),
        }
    }

    /// What the image of `declared` stands for, if it is the one that failed last.
    pub(super) fn failed_digest(&self, declared: &AppSpec) -> Option<String> {
        let same = self.spec.as_ref()?.names_same_image(declared);
        self.failed_image.clone().filter(|_| same)
    }

    /// Reads it back; nothing if it was lost.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// As bytes; what cannot be written is as good as lost.
    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// What a plan needs: the machines, since there may be a workload on each; of the foreign names only those that could be
/// in the way.
fn for_plans(app: &str, observation: &Observation) -> Observation {
    let mut kept = Observation {
        workloads: observation.workloads.clone(),
        volumes: observation.volumes.clone(),
        foreign: observation.foreign.clone(),
        unclear: observation.unclear.clone(),
        members: observation.members.clone(),
        standalone: observation.standalone.clone(),
        // An apply begins by starting what it finds stopped.
        unfinished: observation.stopped().cloned().collect(),
        ..Observation::default()
    };
    let in_the_way = |name: &str| {
        name.strip_prefix(app)
            .is_some_and(|rest| rest.starts_with('-'))
    };
    kept.foreign.retain(|name, _| in_the_way(name));
    kept.unclear.retain(|name| in_the_way(name));
    kept
}
