//! Becoming a cluster, and becoming a member of one: `/1.0/cluster`.
//!
//! Before: a token (`token.rs`). After: the operation that is followed to its end. A join is sent to
//! the server that joins, and replaces its database and its trust store: whoever sends it must be
//! somebody else. A second bootstrap of a cluster is accepted and fails later, with a changed name
//! left behind, so `get` comes first.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::token::Token;
use crate::envelope;
use crate::lenient::null_as_empty;
use crate::operation::Operation;
use crate::request::{Request, path};

/// Whether a server is in a cluster, and what one that joins has to bring.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// The server's name in the cluster; empty outside of one.
    pub server_name: String,
    /// Whether it is in one.
    pub enabled: bool,
    /// The keys of pools and networks that each member sets for itself.
    #[serde(deserialize_with = "null_as_empty")]
    pub member_config: Vec<MemberKey>,
}

/// A key that each member sets for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberKey {
    /// `storage-pool` or `network`.
    pub entity: String,
    /// Whose key it is.
    pub name: String,
    /// The key.
    pub key: String,
    /// The value; empty in a list of what is asked for.
    pub value: String,
}

/// What a server needs to know to join. `Debug` prints no token.
///
/// There is no join without `cluster_address`: the server would make a cluster of its own, and never
/// be able to join another one.
#[derive(Clone, PartialEq)]
pub struct Join {
    /// The name that it gets.
    pub server_name: String,
    /// Where the other members reach it, `address:port`; no wildcard.
    pub server_address: String,
    /// Where it reaches a member, `address:port`.
    pub cluster_address: String,
    /// The cluster's certificate, in PEM.
    pub cluster_certificate: String,
    /// What lets it in.
    pub token: Token,
    /// What it sets for itself.
    pub member_config: Vec<MemberKey>,
}

/// Why a join failed, as far as whoever tries again has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The versions differ: it will succeed once they are the same.
    Version,
    /// Anything else.
    Other,
}

/// Reads the reason for which the operation of a join failed. There is only its text to tell.
pub fn failure(message: &str) -> Failure {
    match message.contains("joining server version doesn't match") {
        true => Failure::Version,
        false => Failure::Other,
    }
}

/// Reads whether the server is in a cluster.
pub fn get() -> Request<Cluster> {
    let doing = "reading whether the server is in a cluster";
    Request::get(path(&["cluster"]), doing, envelope::metadata)
}

/// Makes a cluster of the server, with itself as the only member. Its certificate changes.
pub fn bootstrap(server_name: &str) -> Request<Operation> {
    let doing = format!("making a cluster of server {server_name}");
    Request::put(path(&["cluster"]), doing, envelope::operation)
        .json(json!({ "server_name": server_name, "enabled": true }))
}

/// Joins the server to a cluster. It goes to the server that joins.
pub fn join(join: &Join) -> Request<Operation> {
    let doing = format!("joining server {} to the cluster", join.server_name);
    Request::put(path(&["cluster"]), doing, envelope::operation).json(json!({
        "server_name": join.server_name,
        "enabled": true,
        "server_address": join.server_address,
        "cluster_address": join.cluster_address,
        "cluster_certificate": join.cluster_certificate,
        "cluster_token": join.token.encode(),
        "member_config": join.member_config,
    }))
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("server_name", &self.server_name)
            .field("server_address", &self.server_address)
            .field("cluster_address", &self.cluster_address)
            .field("member_config", &self.member_config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::tests::token;
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn what_a_joiner_has_to_bring_is_read() {
        assert_eq!(get().to_string(), "GET /1.0/cluster");
        let body = r#"{"type":"sync","metadata":{"server_name":"m1","enabled":true,"member_config":[
            {"entity":"storage-pool","name":"local","key":"source","value":"","description":"…"}]}}"#;
        let cluster = (get().read)(&reply(200, body)).expect("a cluster");
        assert!(cluster.enabled);
        assert_eq!(cluster.member_config[0].key, "source");
        let alone =
            r#"{"type":"sync","metadata":{"server_name":"","enabled":false,"member_config":null}}"#;
        let alone = (get().read)(&reply(200, alone)).expect("a server");
        assert_eq!(alone, Cluster::default());
    }

    #[test]
    fn a_bootstrap_names_the_first_member() {
        let request = bootstrap("m1");
        assert_eq!(request.to_string(), "PUT /1.0/cluster");
        assert_eq!(request.doing(), "making a cluster of server m1");
        let body = json!({ "server_name": "m1", "enabled": true });
        assert_eq!(request.body(), &Body::Json(body));
    }

    /// HO-JOIN-08.
    #[test]
    fn versions_that_differ_are_told_from_other_failures() {
        let differ = "Failed to join cluster: Failed request to add member: The joining server version doesn't match \
                      (expected 6.0.4 with API count 451)";
        let source = "Failed to initialize member: Failed to create storage pool \"local\": Source path doesn't exist";
        for (message, expected) in [(differ, Failure::Version), (source, Failure::Other)] {
            assert_eq!(failure(message), expected, "{message}");
        }
    }

    /// HO-JOIN-15, HO-JOIN-16, HO-JOIN-17.
    #[test]
    fn a_join_carries_everything_and_prints_no_token() {
        let source = MemberKey {
            entity: "storage-pool".to_owned(),
            name: "local".to_owned(),
            key: "source".to_owned(),
            value: "local/incus".to_owned(),
        };
        let asked = Join {
            server_name: "m2".to_owned(),
            server_address: "10.0.0.2:8443".to_owned(),
            cluster_address: "10.0.0.1:8443".to_owned(),
            cluster_certificate: "PEM".to_owned(),
            token: token(),
            member_config: vec![source],
        };
        let request = join(&asked);
        assert_eq!(request.to_string(), "PUT /1.0/cluster");
        let body = json!({
            "server_name": "m2",
            "enabled": true,
            "server_address": "10.0.0.2:8443",
            "cluster_address": "10.0.0.1:8443",
            "cluster_certificate": "PEM",
            "cluster_token": token().encode(),
            "member_config": [
                { "entity": "storage-pool", "name": "local", "key": "source", "value": "local/incus" },
            ],
        });
        assert_eq!(request.body(), &Body::Json(body));
        let printed = format!("{asked:?} {request:?} {:?}", request.body());
        assert!(!printed.contains("hunter2") && !printed.contains(&token().encode()));
    }
}
