//! The client: chooses an endpoint, sends requests, follows operations to their end.
//!
//! Before this stand the files that build requests; after it `transport.rs` moves the bytes and
//! says how far a request got. Which endpoint is good is decided in `client/choice.rs`. What a
//! request means is not known here.

mod choice;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::endpoint::Endpoint;
use crate::envelope::{Reply, Unusable};
use crate::error::{Attempt, Error, TransportError};
use crate::event::{EventFilter, EventStream};
use crate::operation::{self, Operation, Progress};
use crate::request::Request;
use crate::transport::{Failure, Link, NoWebsocket};

use choice::Choice;

/// A wait that comes back too early is not asked again before so long.
const WAIT_PAUSE: Duration = Duration::from_millis(200);

/// A handle on one Incus, reached over several endpoints. Cheap to clone; nothing is opened before
/// the first request.
#[derive(Clone)]
pub struct Client {
    links: Arc<[Link]>,
    limits: Limits,
    choice: Arc<Choice>,
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

/// How `Client::finish_until` came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The operation has done its work.
    Finished(Operation),
    /// It still runs: follow it later, or cancel it.
    Running(Operation),
}

impl Client {
    /// A client that tries these endpoints in turn.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self::with_limits(endpoints, Limits::default())
    }

    /// A client with other limits.
    pub fn with_limits(endpoints: Vec<Endpoint>, limits: Limits) -> Self {
        Self {
            links: endpoints.into_iter().map(Link::new).collect(),
            limits,
            choice: Arc::default(),
        }
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

    /// Sends a request and follows the operation that it starts to its end.
    pub async fn finish(&self, request: Request<Operation>) -> Result<Operation, Error> {
        let doing = request.doing().to_owned();
        let operation = self.send(request).await?;
        self.follow(&doing, &operation).await
    }

    /// Like `finish`, but comes back when `stop` completes. The request itself is never cut off by
    /// that, and the operation goes on: it is handed back.
    pub async fn finish_until(
        &self,
        request: Request<Operation>,
        stop: impl Future<Output = ()>,
    ) -> Result<Outcome, Error> {
        let doing = request.doing().to_owned();
        let operation = self.send(request).await?;
        tokio::select! {
            biased;
            ended = self.follow(&doing, &operation) => ended.map(Outcome::Finished),
            () = stop => Ok(Outcome::Running(operation)),
        }
    }

    /// Follows an operation to its end, however long it takes. Safe to drop: it only looks.
    ///
    /// `doing` is what the operation is for, as in `Request::doing`; errors say it.
    pub async fn follow(&self, doing: &str, operation: &Operation) -> Result<Operation, Error> {
        let lost = |cause: Error| Error::OperationLost {
            doing: doing.to_owned(),
            id: operation.id.clone(),
            cause: Box::new(cause),
        };
        if operation.progress() != Progress::Running {
            return ended(doing, operation.clone());
        }
        loop {
            let wait = operation::wait(operation, self.limits.wait_slice);
            let not_before = Instant::now() + WAIT_PAUSE;
            let current = match self.send(wait).await {
                Ok(current) => current,
                // Older servers say "failed" and "not yet" alike: only the operation itself tells.
                Err(told @ Error::Refused { .. }) => {
                    match self.send(operation::get(operation)).await {
                        Ok(current) => current,
                        Err(gone) if gone.is_not_found() => {
                            return Err(failed_as_told(doing, operation, told).unwrap_or_else(lost));
                        }
                        Err(error) => return Err(lost(error)),
                    }
                }
                Err(error) => return Err(lost(error)),
            };
            if current.progress() != Progress::Running {
                return ended(doing, current);
            }
            sleep_until(not_before).await;
        }
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

/// The outcome of an operation that has ended.
fn ended(doing: &str, operation: Operation) -> Result<Operation, Error> {
    match operation.progress() {
        Progress::Succeeded => Ok(operation),
        Progress::Running | Progress::Failed | Progress::Cancelled => {
            let message = match operation.err.as_str() {
                "" => operation.status.clone(),
                told => told.to_owned(),
            };
            Err(Error::OperationFailed {
                doing: doing.to_owned(),
                code: operation.status_code,
                message,
                operation: Box::new(operation),
            })
        }
    }
}

/// What a wait told before the operation was forgotten: a failure, unless it told only that its
/// own time was over or that the operation was gone already. Those come back as they are.
fn failed_as_told(doing: &str, operation: &Operation, told: Error) -> Result<Error, Error> {
    match told {
        Error::Refused { code, message, .. }
            if !message.contains("deadline exceeded")
                && !message.contains("peration not found") =>
        {
            Ok(Error::OperationFailed {
                doing: doing.to_owned(),
                code,
                message,
                operation: Box::new(operation.clone()),
            })
        }
        told => Err(told),
    }
}
