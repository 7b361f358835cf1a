//! Kinds of apps: the curated types, and how many workloads there are.
//!
//! Before: `declared/kind.rs` reads what the user wrote. After: `rollout` asks how one generation takes over from the one
//! before. A type is code: its name is all that a declaration holds (HO-APP-11, HO-APP-22).

use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The curated types of apps (HO-APP-22); the type decides how generations follow each other (HO-APP-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppType {
    /// Any stateless workload: the new generation comes up beside the old one (HO-APP-23).
    GenericStateless,
    /// Any workload of which only one may run at a time: it holds a volume, a port of its host, an address.
    GenericExclusive,
    /// The agent of this fleet (HO-APP-13).
    Agent,
    /// A collector of logs and metrics on each machine.
    Alloy,
}

/// How a new generation takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// It comes up beside the old one, which is removed when the new one has proven itself.
    BlueGreen,
    /// The old one is stopped first and kept as the way back until the new one has proven itself.
    StopReplace,
}

impl AppType {
    /// All of them, in the order in which they are told.
    pub const ALL: [AppType; 4] = [
        AppType::GenericStateless,
        AppType::GenericExclusive,
        AppType::Agent,
        AppType::Alloy,
    ];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            AppType::GenericStateless => "generic-stateless",
            AppType::GenericExclusive => "generic-exclusive",
            AppType::Agent => "agent",
            AppType::Alloy => "alloy",
        }
    }

    /// How its generations follow each other.
    pub fn strategy(self) -> Strategy {
        match self {
            AppType::GenericStateless | AppType::Agent | AppType::Alloy => Strategy::BlueGreen,
            AppType::GenericExclusive => Strategy::StopReplace,
        }
    }

    /// The same, as `update_strategy` shows it.
    pub fn update_strategy(self) -> &'static str {
        match self.strategy() {
            Strategy::BlueGreen => "blue-green",
            Strategy::StopReplace => "stop-replace",
        }
    }
}

/// How many workloads an app has; how many, never where (HO-APP-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// So many, at least one.
    Count(u32),
    /// One on each machine of the cluster (HO-APP-14).
    PerNode,
}

/// The word for one workload on each machine.
pub(crate) const PER_NODE: &str = "per-node";

/// As the user writes it.
impl fmt::Display for Replicas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replicas::Count(count) => write!(formatter, "{count}"),
            Replicas::PerNode => formatter.write_str(PER_NODE),
        }
    }
}

impl FromStr for Replicas {
    type Err = NoReplicas;

    fn from_str(text: &str) -> Result<Self, NoReplicas> {
        let no_replicas = || NoReplicas(text.to_owned());
        if text == PER_NODE {
            return Ok(Replicas::PerNode);
        }
        let count: u32 = text.parse().map_err(|_| no_replicas())?;
        let canonical = count > 0 && count.to_string() == text;
        canonical
            .then_some(Replicas::Count(count))
            .ok_or_else(no_replicas)
    }
}

/// A text that says of no number of workloads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a count from 1 without leading zeros nor {PER_NODE:?}")]
pub struct NoReplicas(String);

impl Serialize for Replicas {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Replicas::Count(count) => serializer.serialize_u32(*count),
            Replicas::PerNode => serializer.serialize_str(PER_NODE),
        }
    }
}

impl JsonSchema for Replicas {
    fn schema_name() -> Cow<'static, str> {
        "Replicas".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How many workloads there are, or one on each machine of the cluster.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                { "const": PER_NODE },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Replicas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Count(u32),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Count(count) => Ok(Replicas::Count(count)),
            Written::Word(word) => word.parse().map_err(D::Error::custom),
        }
    }
}
