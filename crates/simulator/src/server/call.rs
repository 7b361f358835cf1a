//! A request taken apart: method, path, query, headers, body.
//!
//! Before: `http.rs` has read it to its end. After: `route.rs` says what it is.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde::de::DeserializeOwned;

use super::answer::Refusal;

/// What may stand behind the question mark; whoever asks for more than that would not notice that it is not heeded.
const KNOWN: [&str; 7] = [
    "project",
    "all-projects",
    "recursion",
    "target",
    "timeout",
    "path",
    "type",
];

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: Vec<String>,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    line: String,
}

/// As `PUT /1.0/cluster`; bodies may hold secrets.
impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.line)
    }
}

impl Call {
    pub(super) fn new(method: &Method, uri: &Uri, headers: HeaderMap, body: Bytes) -> Self {
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(key), unescape(value))
        };
        let query = uri.query().unwrap_or_default().split('&');
        Self {
            line: format!("{method} {uri}"),
            method: method.clone(),
            path: uri.path().split('/').skip(1).map(unescape).collect(),
            query: query.filter(|part| !part.is_empty()).map(pair).collect(),
            headers,
            body,
        }
    }

    /// The project that it is aimed at.
    pub(super) fn project(&self) -> &str {
        self.query.get("project").map_or("default", String::as_str)
    }

    /// Whether it is aimed at all projects.
    pub(super) fn all_projects(&self) -> bool {
        self.query.get("all-projects").map(String::as_str) == Some("true")
    }

    /// The member, or with `@` the group of members, that it is aimed at.
    pub(super) fn target(&self) -> Option<&str> {
        self.query
            .get("target")
            .map(String::as_str)
            .filter(|target| !target.is_empty())
    }

    /// Whether it asks for the objects themselves instead of their addresses.
    pub(super) fn is_recursive(&self) -> bool {
        self.query.get("recursion").map(String::as_str) == Some("1")
    }

    /// Whether it asks for something that is not known here.
    pub(super) fn is_beyond(&self) -> bool {
        let recursion = self.query.get("recursion").map(String::as_str);
        !self.query.keys().all(|key| KNOWN.contains(&key.as_str()))
            || !matches!(recursion, None | Some("0" | "1"))
    }

    /// The body as a document.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(&self.body).map_err(|error| Refusal::new(400, error.to_string()))
    }

    /// A header as text.
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(|value| value.to_str());
        value.and_then(Result::ok).unwrap_or_default()
    }
}

/// Undoes percent-encoding; what is none stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        let digits = bytes.get(index + 1..index + 3);
        let code = digits
            .filter(|digits| *byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(*byte));
        index += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The address of an object; those of the default project do not name it.
pub(super) fn address(kind: &str, name: &str, project: &str) -> String {
    let name = name.replace('%', "%25").replace('/', "%2F");
    match project {
        "default" => format!("/1.0/{kind}/{name}"),
        project => format!("/1.0/{kind}/{name}?project={project}"),
    }
}
