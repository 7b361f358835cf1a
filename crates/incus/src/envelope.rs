//! What Incus answers: the envelope around every JSON answer, and the raw answers without one.
//!
//! `client.rs` collects a `Reply`; the function that a request carries (one of those below) reads
//! it. Everything here is total: whatever a server sends ends as a value or an `Unusable`.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::lenient::null_as_empty;
use crate::operation::Operation;
use crate::request::unescape;
use crate::trust::Peer;

/// An answer as it came off the wire.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the body went on beyond what the request asked for.
    pub(crate) truncated: bool,
    /// The certificate that the server has shown on the connection.
    pub(crate) peer: Option<Peer>,
}

/// Why an answer gives no value.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// The server said no.
    Refused { code: u16, message: String },
    /// The answer is not what the API promises.
    Malformed(serde_json::Error),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default, deserialize_with = "null_as_empty")]
    error: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    error_code: u16,
    #[serde(default, deserialize_with = "null_as_empty")]
    operation: String,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

impl Reply {
    /// The envelope of an answer that is not an error. The HTTP status alone says nothing: a wait
    /// sends its status before it knows the outcome.
    fn envelope(&self) -> Result<Envelope<'_>, Unusable> {
        let parsed = if self.truncated {
            Err(malformed("the answer is longer than what is accepted"))
        } else {
            serde_json::from_slice::<Envelope<'_>>(&self.body)
        };
        match parsed {
            Ok(envelope) if envelope.kind == "error" => Err(Unusable::Refused {
                code: match envelope.error_code {
                    0 => self.status.as_u16(),
                    code => code,
                },
                message: envelope.error,
            }),
            // Something before the API answered, such as a proxy: quote it.
            _ if self.is_refusal() => Err(self.bare_refusal()),
            Ok(envelope) => Ok(envelope),
            Err(error) => Err(Unusable::Malformed(error)),
        }
    }

    /// What an answer means that came where a websocket was to open.
    pub(crate) fn no_websocket(&self) -> Unusable {
        match self.envelope() {
            Err(unusable) => unusable,
            Ok(_) => Unusable::Malformed(malformed("a plain answer came instead of a websocket")),
        }
    }

    fn is_refusal(&self) -> bool {
        !self.status.is_success()
    }

    fn bare_refusal(&self) -> Unusable {
        let text: String = String::from_utf8_lossy(&self.body)
            .chars()
            .take(300)
            .collect();
        Unusable::Refused {
            code: self.status.as_u16(),
            message: match text.trim() {
                "" => self.status.to_string(),
                text => text.to_owned(),
            },
        }
    }
}

/// Reads the metadata of a plain answer; `null` counts as the empty value where there is one.
pub(crate) fn metadata<T: DeserializeOwned>(reply: &Reply) -> Result<T, Unusable> {
    let envelope = synchronous(reply)?;
    let text = envelope.metadata.map_or("null", RawValue::get);
    serde_json::from_str(text).map_err(Unusable::Malformed)
}

/// Reads a list, which Incus may send as `null` when it is empty.
pub(crate) fn list<T: DeserializeOwned>(reply: &Reply) -> Result<Vec<T>, Unusable> {
    metadata::<Option<Vec<T>>>(reply).map(Option::unwrap_or_default)
}

/// Reads a list of addresses as the plain names at their ends.
pub(crate) fn names(reply: &Reply) -> Result<Vec<String>, Unusable> {
    let addresses: Vec<String> = list(reply)?;
    Ok(addresses.iter().map(|address| name_in(address)).collect())
}

/// Checks that a plain answer came. An operation where none was expected is an error: whoever
/// took it for done would be wrong.
pub(crate) fn nothing(reply: &Reply) -> Result<(), Unusable> {
    synchronous(reply).map(|_| ())
}

/// Reads the operation that was started. Where a server did the work at once, the operation is
/// one that has already succeeded.
pub(crate) fn operation(reply: &Reply) -> Result<Operation, Unusable> {
    let envelope = reply.envelope()?;
    match envelope.kind {
        "async" => {}
        "sync" => return Ok(Operation::already_done()),
        _ => {
            return Err(Unusable::Malformed(malformed(
                "the answer has an unknown type",
            )));
        }
    }
    let text = envelope.metadata.map_or("null", RawValue::get);
    let operation: Option<Operation> = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    operation
        .unwrap_or_default()
        .at_address(&envelope.operation)
        .ok_or_else(|| Unusable::Malformed(malformed("the answer names no operation")))
}

