//! What can go wrong, told as: what we were doing, at which endpoint, and what came back.
//!
//! `client.rs` makes these. A message says what we were doing and does not repeat its cause, which
//! is the error's source. What happens to single connections is in `error/transport.rs`.

use std::fmt;

use crate::certificate::Fingerprint;
use crate::endpoint::Endpoint;
use crate::operation::Operation;
use crate::trust::Distrust;

mod transport;

pub use transport::TransportError;

/// Why a request gave no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error.
    #[error("{doing}: {endpoint} answered with error {code}: {message}")]
    Refused {
        /// What the request was for.
        doing: String,
        /// Who answered.
        endpoint: Endpoint,
        /// The error's code.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// No endpoint has answered, and nothing was carried out.
    #[error("{doing}: no Incus endpoint answers: {}", Attempts(attempts))]
    Unreachable {
        /// What the request was for.
        doing: String,
        /// What was tried, in this order.
        attempts: Vec<Attempt>,
    },
    /// The connection broke after a request that changes something was sent. It was not repeated:
    /// read the object again to see whether it was carried out.
    #[error("{doing}: the connection to {endpoint} was lost before the outcome was known")]
    Interrupted {
        /// What the request was for.
        doing: String,
        /// Where it was sent.
        endpoint: Endpoint,
        /// What happened to the connection.
        #[source]
        cause: TransportError,
    },
    /// The operation has ended and did not do its work.
    #[error("{doing}: the operation failed with code {code}: {message}")]
    OperationFailed {
        /// What the request was for.
        doing: String,
        /// The code.
        code: u16,
        /// The server's words.
        message: String,
        /// The operation as last seen.
        operation: Box<Operation>,
    },
    /// The outcome of an operation is not known: it ended while nobody looked, or nobody can be
    /// asked. Read the object again.
    #[error("{doing}: the outcome of operation {id} is not known")]
    OperationLost {
        /// What the request was for.
        doing: String,
        /// The operation's identifier.
        id: String,
        /// Why it is not known.
        #[source]
        cause: Box<Error>,
    },
    /// The answer is not what the API promises.
    #[error("{doing}: the answer of {endpoint} cannot be read")]
    Malformed {
        /// What the request was for.
        doing: String,
        /// Who answered.
        endpoint: Endpoint,
        /// What was wrong with the answer.
        #[source]
        cause: serde_json::Error,
    },
    /// Two clusters are taken for one: this one was named although another one was named before.
    #[error("connecting to Incus: two clusters were named for the same endpoints")]
    TwoClusters(#[source] Distrust),
    /// The stream of events has ended. Events were missed from here on: read again what matters.
    #[error("receiving events: the stream from {endpoint} ended")]
    EventsEnded {
        /// Whose events they were.
        endpoint: Endpoint,
        /// How it ended.
        #[source]
        cause: TransportError,
    },
}

/// One endpoint that was tried in vain.
#[derive(Debug)]
pub struct Attempt {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What happened.
    pub cause: TransportError,
}

impl Error {
    /// The error's code, if a server gave one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } | Self::OperationFailed { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Whether an object of that name exists already. Servers say 409 or, often, 500 with a text;
    /// with either, read again before deciding anything.
    pub fn is_conflict(&self) -> bool {
        let (Self::Refused { code, message, .. } | Self::OperationFailed { code, message, .. }) =
            self
        else {
            return false;
        };
        let told = || {
            let message = message.to_lowercase();
            message.contains("already exists") || message.contains("unique constraint")
        };
        // 6.0 gives failed operations code 400, and sends plain errors as 500.
        *code == 409 || matches!(code, 400 | 500) && told()
    }

    /// Whether nobody could be asked, or whoever answered has no database.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { code, .. } => *code == 503,
            Self::OperationLost { cause, .. } => cause.is_unreachable(),
            _ => false,
        }
    }

    /// The certificate of the first server that answers and does not know this client, whatever happened elsewhere.
    pub fn untrusting(&self) -> Option<Fingerprint> {
        match self {
            Self::Unreachable { attempts, .. } => attempts.iter().find_map(|attempt| {
                let TransportError::Untrusted { server, .. } = &attempt.cause else {
                    return None;
                };
                server.as_deref().copied()
            }),
            _ => None,
        }
    }

    /// The certificate of the first server that answers and cannot reach its database, or that of its cluster, whatever
    /// happened elsewhere.
    pub fn stranded(&self) -> Option<Fingerprint> {
        match self {
            Self::Unreachable { attempts, .. } => attempts.iter().find_map(|attempt| {
                let TransportError::NoDatabase { server, .. } = &attempt.cause else {
                    return None;
                };
                Some(**server)
            }),
            _ => None,
        }
    }

    /// Whether every endpoint has answered, and none of them as a server that is in a cluster: it is in none, or does not
    /// know this client and says nothing else.
    pub fn is_no_cluster(&self) -> bool {
        use TransportError::{NotClustered, Untrusted};
        let without = |one: &Attempt| matches!(one.cause, NotClustered | Untrusted { .. });
        match self {
            Self::Unreachable { attempts, .. } => {
                !attempts.is_empty() && attempts.iter().all(without)
            }
            _ => false,
        }
    }

    /// Whether nobody could be asked, and no server that answers has lost the database of its cluster. Where no cluster was
    /// ever seen there may be none, and whoever is silent is not installed yet.
    pub fn may_be_no_cluster(&self) -> bool {
        let in_one = |one: &Attempt| {
            let cause = &one.cause;
            matches!(cause, TransportError::NoDatabase { clustered, .. } if *clustered)
        };
        matches!(self, Self::Unreachable { attempts, .. } if !attempts.iter().any(in_one))
    }

    /// Whether the request may have been carried out although we cannot tell: read the object
    /// again before deciding anything.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted { .. } | Self::OperationLost { .. })
    }
}

