//! What of a member is a matter of choice: groups, configuration, failure domain, storage, deadlines.
//!
//! Before: `declared.rs`. Each part is read by itself; `None` stands for what is unknown or refused.

use std::collections::{BTreeMap, BTreeSet};

use super::{DeclaredStorage, DeclaredTimeouts, Optional, optional, storage};
use crate::duration;
use crate::given::Given;
use crate::issue::{Issue, Step, attribute, element, item};
use crate::membership::spec::Storage;

/// The drivers whose pools are a member's own, so that its daemon can keep its volumes there.
const LOCAL_DRIVERS: [&str; 4] = ["btrfs", "dir", "lvm", "zfs"];

/// Longest name of a group.
const LONGEST_GROUP: usize = 63;

pub(super) fn read_groups(
    given: &Given<Vec<Given<String>>>,
    issues: &mut Vec<Issue>,
) -> Optional<BTreeSet<String>> {
    optional(given, |list| {
        if list.is_empty() {
            issues.push(Issue::new(
                attribute("groups"),
                "A member is in no group",
                "groups is empty, and a member is in one group at least. Expected group names, such as [\"default\"]; \
                 without the attribute the groups are left to others.",
            ));
            return None;
        }
        let mut groups = BTreeSet::new();
        let mut known = true;
        for (index, given) in list.iter().enumerate() {
            match given.known() {
                Some(name) if !is_group(name) => issues.push(Issue::new(
                    item("groups", index),
                    "The name of a cluster group is not valid",
                    format!(
                        "It is {name:?}. Expected 1 to {LONGEST_GROUP} letters, digits, hyphens, dots and underscores."
                    ),
                )),
                Some(name) if !groups.insert(name.clone()) => issues.push(Issue::new(
                    item("groups", index),
                    "A cluster group is named twice",
                    format!("It is {name:?}. Expected each group once; remove one of them."),
                )),
                Some(_) => {}
                None => known = false,
            }
        }
        known.then_some(groups)
    })
}

fn is_group(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=LONGEST_GROUP).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with(['-', '.', '_'])
}

pub(super) fn read_config(
    given: &Given<BTreeMap<String, Given<String>>>,
    issues: &mut Vec<Issue>,
) -> Option<BTreeMap<String, String>> {
    let read = optional(given, |map| {
        let mut config = BTreeMap::new();
        let mut known = true;
        for (key, given) in map {
            issues.extend(config_issue(key, given));
            match given {
                Given::Known(value) => {
                    config.insert(key.clone(), value.clone());
                }
                Given::Unknown => known = false,
                Given::Absent => {}
            }
        }
        known.then_some(config)
    });
    read.map(Option::unwrap_or_default)
}

fn config_issue(key: &str, given: &Given<String>) -> Option<Issue> {
    let refuse =
        |summary: &str, detail: String| Some(Issue::new(element("config", key), summary, detail));
    let scheduler = ["all", "group", "manual"];
    match (key, given.known()) {
        ("scheduler.instance", Some(value)) if !scheduler.contains(&value.as_str()) => refuse(
            "The scheduler of a member is not known",
            format!("It is {value:?}. Expected \"all\", \"group\" or \"manual\"."),
        ),
        ("scheduler.instance", _) => None,
        _ if key
            .strip_prefix("user.")
            .is_some_and(|rest| !rest.is_empty()) =>
        {
            None
        }
        _ => refuse(
            "A configuration key of a member is not known",
            format!(
                "It is {key:?}. Expected \"scheduler.instance\" or a key that starts with \"user.\". What belongs to \
                 the server rather than to the member is not set here."
            ),
        ),
    }
}

pub(super) fn read_failure_domain(
    given: &Given<String>,
    issues: &mut Vec<Issue>,
) -> Optional<String> {
    optional(given, |text| {
        if text.trim().is_empty() {
            issues.push(Issue::new(
                attribute("failure_domain"),
                "The failure domain of a member is empty",
                "failure_domain says nothing. Set it to what the member shares with others that would fail together \
                 with it, such as \"rack-1\", or remove it.",
            ));
            return None;
        }
        Some(text.clone())
    })
}

pub(super) fn read_storage(
    given: &Given<DeclaredStorage>,
    issues: &mut Vec<Issue>,
) -> Optional<Storage> {
    match given {
        Given::Absent => Some(None),
        Given::Unknown => None,
        Given::Known(declared) => {
            check_storage(declared, issues);
            storage(declared)
        }
    }
}

fn check_storage(declared: &DeclaredStorage, issues: &mut Vec<Issue>) {
    let at = |name| vec![Step::Attribute("storage"), Step::Attribute(name)];
    for (name, given) in [("pool", &declared.pool), ("driver", &declared.driver)] {
        if !given.is_set() {
            issues.push(Issue::new(
                at(name),
                format!("The storage of a member has no {name}"),
                format!(
                    "storage is set, and its {name} is not. Set it: a machine with IncusOS has the pool \"local\" with \
                     the driver \"zfs\", and needs no storage at all here."
                ),
            ));
        }
    }
    if let Given::Known(pool) = &declared.pool
        && (pool.is_empty()
            || pool.len() > 64
            || pool.contains(|one: char| one == '/' || one.is_whitespace()))
    {
        issues.push(Issue::new(
            at("pool"),
            "The name of a storage pool is not valid",
            format!("It is {pool:?}. Expected 1 to 64 characters without slashes and spaces, such as \"local\"."),
        ));
    }
    if let Given::Known(driver) = &declared.driver
        && !LOCAL_DRIVERS.contains(&driver.as_str())
    {
        issues.push(Issue::new(
            at("driver"),
            "The driver of a storage pool is not one for what a member keeps",
            format!(
                "It is {driver:?}. Expected one of {}: the daemon keeps its own volumes in this pool, and does so only \
                 in one that is its member's own.",
                LOCAL_DRIVERS.join(", ")
            ),
        ));
    }
    if let Given::Known(source) = &declared.source
        && source.trim().is_empty()
    {
        issues.push(Issue::new(
            at("source"),
            "The source of a storage pool is empty",
            "source says nothing. Set it to where the pool is on the machine, such as \"local/incus\", or remove it.",
        ));
    }
}

pub(super) fn check_timeouts(timeouts: &DeclaredTimeouts, issues: &mut Vec<Issue>) {
    for (name, given) in [
        ("create", &timeouts.create),
        ("update", &timeouts.update),
        ("delete", &timeouts.delete),
    ] {
        if let Given::Known(text) = given {
            let path = vec![Step::Attribute("timeouts"), Step::Attribute(name)];
            issues.extend(duration::parse_at(path, text).err());
        }
    }
}
