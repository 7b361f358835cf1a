//! What an earlier attempt has left, on the machine and in the cluster, and what has to be set before the next one.
//!
//! A member whose join never ended is not listed, and the next join replaces it (measured), so nothing is done about it.
//! Before: `join.rs` has found the machine fit to join, and empty but for this. After: one step, and another look.

use super::observation::{Cluster, Server, TrustKind, listens_everywhere};
use super::spec::MemberSpec;
use super::step::{AddressKey, Step};

/// A join token for this name that nobody should have any more.
pub(super) fn outstanding_token(spec: &MemberSpec, cluster: &Cluster) -> Option<Step> {
    let token = cluster
        .tokens
        .iter()
        .find(|token| token.member == spec.name)?;
    Some(Step::RevokeToken {
        operation: token.operation.clone(),
    })
}

/// The next thing that stands in the way of a join, and is ours to take away or to set (HO-JOIN-12).
pub(super) fn leftover(spec: &MemberSpec, cluster: &Cluster, server: &Server) -> Option<Step> {
    let stray = cluster.trusted.iter().find(|one| {
        let of_a_member = cluster.member(&one.name).is_some();
        let of_this = one.name == spec.name || one.fingerprint == server.fingerprint;
        one.kind == TrustKind::Server && of_this && !of_a_member
    });
    if let Some(stray) = stray {
        return Some(Step::Distrust {
            fingerprint: stray.fingerprint.clone(),
        });
    }
    if let Some(network) = server.networks.first() {
        return Some(Step::DeleteLeftNetwork {
            network: network.clone(),
        });
    }
    if let Some(pool) = server.pools.first() {
        return Some(Step::DeleteLeftPool { pool: pool.clone() });
    }
    address(spec, server)
}

/// Where it has to listen before it may join.
fn address(spec: &MemberSpec, server: &Server) -> Option<Step> {
    let declared = spec.address.to_string();
    let set = |key| {
        Some(Step::SetAddress {
            key,
            address: spec.address.clone(),
        })
    };
    if server
        .cluster_address
        .as_ref()
        .is_some_and(|address| *address != declared)
    {
        return set(AddressKey::Cluster);
    }
    let wide = server
        .https_address
        .as_deref()
        .is_some_and(listens_everywhere);
    if wide && server.version.joins_only_from_one_address() {
        return set(AddressKey::Core);
    }
    None
}
