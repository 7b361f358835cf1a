//! The private state of `homelab_cluster_member`: which cluster the member is in, who else is, and whether a change of it was cut
//! off.
//!
//! Before: a Read, or the end of an apply. After: `session.rs` accepts no other cluster for this member, `outlook.rs` counts
//! the others, and a plan needs no requests. It is a cache that OpenTofu sometimes loses; without it any cluster that the
//! provider block leads to is looked at, and nothing is said about the others.

use incus::Fingerprint;
use reconcile::member::View;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Private {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    #[serde(default)]
    members: Vec<String>,
    #[serde(default)]
    unsettled: bool,
}

fn read(bytes: &[u8]) -> Private {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// The cluster, if it is still known.
pub(super) fn cluster(bytes: &[u8]) -> Option<Fingerprint> {
    Fingerprint::parse(&read(bytes).cluster?).ok()
}

/// The names of all members, as they were seen last.
pub(super) fn members(bytes: &[u8]) -> Vec<String> {
    read(bytes).members
}

/// Whether the fleet store showed that a change or a removal of ours did not come to its end.
pub(super) fn is_unsettled(bytes: &[u8]) -> bool {
    read(bytes).unsettled
}

/// What is kept of a look at the cluster; what cannot be written is as good as lost.
pub(super) fn of(view: &View, unsettled: bool) -> Vec<u8> {
    let private = Private {
        cluster: view.fingerprint.map(|cluster| cluster.to_string()),
        members: view.members.keys().cloned().collect(),
        unsettled,
    };
    serde_json::to_vec(&private).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_known_again_and_what_is_lost_is_none() {
        let fingerprint = Fingerprint::parse(&"ab".repeat(32)).expect("a fingerprint");
        let mut view = View {
            fingerprint: Some(fingerprint),
            ..View::default()
        };
        view.members
            .insert("b".to_owned(), incus::cluster::Member::default());
        for unsettled in [false, true] {
            let kept = of(&view, unsettled);
            assert_eq!(cluster(&kept), Some(fingerprint));
            assert_eq!(members(&kept), ["b"]);
            assert_eq!(is_unsettled(&kept), unsettled);
        }
        for lost in [
            of(&View::default(), false),
            b"{}".to_vec(),
            b"junk".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(cluster(&lost), None);
            assert_eq!(members(&lost), [""; 0]);
            assert!(!is_unsettled(&lost));
        }
    }

    /// As it was kept before there were entries.
    #[test]
    fn an_earlier_private_state_is_read() {
        let text = format!(r#"{{"cluster":"{}"}}"#, "ab".repeat(32));
        assert!(cluster(text.as_bytes()).is_some() && !is_unsettled(text.as_bytes()));
    }
}
