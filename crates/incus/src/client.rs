//! The client: chooses an endpoint and sends requests.
//!
//! Before this stand the files that build requests; after it `transport.rs` moves the bytes and
//! says how far a request got. Which endpoint is good is decided in `client/choice.rs`, and
//! operations are followed in `client/follow.rs`. What a request means is not known here.

mod choice;
mod follow;

use std::sync::Arc;
use std::time::Duration;

use crate::certificate::Fingerprint;
use crate::endpoint::Endpoint;
use crate::envelope::{Reply, Unusable};
use crate::error::{Attempt, Error, TransportError};
use crate::event::{EventFilter, EventStream};
use crate::request::Request;
use crate::transport::{Failure, Link, NoWebsocket};
use crate::trust::{Notice, Trust, Trusted};

use choice::Choice;

pub use follow::Outcome;

/// A handle on one Incus, reached over several endpoints. Cheap to clone; nothing is opened before
/// the first request.
#[derive(Clone)]
pub struct Client {
    links: Arc<[Link]>,
    trusted: Arc<Trusted>,
    limits: Limits,
    choice: Arc<Choice>,
    /// Whether a server by itself counts as a good one.
    only_clusters: bool,
}

/// How long the client waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After so long the next endpoint is tried as well, in case this one is dead.
    pub next_endpoint: Duration,
    /// So long an endpoint may take to prove that it is good. While a cluster elects a new
    /// database leader, every member takes 9 seconds, and up to 35 in bad cases.
    pub judgement: Duration,
    /// An operation is waited for in slices of this length, in whole seconds.
    pub wait_slice: Duration,
    /// A stream of events is lost when so long not even a ping was heard.
    pub event_silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            next_endpoint: Duration::from_secs(2),
            judgement: Duration::from_secs(45),
            wait_slice: Duration::from_secs(30),
            event_silence: Duration::from_secs(35),
        }
    }
}