/// Reads an answer that has no envelope, such as a log, as text.
pub(crate) fn text(reply: &Reply) -> Result<String, Unusable> {
    raw(reply).map(|body| String::from_utf8_lossy(body).into_owned())
}

/// Reads an answer that has no envelope. Its errors have one.
pub(crate) fn raw(reply: &Reply) -> Result<&Bytes, Unusable> {
    if reply.is_refusal() {
        return Err(match reply.envelope() {
            Err(Unusable::Refused { code, message }) => Unusable::Refused { code, message },
            Ok(_) | Err(Unusable::Malformed(_)) => reply.bare_refusal(),
        });
    }
    Ok(&reply.body)
}

fn synchronous(reply: &Reply) -> Result<Envelope<'_>, Unusable> {
    let envelope = reply.envelope()?;
    if envelope.kind != "sync" {
        return Err(Unusable::Malformed(malformed(
            "the answer is an operation where a plain result was expected",
        )));
    }
    Ok(envelope)
}

/// The name at the end of an address such as `/1.0/profiles/web?project=homelab`.
fn name_in(address: &str) -> String {
    let path = address.split('?').next().unwrap_or(address);
    unescape(path.rsplit('/').next().unwrap_or(path))
}

pub(crate) fn malformed(message: &str) -> serde_json::Error {
    serde::de::Error::custom(message)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn reply(status: u16, body: &str) -> Reply {
        Reply {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            truncated: false,
            peer: None,
        }
    }

    fn refusal<T: std::fmt::Debug>(result: Result<T, Unusable>) -> (u16, String) {
        match result {
            Err(Unusable::Refused { code, message }) => (code, message),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn lists_may_be_null_and_keys_unknown() {
        for (body, expected) in [
            (r#"{"type":"sync","metadata":null}"#, vec![]),
            (r#"{"type":"sync"}"#, vec![]),
            (r#"{"type":"sync","metadata":[],"new":{"x":1}}"#, vec![]),
            (
                r#"{"type":"sync","metadata":["/1.0/profiles/app.web.r7?project=p","/1.0/profiles/a%20b"]}"#,
                vec!["app.web.r7", "a b"],
            ),
        ] {
            assert_eq!(names(&reply(200, body)).expect(body), expected);
        }
    }

    #[test]
    fn an_error_is_known_by_its_type_not_by_its_status() {
        let body = r#"{"type":"error","error":"Instance is busy","error_code":400}"#;
        for status in [200, 400, 500] {
            let reply = reply(status, body);
            assert_eq!(refusal(nothing(&reply)), (400, "Instance is busy".into()));
        }
        let uncoded = r#"{"type":"error","error":"no","error_code":0}"#;
        assert_eq!(refusal(nothing(&reply(503, uncoded))), (503, "no".into()));
    }

    #[test]
    fn an_answer_without_envelope_is_quoted_when_it_refuses() {
        let gateway = reply(502, "Bad gateway\n");
        assert_eq!(refusal(nothing(&gateway)), (502, "Bad gateway".into()));
        assert_eq!(refusal(text(&gateway)), (502, "Bad gateway".into()));
        assert_eq!(
            refusal(text(&reply(404, ""))),
            (404, "404 Not Found".into())
        );
        let refused = reply(404, r#"{"type":"error","error":"No log","error_code":404}"#);
        assert_eq!(refusal(text(&refused)), (404, "No log".into()));
    }

    #[test]
    fn a_log_that_looks_like_an_error_is_a_log() {
        let body = r#"{"type":"error","error":"from the app","error_code":500}"#;
        assert_eq!(text(&reply(200, body)).expect("a log"), body);
    }

    #[test]
    fn nonsense_is_malformed() {
        for body in [
            "",
            "[]",
            "{}",
            "null",
            r#"{"type":1}"#,
            r#"{"type":"async"}"#,
        ] {
            assert!(
                matches!(operation(&reply(200, body)), Err(Unusable::Malformed(_))),
                "{body}"
            );
        }
        let asynchronous = r#"{"type":"async","operation":"/1.0/operations/u"}"#;
        assert!(matches!(
            nothing(&reply(202, asynchronous)),
            Err(Unusable::Malformed(_))
        ));
        let mut cut = reply(200, r#"{"type":"sync"}"#);
        cut.truncated = true;
        assert!(matches!(nothing(&cut), Err(Unusable::Malformed(_))));
    }
}
