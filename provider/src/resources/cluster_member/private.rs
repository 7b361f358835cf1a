//! The private state of `homelab_cluster_member`: which cluster the member is in.
//!
//! Before: a Read, or the end of an apply. After: `session.rs` accepts no other cluster for this member. It is a cache that
//! OpenTofu sometimes loses; without it any cluster that the provider block leads to is looked at.

use incus::Fingerprint;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Private {
    cluster: String,
}

/// The cluster, if it is still known.
pub(super) fn cluster(bytes: &[u8]) -> Option<Fingerprint> {
    let private: Private = serde_json::from_slice(bytes).ok()?;
    Fingerprint::parse(&private.cluster).ok()
}

/// What is kept of it; nothing of a server that was reached without one.
pub(super) fn of(cluster: Option<Fingerprint>) -> Vec<u8> {
    let private = cluster.map(|cluster| Private {
        cluster: cluster.to_string(),
    });
    private.map_or_else(Vec::new, |private| {
        serde_json::to_vec(&private).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_known_again_and_a_lost_one_is_none() {
        let fingerprint = Fingerprint::parse(&"ab".repeat(32)).expect("a fingerprint");
        assert_eq!(cluster(&of(Some(fingerprint))), Some(fingerprint));
        for lost in [of(None), b"{}".to_vec(), b"junk".to_vec()] {
            assert_eq!(cluster(&lost), None);
        }
    }
}
