//! What happens to a single connection, and to whoever is at its other end.
//!
//! `transport.rs` and `client/choice.rs` make these; `error.rs` tells them as causes.

use std::fmt;
use std::time::Duration;

use crate::certificate::{Fingerprint, Lapse};
use crate::trust::Distrust;

/// What happened to a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// There is no way to the server.
    #[error("the connection failed")]
    Connect(#[source] std::io::Error),
    /// The server did not take the connection.
    #[error("no connection came about within {}", Seconds(*_0))]
    ConnectTimeout(Duration),
    /// TLS did not come about.
    #[error("the TLS handshake failed")]
    Handshake(#[source] std::io::Error),
    /// The server is not one that may be used.
    #[error(transparent)]
    Distrusted(#[from] Box<Distrust>),
    /// The certificate of this client does not count today.
    #[error("the client certificate {certificate} {lapse}")]
    ClientCertificate {
        /// The certificate's fingerprint.
        certificate: Fingerprint,
        /// What is wrong with its dates.
        lapse: Lapse,
    },
    /// The request is no valid HTTP.
    #[error("the request cannot be written")]
    Unwritable(#[source] http::Error),
    /// The connection broke.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
    /// The answer took too long.
    #[error("no answer came within {}", Seconds(*_0))]
    AnswerTimeout(Duration),
    /// The websocket broke or was refused.
    #[error("the websocket broke")]
    Websocket(#[source] Box<tokio_tungstenite::tungstenite::Error>),
    /// The server closed the websocket.
    #[error("the server closed it")]
    Closed,
    /// Not even a ping came.
    #[error("nothing was heard for {}", Seconds(*_0))]
    Silent(Duration),
    /// The server cannot reach the cluster's database, or says that it is not available.
    #[error("the server is not available (error {code}: {message})")]
    Unavailable {
        /// The error's code.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// The server answers, and cannot look into its database. That of a cluster is out of reach where too few of those
    /// that vote are there, or where the others do not count the server among them any more.
    #[error("the server cannot reach {}", Database(*clustered))]
    NoDatabase {
        /// The certificate that it shows.
        server: Box<Fingerprint>,
        /// Whether it is in a cluster.
        clustered: bool,
        /// What happened when it was asked for something from there.
        #[source]
        cause: Box<TransportError>,
    },
    /// The server answers, but not to us.
    #[error("the server does not trust this client, {}", Shown(shown))]
    Untrusted {
        /// The fingerprint of the certificate that was shown to it, if any.
        shown: Option<Fingerprint>,
        /// The certificate that it showed in turn, over a network.
        server: Option<Box<Fingerprint>>,
    },
    /// The server is none of a cluster, and only clusters are looked for.
    #[error("the server is not in a cluster")]
    NotClustered,
    /// The server's answer is not Incus's.
    #[error("the answer cannot be read")]
    Unreadable(#[source] serde_json::Error),
}

struct Database(bool);

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            true => "the database of its cluster",
            false => "its database",
        })
    }
}

struct Shown<'a>(&'a Option<Fingerprint>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(certificate) => write!(f, "whose certificate is {certificate}"),
            None => f.write_str("which has shown no certificate"),
        }
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}
