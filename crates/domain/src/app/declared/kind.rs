//! What kind of app is declared, how many workloads it has, and where they may be.
//!
//! Before: `declared.rs` reads every part. After: [`AppType`], [`Replicas`] and [`Placement`].

use super::{Declared, MOST_REPLICAS};
use crate::app::{AppType, PER_NODE, Placement, Replicas};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};

pub(super) fn read_type(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<AppType> {
    let text = given.known()?;
    let found = AppType::ALL.into_iter().find(|one| one.name() == text);
    if found.is_none() {
        let names: Vec<String> = AppType::ALL.map(|one| format!("{:?}", one.name())).into();
        issues.push(Issue::new(
            attribute("type"),
            "An app type is not known",
            format!(
                "The type is {text:?}. Expected one of {}: \"generic-stateless\" for workloads that keep nothing and can be \
                 replaced at any time, \"generic-exclusive\" for those of which only one may run, since it holds a volume, a \
                 port or an address.",
                names.join(", ")
            ),
        ));
    }
    found
}

/// HO-APP-07: a missing count and 0 are the same mistake; there is no default.
pub(super) fn read_replicas(
    declared: &Declared,
    r#type: Option<AppType>,
    issues: &mut Vec<Issue>,
) -> Option<Replicas> {
    let text = declared.replicas.known()?;
    let replicas = match text.parse() {
        Ok(Replicas::Count(count)) if count > MOST_REPLICAS => None,
        parsed => parsed.ok(),
    };
    let Some(replicas) = replicas else {
        issues.push(no_replicas(text));
        return None;
    };
    let once_per_machine = r#type.filter(|one| matches!(one, AppType::Agent | AppType::Alloy));
    if let (Some(r#type), Replicas::Count(_)) = (once_per_machine, replicas) {
        issues.push(Issue::new(
            attribute("replicas"),
            "An app of this type runs once on each machine",
            format!(
                "Replicas are {text:?}, and the type is {:?}. Expected `replicas = \"per-node\"`.",
                r#type.name()
            ),
        ));
        return None;
    }
    Some(replicas)
}

fn no_replicas(text: &str) -> Issue {
    Issue::new(
        attribute("replicas"),
        "The number of replicas is not valid",
        format!(
            "Replicas are {text:?}. Expected how many workloads run, a whole number from 1 to {MOST_REPLICAS} without \
             leading zeros, or \"per-node\" for one on each machine of the cluster. To run none, remove the app."
        ),
    )
}

/// HO-APP-08: how many and where are two questions, and one workload per machine answers both.
pub(super) fn read_placement(
    declared: &Declared,
    issues: &mut Vec<Issue>,
) -> Option<Option<Placement>> {
    let placement = match &declared.placement {
        Given::Absent => return Some(None),
        Given::Unknown => return None,
        Given::Known(placement) => placement,
    };
    if declared.replicas.known().map(String::as_str) == Some(PER_NODE) {
        issues.push(Issue::new(
            attribute("placement"),
            "An app on every machine has no placement",
            "Replicas are \"per-node\": one workload on each machine of the cluster. Remove `placement`, or declare a number \
             of replicas.",
        ));
        return None;
    }
    let group = match &placement.group {
        Given::Absent => return Some(None),
        Given::Unknown => return None,
        Given::Known(group) => group.clone(),
    };
    if group.is_empty() || group.contains(['/', ' ', ':']) {
        issues.push(Issue::new(
            vec![Step::Attribute("placement"), Step::Attribute("group")],
            "A cluster group has no such name",
            format!("The group is {group:?}. Expected the name of a cluster group, as `incus cluster group list` shows it."),
        ));
        return None;
    }
    Some(Some(Placement { group }))
}

/// Only what carries its memory and its disks with it can move while it runs.
pub(super) fn read_live_migration(declared: &Declared, issues: &mut Vec<Issue>) -> Option<bool> {
    let wanted = match declared.live_migration {
        Given::Absent => return Some(false),
        Given::Unknown => return None,
        Given::Known(wanted) => wanted,
    };
    let kind = declared.workload.known().map(|workload| &workload.kind);
    let is_container = match kind {
        Some(Given::Unknown) => false,
        Some(Given::Known(kind)) => kind != "vm",
        Some(Given::Absent) => true,
        None => !declared.workload.is_unknown(),
    };
    let volumes = declared.volumes.known();
    let is_local = |class: &Given<String>| class.known().map(String::as_str) == Some("local");
    let mut volumes = volumes.into_iter().flatten();
    let local = volumes.find(|(_, one)| one.known().is_some_and(|one| is_local(&one.class)));
    let seen = match (wanted, is_container, local) {
        (true, true, _) => "`workload.kind` is not \"vm\", and containers cannot".to_owned(),
        (true, false, Some((name, _))) => {
            format!("Volume {name:?} is local: it stays where it is")
        }
        _ => return Some(wanted),
    };
    issues.push(Issue::new(
        attribute("live_migration"),
        "A workload cannot move while it runs",
        format!(
            "`live_migration` is true. {seen}. Expected a virtual machine without local volumes; remove `live_migration` otherwise."
        ),
    ));
    None
}

/// An apply waits for what it does itself.
pub(super) fn check_wait(wait: &Given<bool>, issues: &mut Vec<Issue>) {
    if *wait == Given::Known(false) {
        issues.push(Issue::new(
            attribute("wait"),
            "An apply cannot go on without its rollout",
            "`wait` is false. The provider takes the steps of the rollout itself while no agent runs in the fleet, so they end \
             when the apply does. Remove `wait`.",
        ));
    }
}
