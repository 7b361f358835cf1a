//! Storage pools: `/1.0/storage-pools`. The volumes in them are in `storage/volume.rs`.
//!
//! In a cluster a pool is made in two rounds: once with each member as `Request::target`, which only
//! notes what is that member's own, such as the source, and once without.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::request::{Request, path};

pub mod volume;

/// A place for disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// The name.
    pub name: String,
    /// What keeps the data: `dir`, `zfs`, `ceph`, …
    pub driver: String,
    /// `Created`, `Pending`, `Errored` or `Unknown`.
    pub status: String,
    /// The configuration; with a target, that member's own keys too.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// The members that have it.
    #[serde(deserialize_with = "null_as_empty")]
    pub locations: Vec<String>,
    /// The addresses of what uses it.
    #[serde(deserialize_with = "null_as_empty")]
    pub used_by: Vec<String>,
}

/// Lists the pools.
pub fn pools() -> Request<Vec<Pool>> {
    let path = path(&["storage-pools"]);
    Request::get(path, "listing the storage pools", envelope::list).recursive()
}

/// Reads a pool.
pub fn pool(name: &str) -> Request<Pool> {
    let doing = format!("reading the storage pool {name}");
    Request::get(path(&["storage-pools", name]), doing, envelope::metadata)
}

/// Creates a pool.
pub fn create_pool(name: &str, driver: &str, config: &BTreeMap<String, String>) -> Request<()> {
    let doing = format!("creating the storage pool {name}");
    Request::post(path(&["storage-pools"]), doing, envelope::nothing)
        .json(json!({ "name": name, "driver": driver, "description": "", "config": config }))
}

/// Deletes a pool, which must be empty.
pub fn delete_pool(name: &str) -> Request<()> {
    let doing = format!("deleting the storage pool {name}");
    Request::delete(path(&["storage-pools", name]), doing, envelope::nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn a_pool_is_read() {
        assert_eq!(pool("local").to_string(), "GET /1.0/storage-pools/local");
        assert_eq!(
            pool("local").target("m2").to_string(),
            "GET /1.0/storage-pools/local?target=m2"
        );
        assert_eq!(pools().to_string(), "GET /1.0/storage-pools?recursion=1");
        assert_eq!(
            delete_pool("local").to_string(),
            "DELETE /1.0/storage-pools/local"
        );
        let body = r#"{"type":"sync","metadata":{"name":"local","driver":"dir","status":"Created","config":{},
            "locations":["m1","m2"],"used_by":null}}"#;
        let read = (pool("local").read)(&reply(200, body)).expect("a pool");
        assert_eq!((read.name.as_str(), read.driver.as_str()), ("local", "dir"));
        assert_eq!(read.locations, ["m1", "m2"]);
    }

    #[test]
    fn a_pool_is_made_in_two_rounds() {
        let source = BTreeMap::from([("source".to_owned(), "local/incus".to_owned())]);
        let note = create_pool("local", "zfs", &source).target("m1");
        assert_eq!(note.to_string(), "POST /1.0/storage-pools?target=m1");
        let body = json!({
            "name": "local",
            "driver": "zfs",
            "description": "",
            "config": { "source": "local/incus" },
        });
        assert_eq!(note.body(), &Body::Json(body));
        let make = create_pool("local", "zfs", &BTreeMap::new());
        assert_eq!(make.to_string(), "POST /1.0/storage-pools");
        assert_eq!(make.doing(), "creating the storage pool local");
    }
}
