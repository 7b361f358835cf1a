//! Placement: which member a new workload goes to.
//!
//! Before: `rollout::decide` needs a workload. After: the target of its create request. The choice is ours, since
//! Incus's own scheduler was seen to pick dead members and to clump parallel creates together.

use crate::app::Placement;
use crate::observation::{MemberStatus, Observation};
use crate::place::Place;

/// The member for the next workload; `None` where Incus is not clustered, which leaves nothing to choose.
///
/// A place on a machine is that machine, whoever is excluded from Incus's own choice.
///
/// # Errors
/// If there are members but none of them can take it.
pub fn choose(
    observation: &Observation,
    place: &Place,
    placement: Option<&Placement>,
) -> Result<Option<String>, NoMember> {
    if observation.members.is_empty() {
        return Ok(None);
    }
    if let Some(machine) = place.machine() {
        return Ok(Some(machine.to_owned()));
    }
    let group = placement.map(|placement| &placement.group);
    let of_app = |name: &str| {
        let here = |workload: &&crate::observation::Workload| {
            workload.member.as_deref() == Some(name) && workload.status.is_live()
        };
        observation.workloads.iter().filter(here).count()
    };
    observation
        .members
        .iter()
        .filter(|member| member.status == MemberStatus::Online && member.schedulable)
        .filter(|member| group.is_none_or(|group| member.groups.contains(group)))
        .filter(|member| {
            let needed = observation.architecture.as_ref();
            needed.is_none_or(|needed| *needed == member.architecture)
        })
        .min_by_key(|member| {
            let load = observation.load.get(&member.name).copied().unwrap_or(0);
            (of_app(&member.name), load, member.name.clone())
        })
        .map(|member| Some(member.name.clone()))
        .ok_or_else(|| NoMember::Unsuitable {
            group: group.cloned(),
            members: observation
                .members
                .iter()
                .map(|member| member.name.clone())
                .collect(),
        })
}

/// Whether a member that has a workload may have its successor, too.
pub fn is_open(observation: &Observation, member: &str, placement: Option<&Placement>) -> bool {
    let mut members = observation.members.iter();
    members.any(|one| {
        let in_group = placement.is_none_or(|placement| one.groups.contains(&placement.group));
        one.name == member && one.status == MemberStatus::Online && in_group
    })
}

/// There are members, and none can take a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoMember {
    /// None is as it has to be.
    #[error(
        "no member can take a workload: none of {} is online, open for new instances{} and of the architecture of the image",
        members.join(", "),
        group.as_ref().map(|group| format!(", in the cluster group {group}")).unwrap_or_default()
    )]
    Unsuitable {
        /// The cluster group that it had to be in.
        group: Option<String>,
        /// The members that were looked at.
        members: Vec<String>,
    },
    /// The one that has its volumes is down.
    #[error("a volume of {place} is on member {member}, which is not online")]
    Pinned {
        /// Whose volume.
        place: Place,
        /// The member.
        member: String,
    },
}
