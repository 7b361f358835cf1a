//! Groups of members: `/1.0/cluster/groups`.
//!
//! Which groups a member is in is written at the member (`member.rs`).

use serde::Deserialize;
use serde_json::json;

use crate::envelope;
use crate::lenient::null_as_empty;
use crate::request::{Request, path};

/// Members under a common name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Group {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
    /// The members in it.
    #[serde(deserialize_with = "null_as_empty")]
    pub members: Vec<String>,
}

/// Lists the groups.
pub fn list() -> Request<Vec<Group>> {
    let path = path(&["cluster", "groups"]);
    Request::get(path, "listing the cluster's groups", envelope::list).recursive()
}

/// Creates a group without members.
pub fn create(name: &str) -> Request<()> {
    let doing = format!("creating cluster group {name}");
    Request::post(path(&["cluster", "groups"]), doing, envelope::nothing)
        .json(json!({ "name": name, "description": "", "members": [] }))
}

/// Deletes a group, which must be empty.
pub fn delete(name: &str) -> Request<()> {
    let doing = format!("deleting cluster group {name}");
    Request::delete(path(&["cluster", "groups", name]), doing, envelope::nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn groups_are_read_and_made() {
        assert_eq!(list().to_string(), "GET /1.0/cluster/groups?recursion=1");
        assert_eq!(delete("gpu").to_string(), "DELETE /1.0/cluster/groups/gpu");
        let body = r#"{"type":"sync","metadata":[{"name":"default","description":"x","members":["m1"]},
            {"name":"gpu","members":null}]}"#;
        let groups = (list().read)(&reply(200, body)).expect("groups");
        assert_eq!(groups[0].members, ["m1"]);
        assert!(groups[1].members.is_empty());
        let create = create("gpu");
        assert_eq!(create.to_string(), "POST /1.0/cluster/groups");
        let body = json!({ "name": "gpu", "description": "", "members": [] });
        assert_eq!(create.body(), &Body::Json(body));
    }
}
