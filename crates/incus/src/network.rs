//! Networks: `/1.0/networks`, as far as a server that joins a cluster needs it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::request::{Request, path};

/// A network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Network {
    /// The name.
    pub name: String,
    /// `bridge`, `physical`, `ovn`, …
    pub r#type: String,
    /// Whether Incus has made it; it lists those of the host as well.
    pub managed: bool,
    /// `Created`, `Pending`, `Errored` or `Unknown`.
    pub status: String,
    /// The project that it is in.
    pub project: String,
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

/// Lists a project's networks, and those of the host.
pub fn list(project: &str) -> Request<Vec<Network>> {
    let doing = format!("listing the networks of project {project}");
    Request::get(path(&["networks"]), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Deletes a network, which nothing may use.
pub fn delete(project: &str, name: &str) -> Request<()> {
    let doing = format!("deleting network {name}");
    Request::delete(path(&["networks", name]), doing, envelope::nothing).project(project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;

    #[test]
    fn networks_are_read() {
        let list = list("default");
        assert_eq!(
            list.to_string(),
            "GET /1.0/networks?project=default&recursion=1"
        );
        assert_eq!(
            delete("default", "incusbr0").to_string(),
            "DELETE /1.0/networks/incusbr0?project=default"
        );
        let body = r#"{"type":"sync","metadata":[{"name":"eth0","type":"physical","managed":false,
            "config":{},"locations":null,"used_by":null},{"name":"incusbr0","type":"bridge",
            "managed":true,"config":{"ipv4.nat":"true"},"locations":["m1"],"status":"Created"}]}"#;
        let networks = (list.read)(&reply(200, body)).expect("networks");
        let managed: Vec<&str> = networks
            .iter()
            .filter(|network| network.managed)
            .map(|network| network.name.as_str())
            .collect();
        assert_eq!(managed, ["incusbr0"]);
        assert_eq!(networks[1].locations, ["m1"]);
    }
}
