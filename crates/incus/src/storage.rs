//! Storage pools: `/1.0/storage-pools`.

use serde::Deserialize;

use crate::envelope;
use crate::request::{Request, path};

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
}

/// Reads a pool.
pub fn pool(name: &str) -> Request<Pool> {
    let doing = format!("reading the storage pool {name}");
    Request::get(path(&["storage-pools", name]), doing, envelope::metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;

    #[test]
    fn a_pool_is_read() {
        assert_eq!(pool("local").to_string(), "GET /1.0/storage-pools/local");
        let body = r#"{"type":"sync","metadata":{"name":"local","driver":"dir","status":"Created","config":{}}}"#;
        let read = (pool("local").read)(&reply(200, body)).expect("a pool");
        assert_eq!((read.name.as_str(), read.driver.as_str()), ("local", "dir"));
    }
}
