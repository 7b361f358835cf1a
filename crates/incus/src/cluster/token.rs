//! Join tokens: what lets a server into a cluster, once.
//!
//! Whoever holds a token becomes a member, under whatever name it likes, so a token lives in memory
//! only, and nothing here prints its secret. `join.rs` is what it is for.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use crate::envelope::{self, Reply, Unusable};
use crate::operation::{self, Operation, Progress};
use crate::request::{Request, path};

/// What lets a server into a cluster. `Debug` prints no secret.
#[derive(Clone, PartialEq)]
pub struct Token {
    /// The operation that stands for it: cancelling that one revokes it.
    pub operation: Operation,
    /// The name of the member that it was made for. It lets in under any other, too.
    pub server_name: String,
    /// The fingerprint of the cluster's certificate.
    pub fingerprint: String,
    /// Where the cluster answers, `address:port` each.
    pub addresses: Vec<String>,
    /// When it ends to be valid (RFC 3339).
    pub expires_at: String,
    secret: String,
}

/// A token that was made and not used yet. There is deliberately no field for its secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The operation that stands for it: cancelling that one revokes it.
    pub operation: Operation,
    /// The name of the member that it was made for.
    pub server_name: String,
    /// When it ends to be valid (RFC 3339).
    pub expires_at: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    server_name: String,
    secret: String,
    fingerprint: String,
    addresses: Vec<String>,
    /// Very old servers have none; the client of Incus then writes Go's zero time, as is done here.
    #[serde(default = "no_time")]
    expires_at: String,
}

fn no_time() -> String {
    "0001-01-01T00:00:00Z".to_owned()
}

/// Makes a token for a member of this name; an older one for the same name is revoked by that.
pub fn mint(server_name: &str) -> Request<Token> {
    let doing = format!("making a join token for member {server_name}");
    Request::post(path(&["cluster", "members"]), doing, minted)
        .json(json!({ "server_name": server_name }))
}

/// Lists the tokens that were made and not used yet.
pub fn pending() -> Request<Vec<Pending>> {
    operation::list_as("default", "listing the join tokens", |reply| {
        let operations = operation::lists(reply)?;
        Ok(operations.into_iter().filter_map(waiting).collect())
    })
}

/// Revokes a token.
pub fn revoke(pending: &Pending) -> Request<()> {
    operation::cancel(&pending.operation)
}

fn minted(reply: &Reply) -> Result<Token, Unusable> {
    let mut operation = envelope::operation(reply)?;
    let metadata = std::mem::take(&mut operation.metadata);
    // An error of the parser could quote the secret, so it only says that something is missing.
    let metadata: Metadata = serde_json::from_value(metadata.into_iter().collect())
        .map_err(|_| Unusable::Malformed(envelope::malformed("the answer holds no join token")))?;
    Ok(Token {
        operation,
        server_name: metadata.server_name,
        fingerprint: metadata.fingerprint,
        addresses: metadata.addresses,
        expires_at: metadata.expires_at,
        secret: metadata.secret,
    })
}

/// Tokens of other kinds, such as those that let in a client, name no server.
fn waiting(mut operation: Operation) -> Option<Pending> {
    let metadata = std::mem::take(&mut operation.metadata);
    let metadata: Metadata = serde_json::from_value(metadata.into_iter().collect()).ok()?;
    let is_one = operation.class == "token" && operation.progress() == Progress::Running;
    is_one.then_some(Pending {
        operation,
        server_name: metadata.server_name,
        expires_at: metadata.expires_at,
    })
}

