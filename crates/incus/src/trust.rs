//! Whom this client takes for its cluster: a judgement about fingerprints, and nothing is sent.
//!
//! `tls.rs` asks while a connection comes about, `client/choice.rs` before an endpoint is used.
//! Some fingerprints may be given beforehand; else the first server that answers is remembered,
//! and no other cluster's server is taken for it afterwards, or everything would look deleted.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::certificate::{Fingerprint, Lapse};
use crate::endpoint::Endpoint;
use crate::identity::Identity;

/// What a client shows to servers, and which servers it accepts.
///
/// The default shows nothing and trusts whoever answers first, which `Client::take_notices` tells.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The certificate to show to https endpoints.
    pub identity: Option<Identity>,
    /// The accepted servers' certificates; any match counts. Empty means trust on first use.
    pub server_fingerprints: Vec<Fingerprint>,
    /// The cluster that is the right one, as it was learnt elsewhere. It overrides nothing that was kept.
    pub expected: Option<Fingerprint>,
}

/// Why a server is not used although it answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    /// The certificate is none of those that were given.
    #[error("the server's certificate is {seen}, expected {}", Either(expected))]
    NotPinned {
        /// The certificate's fingerprint.
        seen: Fingerprint,
        /// The accepted ones.
        expected: Vec<Fingerprint>,
    },
    /// The server belongs to something else than the one that answered before.
    #[error("the server is of another cluster (its certificate is {seen}, expected {expected})")]
    OtherCluster {
        /// The certificate's fingerprint.
        seen: Fingerprint,
        /// The fingerprint of the cluster that has answered before.
        expected: Fingerprint,
    },
    /// The certificate does not count today, and nobody said that it is accepted all the same.
    #[error(
        "the server's certificate {seen} {lapse}, so it is accepted only if its fingerprint is given beforehand"
    )]
    Lapsed {
        /// The certificate's fingerprint.
        seen: Fingerprint,
        /// What is wrong with its dates.
        lapse: Lapse,
    },
}

/// Something that an operator should know about a server that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Nothing was known about the server before it was trusted.
    TrustedOnFirstUse {
        /// Where it is.
        endpoint: Endpoint,
        /// Its certificate.
        fingerprint: Fingerprint,
    },
    /// The certificate was given beforehand, but its dates say that it does not count.
    Lapsed {
        /// Where the server is.
        endpoint: Endpoint,
        /// Its certificate.
        fingerprint: Fingerprint,
        /// What is wrong with its dates.
        lapse: Lapse,
    },
}

/// The certificate that a server has shown on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) lapse: Option<Lapse>,
}

/// A client's trust, and what it has learnt since it was made.
#[derive(Default)]
pub(crate) struct Trusted {
    pub(crate) identity: Option<Identity>,
    pins: Vec<Fingerprint>,
    learnt: Mutex<Learnt>,
}

#[derive(Default)]
struct Learnt {
    cluster: Option<Cluster>,
    notices: Vec<Notice>,
    /// How many of the notices were taken.
    taken: usize,
}

/// How the cluster is known.
#[derive(Clone, Copy)]
struct Cluster {
    fingerprint: Fingerprint,
    /// Whether it was said to be the right one; else it is just the one that has answered.
    told: bool,
}

impl Trusted {
    pub(crate) fn new(trust: Trust) -> Self {
        Self {
            identity: trust.identity,
            pins: trust.server_fingerprints,
            learnt: Mutex::new(Learnt {
                cluster: trust.expected.map(|fingerprint| Cluster {
                    fingerprint,
                    told: true,
                }),
                ..Learnt::default()
            }),
        }
    }

    /// Says whether a server with this certificate may be used.
    pub(crate) fn judge(&self, seen: Fingerprint) -> Result<(), Distrust> {
        if !self.pins.is_empty() {
            return match self.pins.contains(&seen) {
                true => Ok(()),
                false => Err(Distrust::NotPinned {
                    seen,
                    expected: self.pins.clone(),
                }),
            };
        }
        match self.cluster() {
            Some(expected) if expected != seen => Err(Distrust::OtherCluster { seen, expected }),
            _ => Ok(()),
        }
    }

    /// Says whether a certificate that was shown on a connection is accepted.
    pub(crate) fn judge_peer(&self, peer: Peer) -> Result<(), Distrust> {
        self.judge(peer.fingerprint)?;
        match peer.lapse {
            // A pin says more than dates do, and is the way out when nobody renewed in time.
            Some(lapse) if !self.pins.contains(&peer.fingerprint) => Err(Distrust::Lapsed {
                seen: peer.fingerprint,
                lapse,
            }),
            _ => Ok(()),
        }
    }

    /// Remembers a server that passed and is going to be used. A socket of this machine shows no
    /// certificate (`peer`), and needs no notice.
    pub(crate) fn remember(&self, endpoint: &Endpoint, seen: Fingerprint, peer: Option<Peer>) {
        let mut learnt = self.learnt();
        let is_first = learnt.cluster.is_none();
        if is_first || !self.pins.is_empty() {
            learnt.cluster = Some(Cluster {
                fingerprint: seen,
                told: false,
            });
        }
        let Some(peer) = peer else {
            return;
        };
        if is_first && self.pins.is_empty() {
            learnt.note(Notice::TrustedOnFirstUse {
                endpoint: endpoint.clone(),
                fingerprint: seen,
            });
        }
        if let Some(lapse) = peer.lapse {
            learnt.note(Notice::Lapsed {
                endpoint: endpoint.clone(),
                fingerprint: seen,
                lapse,
            });
        }
    }

    /// Takes note which cluster is the right one. Pins say it already, and may be newer.
    pub(crate) fn expect(&self, expected: Fingerprint) -> Result<(), Distrust> {
        if !self.pins.is_empty() {
            return Ok(());
        }
        let mut learnt = self.learnt();
        match learnt.cluster {
            Some(known) if known.told && known.fingerprint != expected => {
                Err(Distrust::OtherCluster {
                    seen: known.fingerprint,
                    expected,
                })
            }
            _ => {
                learnt.cluster = Some(Cluster {
                    fingerprint: expected,
                    told: true,
                });
                Ok(())
            }
        }
    }

    /// Whether somebody has said which cluster is the right one; else whoever answers first is.
    pub(crate) fn is_told(&self) -> bool {
        !self.pins.is_empty() || self.learnt().cluster.is_some_and(|cluster| cluster.told)
    }

    pub(crate) fn cluster(&self) -> Option<Fingerprint> {
        self.learnt().cluster.map(|cluster| cluster.fingerprint)
    }

    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        let mut learnt = self.learnt();
        let news = learnt.notices[learnt.taken..].to_vec();
        learnt.taken = learnt.notices.len();
        news
    }

    fn learnt(&self) -> MutexGuard<'_, Learnt> {
        // Every change is complete when the lock is released, so a panic elsewhere spoils nothing.
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Learnt {
    /// An endpoint is chosen again and again; once is enough to say it.
    fn note(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrustedOnFirstUse {
                endpoint,
                fingerprint,
            } => write!(
                f,
                "{endpoint} was trusted on first use: its certificate is {fingerprint}"
            ),
            Self::Lapsed {
                endpoint,
                fingerprint,
                lapse,
            } => write!(f, "the certificate {fingerprint} of {endpoint} {lapse}"),
        }
    }
}

impl fmt::Debug for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trusted")
            .field("identity", &self.identity)
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

struct Either<'a>(&'a [Fingerprint]);

impl fmt::Display for Either<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fingerprint) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { " or " };
            write!(f, "{separator}{fingerprint}")?;
        }
        Ok(())
    }
}
