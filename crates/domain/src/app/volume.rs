//! Volumes: what of a workload stays when its generations come and go.
//!
//! Before: `declared/volume.rs` reads what the user wrote. After: `rollout` makes a custom storage volume for each place
//! of the app before its first workload, and keeps the workload where its local volumes are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::place::Place;

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

/// Whether a storage volume of this name is the one of a place, and no copy of it: `incus storage volume copy` takes the
/// keys along, and a backup is nobody's data. An app that had one replica keeps the name of that time for its first.
pub fn is_volume_name(app: &str, place: &Place, volume: &str, name: &str) -> bool {
    let alone = *place == Place::FIRST && name == volume_name(app, None, volume);
    alone || name == volume_name(app, Some(&place.key()), volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// what has the keys of a volume and another name is somebody's backup.
    #[test]
    fn a_copy_of_a_volume_is_not_the_volume() {
        for (place, name, expected) in [
            (Place::FIRST, "web-data", true),
            (Place::FIRST, "web-0-data", true),
            (Place::Ordinal(1), "web-1-data", true),
            (Place::Machine("attic".to_owned()), "web-attic-data", true),
            (Place::Ordinal(1), "web-data", false),
            (Place::Ordinal(1), "web-0-data", false),
            (Place::FIRST, "backup-web-data", false),
            (Place::FIRST, "web-data-2", false),
        ] {
            let is_it = is_volume_name("web", &place, "data", name);
            assert_eq!(is_it, expected, "{name} of {place}");
        }
    }
}