impl Client {
    /// A client that tries these endpoints in turn.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self::with_limits(endpoints, Limits::default())
    }

    /// A client with other limits.
    pub fn with_limits(endpoints: Vec<Endpoint>, limits: Limits) -> Self {
        Self::with_trust(endpoints, limits, Trust::default())
    }

    /// A client that shows a certificate, or accepts only certain servers.
    pub fn with_trust(endpoints: Vec<Endpoint>, limits: Limits, trust: Trust) -> Self {
        let trusted = Arc::new(Trusted::new(trust));
        let link = |endpoint| Link::new(endpoint, Arc::clone(&trusted));
        Self {
            links: endpoints.into_iter().map(link).collect(),
            trusted,
            limits,
            choice: Arc::default(),
            only_clusters: false,
        }
    }

    /// The same client, which uses no server that is not in a cluster: a machine that is yet to join has no members, and
    /// must not be taken for a cluster that lost them.
    pub fn only_clusters(&self) -> Self {
        Self {
            choice: Arc::default(),
            only_clusters: true,
            ..self.clone()
        }
    }

    /// A client for one server by itself, to which this one's certificate is shown. It accepts the server with this
    /// certificate, or else whoever answers first.
    pub fn beside(&self, endpoint: Endpoint, server: Option<Fingerprint>, limits: Limits) -> Self {
        let trust = Trust {
            identity: self.trusted.identity.clone(),
            server_fingerprints: server.into_iter().collect(),
            expected: None,
        };
        Self::with_trust(vec![endpoint], limits, trust)
    }

    /// The certificate of the cluster that has answered, or that was named with `expect_cluster`.
    pub fn cluster(&self) -> Option<Fingerprint> {
        self.trusted.cluster()
    }

    /// Whether it is a matter of chance which cluster answers: there are several endpoints, and nobody has said which
    /// one is meant. What is not found then may well be somewhere else.
    pub fn is_ambiguous(&self) -> bool {
        self.links.len() > 1 && !self.trusted.is_told()
    }

    /// Names the cluster that is the right one, as it was kept from an earlier time. From here on
    /// no other one's server is used, even if one has answered before. Where server fingerprints
    /// were given, those decide alone.
    ///
    /// # Errors
    ///
    /// Another cluster was named before.
    pub fn expect_cluster(&self, fingerprint: Fingerprint) -> Result<(), Error> {
        // The endpoint in use is judged again before it is used again (`client/choice.rs`).
        self.trusted.expect(fingerprint).map_err(Error::TwoClusters)
    }

    /// What an operator should know about the servers that were used, each thing once.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.trusted.take_notices()
    }

    /// Sends a request and reads the answer.
    ///
    /// # Expected flow
    ///
    /// The request goes to the endpoint that proved good last. If it never got there, it goes to
    /// the next good one. If it was cut off or took too long, it is sent again only if it just
    /// looks.
    ///
    /// # Guarantees
    ///
    /// A request that changes something reaches at most one server, once.
    ///
    /// # Caveats
    ///
    /// Dropping the future closes the connection, and the request may have been carried out.
    ///
    /// # Errors
    ///
    /// `Error::Interrupted` says that the caller must look: the request may have been carried out.
    pub async fn send<T>(&self, request: Request<T>) -> Result<T, Error> {
        let (index, reply) = self.deliver(&request).await?;
        let endpoint = &self.links[index].endpoint;
        (request.read)(&reply).map_err(|unusable| unusable.at(endpoint, request.doing()))
    }

    /// Opens the stream of events.
    pub async fn events(&self, filter: EventFilter) -> Result<EventStream, Error> {
        let doing = "opening the stream of events";
        let mut attempts = Vec::new();
        for _ in 0..self.links.len() {
            let Some(index) = self.choose(&mut attempts).await else {
                break;
            };
            let link = &self.links[index];
            let silence = self.limits.event_silence;
            match link.websocket(&filter.path_and_query(), silence).await {
                Ok(messages) => return Ok(EventStream::new(link.endpoint.clone(), messages)),
                Err(NoWebsocket::Answered(reply)) => match reply.outage() {
                    Some(outage) => self.give_up_on(index, outage, &mut attempts).await,
                    None => return Err(reply.no_websocket().at(&link.endpoint, doing)),
                },
                Err(NoWebsocket::Lost(cause)) => self.give_up_on(index, cause, &mut attempts).await,
            }
        }
        Err(Error::Unreachable {
            doing: doing.to_owned(),
            attempts,
        })
    }

    /// Brings a request to a good endpoint, and says which one answered.
    async fn deliver<T>(&self, request: &Request<T>) -> Result<(usize, Reply), Error> {
        let mut attempts = Vec::new();
        let mut timeouts = 0;
        // One more than there are endpoints, so that a cut-off read has a second chance even
        // where there is only one.
        for _ in 0..=self.links.len() {
            let Some(index) = self.choose(&mut attempts).await else {
                break;
            };
            let cause = match self.links[index].exchange(request).await {
                Ok(reply) => match reply.outage() {
                    Some(outage) if request.is_read() => outage,
                    _ => {
                        // An error of the server may be the first sign of trouble.
                        if reply.status.is_server_error() {
                            self.choice.doubt(index).await;
                        }
                        return Ok((index, reply));
                    }
                },
                Err(Failure::NotSent(cause)) => cause,
                Err(Failure::CutOff(cause) | Failure::TimedOut(cause)) if !request.is_read() => {
                    self.choice.reject(index, self.links.len()).await;
                    return Err(Error::Interrupted {
                        doing: request.doing().to_owned(),
                        endpoint: self.links[index].endpoint.clone(),
                        cause,
                    });
                }
                Err(Failure::CutOff(cause)) => cause,
                Err(Failure::TimedOut(cause)) => {
                    timeouts += 1;
                    cause
                }
            };
            self.give_up_on(index, cause, &mut attempts).await;
            if timeouts == self.links.len() {
                break;
            }
        }
        Err(Error::Unreachable {
            doing: request.doing().to_owned(),
            attempts,
        })
    }

    async fn give_up_on(&self, index: usize, cause: TransportError, attempts: &mut Vec<Attempt>) {
        self.choice.reject(index, self.links.len()).await;
        attempts.push(Attempt {
            endpoint: self.links[index].endpoint.clone(),
            cause,
        });
    }
}

impl Unusable {
    fn at(self, endpoint: &Endpoint, doing: &str) -> Error {
        let (endpoint, doing) = (endpoint.clone(), doing.to_owned());
        match self {
            Self::Refused { code, message } => Error::Refused {
                doing,
                endpoint,
                code,
                message,
            },
            Self::Malformed(cause) => Error::Malformed {
                doing,
                endpoint,
                cause,
            },
        }
    }
}
