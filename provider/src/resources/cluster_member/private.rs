//! The private state of `homelab_cluster_member`: which cluster the member is in, and whether a change of it was cut off.
//!
//! Before: a Read, or the end of an apply. After: no server of another cluster is asked about it, and a plan needs no
//! requests. It is a cache that OpenTofu sometimes loses; without it any cluster that the provider block leads to is looked at.

use incus::Fingerprint;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Private {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
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

/// Whether the fleet store showed that a change or a removal of ours did not come to its end.
pub(super) fn is_unsettled(bytes: &[u8]) -> bool {
    read(bytes).unsettled
}

/// What is kept; nothing of a server that was reached without a certificate.
pub(super) fn of(cluster: Option<Fingerprint>, unsettled: bool) -> Vec<u8> {
    let private = Private {
        cluster: cluster.map(|cluster| cluster.to_string()),
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
        for unsettled in [false, true] {
            let kept = of(Some(fingerprint), unsettled);
            assert_eq!(cluster(&kept), Some(fingerprint));
            assert_eq!(is_unsettled(&kept), unsettled);
        }
        for lost in [
            of(None, false),
            b"{}".to_vec(),
            b"junk".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(cluster(&lost), None);
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