impl Token {
    /// The token as it is passed on: base64 of JSON, in Incus's own spelling. It is a secret.
    pub fn encode(&self) -> String {
        let fields = json!({
            "server_name": self.server_name,
            "fingerprint": self.fingerprint,
            "addresses": self.addresses,
            "secret": self.secret,
            "expires_at": self.expires_at,
        });
        STANDARD.encode(fields.to_string())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("operation", &self.operation)
            .field("server_name", &self.server_name)
            .field("fingerprint", &self.fingerprint)
            .field("addresses", &self.addresses)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    const METADATA: &str = r#"{"serverName":"m2","secret":"hunter2","fingerprint":"ab",
        "addresses":["10.0.0.1:8443"],"expiresAt":"2026-11-30T16:00:00Z","request":{}}"#;

    pub(in super::super) fn token() -> Token {
        let body = format!(
            r#"{{"type":"async","operation":"/1.0/operations/u?project=default","metadata":
            {{"id":"u","class":"token","status_code":103,"resources":{{"cluster-members":null}},"metadata":{METADATA}}}}}"#
        );
        (mint("m2").read)(&reply(202, &body)).expect("a token")
    }

    /// HO-JOIN-09, HO-JOIN-10.
    #[test]
    fn a_token_is_put_together_from_the_answer() {
        let request = mint("m2");
        assert_eq!(request.to_string(), "POST /1.0/cluster/members");
        assert_eq!(request.doing(), "making a join token for member m2");
        assert_eq!(request.body(), &Body::Json(json!({ "server_name": "m2" })));
        let token = token();
        let decoded = STANDARD.decode(token.encode()).expect("base64");
        let decoded: serde_json::Value = serde_json::from_slice(&decoded).expect("JSON");
        let expected = json!({
            "server_name": "m2",
            "fingerprint": "ab",
            "addresses": ["10.0.0.1:8443"],
            "secret": "hunter2",
            "expires_at": "2026-11-30T16:00:00Z",
        });
        assert_eq!(decoded, expected);
    }

    /// HO-JOIN-11.
    #[test]
    fn no_token_prints_its_secret() {
        let token = token();
        let printed = format!("{token:?}");
        assert!(printed.contains("m2") && printed.contains("10.0.0.1:8443"));
        assert!(!printed.contains("hunter2") && !printed.contains(&token.encode()));
        let wrong = r#"{"type":"async","operation":"/1.0/operations/u","metadata":
            {"id":"u","metadata":{"serverName":"m2","secret":"hunter2","addresses":"hunter2"}}}"#;
        let error = (mint("m2").read)(&reply(202, wrong)).expect_err("no token");
        assert!(!format!("{error:?}").contains("hunter2"));
    }

    #[test]
    fn only_join_tokens_that_wait_are_listed() {
        assert_eq!(
            pending().to_string(),
            "GET /1.0/operations?project=default&recursion=1"
        );
        let operation = |id: &str, class: &str, code: u16, metadata: &str| {
            format!(
                r#"{{"id":"{id}","class":"{class}","status_code":{code},"resources":null,"metadata":{metadata}}}"#
            )
        };
        let running = [
            operation("a", "token", 103, METADATA),
            operation(
                "b",
                "token",
                103,
                r#"{"secret":"x","fingerprint":"y","addresses":[]}"#,
            ),
            operation("c", "task", 103, METADATA),
        ]
        .join(",");
        let body = format!(
            r#"{{"type":"sync","metadata":{{"running":[{running}],"cancelled":[{}]}}}}"#,
            operation("d", "token", 401, METADATA)
        );
        let tokens = (pending().read)(&reply(200, &body)).expect("tokens");
        let found: Vec<(&str, &str)> = tokens
            .iter()
            .map(|token| (token.operation.id.as_str(), token.server_name.as_str()))
            .collect();
        assert_eq!(found, [("a", "m2")]);
        assert_eq!(revoke(&tokens[0]).to_string(), "DELETE /1.0/operations/a");
        assert!(!format!("{:?}{:?}", tokens, tokens[0].operation.metadata).contains("hunter2"));
        let none = (pending().read)(&reply(200, r#"{"type":"sync","metadata":{}}"#));
        assert_eq!(none.expect("no tokens"), []);
    }
}
