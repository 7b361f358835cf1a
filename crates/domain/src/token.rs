//! Join tokens: what one says, without what it is good for (HO-JOIN-10).
//!
//! ```text
//! base64 of {"server_name": …, "fingerprint": …, "addresses": […], "secret": …, "expires_at": …}
//! ```
//!
//! Before: a token as `incus cluster add` prints it. After: everything of it but the secret, for diagnostics.
//! A token is a password, so nothing here repeats any of it: errors say what kind of thing was found where, and name
//! fields by their names only. Not here: how tokens are made and used.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Longest text that is looked at. Real tokens have some hundred characters, more with many members.
pub const LONGEST: usize = 64 * 1024;

/// What a token says about the cluster. There is deliberately no field for its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// The name of the member that it was made for. Incus does not bind it to that name.
    pub server_name: String,
    /// SHA-256 of the cluster's certificate, in lower-case hexadecimal.
    pub fingerprint: String,
    /// Where the cluster answers, `address:port` each.
    pub addresses: Vec<String>,
    /// When it ends to be valid, as Incus wrote it (RFC 3339).
    pub expires_at: String,
}

/// Why a text is no join token. It never repeats any of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing.
    #[error("The token is empty")]
    Empty,
    /// It is far too long.
    #[error("The token has {length} characters, and no token has more than {LONGEST}")]
    TooLong {
        /// How long it is.
        length: usize,
    },
    /// A character of it is none of base64's.
    #[error("The token is not base64: character {position} of {length} does not belong there")]
    Character {
        /// Which one, counted from 1.
        position: usize,
        /// Of how many.
        length: usize,
    },
    /// Its length or its end are none of base64's.
    #[error(
        "The token is not whole: it has {length} characters, and base64 of that length does not end like this"
    )]
    CutOff {
        /// How long it is.
        length: usize,
    },
    /// The bytes are no JSON.
    #[error("The token is base64 of {length} bytes that are not JSON")]
    NotJson {
        /// How many.
        length: usize,
    },
    /// The JSON is something else.
    #[error("The token is base64 of JSON, but of {found} instead of an object")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// It is the token of another thing.
    #[error(
        "The token adds a client to the trust store (`incus config trust add`); it joins no member"
    )]
    TrustToken,
    /// A field is missing.
    #[error("The token has no field {field}")]
    Missing {
        /// Which.
        field: &'static str,
    },
    /// A field has another type.
    #[error("The field {field} of the token is {found} instead of {expected}")]
    WrongType {
        /// Which.
        field: &'static str,
        /// What it is.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A field that must say something says nothing.
    #[error("The field {field} of the token is empty")]
    EmptyField {
        /// Which.
        field: &'static str,
    },
    /// The fingerprint is not one.
    #[error("The field fingerprint of the token is not 64 hexadecimal digits")]
    Fingerprint,
}

impl JoinToken {
    /// Reads a token. White space around it and line breaks within it are left out, as Incus does.
    ///
    /// # Errors
    /// The first thing that no join token has. Every text is read or refused, in time that grows with its length.
    pub fn decode(text: &str) -> Result<JoinToken, Error> {
        if text.len() > LONGEST {
            let length = text.chars().count();
            return Err(Error::TooLong { length });
        }
        let fields = fields(&bytes(text)?)?;
        if !fields.contains_key("server_name") && fields.contains_key("client_name") {
            return Err(Error::TrustToken);
        }
        // Looked at, so that a token that Incus refuses is refused here, and dropped.
        non_empty(&fields, "secret")?;
        Ok(JoinToken {
            server_name: non_empty(&fields, "server_name")?.to_owned(),
            fingerprint: fingerprint(&fields)?,
            addresses: addresses(&fields)?,
            expires_at: non_empty(&fields, "expires_at")?.to_owned(),
        })
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, Error> {
    let trimmed = text.trim().chars();
    let characters: Vec<char> = trimmed.filter(|one| !matches!(one, '\r' | '\n')).collect();
    let length = characters.len();
    if length == 0 {
        return Err(Error::Empty);
    }
    let belongs = |one: &char| matches!(one, 'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '=');
    if let Some(index) = characters.iter().position(|one| !belongs(one)) {
        let position = index + 1;
        return Err(Error::Character { position, length });
    }
    let text: String = characters.into_iter().collect();
    // The decoder's own error shows the offending byte.
    STANDARD.decode(text).map_err(|_| Error::CutOff { length })
}

fn fields(bytes: &[u8]) -> Result<Map<String, Value>, Error> {
    // The parser's own error may quote a text, and the secret is one.
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(Error::NotAnObject {
            found: noun(&other),
        }),
        Err(_) => Err(Error::NotJson {
            length: bytes.len(),
        }),
    }
}

fn non_empty<'a>(fields: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, Error> {
    match fields.get(field) {
        None => Err(Error::Missing { field }),
        Some(Value::String(text)) if text.is_empty() => Err(Error::EmptyField { field }),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(Error::WrongType {
            field,
            found: noun(other),
            expected: "a text",
        }),
    }
}

fn fingerprint(fields: &Map<String, Value>) -> Result<String, Error> {
    let text = non_empty(fields, "fingerprint")?;
    let is_digest = text.len() == 64 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    match is_digest {
        true => Ok(text.to_lowercase()),
        false => Err(Error::Fingerprint),
    }
}

fn addresses(fields: &Map<String, Value>) -> Result<Vec<String>, Error> {
    let field = "addresses";
    let wrong = |found: &Value| Error::WrongType {
        field,
        found: noun(found),
        expected: "a list of texts",
    };
    let list = match fields.get(field) {
        None => return Err(Error::Missing { field }),
        Some(Value::Array(list)) if list.is_empty() => return Err(Error::EmptyField { field }),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong(other)),
    };
    let address = |one: &Value| match one {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Error::WrongType {
            field,
            found: "a list with something else in it",
            expected: "a list of texts",
        }),
    };
    list.iter().map(address).collect()
}

/// What kind of JSON it is.
fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
