//! Health: when a workload counts as healthy.
//!
//! Before: `declared/health.rs` and `declared/check.rs` read what the user wrote. After: `reconcile/src/health.rs` asks the
//! question, `rollout` keeps the time.

use core::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a candidate must stay healthy before it is promoted, unless the user says otherwise.
pub const MIN_HEALTHY_TIME: Duration = Duration::from_secs(30);
/// How long a candidate may take to have been healthy for that long, unless the user says otherwise.
pub const HEALTHY_DEADLINE: Duration = Duration::from_secs(600);
/// How long a health command may run, unless the user says otherwise; and an answer over the network may take.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// When a workload counts as healthy, and for how long it must.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// The question "healthy now?" (HO-APP-41).
    pub check: Check,
    /// How long the answer must be yes without a break (HO-APP-39).
    #[serde(with = "milliseconds")]
    #[schemars(with = "u64")]
    pub min_healthy_time: Duration,
    /// How long that may take from the start of the workload.
    #[serde(with = "milliseconds")]
    #[schemars(with = "u64")]
    pub healthy_deadline: Duration,
}

/// The ways to ask a workload whether it is healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        #[schemars(with = "u64")]
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
