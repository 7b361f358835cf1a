//! Volumes: what of a workload stays when its generations come and go.
//!
//! Before: `declared/volume.rs` reads what the user wrote. After: `rollout` makes a custom storage volume for each place
//! of the app before its first workload, and keeps the workload where its local volumes are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Step, element};
use crate::observation::VolumeSeen;

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

impl VolumeClass {
    /// The word that users write.
    fn word(self) -> &'static str {
        match self {
            VolumeClass::Local => "local",
            VolumeClass::Replicated => "replicated",
        }
    }
}

/// The name of the storage volume of one place of an app, or of an app of one workload.
pub fn volume_name(app: &str, place: Option<&str>, volume: &str) -> String {
    match place {
        None => format!("{app}-{volume}"),
        Some(place) => format!("{app}-{place}-{volume}"),
    }
}

/// What of the volumes cannot become what is declared: data is never moved, and never left behind unseen.
pub fn moved(
    declared: &BTreeMap<String, Volume>,
    published: &BTreeMap<String, Volume>,
    seen: &[VolumeSeen],
) -> Vec<Issue> {
    let issue = |(name, volume): (&String, &Volume)| {
        let before = published.get(name)?;
        let (attribute, is, wanted) = match &volume.pool {
            _ if volume.class != before.class => {
                ("class", before.class.word(), volume.class.word())
            }
            Some(pool) => {
                let mut seen = seen.iter().filter(|seen| seen.volume == *name);
                let elsewhere = seen.find(|seen| seen.pool != *pool)?;
                ("pool", elsewhere.pool.as_str(), pool.as_str())
            }
            None => return None,
        };
        let mut path = element("volumes", name);
        path.push(Step::Attribute(attribute));
        Some(Issue::new(
            path,
            "A volume cannot be moved",
            format!(
                "The {attribute} of volume {name:?} is {is:?}, and {wanted:?} is declared. Data is not moved by an apply. Declare a \
                 volume of another name and copy the data, or change it back."
            ),
        ))
    };
    declared.iter().filter_map(issue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    fn volumes(class: VolumeClass, pool: Option<&str>) -> BTreeMap<String, Volume> {
        let volume = Volume {
            class,
            pool: pool.map(str::to_owned),
            path: "/data".to_owned(),
            size: None,
        };
        BTreeMap::from([("data".to_owned(), volume)])
    }

    /// Design 7: what is there stays where it is; the provider's default may change, and a size may.
    #[test]
    fn a_volume_stays_where_its_data_is() {
        use VolumeClass::{Local, Replicated};
        let seen = VolumeSeen {
            name: "db-data".to_owned(),
            pool: "fast".to_owned(),
            member: Some("m1".to_owned()),
            place: Place::FIRST,
            volume: "data".to_owned(),
            size: None,
        };
        for (class, pool, expected) in [
            (Local, None, None),
            (Local, Some("fast"), None),
            (Local, Some("slow"), Some("volumes[\"data\"].pool")),
            (Replicated, None, Some("volumes[\"data\"].class")),
        ] {
            let before = volumes(Local, None);
            let issues = moved(&volumes(class, pool), &before, core::slice::from_ref(&seen));
            let told = issues.first().map(ToString::to_string);
            let as_expected = match (&told, expected) {
                (Some(told), Some(path)) => told.starts_with(path),
                (told, path) => told.is_none() && path.is_none(),
            };
            assert!(as_expected, "{class:?} {pool:?}: {told:?}");
        }
    }
}
