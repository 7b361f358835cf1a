//! Volumes: what of a workload stays when its generations come and go.
//!
//! Before: `declared/volume.rs` reads what the user wrote. After: `rollout` makes a custom storage volume for each place
//! of the app before its first workload, and keeps the workload where its local volumes are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A volume of each workload of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Where its data lives.
    pub class: VolumeClass,
    /// The storage pool, if not the provider's own for the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Where the workload sees it: an absolute path.
    pub path: String,
    /// How large it is, in bytes; `None`: as large as the pool allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Where the data of a volume lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeClass {
    /// On one member, which its workload is tied to.
    Local,
    /// On a pool that every member shares.
    Replicated,
}

/// The name of the storage volume of one place of an app, or of an app of one workload.
pub fn volume_name(app: &str, place: Option<&str>, volume: &str) -> String {
    match place {
        None => format!("{app}-{volume}"),
        Some(place) => format!("{app}-{place}-{volume}"),
    }
}
