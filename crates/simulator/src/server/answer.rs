//! Answers and refusals, in the envelope that Incus puts around everything but files and logs.
//!
//! Before: the files named after Incus's objects decide what to say. After: `http.rs` sends it.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use serde::Serialize;
use serde_json::{Value, json};

/// A status, headers and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Bytes,
}

/// A no, with the code and the words that Incus has for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error {code}: {text}")]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) text: String,
}

/// What most requests come to.
pub(super) type Told = Result<Answer, Refusal>;

/// What stands before the metadata of every answer that is none of an operation. The metadata itself may be rendered already,
/// and megabytes long: it is copied, and not read again.
const SYNC: &str = r#"{"type":"sync","status":"Success","status_code":200,"operation":"","error_code":0,"error":"","metadata":"#;

impl Answer {
    /// A plain answer with this metadata.
    pub(super) fn sync(metadata: &impl Serialize) -> Self {
        // What is serialised here are maps with texts as keys, which cannot fail.
        Self::rendered(&[&serde_json::to_vec(metadata).unwrap_or_default()])
    }

    /// A plain answer whose metadata is these parts of JSON, one after the other.
    pub(super) fn rendered(metadata: &[&[u8]]) -> Self {
        let length: usize = metadata.iter().map(|part| part.len()).sum();
        let mut body = Vec::with_capacity(SYNC.len() + length + 2);
        body.extend_from_slice(SYNC.as_bytes());
        metadata
            .iter()
            .for_each(|part| body.extend_from_slice(part));
        body.extend_from_slice(b"}\n");
        Self::json(200, body.into())
    }

    /// A plain answer whose metadata is a list of these rendered elements.
    pub(super) fn list<'a>(elements: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut parts: Vec<&[u8]> = vec![b"["];
        for element in elements {
            if parts.len() > 1 {
                parts.push(b",");
            }
            parts.push(element);
        }
        parts.push(b"]");
        Self::rendered(&parts)
    }

    /// Something was done, and there is nothing to say.
    pub(super) fn done() -> Self {
        Self::sync(&json!({}))
    }

    /// Something was made, and is at this address.
    pub(super) fn created(address: String) -> Self {
        let mut answer = Self::sync(&Value::Null);
        answer.status = 201;
        answer.headers.push((LOCATION, address));
        answer
    }

    /// Something goes on at this address.
    pub(super) fn going_on(address: String, operation: &impl Serialize) -> Self {
        let body = json!({
            "type": "async", "status": "Operation created", "status_code": 100, "operation": address, "error_code": 0,
            "error": "", "metadata": operation,
        });
        let mut answer = Self::json(202, format!("{body}\n").into());
        answer.headers.push((LOCATION, address));
        answer
    }

    /// Bytes without an envelope.
    pub(super) fn raw(body: Bytes) -> Self {
        Self {
            status: 200,
            headers: vec![(CONTENT_TYPE, "application/octet-stream".to_owned())],
            body,
        }
    }

    fn json(status: u16, body: Bytes) -> Self {
        Self {
            status,
            headers: vec![(CONTENT_TYPE, "application/json".to_owned())],
            body,
        }
    }
}

impl Refusal {
    pub(super) fn new(code: u16, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// The answer to a request that is refused.
    pub(super) fn answer(&self) -> Answer {
        self.answer_with(self.code)
    }

    /// The answer with another HTTP status: a wait has sent 200 before it knows how it ends.
    pub(super) fn answer_with(&self, status: u16) -> Answer {
        let body = json!({
            "type": "error", "status": "", "status_code": 0, "operation": "", "error_code": self.code, "error": self.text,
            "metadata": null,
        });
        Answer::json(status, format!("{body}\n").into())
    }
}
