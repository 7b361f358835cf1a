//! The volumes of a declaration.
//!
//! Before: `declared.rs` reads every part. After: [`Volume`]s. Whether the pools are there is asked before a rollout.

use std::collections::BTreeMap;

use super::{Declared, DeclaredVolume};
use crate::app::{AppType, Strategy, Volume, VolumeClass};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute, element};
use crate::machine::disk;
use crate::name;

pub(super) fn read(
    declared: &Declared,
    r#type: Option<AppType>,
    issues: &mut Vec<Issue>,
) -> Option<BTreeMap<String, Volume>> {
    let volumes = match &declared.volumes {
        Given::Absent => return Some(BTreeMap::new()),
        Given::Unknown => return None,
        Given::Known(volumes) => volumes,
    };
    if let Some(r#type) = r#type.filter(|one| one.strategy() == Strategy::BlueGreen)
        && !volumes.is_empty()
    {
        issues.push(Issue::new(
            attribute("volumes"),
            "An app of this type has no volumes",
            format!(
                "The type is {:?}: a new generation comes up beside the old one, and both would write to the same volume. \
                 Expected `type = \"generic-exclusive\"`, which stops the old one first.",
                r#type.name()
            ),
        ));
    }
    let mut paths = BTreeMap::new();
    let read = |(name, volume): (&String, &Given<DeclaredVolume>)| {
        check_name(name, declared, issues);
        let volume = read_one(name, volume.known()?, issues)?;
        if let Some(other) = paths.insert(volume.path.clone(), name.clone()) {
            issues.push(Issue::new(
                at(name, "path"),
                "Two volumes have one path",
                format!("Volumes {other:?} and {name:?} are both at {:?}. Expected a path of its own for each.", volume.path),
            ));
        }
        Some((name.clone(), volume))
    };
    // All of them, so that no issue hides another.
    let read: Vec<_> = volumes.iter().map(read).collect();
    read.into_iter().collect()
}

/// The name becomes that of a device and a part of that of the storage volume.
fn check_name(name: &str, declared: &Declared, issues: &mut Vec<Issue>) {
    issues.extend(name::issue(element("volumes", name), "volume", name));
    let devices = declared
        .workload
        .known()
        .and_then(|one| one.devices.known());
    if name == "root" || devices.is_some_and(|devices| devices.contains_key(name)) {
        issues.push(Issue::new(
            element("volumes", name),
            "A volume has the name of a device",
            format!("The volume is attached as device {name:?}, and a device of this name is there already. Choose another name."),
        ));
    }
}

fn read_one(name: &str, volume: &DeclaredVolume, issues: &mut Vec<Issue>) -> Option<Volume> {
    let class = match volume.class.known().map(String::as_str) {
        Some("local") => Some(VolumeClass::Local),
        Some("replicated") => Some(VolumeClass::Replicated),
        Some(other) => {
            issues.push(Issue::new(
                at(name, "class"),
                "A class of volumes is not known",
                format!(
                    "The class is {other:?}. Expected \"local\", on the disk of one member, or \"replicated\", on a pool that \
                     all members share."
                ),
            ));
            None
        }
        None => None,
    };
    let path = volume.path.known().filter(|path| {
        let is_sound = path.starts_with('/') && path.len() > 1 && !path.ends_with('/') && !path.contains("//");
        if !is_sound {
            issues.push(Issue::new(
                at(name, "path"),
                "A volume has no place in its workload",
                format!("The path is {path:?}. Expected an absolute path without a slash at its end, such as \"/var/lib/data\"."),
            ));
        }
        is_sound
    });
    let size = read_size(name, &volume.size, issues);
    let pool = match &volume.pool {
        Given::Absent => Some(None),
        Given::Unknown => None,
        Given::Known(pool) => Some(Some(pool.clone())),
    };
    Some(Volume {
        class: class?,
        pool: pool?,
        path: path?.clone(),
        size: size?,
    })
}

fn read_size(name: &str, size: &Given<String>, issues: &mut Vec<Issue>) -> Option<Option<u64>> {
    let text = match size {
        Given::Absent => return Some(None),
        Given::Unknown => return None,
        Given::Known(text) => text,
    };
    let bytes = disk::parse_size(text).filter(|bytes| *bytes > 0);
    if bytes.is_none() {
        issues.push(Issue::new(
            at(name, "size"),
            "A size is not valid",
            format!("The size is {text:?}. Expected a whole number and a unit, such as \"50GiB\"."),
        ));
    }
    bytes.map(Some)
}

fn at(name: &str, attribute: &'static str) -> Vec<Step> {
    let mut path = element("volumes", name);
    path.push(Step::Attribute(attribute));
    path
}
