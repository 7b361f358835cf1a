//! How a process and its host find each other: what the host says in the environment, and the one line it reads.
//!
//! `serve.rs` reads the environment first, then binds (`socket.rs`), then prints the line. Nothing else is ever
//! written to standard output: the host takes the first line it sees for this one.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The variable by which a host shows that it knows what it starts, and what it holds.
const COOKIE: (&str, &str) = (
    "TF_PLUGIN_MAGIC_COOKIE",
    "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
);

/// Not started by a host.
#[derive(Debug, thiserror::Error)]
#[error(
    "This program is a provider plugin. It is not meant to be run by hand: OpenTofu starts it when a configuration \
     needs it."
)]
pub(crate) struct NotAHost;

/// What the host said in the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The certificate, in PEM, of the only client to be served. Without it the connection is in clear.
    pub(crate) client_certificate: Option<String>,
    /// Where the socket's folder is to be made.
    pub(crate) socket_folder: Option<PathBuf>,
    /// The host reads a seventh field. Older hosts would take it for a part of the sixth.
    pub(crate) asks_for_multiplexing: bool,
}

impl Greeting {
    /// Reads the environment. The protocol versions that the host lists are not looked at: there is only version 6 to
    /// be had here, and a host that cannot use it says so better than we could.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Greeting, NotAHost> {
        let text = |name: &str| {
            variable(name)?
                .into_string()
                .ok()
                .filter(|value| !value.is_empty())
        };
        let (name, value) = COOKIE;
        if text(name).as_deref() != Some(value) {
            return Err(NotAHost);
        }
        Ok(Greeting {
            client_certificate: text("PLUGIN_CLIENT_CERT"),
            socket_folder: variable("PLUGIN_UNIX_SOCKET_DIR")
                .filter(|value| !value.is_empty())
                .map(PathBuf::from),
            asks_for_multiplexing: variable("PLUGIN_MULTIPLEX_GRPC").is_some(),
        })
    }
}

/// The line: version of the handshake, version of the protocol, network, address, kind, certificate.
pub(crate) fn line(socket: &Path, certificate: Option<&[u8]>, multiplexing_asked: bool) -> String {
    let certificate = certificate
        .map(|der| STANDARD_NO_PAD.encode(der))
        .unwrap_or_default();
    let multiplexing = if multiplexing_asked { "|false" } else { "" };
    format!(
        "1|6|unix|{}|grpc|{certificate}{multiplexing}\n",
        socket.display()
    )
}

/// Prints the line.
pub(crate) fn print(line: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Option<Greeting> {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.into())
        };
        Greeting::read(find).ok()
    }

    #[test]
    fn only_a_host_is_served() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(COOKIE.0, "d602")]), None);
        let greeting = read(&[
            COOKIE,
            ("PLUGIN_CLIENT_CERT", ""),
            ("PLUGIN_UNIX_SOCKET_DIR", "/x"),
        ])
        .expect("a host");
        assert_eq!(greeting.client_certificate, None);
        assert_eq!(greeting.socket_folder, Some(PathBuf::from("/x")));
        assert!(!greeting.asks_for_multiplexing);
    }

    #[test]
    fn the_line_has_six_fields_unless_seven_are_asked_for() {
        let socket = Path::new("/tmp/plugin1/socket");
        assert_eq!(
            line(socket, None, false),
            "1|6|unix|/tmp/plugin1/socket|grpc|\n"
        );
        // No padding at the end of the certificate.
        assert_eq!(
            line(socket, Some(b"a"), false),
            "1|6|unix|/tmp/plugin1/socket|grpc|YQ\n"
        );
        assert_eq!(
            line(socket, Some(b"abc"), true),
            "1|6|unix|/tmp/plugin1/socket|grpc|YWJj|false\n"
        );
    }
}
