//! The server itself: `/1.0`.
//!
//! A server answers this also when it has no database; `client/choice.rs` knows.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::json;

use crate::envelope;
use crate::lenient::{KeysOf, null_as_empty, texts};
use crate::request::Request;

/// What a server says about itself. `Debug` prints no configuration values: they may be secrets.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Server {
    /// `trusted` or `untrusted`. Only a trusted client sees the rest.
    pub auth: String,
    /// The features that it has.
    #[serde(deserialize_with = "null_as_empty")]
    pub api_extensions: Vec<String>,
    /// The version of the API's address, `1.0`.
    pub api_version: String,
    /// The configuration.
    #[serde(deserialize_with = "texts")]
    pub config: BTreeMap<String, String>,
    /// Where and how it runs.
    #[serde(deserialize_with = "null_as_empty")]
    pub environment: Environment,
}

/// Where and how a server runs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The version of Incus.
    pub server_version: String,
    /// The member's name in a cluster, else the host's.
    pub server_name: String,
    /// Whether it is part of a cluster.
    pub server_clustered: bool,
    /// The addresses on which it listens.
    #[serde(deserialize_with = "null_as_empty")]
    pub addresses: Vec<String>,
    /// The architectures that it runs, its own first.
    #[serde(deserialize_with = "null_as_empty")]
    pub architectures: Vec<String>,
    /// The certificate, in PEM; the cluster's in a cluster.
    pub certificate: String,
    /// The certificate's fingerprint: SHA-256 in hexadecimal.
    pub certificate_fingerprint: String,
    /// The operating system, such as `IncusOS`.
    pub os_name: String,
    /// Its version.
    pub os_version: String,
}

/// Reads what a server says about itself.
pub fn get() -> Request<Server> {
    let doing = "reading the server's description";
    Request::get("/1.0".to_owned(), doing, envelope::metadata)
}

/// Sets these keys of the server's configuration and leaves the others; an empty value removes one.
///
/// Some keys are the cluster's, and some a member's own: add `Request::target` for those. A change
/// of `core.https_address` may cut off the connection that it comes over.
pub fn patch_config(config: &BTreeMap<String, String>) -> Request<()> {
    let keys: Vec<&str> = config.keys().map(String::as_str).collect();
    let doing = format!("setting {} of the server", keys.join(", "));
    Request::patch("/1.0".to_owned(), doing, envelope::nothing).json(json!({ "config": config }))
}

impl Server {
    /// The major version of Incus, 6 of `6.0.4`: what a client must know apart, since features
    /// within one are told by `api_extensions`.
    pub fn major(&self) -> Option<u32> {
        let digits = self.environment.server_version.split('.').next()?;
        digits.parse().ok()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("auth", &self.auth)
            .field("environment", &self.environment)
            .field("config", &KeysOf(&self.config))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn a_trusted_client_sees_the_environment() {
        let body = r#"{"type":"sync","metadata":{"auth":"trusted","api_extensions":["a","b"],
            "config":{"core.https_address":":8443","cluster.offline_threshold":11,"core.trust":true},
            "environment":{"server_version":"6.0.4","server_name":"m1","server_clustered":true,
            "addresses":null,"certificate_fingerprint":"ab"}}}"#;
        let server = (get().read)(&reply(200, body)).expect("a server");
        assert_eq!(server.environment.server_name, "m1");
        assert!(server.environment.server_clustered);
        assert_eq!(server.api_extensions.len(), 2);
        assert_eq!(server.config["cluster.offline_threshold"], "11");
        assert_eq!(server.config["core.trust"], "true");
        assert!(!format!("{server:?}").contains(":8443"));
    }

    #[test]
    fn keys_are_set_on_one_member_or_everywhere() {
        let config = BTreeMap::from([
            (
                "storage.images_volume".to_owned(),
                "local/images".to_owned(),
            ),
            ("storage.logs_volume".to_owned(), String::new()),
        ]);
        let request = patch_config(&config);
        assert_eq!(request.to_string(), "PATCH /1.0");
        let request = request.target("m2");
        assert_eq!(request.to_string(), "PATCH /1.0?target=m2");
        assert_eq!(
            request.doing(),
            "setting storage.images_volume, storage.logs_volume of the server on member m2"
        );
        let body = json!({ "config": {
            "storage.images_volume": "local/images",
            "storage.logs_volume": "",
        } });
        assert_eq!(request.body(), &Body::Json(body));
    }

    #[test]
    fn the_major_version_is_read() {
        for (version, major) in [
            ("6.0.4", Some(6)),
            ("7.3", Some(7)),
            ("10", Some(10)),
            ("", None),
            ("six.0", None),
            ("v6.0", None),
        ] {
            let mut server = Server::default();
            server.environment.server_version = version.to_owned();
            assert_eq!(server.major(), major, "{version}");
        }
    }

    #[test]
    fn an_untrusted_client_sees_little() {
        let body = r#"{"type":"sync","metadata":{"auth":"untrusted","config":null}}"#;
        let server = (get().read)(&reply(200, body)).expect("a server");
        assert_eq!(server.auth, "untrusted");
        assert_eq!(server.environment, Environment::default());
    }
}
