//! Which endpoint is good: one that answers a database call and belongs to the right cluster.
//!
//! `client.rs` asks before each request; the answer is kept until a request fails. An endpoint is
//! not judged by `GET /1.0`, which a member without database answers as well.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::envelope::{Reply, Unusable};
use crate::error::{Attempt, TransportError};
use crate::request::Request;
use crate::transport::{Failure, Link};
use crate::{cluster, instance, server};

use super::Client;

/// What is known about the endpoints.
#[derive(Default)]
pub(super) struct Choice(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The endpoint that proved good and has not failed since.
    good: Option<usize>,
    /// Where the next search begins.
    first: usize,
    /// The certificate of the cluster that has answered: another one's server must not be taken
    /// for it, or everything would look deleted.
    fingerprint: Option<String>,
}

impl Choice {
    /// Takes note that an endpoint failed: the next search begins behind it.
    pub(super) async fn reject(&self, index: usize, count: usize) {
        let mut known = self.0.lock().await;
        if known.good == Some(index) {
            known.good = None;
            known.first = (index + 1) % count;
        }
    }

    /// Takes note that an endpoint must prove itself again before the next request.
    pub(super) async fn doubt(&self, index: usize) {
        let mut known = self.0.lock().await;
        if known.good == Some(index) {
            known.good = None;
            known.first = index;
        }
    }
}

impl Client {
    /// The endpoint to use. `None` after all have failed to prove good, which `attempts` tells.
    pub(super) async fn choose(&self, attempts: &mut Vec<Attempt>) -> Option<usize> {
        // Whoever comes while a search runs waits for it instead of searching, too.
        let mut known = self.choice.0.lock().await;
        if known.good.is_some() {
            return known.good;
        }
        let (index, fingerprint) = self.search(&known, attempts).await?;
        known.good = Some(index);
        known.first = index;
        known.fingerprint.get_or_insert(fingerprint);
        Some(index)
    }

    /// Tries the endpoints in turn. One that does not answer soon goes on being tried beside the
    /// next: it may be dead, or the whole cluster may be slow, and then the first to answer is
    /// taken.
    async fn search(&self, known: &Known, attempts: &mut Vec<Attempt>) -> Option<(usize, String)> {
        let count = self.links.len();
        let expected = known.fingerprint.as_deref();
        let mut untried = (0..count).map(|step| (known.first + step) % count);
        let mut tried = FuturesUnordered::new();
        loop {
            let next = untried.next();
            let all_tried = next.is_none();
            tried.extend(next.map(|index| async move {
                let judged = self.judge(&self.links[index], expected).await;
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
                Some((index, Ok(fingerprint))) => return Some((index, fingerprint)),
                Some((index, Err(cause))) => attempts.push(Attempt {
                    endpoint: self.links[index].endpoint.clone(),
                    cause,
                }),
                None if all_tried => return None,
                None => {}
            }
        }
    }

    /// Gives the certificate's fingerprint of a server that is good.
    async fn judge(&self, link: &Link, expected: Option<&str>) -> Result<String, TransportError> {
        let server = self.ask(link, server::get()).await?;
        if server.auth == "untrusted" {
            return Err(TransportError::Untrusted);
        }
        let found = server.environment.certificate_fingerprint;
        if let Some(expected) = expected
            && expected != found
        {
            let expected = expected.to_owned();
            return Err(TransportError::Foreign { found, expected });
        }
        if server.environment.server_clustered {
            self.ask(link, cluster::member_names()).await?;
        } else {
            self.ask(link, instance::names("default")).await?;
        }
        Ok(found)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        link: &Link,
        request: Request<T>,
    ) -> Result<T, TransportError> {
        let request = request.answer_within(self.limits.judgement);
        let reply = link
            .exchange(&request)
            .await
            .map_err(|failure| match failure {
                Failure::NotSent(cause) | Failure::CutOff(cause) | Failure::TimedOut(cause) => {
                    cause
                }
            })?;
        (request.read)(&reply).map_err(|unusable| match unusable {
            Unusable::Refused { code, message } => TransportError::Unavailable { code, message },
            Unusable::Malformed(cause) => TransportError::Unreadable(cause),
        })
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
