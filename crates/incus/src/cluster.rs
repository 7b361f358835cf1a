//! The members of a cluster: `/1.0/cluster/members`.
//!
//! Only a clustered server answers these. How a server becomes a member is in `cluster/join.rs`, with
//! the token of `cluster/token.rs`; how a member is changed, emptied and removed in
//! `cluster/member.rs`; and the groups of members are in `cluster/group.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::request::{Request, path};

pub mod group;
pub mod join;
pub mod member;
pub mod token;

/// One server of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Member {
    /// The name.
    pub server_name: String,
    /// Where the other members reach it.
    pub url: String,
    /// `Online`, `Offline`, `Evacuated`, `Blocked`, `Evacuating` or `Restoring`.
    pub status: String,
    /// The reason for the status.
    pub message: String,
    /// The machine's architecture.
    pub architecture: String,
    /// What it does for the cluster's database, and more.
    #[serde(deserialize_with = "null_as_empty")]
    pub roles: Vec<String>,
    /// The groups that it is in.
    #[serde(deserialize_with = "null_as_empty")]
    pub groups: Vec<String>,
    /// Its failure domain.
    pub failure_domain: String,
    /// What the operator says about it.
    pub description: String,
    /// The configuration.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// Whether it holds a copy of the database.
    pub database: bool,
}

/// Lists the members.
pub fn members() -> Request<Vec<Member>> {
    let path = path(&["cluster", "members"]);
    Request::get(path, "listing the cluster's members", envelope::list).recursive()
}

/// Lists the members' names: the cheapest call that needs the database.
pub fn member_names() -> Request<Vec<String>> {
    let path = path(&["cluster", "members"]);
    Request::get(path, "listing the cluster's members", envelope::names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;

    #[test]
    fn members_are_read() {
        assert_eq!(
            members().to_string(),
            "GET /1.0/cluster/members?recursion=1"
        );
        assert_eq!(member_names().to_string(), "GET /1.0/cluster/members");
        let body = r#"{"type":"sync","metadata":[{"server_name":"m1","url":"https://10.0.0.1:8443",
            "status":"Offline","message":"No heartbeat for 12s","roles":["database"],"groups":null,
            "config":{"scheduler.instance":"all"},"database":true}]}"#;
        let members = (members().read)(&reply(200, body)).expect("members");
        assert_eq!(members[0].server_name, "m1");
        assert_eq!(members[0].status, "Offline");
        assert_eq!(members[0].roles, ["database"]);
        assert_eq!(members[0].config["scheduler.instance"], "all");
        assert!(members[0].groups.is_empty() && members[0].database);
    }
}
