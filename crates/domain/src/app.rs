//! Apps: what a user declares to run, normalised, with the names and keys of the workloads that run it.
//!
//! Before: `app/declared.rs` checks what the user wrote and makes an [`AppSpec`] of it. After: `entry` stores
//! it, `rollout` compares workloads with it. A workload is an Incus instance that runs one generation of an app.

pub mod declared;
pub mod image;

use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex::hex;

pub use image::{Image, ImageReference, ImageServer, Protocol, Track};

/// Prefix of every key of ours on Incus objects.
pub const KEY_PREFIX: &str = "user.homelab-ops.";

/// The keys on every workload (HO-APP-28): they decide what a workload is, its name only has to be free.
pub mod key {
    /// The declared app name.
    pub const APP: &str = "user.homelab-ops.app";
    /// The ordinal, for apps of several members.
    pub const MEMBER: &str = "user.homelab-ops.member";
    /// The generation, counted from 0.
    pub const GENERATION: &str = "user.homelab-ops.generation";
    /// The image as the user wrote it.
    pub const IMAGE: &str = "user.homelab-ops.image";
    /// [`AppSpec::hash`](super::AppSpec::hash) of what the workload was made from.
    pub const SPEC: &str = "user.homelab-ops.spec";
    /// When it was first seen healthy without a break since (RFC 3339).
    pub const HEALTHY_SINCE: &str = "user.homelab-ops.healthy-since";
}

/// How long a candidate must stay healthy before it is promoted, unless the user says otherwise.
pub const MIN_HEALTHY_TIME: Duration = Duration::from_secs(30);
/// How long a candidate may take to have been healthy for that long, unless the user says otherwise.
pub const HEALTHY_DEADLINE: Duration = Duration::from_secs(600);
/// How long a health command may run, unless the user says otherwise; and an answer over the network may take.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a workload may take to stop by itself before it is stopped by force.
pub const STOP_GRACE: Duration = Duration::from_secs(30);

/// An app as declared: everything that the fleet store publishes about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppSpec {
    /// Unique in the fleet.
    pub name: String,
    /// Which renderer runs it.
    pub r#type: AppType,
    /// How many workloads there are; how many, never where (HO-APP-08).
    pub replicas: u32,
    /// What they start from.
    pub image: Image,
    /// What the Incus instances look like.
    pub workload: Template,
    /// When a workload counts as healthy.
    pub health: Health,
}

/// The curated types of apps (HO-APP-22); the type decides how generations follow each other (HO-APP-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppType {
    /// Any stateless workload: the new generation comes up beside the old one (HO-APP-23).
    GenericStateless,
}

impl AppType {
    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            AppType::GenericStateless => "generic-stateless",
        }
    }

    /// How a new generation takes over, shown as `update_strategy`.
    pub fn update_strategy(self) -> &'static str {
        match self {
            AppType::GenericStateless => "blue-green",
        }
    }
}

/// What the Incus instances of an app look like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Template {
    /// Container or virtual machine.
    pub kind: Kind,
    /// Incus configuration keys.
    pub config: BTreeMap<String, String>,
    /// Incus devices.
    pub devices: BTreeMap<String, BTreeMap<String, String>>,
    /// Incus profiles in order; `None`: Incus's own choice, the profile `default`.
    pub profiles: Option<Vec<String>>,
    /// Environment variables of the workload.
    pub environment: BTreeMap<String, String>,
}

/// What kind of Incus instance a workload is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A system container.
    #[default]
    Container,
    /// A virtual machine.
    Vm,
}

/// When a workload counts as healthy, and for how long it must.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// The question "healthy now?" (HO-APP-41).
    pub check: Check,
    /// How long the answer must be yes without a break (HO-APP-39).
    #[serde(with = "milliseconds")]
    pub min_healthy_time: Duration,
    /// How long that may take from the start of the workload.
    #[serde(with = "milliseconds")]
    pub healthy_deadline: Duration,
}

