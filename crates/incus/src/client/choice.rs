//! Which endpoint is good: one that answers a database call and belongs to the right cluster.
//!
//! `client.rs` asks before each request; the answer is kept until a request fails. An endpoint is
//! not judged by `GET /1.0`, which a member without database answers as well.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::certificate::Fingerprint;
use crate::envelope::{Reply, Unusable, malformed};
use crate::error::{Attempt, TransportError};
use crate::identity::Identity;
use crate::request::Request;
use crate::transport::{Failure, Link};
use crate::trust::Peer;
use crate::{cluster, instance, server};

use super::Client;

/// What is known about the endpoints.
#[derive(Default)]
pub(super) struct Choice(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The endpoint that proved good and has not failed since, and its certificate.
    good: Option<(usize, Fingerprint)>,
    /// Where the next search begins.
    first: usize,
}

/// What a server that is good is known by.
struct Verdict {
    fingerprint: Fingerprint,
    peer: Option<Peer>,
}

impl Choice {
    /// Takes note that an endpoint failed: the next search begins behind it.
    pub(super) async fn reject(&self, index: usize, count: usize) {
        let mut known = self.0.lock().await;
        if known.is_good(index) {
            known.good = None;
            known.first = (index + 1) % count;
        }
    }

    /// Takes note that an endpoint must prove itself again before the next request.
    pub(super) async fn doubt(&self, index: usize) {
        let mut known = self.0.lock().await;
        if known.is_good(index) {
            known.good = None;
            known.first = index;
        }
    }
}

impl Known {
    fn is_good(&self, index: usize) -> bool {
        self.good.is_some_and(|(good, _)| good == index)
    }
}

impl Client {
    /// The endpoint to use. `None` after all have failed to prove good, which `attempts` tells.
    pub(super) async fn choose(&self, attempts: &mut Vec<Attempt>) -> Option<usize> {
        // Whoever comes while a search runs waits for it instead of searching, too.
        let mut known = self.choice.0.lock().await;
        if let Some((index, fingerprint)) = known.good {
            // Somebody may have learnt meanwhile that another cluster is the right one.
            if self.trusted.judge(fingerprint).is_ok() {
                return Some(index);
            }
        }
        let (index, verdict) = self.search(&known, attempts).await?;
        known.good = Some((index, verdict.fingerprint));
        known.first = index;
        let endpoint = &self.links[index].endpoint;
        self.trusted
            .remember(endpoint, verdict.fingerprint, verdict.peer);
        Some(index)
    }

    /// Tries the endpoints in turn. One that does not answer soon goes on being tried beside the
    /// next: it may be dead, or the whole cluster may be slow, and then the first to answer is
    /// taken.
    async fn search(&self, known: &Known, attempts: &mut Vec<Attempt>) -> Option<(usize, Verdict)> {
        let count = self.links.len();
        let mut untried = (0..count).map(|step| (known.first + step) % count);
        let mut tried = FuturesUnordered::new();
        loop {
            let next = untried.next();
            let all_tried = next.is_none();
            tried.extend(next.map(|index| async move {
                let judged = self.judge(&self.links[index]).await;
                (index, judged)
            }));
            let verdict = if all_tried {
                tried.next().await
            } else {
                match timeout(self.limits.next_endpoint, tried.next()).await {
                    Ok(verdict) => verdict,
                    Err(_) => continue,
                }
            };
            match verdict {
                Some((index, Ok(verdict))) => return Some((index, verdict)),
                Some((index, Err(cause))) => attempts.push(Attempt {
                    endpoint: self.links[index].endpoint.clone(),
                    cause,
                }),
                None if all_tried => return None,
                None => {}
            }
        }
    }

    /// Gives the certificate of a server that is good.
    async fn judge(&self, link: &Link) -> Result<Verdict, TransportError> {
        let (server, peer) = self.ask(link, server::get()).await?;
        if server.auth == "untrusted" {
            let identity = self.trusted.identity.as_ref().filter(|_| peer.is_some());
            return Err(TransportError::Untrusted {
                shown: identity.map(Identity::fingerprint),
                server: peer.map(|peer| Box::new(peer.fingerprint)),
            });
        }
        if self.only_clusters && !server.environment.server_clustered {
            return Err(TransportError::NotClustered);
        }
        // Over a network the certificate of the connection itself counts, not what is said of it.
        let fingerprint = match peer {
            Some(peer) => peer.fingerprint,
            None => Fingerprint::parse(&server.environment.certificate_fingerprint)
                .map_err(|error| TransportError::Unreadable(malformed(&error.to_string())))?,
        };
        self.trusted.judge(fingerprint).map_err(Box::new)?;
        let clustered = server.environment.server_clustered;
        let asked = match clustered {
            true => self.ask(link, cluster::member_names()).await.map(drop),
            false => self.ask(link, instance::names("default")).await.map(drop),
        };
        asked.map_err(|cause| TransportError::NoDatabase {
            server: Box::new(fingerprint),
            clustered,
            cause: Box::new(cause),
        })?;
        Ok(Verdict { fingerprint, peer })
    }

    async fn ask<T>(
        &self,
        link: &Link,
        request: Request<T>,
    ) -> Result<(T, Option<Peer>), TransportError> {
        let request = request.answer_within(self.limits.judgement);
        let reply = link
            .exchange(&request)
            .await
            .map_err(|failure| match failure {
                Failure::NotSent(cause) | Failure::CutOff(cause) | Failure::TimedOut(cause) => {
                    cause
                }
            })?;
        let answer = (request.read)(&reply).map_err(|unusable| match unusable {
            Unusable::Refused { code, message } => TransportError::Unavailable { code, message },
            Unusable::Malformed(cause) => TransportError::Unreadable(cause),
        })?;
        Ok((answer, reply.peer))
    }
}

impl Reply {
    /// Says whether the server has no database at the moment: another may have one.
    pub(super) fn outage(&self) -> Option<TransportError> {
        if self.status != http::StatusCode::SERVICE_UNAVAILABLE {
            return None;
        }
        let message = match crate::envelope::nothing(self) {
            Err(Unusable::Refused { message, .. }) => message,
            Ok(()) | Err(Unusable::Malformed(_)) => String::new(),
        };
        let code = self.status.as_u16();
        Some(TransportError::Unavailable { code, message })
    }
}
