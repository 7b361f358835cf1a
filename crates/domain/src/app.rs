//! Apps: what a user declares to run, normalised, with the names and keys of the workloads that run it.
//!
//! Before: `app/declared.rs` checks what the user wrote and makes an [`AppSpec`] of it. After: `entry` stores
//! it, `rollout` compares workloads with it. A workload is an Incus instance that runs one generation of an app.

pub mod declared;
pub mod image;
pub mod render;

mod health;
mod kind;
mod volume;

use core::time::Duration;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex::hex;
use crate::place::Place;

pub use health::{CHECK_TIMEOUT, Check, HEALTHY_DEADLINE, Health, MIN_HEALTHY_TIME};
pub use image::{Image, ImageReference, ImageServer, Protocol, Track};
pub(crate) use kind::PER_NODE;
pub use kind::{AppType, NoReplicas, Replicas, Strategy};
pub(crate) use volume::in_another_pool;
pub use volume::{Volume, VolumeClass, is_volume_name, moved, volume_name};

/// Prefix of every key of ours on Incus objects.
pub const KEY_PREFIX: &str = "user.homelab-ops.";

/// The keys on every workload (HO-APP-28): they decide what a workload is, its name only has to be free.
pub mod key {
    /// The declared app name.
    pub const APP: &str = "user.homelab-ops.app";
    /// The ordinal, for apps of several members.
    pub const MEMBER: &str = "user.homelab-ops.member";
    /// The machine, for apps of one workload per machine.
    pub const NODE: &str = "user.homelab-ops.node";
    /// The generation, counted from 0.
    pub const GENERATION: &str = "user.homelab-ops.generation";
    /// The image as the user wrote it.
    pub const IMAGE: &str = "user.homelab-ops.image";
    /// [`AppSpec::hash`](super::AppSpec::hash) of what the workload was made from.
    pub const SPEC: &str = "user.homelab-ops.spec";
    /// When it was first seen healthy without a break since (RFC 3339).
    pub const HEALTHY_SINCE: &str = "user.homelab-ops.healthy-since";
    /// Which start of it that was, as Incus words the time: a workload that was started again since has to prove itself
    /// anew, and clocks of several machines cannot be compared.
    pub const HEALTHY_START: &str = "user.homelab-ops.healthy-start";
    /// Which of the app's volumes a storage volume is.
    pub const VOLUME: &str = "user.homelab-ops.volume";
    /// The name of an instance that was made by hand and taken over. A copy of it carries the name of another instance.
    pub const ADOPTED: &str = "user.homelab-ops.adopted";
}

/// How long a workload may take to stop by itself before it is stopped by force.
pub const STOP_GRACE: Duration = Duration::from_secs(30);

/// An app as declared: everything that the fleet store publishes about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSpec {
    /// Unique in the fleet.
    pub name: String,
    /// Which renderer runs it.
    pub r#type: AppType,
    /// How many workloads there are; how many, never where (HO-APP-08).
    pub replicas: Replicas,
    /// What they start from.
    pub image: Image,
    /// What the Incus instances look like.
    pub workload: Template,
    /// When a workload counts as healthy.
    pub health: Health,
    /// What stays when generations come and go, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volume>,
    /// Where workloads may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Whether a virtual machine may move to another member while it runs.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub live_migration: bool,
    /// The version of the secrets that all workloads get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<u64>,
    /// The version of the secrets that each machine's workload gets for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_secrets: Option<u64>,
    /// The revision with which the secrets of these versions were stored; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets_revision: Option<u64>,
    /// Instances that were made by hand and become the first generation, in the order of their places. Only the revisions
    /// of a create that has not finished have any: whoever takes that up goes on with them (docs/decisions/0022).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopts: Vec<String>,
    /// What a curated type wants to know beside all that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Where a collector sends what it collects, by name; type `alloy` only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub destinations: BTreeMap<String, Destination>,
    /// The machine whose agent leads (HO-ELECT-01); type `agent` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
}

/// Where workloads may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// On members of this cluster group only.
    pub group: String,
}

/// Where a collector sends what it collects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// Where logs go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loki_url: Option<String>,
    /// Where metrics go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus_url: Option<String>,
    /// The user who sends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Which of the app's secrets is the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<String>,
}

/// What the Incus instances of an app look like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A system container.
    #[default]
    Container,
    /// A virtual machine.
    Vm,
}

impl AppSpec {
    /// An app of which nothing is declared but what has to be.
    pub fn new(name: &str, r#type: AppType, replicas: Replicas, image: Image) -> Self {
        Self {
            name: name.to_owned(),
            r#type,
            replicas,
            image,
            workload: Template::default(),
            health: Health {
                check: Check::Running {},
                min_healthy_time: MIN_HEALTHY_TIME,
                healthy_deadline: HEALTHY_DEADLINE,
            },
            volumes: BTreeMap::new(),
            placement: None,
            live_migration: false,
            secrets: None,
            node_secrets: None,
            secrets_revision: None,
            adopts: Vec::new(),
            params: BTreeMap::new(),
            destinations: BTreeMap::new(),
            primary: None,
        }
    }