/// The ways to ask a workload whether it is healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The instance runs.
    Running {},
    /// A command inside the instance ends with 0.
    Exec {
        /// Program and arguments.
        command: Vec<String>,
        /// Longer counts as unhealthy.
        #[serde(with = "milliseconds")]
        timeout: Duration,
    },
    /// A web server at the workload's own address answers a GET with success or a redirect.
    Http {
        /// The port, from 1.
        port: u16,
        /// What is asked for, from the slash on, with the query if there is one.
        path: String,
    },
    /// Something at the workload's own address takes connections.
    Tcp {
        /// The port, from 1.
        port: u16,
    },
    /// The workload keeps writing a file (HO-APP-46); [`crate::heartbeat`] says how often.
    HeartbeatFile {
        /// Where, from the root of the workload.
        path: String,
    },
}

impl AppSpec {
    /// A hash of everything that must cause a new generation: not the name, not `replicas`.
    pub fn hash(&self) -> String {
        let image = self.image.to_start_from();
        let cause = (&self.r#type, &image, &self.workload, &self.health);
        // Only maps with text keys, numbers and texts: this serialisation cannot fail, and BTreeMap keeps its
        // order, so the same declaration gives the same hash on every machine.
        let text = serde_json::to_string(&cause).unwrap_or_default();
        hex(&Sha256::digest(text.as_bytes())[..16])
    }

    /// Whether both declare the same, whatever their images stood for when they were published.
    pub fn declares_same(&self, other: &AppSpec) -> bool {
        self.without_digest() == other.without_digest()
    }

    /// The digest that this declaration has for the image of `other`, if both name it alike.
    pub fn digest_for(&self, other: &AppSpec) -> Option<String> {
        let same = self.names_same_image(other);
        self.image.digest.clone().filter(|_| same)
    }

    /// Whether both name an image alike. A server may have one of that name for each kind of workload.
    pub fn names_same_image(&self, other: &AppSpec) -> bool {
        let same_kind = self.image.server.is_none() || self.workload.kind == other.workload.kind;
        same_kind && self.image.names_same(&other.image)
    }

    /// The declaration alone, as it is before its image is looked up.
    fn without_digest(&self) -> AppSpec {
        let mut spec = self.clone();
        spec.image.digest = None;
        spec
    }

    /// The name of the Incus instance for one generation (HO-APP-27).
    pub fn workload_name(&self, ordinal: u32, generation: u64) -> String {
        workload_name(
            &self.name,
            (self.replicas > 1 || ordinal > 0).then_some(ordinal),
            generation,
        )
    }

    /// The generation in the name of a workload of ours, if `name` can be one for this ordinal.
    pub(crate) fn generation_in(&self, name: &str, ordinal: u32) -> Option<u64> {
        let generation = |ordinal| {
            let zeroth = workload_name(&self.name, ordinal, 0);
            let counted = name.strip_prefix(zeroth.strip_suffix('0')?)?;
            counted.parse().ok()
        };
        let alone = (ordinal == 0).then(|| generation(None)).flatten();
        alone.or_else(|| generation(Some(ordinal)))
    }

    /// The keys that a new workload carries (HO-APP-28).
    pub fn workload_keys(&self, ordinal: u32, generation: u64) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::from([
            (key::APP.to_owned(), self.name.clone()),
            (key::GENERATION.to_owned(), generation.to_string()),
            (
                key::IMAGE.to_owned(),
                self.image.reference.written().to_owned(),
            ),
            (key::SPEC.to_owned(), self.hash()),
        ]);
        if self.replicas > 1 || ordinal > 0 {
            keys.insert(key::MEMBER.to_owned(), ordinal.to_string());
        }
        keys
    }
}

/// `<app>-g<N>` for an app of one workload, `<app>-<ordinal>-g<N>` for one of several (HO-APP-27).
pub fn workload_name(app: &str, ordinal: Option<u32>, generation: u64) -> String {
    match ordinal {
        None => format!("{app}-g{generation}"),
        Some(ordinal) => format!("{app}-{ordinal}-g{generation}"),
    }
}

/// Durations in the published document: whole milliseconds, exact for whatever a user can write.
mod milliseconds {
    use core::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
