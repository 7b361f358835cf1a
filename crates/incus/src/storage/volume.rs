//! Custom storage volumes: `/1.0/storage-pools/POOL/volumes/custom`.
//!
//! Two members may have volumes of the same name; `Request::target` says which one is meant. In a
//! pool that all members share, a volume is on none of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::request::{Request, path};

/// A volume that belongs to no instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// The name.
    pub name: String,
    /// `custom`, in the lists that are built here.
    pub r#type: String,
    /// `filesystem`, `block` or `iso`.
    pub content_type: String,
    /// The member that it is on; empty in a pool that all members share.
    pub location: String,
    /// The project that it is in.
    pub project: String,
    /// The configuration.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// The addresses of what uses it.
    #[serde(deserialize_with = "null_as_empty")]
    pub used_by: Vec<String>,
}

/// Lists the custom volumes of a pool, those of all members and projects.
pub fn list(pool: &str) -> Request<Vec<Volume>> {
    let doing = format!("listing the custom volumes of pool {pool}");
    Request::get(custom(pool), doing, envelope::list)
        .query("all-projects", "true")
        .recursive()
}

/// Lists the custom volumes of a pool in a project, those of all members.
pub fn list_of(project: &str, pool: &str) -> Request<Vec<Volume>> {
    let doing = format!("listing the custom volumes of pool {pool}");
    Request::get(custom(pool), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Changes keys of a custom volume's configuration; the others stay.
pub fn patch_config(
    project: &str,
    pool: &str,
    name: &str,
    config: &BTreeMap<String, String>,
) -> Request<()> {
    let doing = format!("changing the custom volume {name} of pool {pool}");
    let path = path(&["storage-pools", pool, "volumes", "custom", name]);
    Request::patch(path, doing, envelope::nothing)
        .project(project)
        .json(json!({ "config": config }))
}

/// Creates an empty custom volume with a file system, in the default project.
pub fn create(pool: &str, name: &str, config: &BTreeMap<String, String>) -> Request<()> {
    let doing = format!("creating the custom volume {name} in pool {pool}");
    Request::post(custom(pool), doing, envelope::nothing).json(json!({
        "name": name,
        "type": "custom",
        "content_type": "filesystem",
        "config": config,
    }))
}

/// Deletes a custom volume of the default project.
pub fn delete(pool: &str, name: &str) -> Request<()> {
    let doing = format!("deleting the custom volume {name} of pool {pool}");
    let path = path(&["storage-pools", pool, "volumes", "custom", name]);
    Request::delete(path, doing, envelope::nothing)
}

fn custom(pool: &str) -> String {
    path(&["storage-pools", pool, "volumes", "custom"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn the_volumes_of_all_members_are_read() {
        let list = list("local");
        assert_eq!(
            list.to_string(),
            "GET /1.0/storage-pools/local/volumes/custom?all-projects=true&recursion=1"
        );
        let body = r#"{"type":"sync","metadata":[{"name":"logs","type":"custom","location":"m1",
            "content_type":"filesystem","project":"default","config":{},"used_by":null},
            {"name":"logs","type":"custom","location":"m2","used_by":[]}]}"#;
        let volumes = (list.read)(&reply(200, body)).expect("volumes");
        let places: Vec<&str> = volumes
            .iter()
            .map(|volume| volume.location.as_str())
            .collect();
        assert_eq!(places, ["m1", "m2"]);
    }

    /// HO-JOIN-18.
    #[test]
    fn a_volume_is_made_and_deleted_on_one_member() {
        let create = create("local", "logs", &BTreeMap::new()).target("m2");
        assert_eq!(
            create.to_string(),
            "POST /1.0/storage-pools/local/volumes/custom?target=m2"
        );
        let body =
            json!({ "name": "logs", "type": "custom", "content_type": "filesystem", "config": {} });
        assert_eq!(create.body(), &Body::Json(body));
        assert_eq!(
            delete("local", "logs").target("m2").to_string(),
            "DELETE /1.0/storage-pools/local/volumes/custom/logs?target=m2"
        );
    }
}