    /// A hash of everything that must cause a new generation: not the name, not `replicas`.
    pub fn hash(&self) -> String {
        let image = self.image.to_start_from();
        let cause = (&self.r#type, &image, &self.workload, &self.health);
        // Only maps with text keys, numbers and texts: this serialisation cannot fail, and BTreeMap keeps its
        // order, so the same declaration gives the same hash on every machine.
        let mut text = serde_json::to_string(&cause).unwrap_or_default();
        let further = serde_json::to_string(&self.further_cause()).unwrap_or_default();
        // What nobody has declared changes no hash, so a later version of this code may add to it.
        if further != "{}" {
            text.push_str(&further);
        }
        hex(&Sha256::digest(text.as_bytes())[..16])
    }

    /// The optional part of what must cause a new generation.
    fn further_cause(&self) -> FurtherCause<'_> {
        FurtherCause {
            volumes: &self.volumes,
            placement: self.placement.as_ref(),
            live_migration: self.live_migration,
            secrets: self.secrets,
            node_secrets: self.node_secrets,
            params: &self.params,
            destinations: &self.destinations,
            primary: self.primary.as_deref(),
        }
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

    /// The declaration alone, as it is before its image is looked up and without what it takes over.
    fn without_digest(&self) -> AppSpec {
        let mut spec = self.clone();
        (spec.image.digest, spec.secrets_revision) = (None, None);
        spec.adopts.clear();
        spec
    }

    /// The name of the Incus instance for one generation (HO-APP-27).
    pub fn workload_name(&self, place: &Place, generation: u64) -> String {
        workload_name(&self.name, self.place_name(place).as_deref(), generation)
    }

    /// The name of the storage volume that stays at one place.
    pub fn volume_name(&self, place: &Place, volume: &str) -> String {
        volume_name(&self.name, self.place_name(place).as_deref(), volume)
    }

    /// What tells the place apart in names; nothing for an app of one workload.
    fn place_name(&self, place: &Place) -> Option<String> {
        match place {
            Place::Machine(machine) => Some(machine.clone()),
            Place::Ordinal(0) if self.replicas == Replicas::Count(1) => None,
            Place::Ordinal(ordinal) => Some(ordinal.to_string()),
        }
    }

    /// The generation in the name of a workload of ours, if `name` can be one for this place.
    pub(crate) fn generation_in(&self, name: &str, place: &Place) -> Option<u64> {
        let generation = |place: Option<&str>| {
            let zeroth = workload_name(&self.name, place, 0);
            let counted = name.strip_prefix(zeroth.strip_suffix('0')?)?;
            counted.parse().ok()
        };
        let alone = (*place == Place::FIRST).then(|| generation(None)).flatten();
        alone.or_else(|| generation(Some(&place.key())))
    }

    /// The keys that a new workload carries (HO-APP-28).
    pub fn workload_keys(&self, place: &Place, generation: u64) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::from([
            (key::APP.to_owned(), self.name.clone()),
            (key::GENERATION.to_owned(), generation.to_string()),
            (
                key::IMAGE.to_owned(),
                self.image.reference.written().to_owned(),
            ),
            (key::SPEC.to_owned(), self.hash()),
        ]);
        keys.extend(place_keys(place, self.replicas == Replicas::Count(1)));
        keys
    }

    /// The keys that a new storage volume carries: they decide whose it is, its name only has to be free.
    pub fn volume_keys(&self, place: &Place, volume: &str) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::from([
            (key::APP.to_owned(), self.name.clone()),
            (key::VOLUME.to_owned(), volume.to_owned()),
        ]);
        keys.extend(place_keys(place, self.replicas == Replicas::Count(1)));
        keys
    }
}

/// The keys that say which place of an app something belongs to.
fn place_keys(place: &Place, is_alone: bool) -> Option<(String, String)> {
    match place {
        Place::Machine(machine) => Some((key::NODE.to_owned(), machine.clone())),
        Place::Ordinal(0) if is_alone => None,
        Place::Ordinal(ordinal) => Some((key::MEMBER.to_owned(), ordinal.to_string())),
    }
}

/// What of a declaration may be absent and must cause a new generation all the same.
#[derive(Serialize)]
struct FurtherCause<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    volumes: &'a BTreeMap<String, Volume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<&'a Placement>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    live_migration: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_secrets: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    params: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    destinations: &'a BTreeMap<String, Destination>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary: Option<&'a str>,
}

/// `<app>-g<N>` for an app of one workload, `<app>-<place>-g<N>` for all others: the place is an ordinal or a machine
/// (HO-APP-14, HO-APP-27).
pub fn workload_name(app: &str, place: Option<&str>, generation: u64) -> String {
    match place {
        None => format!("{app}-g{generation}"),
        Some(place) => format!("{app}-{place}-g{generation}"),
    }
}