struct Attempts<'a>(&'a [Attempt]);

impl fmt::Display for Attempts<'_> {
    /// Several causes cannot be one source, so they are told here, each with its own causes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none is configured");
        }
        for (index, attempt) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", attempt.endpoint, attempt.cause)?;
            let mut source = std::error::Error::source(&attempt.cause);
            while let Some(cause) = source {
                write!(f, ": {cause}")?;
                source = cause.source();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> Error {
        Error::Refused {
            doing: "creating profile app.web.r7".to_owned(),
            endpoint: Endpoint::parse("unix:///run/i").expect("an endpoint"),
            code,
            message: message.to_owned(),
        }
    }

    #[test]
    fn conflicts_are_known_by_code_or_as_a_last_resort_by_text() {
        for (code, message, conflict) in [
            (409, "whatever", true),
            (500, "The profile already exists", true),
            (
                500,
                "Failed: UNIQUE constraint failed: instances.name",
                true,
            ),
            (400, "UNIQUE constraint failed", true),
            (500, "disk full", false),
            (404, "A snapshot already exists elsewhere", false),
            (412, "Precondition failed", false),
        ] {
            assert_eq!(refused(code, message).is_conflict(), conflict, "{message}");
        }
        assert!(refused(404, "Profile not found").is_not_found());
        assert!(refused(503, "Database is not available").is_unreachable());
    }

    /// HO-CLUS-02: a first machine that took a cluster for absent would make a second one.
    #[test]
    fn a_cluster_is_absent_only_if_no_server_says_that_it_is_in_one() {
        let outside = || TransportError::NotClustered;
        let stranger = || TransportError::Untrusted {
            shown: None,
            server: None,
        };
        let silent = || TransportError::Connect(std::io::ErrorKind::ConnectionRefused.into());
        let lost = |clustered| TransportError::NoDatabase {
            server: Box::new(Fingerprint::of_der(b"its certificate")),
            clustered,
            cause: Box::new(TransportError::AnswerTimeout(std::time::Duration::ZERO)),
        };
        // Of each: whether there is surely none, and whether there may be none.
        for (causes, surely, maybe) in [
            (vec![outside(), stranger()], true, true),
            (vec![outside(), silent()], false, true),
            (vec![outside(), lost(false)], false, true),
            (vec![lost(true), silent(), outside()], false, false),
            (vec![stranger(), lost(true)], false, false),
            (vec![], false, true),
        ] {
            let endpoint = || Endpoint::parse("https://m1").expect("an endpoint");
            let attempt = |cause| Attempt {
                endpoint: endpoint(),
                cause,
            };
            let error = Error::Unreachable {
                doing: "listing the members".to_owned(),
                attempts: causes.into_iter().map(attempt).collect(),
            };
            let answers = (error.is_no_cluster(), error.may_be_no_cluster());
            assert_eq!(answers, (surely, maybe), "{error}");
        }
    }

    #[test]
    fn messages_say_what_we_were_doing_and_where() {
        assert_eq!(
            refused(500, "disk full").to_string(),
            "creating profile app.web.r7: unix:///run/i answered with error 500: disk full"
        );
        let unreachable = Error::Unreachable {
            doing: "listing profiles".to_owned(),
            attempts: vec![
                Attempt {
                    endpoint: Endpoint::parse("unix:///run/i").expect("an endpoint"),
                    cause: TransportError::Connect(std::io::ErrorKind::NotFound.into()),
                },
                Attempt {
                    endpoint: Endpoint::parse("https://m1").expect("an endpoint"),
                    cause: TransportError::Untrusted {
                        shown: None,
                        server: None,
                    },
                },
            ],
        };
        assert_eq!(
            unreachable.to_string(),
            "listing profiles: no Incus endpoint answers: unix:///run/i: the connection failed: \
             entity not found; https://m1:8443: the server does not trust this client, which has \
             shown no certificate"
        );
    }
}
