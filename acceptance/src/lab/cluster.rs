//! Makes one cluster out of the members, and gives it the pool and the network that workloads use.
//!
//! After `member.rs` started the daemons, before `image.rs` fills them. A lab with one member stays a single server.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Member, NETWORK, POOL};

/// The smallest number of seconds that Incus accepts before a silent member counts as offline.
const OFFLINE_THRESHOLD: &str = "11";

pub(super) fn form(members: &[Member]) -> Result<()> {
    if members.len() > 1 {
        unite(members)?;
    }
    provide(
        "/1.0/storage-pools",
        &json!({ "name": POOL, "driver": "dir" }),
        &json!({}),
        members,
    )?;
    let network = json!({ "name": NETWORK, "type": "bridge" });
    let addressing = json!({
        "ipv4.address": "10.77.0.1/24", "ipv4.nat": "false", "ipv6.address": "none", "dns.mode": "none",
    });
    provide("/1.0/networks", &network, &addressing, members)
}

/// Makes a cluster of these, and nothing more.
pub(super) fn unite(members: &[Member]) -> Result<()> {
    let [first, joiners @ ..] = members else {
        return Ok(());
    };
    bootstrap(first)?;
    joiners.iter().try_for_each(|joiner| join(first, joiner))?;
    let observer = first.observer();
    members
        .iter()
        .try_for_each(|member| member.wait_listed(&observer, "Online"))
}

/// Makes a cluster of one member.
pub(super) fn bootstrap(first: &Member) -> Result<()> {
    let observer = first.observer();
    let listen = json!({ "config": { "core.https_address": format!("{}:8443", first.address()) } });
    observer.request("PATCH", "/1.0", Some(&listen))?;
    let enable = json!({ "server_name": first.name(), "enabled": true });
    observer
        .finish("PUT", "/1.0/cluster", Some(&enable))
        .context("bootstrapping the cluster")?;
    let impatient = json!({ "config": { "cluster.offline_threshold": OFFLINE_THRESHOLD } });
    observer
        .request("PATCH", "/1.0", Some(&impatient))
        .map(drop)
}

pub(super) fn join(first: &Member, joiner: &Member) -> Result<()> {
    let observer = first.observer();
    let invitation = observer.request(
        "POST",
        "/1.0/cluster/members",
        Some(&json!({ "server_name": joiner.name() })),
    )?;
    let invitation = &invitation["metadata"]["metadata"];
    let token = json!({
        "server_name": joiner.name(),
        "fingerprint": invitation["fingerprint"],
        "addresses": invitation["addresses"],
        "secret": invitation["secret"],
        "expires_at": invitation["expiresAt"],
    });
    let body = json!({
        "server_name": joiner.name(),
        "enabled": true,
        "server_address": format!("{}:8443", joiner.address()),
        "cluster_address": format!("{}:8443", first.address()),
        "cluster_certificate": observer.get("/1.0")?["environment"]["certificate"],
        "cluster_token": STANDARD.encode(token.to_string()),
        "member_config": [],
    });
    let joined = joiner.observer().finish("PUT", "/1.0/cluster", Some(&body));
    joined
        .with_context(|| format!("joining {}", joiner.name()))
        .map(drop)
}

/// Creates a pool or network: in a cluster first a part on each member, then the whole.
fn provide(path: &str, object: &Value, config: &Value, members: &[Member]) -> Result<()> {
    let observer = members[0].observer();
    if members.len() > 1 {
        for member in members {
            observer.finish(
                "POST",
                &format!("{path}?target={}", member.name()),
                Some(object),
            )?;
        }
    }
    let mut whole = object.clone();
    whole["config"] = config.clone();
    observer.finish("POST", path, Some(&whole)).map(drop)
}
