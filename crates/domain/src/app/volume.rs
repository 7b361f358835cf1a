//! Volumes: what of a workload stays when its generations come and go.
//!
//! Before: `declared/volume.rs` reads what the user wrote. After: `rollout` makes a custom storage volume for each place
//! of the app before its first workload, and keeps the workload where its local volumes are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Step, element};
use crate::observation::VolumeSeen;
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

/// Whether a storage volume of this name is the one of a place, and no copy of it: `incus storage volume copy` takes the
/// keys along, and a backup is nobody's data. An app that had one replica keeps the name of that time for its first.
pub fn is_volume_name(app: &str, place: &Place, volume: &str, name: &str) -> bool {
    let alone = *place == Place::FIRST && name == volume_name(app, None, volume);
    alone || name == volume_name(app, Some(&place.key()), volume)
}

/// What of the volumes cannot become what is declared: data is never moved, and never left behind unseen.
pub fn moved(
    declared: &BTreeMap<String, Volume>,
    published: &BTreeMap<String, Volume>,
    seen: &[VolumeSeen],
) -> Vec<Issue> {
    let issue = |(name, volume): (&String, &Volume)| {
        let before = published.get(name)?;
        let mut seen = seen.iter().filter(|seen| seen.volume == *name);
        let elsewhere = volume.pool.as_ref().and_then(|pool| {
            let elsewhere = seen.find(|seen| seen.pool != *pool)?;
            Some(("pool", in_another_pool(elsewhere, pool)))
        });
        let (attribute, detail) = match volume.class == before.class {
            true => elsewhere?,
            false => ("class", another_class(before.class, volume.class)),
        };
        let mut path = element("volumes", name);
        path.push(Step::Attribute(attribute));
        Some(Issue::new(
            path,
            "The data of a volume is elsewhere",
            detail,
        ))
    };
    declared.iter().filter_map(issue).collect()
}

/// What to tell of a volume that would be left behind for an empty one.
pub(crate) fn in_another_pool(seen: &VolumeSeen, pool: &str) -> String {
    let VolumeSeen {
        name: there,
        pool: its_pool,
        ..
    } = seen;
    format!(
        "The volume {there} is in the pool {its_pool}, and is declared to be in {pool}, where it would be empty. Expected \
         `pool = {its_pool:?}` or another name for a new volume. To move it, destroy the app without its volumes, run \
         `incus storage volume move {its_pool}/{there} {pool}/{there}`, and apply this."
    )
}

fn another_class(is: VolumeClass, declared: VolumeClass) -> String {
    format!(
        "Its class is {:?}, and {:?} is declared: no apply moves data. Declare a volume of another name and copy the data, or \
         change it back.",
        is.word(),
        declared.word()
    )
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
