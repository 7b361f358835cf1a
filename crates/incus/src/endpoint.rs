//! Where an Incus server is reached: parsed from what an operator wrote.
//!
//! Before this comes a configuration, after it `transport.rs` connects. Nothing is opened here.

use std::fmt;
use std::path::PathBuf;

/// The folder in which Incus has its socket unless it is told otherwise.
pub const DEFAULT_FOLDER: &str = "/var/lib/incus";

/// The port on which Incus listens unless it is told otherwise.
const DEFAULT_PORT: u16 = 8443;

/// One way to a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The socket of a server on this machine.
    Unix(PathBuf),
    /// A server's network listener.
    Https {
        /// A name or an address; an IPv6 address stands without its brackets.
        host: String,
        /// The port.
        port: u16,
    },
}

/// Why a text is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an endpoint: {reason}; accepted are `unix:///path/to/unix.socket` and `https://host[:8443]`"
)]
pub struct EndpointError {
    text: String,
    reason: &'static str,
}

impl Endpoint {
    /// Reads `unix:///path` or `https://host[:port]`.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let refuse = |reason| EndpointError {
            // What stands before an @ may be a password, and errors are shown.
            text: match text.rsplit_once('@') {
                Some((_, after)) => format!("…@{after}"),
                None => text.to_owned(),
            },
            reason,
        };
        if let Some(path) = text.strip_prefix("unix://") {
            return parse_socket(path).map_err(refuse);
        }
        if let Some(authority) = text.strip_prefix("https://") {
            return parse_authority(authority).map_err(refuse);
        }
        Err(refuse("it starts with neither `unix://` nor `https://`"))
    }

    /// The host as HTTP wants it. A socket has none, so it is given one.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Unix(_) => "incus".to_owned(),
            Self::Https { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Https { host, port } => format!("{host}:{port}"),
        }
    }
}

fn parse_socket(path: &str) -> Result<Endpoint, &'static str> {
    if !path.starts_with('/') {
        return Err("the path of the socket is not absolute");
    }
    if path.ends_with('/') {
        return Err("the path names a folder, not a socket");
    }
    if path.contains('\0') {
        return Err("the path contains a zero byte");
    }
    Ok(Endpoint::Unix(PathBuf::from(path)))
}

fn parse_authority(authority: &str) -> Result<Endpoint, &'static str> {
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    if authority.contains(['/', '?', '#', '@']) {
        return Err("only a host and a port may follow `https://`");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => parse_bracketed(rest)?,
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let bracketed = authority.starts_with('[');
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    if host.is_empty() || !bracketed && !host.chars().all(is_host) {
        return Err(
            "the host is neither a name nor an address (an IPv6 address stands in brackets)",
        );
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(digits) => parse_port(digits).ok_or("the port is not a number from 1 to 65535")?,
    };
    Ok(Endpoint::Https {
        host: host.to_owned(),
        port,
    })
}

/// What follows the opening bracket: an IPv6 address, the closing bracket, perhaps a port.
fn parse_bracketed(rest: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (host, after) = rest
        .split_once(']')
        .ok_or("the closing bracket of the address is missing")?;
    if host.parse::<std::net::Ipv6Addr>().is_err() {
        return Err("what stands in brackets is not an IPv6 address");
    }
    match after {
        "" => Ok((host, None)),
        _ => match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None => Err("only a port may follow the address in brackets"),
        },
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    // `u16::from_str` takes a leading plus sign, which is no port.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port != 0)
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Https { .. } => write!(f, "https://{}", self.authority()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn accepted_texts_print_in_full() {
        for (text, printed) in [
            (
                "unix:///run/incus/unix.socket",
                "unix:///run/incus/unix.socket",
            ),
            ("https://m1", "https://m1:8443"),
            ("https://m1.lan:443/", "https://m1.lan:443"),
            ("https://10.0.0.1", "https://10.0.0.1:8443"),
            ("https://[fd00::1]", "https://[fd00::1]:8443"),
            ("https://[fd00::1]:9000", "https://[fd00::1]:9000"),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.to_string(), printed);
            assert_eq!(Endpoint::parse(printed), Ok(endpoint));
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_is_accepted() {
        for text in [
            "",
            "/run/incus/unix.socket",
            "http://m1:8443",
            "unix://relative",
            "unix:///",
            "unix:///run/",
            "https://",
            "https://:8443",
            "https://m1:0",
            "https://m1:65536",
            "https://m1:+1",
            "https://m1:",
            "https://m1/1.0",
            "https://fd00::1",
            "https://[fd00::1",
            "https://[m1]:8443",
            "https://[fd00::1]8443",
            "https://m 1",
        ] {
            let message = Endpoint::parse(text).expect_err(text).to_string();
            assert!(message.contains("unix:///path"), "{text}: {message}");
            assert!(message.contains("https://host[:8443]"), "{text}: {message}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_repeated() {
        let error = Endpoint::parse("https://me:secret@m1").expect_err("has a user");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
