//! The private state of `homelab_cluster_member`: which cluster the member is in, and who else is.
//!
//! Before: a Read, or the end of an apply. After: `session.rs` accepts no other cluster for this member, and `outlook.rs`
//! counts the others. It is a cache that OpenTofu sometimes loses; without it any cluster that the provider block leads to is
//! looked at, and nothing is said about the others.

use incus::Fingerprint;
use reconcile::member::View;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Private {
    #[serde(default)]
    cluster: Option<String>,
    #[serde(default)]
    members: Vec<String>,
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

/// What is kept of a look at the cluster; what cannot be written is as good as lost.
pub(super) fn of(view: &View) -> Vec<u8> {
    let private = Private {
        cluster: view.fingerprint.map(|cluster| cluster.to_string()),
        members: view.members.keys().cloned().collect(),
    };
    serde_json::to_vec(&private).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_known_again_and_a_lost_one_is_none() {
        let fingerprint = Fingerprint::parse(&"ab".repeat(32)).expect("a fingerprint");
        let mut view = View {
            fingerprint: Some(fingerprint),
            ..View::default()
        };
        view.members
            .insert("b".to_owned(), incus::cluster::Member::default());
        let bytes = of(&view);
        assert_eq!(cluster(&bytes), Some(fingerprint));
        assert_eq!(members(&bytes), ["b"]);
        for lost in [
            of(&View::default()),
            b"{}".to_vec(),
            b"junk".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(cluster(&lost), None);
            assert_eq!(members(&lost), [""; 0]);
        }
    }
}
