//! A request to Incus as a value: built by plain functions, printed in tests, sent by `client.rs`.
//!
//! Before this come the files named after Incus's objects, which build requests; after it comes
//! `client.rs`. How an answer is read is carried along as a function from `envelope.rs`.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::envelope::{Reply, Unusable};

/// How long a server may take to answer. A dead member makes others hang for 10 to 40 seconds
/// before they say so, and their answer is better than our own giving up.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// How much of an answer is held in memory; lists of a thousand profiles take 2 MB.
const ANSWER_SIZE: usize = 256 << 20;

/// A request whose answer is read as a `T`.
///
/// `Debug` and `Display` print method, path and query: bodies may hold secrets.
pub struct Request<T> {
    pub(crate) method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    pub(crate) headers: HeaderMap,
    body: Body,
    doing: String,
    pub(crate) answer_limit: Duration,
    pub(crate) answer_size: usize,
    pub(crate) read: Read<T>,
}

/// Turns an answer into a value.
pub(crate) type Read<T> = fn(&Reply) -> Result<T, Unusable>;

/// What a request carries.
#[derive(Clone, PartialEq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A JSON document.
    Json(serde_json::Value),
    /// Bytes as they are: a file's content, an image.
    Raw(Bytes),
}

impl<T> Request<T> {
    /// A request without a body. `doing` completes "while …", so that errors can say it.
    pub(crate) fn new(
        method: Method,
        path: String,
        doing: impl Into<String>,
        read: Read<T>,
    ) -> Self {
        Self {
            method,
            path,
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Body::Empty,
            doing: doing.into(),
            answer_limit: ANSWER_LIMIT,
            answer_size: ANSWER_SIZE,
            read,
        }
    }

    pub(crate) fn get(path: String, doing: impl Into<String>, read: Read<T>) -> Self {
        Self::new(Method::GET, path, doing, read)
    }

    pub(crate) fn post(path: String, doing: impl Into<String>, read: Read<T>) -> Self {
        Self::new(Method::POST, path, doing, read)
    }

    pub(crate) fn put(path: String, doing: impl Into<String>, read: Read<T>) -> Self {
        Self::new(Method::PUT, path, doing, read)
    }

    pub(crate) fn patch(path: String, doing: impl Into<String>, read: Read<T>) -> Self {
        Self::new(Method::PATCH, path, doing, read)
    }

    pub(crate) fn delete(path: String, doing: impl Into<String>, read: Read<T>) -> Self {
        Self::new(Method::DELETE, path, doing, read)
    }

    pub(crate) fn json(mut self, body: serde_json::Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    pub(crate) fn raw(mut self, body: Bytes) -> Self {
        self.body = Body::Raw(body);
        self
    }

    pub(crate) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.retain(|(present, _)| *present != key);
        self.query.push((key, value.into()));
        self
    }

    /// Adds a header whose value is ours; what cannot stand in a header is left out.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Asks for the objects themselves instead of their addresses.
    pub(crate) fn recursive(self) -> Self {
        self.query("recursion", "1")
    }

    /// Aims the request at an object of this project.
    pub fn project(self, project: &str) -> Self {
        self.query("project", project)
    }

    /// Aims the request at this cluster member.
    pub fn target(mut self, member: &str) -> Self {
        self.doing.push_str(" on member ");
        self.doing.push_str(member);
        self.query("target", member)
    }

    /// Replaces how long the server may take to answer (60 seconds unless the builder knew
    /// better).
    pub fn answer_within(mut self, limit: Duration) -> Self {
        self.answer_limit = limit;
        self
    }

    /// Reads at most so many bytes of the answer. A JSON answer that is longer is an error; of a
    /// log, the beginning is kept.
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.answer_size = bytes;
        self
    }

    /// What the request is for, as in "creating instance web-0 on member m1".
    pub fn doing(&self) -> &str {
        &self.doing
    }

    /// What the request carries.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The HTTP method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Whether the request only looks, so that it may be sent twice.
    pub fn is_read(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }

    /// Path and query as they are sent.
    pub fn path_and_query(&self) -> String {
        let mut text = self.path.clone();
        for (index, (key, value)) in self.query.iter().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(key);
            text.push('=');
            text.push_str(&escape(value));
        }
        text
    }
}

/// Joins segments to a path below `/1.0`, whatever characters they hold.
pub(crate) fn path(segments: &[&str]) -> String {
    let mut path = String::from("/1.0");
    for segment in segments {
        path.push('/');
        path.push_str(&escape(segment));
    }
    path
}

/// Percent-encodes everything but the characters that are plain everywhere in an address.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Undoes `escape`; what is no valid escape stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let digits = bytes.get(index + 1..index + 3);
        let code = digits
            .filter(|digits| bytes[index] == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(bytes[index]));
        index += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

impl<T> fmt::Display for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path_and_query())
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> Clone for Request<T> {
    fn clone(&self) -> Self {
        Self {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            doing: self.doing.clone(),
            answer_limit: self.answer_limit,
            answer_size: self.answer_size,
            read: self.read,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no body"),
            Self::Json(_) => f.write_str("a JSON body"),
            Self::Raw(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{escape, path, unescape};

    #[test]
    fn segments_cannot_break_out_of_a_path() {
        assert_eq!(
            path(&["profiles", "a/../b?x=1 ü"]),
            "/1.0/profiles/a%2F..%2Fb%3Fx%3D1%20%C3%BC"
        );
    }

    #[test]
    fn unescaping_is_total() {
        for text in ["", "plain", "a/b ü%", "%%41", "100%"] {
            assert_eq!(unescape(&escape(text)), text);
        }
        assert_eq!(unescape("%4"), "%4");
        assert_eq!(unescape("%zz%41"), "%zzA");
        assert_eq!(unescape("%+1"), "%+1");
        assert_eq!(unescape("ü%ü"), "ü%ü");
    }
}
