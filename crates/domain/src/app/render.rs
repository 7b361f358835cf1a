//! Rendering: what the Incus instance of one generation at one place is made of.
//!
//! Before: `rollout` decided that a workload is to be made. After: `reconcile/src/execute.rs` sends it, and adds nothing
//! but the image and the name. One arm per type, in one match (HO-APP-17, HO-APP-21): a new type does not compile until
//! it is rendered. Not here: what a user may declare (`declared.rs`).

mod alloy;
mod river;

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::{AppSpec, AppType, Kind, Replicas};
use crate::place::Place;
use crate::rollout::step::Attached;
use crate::secret::{Named, Secret, Secrets};

pub use alloy::Api;

/// What Incus does with a workload when its member is evacuated. One that belongs to its machine stays there, stopped.
pub const EVACUATE: &str = "cluster.evacuate";

/// What lets a virtual machine move while it runs.
pub const STATEFUL: &str = "migration.stateful";

/// The secrets that a collector finds as files: the certificate and the key by which it reads its machine's metrics.
pub const METRICS_FILES: [&str; 2] = ["metrics_crt", "metrics_key"];

/// What a workload is made of beside its declaration.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The values of the versions that the declaration names.
    pub secrets: Secrets,
    /// How each machine's own Incus is reached there; only a collector asks.
    pub apis: BTreeMap<String, Api>,
    /// The storage pool of the root disk; `None` if the workload or one of its profiles brings one.
    pub root_pool: Option<String>,
}

/// The Incus instance of one generation. `Debug` prints no values: they may be secrets.
///
/// `boot.autorestart` is left to the user: a candidate that Incus starts again would not be seen to have ended
/// (docs/decisions/0006).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// For whoever looks at it in Incus.
    pub description: String,
    /// Incus configuration keys, with the environment and the keys of ours.
    pub config: BTreeMap<String, String>,
    /// Incus devices.
    pub devices: BTreeMap<String, BTreeMap<String, String>>,
    /// Incus profiles in order; `None`: Incus's own choice.
    pub profiles: Option<Vec<String>>,
    /// What has to stand in its file system before it starts.
    pub files: Files,
}

/// The files of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(pub Vec<File>);

impl Files {
    /// The folders of all files, each before what is in it.
    pub fn folders(&self) -> BTreeSet<&str> {
        let folders = |file: &'_ File| -> Vec<usize> {
            let ends = file.path.match_indices('/').map(|(end, _)| end);
            ends.filter(|end| *end > 0).collect()
        };
        self.0
            .iter()
            .flat_map(|file| folders(file).into_iter().map(|end| &file.path[..end]))
            .collect()
    }
}

/// A file of a workload, owned by its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where: an absolute path. Missing folders on the way are made.
    pub path: String,
    /// The permission bits.
    pub mode: u32,
    /// What stands in it.
    pub content: Secret,
}

impl Rendered {
    /// Sets a variable of the workload's environment.
    fn set_variable(&mut self, name: &str, value: &str) {
        let key = format!("environment.{name}");
        self.config.insert(key, value.to_owned());
    }
}

impl fmt::Debug for Rendered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.config.keys().collect();
        let devices: Vec<&String> = self.devices.keys().collect();
        formatter
            .debug_struct("Rendered")
            .field("description", &self.description)
            .field("config", &keys)
            .field("devices", &devices)
            .field("profiles", &self.profiles)
            .field("files", &self.files)
            .finish()
    }
}

/// Renders one generation of an app at one place.
pub fn render(
    spec: &AppSpec,
    place: &Place,
    generation: u64,
    volumes: &[Attached],
    around: &Surroundings,
) -> Rendered {
    let mut rendered = declared(spec, around);
    attach(&mut rendered, spec, volumes);
    stay_with_the_machine(&mut rendered, spec);
    match spec.r#type {
        // Nothing is injected: whoever brings an image knows what it reads.
        AppType::GenericStateless | AppType::GenericExclusive => {
            environment(&mut rendered, spec, &around.secrets.at(place));
        }
        AppType::Alloy => {
            let variables = alloy::variables(around.secrets.at(place));
            environment(&mut rendered, spec, &variables);
            alloy::collector(&mut rendered, spec, place, around);
        }
        AppType::Agent => {
            environment(&mut rendered, spec, &around.secrets.at(place));
            identity(&mut rendered, spec, place, generation);
        }
    }
    let app = &spec.name;
    rendered.description = format!("Generation {generation} of app {app}, kept by homelab.");
    rendered
        .config
        .extend(spec.workload_keys(place, generation));
    rendered
}

/// What the user wrote, and a root disk if nothing else brings one.
fn declared(spec: &AppSpec, around: &Surroundings) -> Rendered {
    let workload = &spec.workload;
    let mut rendered = Rendered {
        config: workload.config.clone(),
        devices: workload.devices.clone(),
        profiles: workload.profiles.clone(),
        ..Rendered::default()
    };
    if let Some(pool) = &around.root_pool {
        rendered.devices.insert("root".to_owned(), root_disk(pool));
    }
    if spec.live_migration && workload.kind == Kind::Vm {
        rendered
            .config
            .insert(STATEFUL.to_owned(), "true".to_owned());
    }
    rendered
}

/// The volumes that stay when generations come and go.
fn attach(rendered: &mut Rendered, spec: &AppSpec, volumes: &[Attached]) {
    for attached in volumes {
        let declared = spec.volumes.get(&attached.volume);
        let device = [
            ("type", "disk"),
            ("pool", &attached.pool),
            ("source", &attached.source),
            ("path", declared.map_or("", |volume| &volume.path)),
        ];
        let device = device.map(|(key, value)| (key.to_owned(), value.to_owned()));
        rendered
            .devices
            .insert(attached.volume.clone(), device.into());
    }
}

fn root_disk(pool: &str) -> BTreeMap<String, String> {
    [("type", "disk"), ("path", "/"), ("pool", pool)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Design 7: what an evacuation moved away from its machine would run there twice.
fn stay_with_the_machine(rendered: &mut Rendered, spec: &AppSpec) {
    if spec.replicas == Replicas::PerNode || spec.r#type == AppType::Agent {
        rendered
            .config
            .insert(EVACUATE.to_owned(), "stop".to_owned());
    }
}

/// Variables as declared, then secrets; a declaration has each name once (`declared/secrets.rs`).
fn environment(rendered: &mut Rendered, spec: &AppSpec, secrets: &Named) {
    for (name, value) in &spec.workload.environment {
        rendered.set_variable(name, value);
    }
    for (name, secret) in secrets {
        rendered.set_variable(name, secret.expose());
    }
}

/// HO-APP-15: which machine an agent drives, and which Incus instance it is itself.
fn identity(rendered: &mut Rendered, spec: &AppSpec, place: &Place, generation: u64) {
    if let Some(machine) = place.machine() {
        rendered.set_variable("AGENT_NODE_NAME", machine);
    }
    let name = spec.workload_name(place, generation);
    rendered.set_variable("AGENT_INSTANCE_NAME", &name);
}

#[cfg(test)]
mod tests;
