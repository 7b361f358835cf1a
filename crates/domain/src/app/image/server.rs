//! Where images come from: a server, and how it is spoken to.
//!
//! Before: the user's text. After: [`ImageServer`], spelled in one way, so that two spellings of one address are one
//! server.

use serde::{Deserialize, Serialize};

/// A server of images.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageServer {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Its address: `https://` or `http://`, a host, perhaps a port and a path; no slash at the end.
    pub url: String,
}

/// How a server of images is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// As a public Incus server.
    Incus,
    /// As a folder of files with an index, such as images.linuxcontainers.org.
    Simplestreams,
    /// As a registry of OCI images.
    Oci,
}

impl Protocol {
    /// Every protocol, in the order of the documentation.
    pub const ALL: [Protocol; 3] = [Protocol::Incus, Protocol::Simplestreams, Protocol::Oci];

    /// The word that users write, and Incus reads.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Incus => "incus",
            Protocol::Simplestreams => "simplestreams",
            Protocol::Oci => "oci",
        }
    }

    /// The protocol of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// Why a text is no address of a server. It may hold a password, so it is told without the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAServer {
    /// Neither `https://` nor `http://`.
    #[error("it begins with neither https:// nor http://")]
    Scheme,
    /// A user, perhaps with a password.
    #[error("it holds a user or a password, and whatever stands in an address ends up in logs")]
    Credentials,
    /// No host, or one with characters that no host has.
    #[error("it names no host")]
    Host,
    /// A port that is none.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// Something that no address of a server has.
    #[error("its path holds spaces, a question or a fragment")]
    Path,
}

impl ImageServer {
    /// Reads an address.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(protocol: Protocol, text: &str) -> Result<Self, NotAServer> {
        let (scheme, rest) = text.split_once("://").ok_or(NotAServer::Scheme)?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(NotAServer::Scheme);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(NotAServer::Credentials);
        }
        check_authority(authority)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~%".contains(c);
        if !path.chars().all(plain) {
            return Err(NotAServer::Path);
        }
        let authority = authority.to_ascii_lowercase();
        let path = path.trim_end_matches('/');
        Ok(Self {
            protocol,
            url: format!("{scheme}://{authority}{path}"),
        })
    }
}

fn check_authority(authority: &str) -> Result<(), NotAServer> {
    // The brackets of an IPv6 address hold colons of their own.
    let (host, behind) = match authority.split_once(']') {
        Some((host, behind)) => (host.strip_prefix('[').unwrap_or_default(), behind),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let in_brackets = authority.starts_with('[');
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let of_an_address = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let sound = match in_brackets {
        true => host.chars().all(of_an_address),
        false => host.chars().all(of_a_name),
    };
    if host.is_empty() || !sound {
        return Err(NotAServer::Host);
    }
    let Some(port) = behind.strip_prefix(':') else {
        return match behind.is_empty() {
            true => Ok(()),
            false => Err(NotAServer::Host),
        };
    };
    let digits = port.chars().all(|c| c.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => Err(NotAServer::Port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<String, NotAServer> {
        ImageServer::parse(Protocol::Oci, text).map(|server| server.url)
    }

    #[test]
    fn one_server_has_one_spelling() {
        for (text, expected) in [
            ("https://ghcr.io", "https://ghcr.io"),
            ("HTTPS://GHCR.io/", "https://ghcr.io"),
            ("http://10.0.0.5:5000", "http://10.0.0.5:5000"),
            ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
            ("https://h/Some/path//", "https://h/Some/path"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", NotAServer::Scheme),
            ("ghcr.io", NotAServer::Scheme),
            ("ftp://ghcr.io", NotAServer::Scheme),
            ("https://me:secret@ghcr.io", NotAServer::Credentials),
            ("https://me@ghcr.io/a", NotAServer::Credentials),
            ("https://", NotAServer::Host),
            ("https://:5000", NotAServer::Host),
            ("https://a b", NotAServer::Host),
            ("https://[::1", NotAServer::Host),
            ("https://[::1]x", NotAServer::Host),
            ("https://::1", NotAServer::Host),
            ("https://h:", NotAServer::Port),
            ("https://h:0", NotAServer::Port),
            ("https://h:+1", NotAServer::Port),
            ("https://h:65536", NotAServer::Port),
            ("https://h?x=1", NotAServer::Path),
            ("https://h/a b", NotAServer::Path),
            ("https://h/a#b", NotAServer::Path),
        ] {
            assert_eq!(url(text), Err(reason), "{text}");
        }
    }
}
