//! Preflight: everything that would stop a rollout half-way, found before anything is published or stopped (HF-25).
//!
//! ```text
//! AppSpec + Facts + Observation ──┬─> preflight/rooms.rs      project, limits, profiles, pools, groups
//!                                 ├─> preflight/kept.rs       data that is there already
//!                                 ├─> preflight/names.rs      instance names
//!                                 └─> preflight/listeners.rs  ports of the host, fixed addresses
//! ```
//!
//! Before: `reconcile/src/preflight.rs` has asked for the facts. After: each issue is a diagnostic at its attribute. Not
//! here: what a configuration alone can tell (`app/declared`), and Incus's own checks of keys and devices.

mod kept;
mod listeners;
mod names;
mod rooms;

use std::collections::{BTreeMap, BTreeSet};

use crate::app::{AppSpec, Volume, VolumeClass};
use crate::issue::{Issue, Step};
use crate::observation::Observation;
use crate::work::Work;

pub(crate) use listeners::{fixed_address, host_ports};

/// Devices by name, each a flat map of settings.
pub type Devices = BTreeMap<String, BTreeMap<String, String>>;

/// What the cluster has, as far as it matters to an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The project of the workloads.
    pub project: String,
    /// Its configuration, limits included; `None` if there is no such project.
    pub limits: Option<BTreeMap<String, String>>,
    /// The profiles that workloads of the project can have, with their devices.
    pub profiles: BTreeMap<String, Devices>,
    /// The storage pools.
    pub pools: BTreeMap<String, Pool>,
    /// The provider's pool for root disks and local volumes.
    pub storage_pool: String,
    /// The provider's pool for replicated volumes.
    pub shared_pool: Option<String>,
    /// The cluster groups; `None` where Incus is not clustered.
    pub groups: Option<BTreeSet<String>>,
    /// The instances of all projects.
    pub instances: Vec<Neighbour>,
}

/// A storage pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pool {
    /// Its driver.
    pub driver: String,
    /// Whether all members that have it report it as made.
    pub is_ready: bool,
}

/// An instance, of whomever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// Its project.
    pub project: String,
    /// The member that it is on; `None` where Incus is not clustered.
    pub member: Option<String>,
    /// Whether it is a virtual machine.
    pub is_vm: bool,
    /// Its devices with those of its profiles; none if its member does not answer.
    pub devices: Devices,
}

/// Everything that is in the way of `spec`, at the attribute that is easiest to change.
///
/// # Assumptions
/// The observation is of the same moment as the facts.
pub fn check(spec: &AppSpec, facts: &Facts, observation: &Observation, work: &Work) -> Vec<Issue> {
    let mut issues = Vec::new();
    if facts.limits.is_none() {
        // Everything else would only repeat that.
        issues.push(Issue::new(
            Vec::new(),
            format!("The project {:?} does not exist", facts.project),
            "Expected the provider's `project` to be one of the cluster: `incus project list` shows them. Nothing was \
             changed.",
        ));
        return issues;
    }
    rooms::check(spec, facts, observation, &mut issues);
    kept::check(spec, facts, observation, &mut issues);
    names::check(spec, observation, work, &mut issues);
    listeners::check(spec, facts, observation, &mut issues);
    issues
}

impl Facts {
    /// The pool of a volume; `None` for one that is shared if no such pool is known.
    fn pool_of<'a>(&'a self, volume: &'a Volume) -> Option<&'a String> {
        let default = match volume.class {
            VolumeClass::Local => Some(&self.storage_pool),
            VolumeClass::Replicated => self.shared_pool.as_ref(),
        };
        volume.pool.as_ref().or(default)
    }

    /// The profiles that workloads of this declaration get.
    fn used_profiles(&self, spec: &AppSpec) -> Vec<String> {
        let default = || vec!["default".to_owned()];
        spec.workload.profiles.clone().unwrap_or_else(default)
    }

    /// The devices that the profiles bring, the last profile counting most; what the workload itself declares is not here.
    fn devices_of_profiles(&self, spec: &AppSpec) -> Devices {
        let mut devices = Devices::new();
        for profile in self.used_profiles(spec) {
            devices.extend(self.profiles.get(&profile).cloned().unwrap_or_default());
        }
        devices.retain(|name, _| !spec.workload.devices.contains_key(name));
        devices
    }
}

/// The path of a part of the workload.
fn of_workload(part: &'static str) -> Vec<Step> {
    vec![Step::Attribute("workload"), Step::Attribute(part)]
}

/// The path of a setting of a device.
pub(crate) fn of_device(device: &str, setting: &str) -> Vec<Step> {
    let mut path = of_workload("devices");
    path.extend([device, setting].map(|key| Step::Key(key.to_owned())));
    path
}

#[cfg(test)]
mod tests;
