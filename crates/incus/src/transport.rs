//! The bytes: requests over connections to one endpoint, which are reused while they are fresh.
//!
//! `client.rs` decides whom to ask and what a failure means; this file only says precisely how far
//! a request got. Streams are opened in `transport/connect.rs`, and events come over those of
//! `transport/websocket.rs`.

mod connect;
mod websocket;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout};

use crate::endpoint::Endpoint;
use crate::envelope::Reply;
use crate::error::TransportError;
use crate::request::{Body, Request};
use crate::trust::{Peer, Trusted};

use connect::connect;

pub(crate) use websocket::{Messages, NoWebsocket};

/// Incus closes an idle connection after 30 seconds. Well before, a request can't meet the closing
/// on its way, after which nobody would know whether it was carried out.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// More idle connections than this are of no use after a burst.
const IDLE_COUNT: usize = 8;

/// A way to a server, with its idle connections.
pub(crate) struct Link {
    pub(crate) endpoint: Endpoint,
    trusted: Arc<Trusted>,
    idle: Mutex<Vec<Idle>>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    peer: Option<Peer>,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

/// How far a request got that gave no answer.
pub(crate) enum Failure {
    /// The server has not seen it.
    NotSent(TransportError),
    /// The server may have seen all of it.
    CutOff(TransportError),
    /// The server may have seen all of it, and may still be at work.
    TimedOut(TransportError),
}

impl Link {
    pub(crate) fn new(endpoint: Endpoint, trusted: Arc<Trusted>) -> Self {
        Self {
            endpoint,
            trusted,
            idle: Mutex::default(),
        }
    }

    /// Sends a request and collects the answer.
    ///
    /// Dropping the future closes the connection; the request may have been carried out.
    pub(crate) async fn exchange<T>(&self, request: &Request<T>) -> Result<Reply, Failure> {
        let message = message(request, &self.endpoint)
            .map_err(|error| Failure::NotSent(TransportError::Unwritable(error)))?;
        let exchange = self.send(message, request.answer_size);
        match timeout(request.answer_limit, exchange).await {
            Ok(result) => result,
            Err(_) => Err(Failure::TimedOut(TransportError::AnswerTimeout(
                request.answer_limit,
            ))),
        }
    }

    async fn send(
        &self,
        mut message: http::Request<Full<Bytes>>,
        limit: usize,
    ) -> Result<Reply, Failure> {
        // An idle connection may have been closed by now: a request that comes back unsent takes
        // the next one, and in the end a new one. If that is closed at once, too, the server takes
        // connections but no requests.
        loop {
            let idle = self.take_idle();
            let is_new = idle.is_none();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.open().await.map_err(Failure::NotSent)?,
            };
            match connection.sender.ready().await {
                Err(error) if is_new => return Err(not_sent(error)),
                Err(_) => continue,
                Ok(()) => {}
            }
            match connection.sender.try_send_request(message).await {
                Ok(answer) => {
                    let (reply, whole) = collect(answer, connection.peer, limit).await?;
                    if whole {
                        self.put_idle(connection);
                    }
                    return Ok(reply);
                }
                Err(mut error) => match error.take_message() {
                    Some(_) if is_new => return Err(not_sent(error.into_error())),
                    Some(unsent) => message = unsent,
                    None => return Err(cut_off(error.into_error())),
                },
            }
        }
    }

    /// Opens a connection of its own and hands the stream to a task that ends with it.
    async fn open(&self) -> Result<Connection, TransportError> {
        let stream = connect(&self.endpoint, &self.trusted).await?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream.io))
            .await
            .map_err(TransportError::Broken)?;
        tokio::spawn(async move {
            // Whoever uses the connection sees the same error at its end.
            let _ = driver.await;
        });
        Ok(Connection {
            sender,
            peer: stream.peer,
        })
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle();
        idle.retain(|idle| {
            // Who was accepted before something was learnt may not be the right one.
            let peer = idle.connection.peer;
            idle.since.elapsed() < IDLE_LIMIT
                && !idle.connection.sender.is_closed()
                && peer.is_none_or(|peer| self.trusted.judge(peer.fingerprint).is_ok())
        });
        idle.pop().map(|idle| idle.connection)
    }

    fn put_idle(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_COUNT {
            idle.push(Idle {
                connection,
                since: Instant::now(),
            });
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        // A list of connections is in order at every moment, so a panic elsewhere spoils nothing.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn message<T>(
    request: &Request<T>,
    endpoint: &Endpoint,
) -> Result<http::Request<Full<Bytes>>, http::Error> {
    let (kind, body) = match request.body() {
        Body::Empty => (None, Bytes::new()),
        Body::Json(value) => (Some("application/json"), value.to_string().into()),
        Body::Raw(bytes) => (Some("application/octet-stream"), bytes.clone()),
    };
    let mut message = http::Request::builder()
        .method(request.method())
        .uri(request.path_and_query())
        .header(HOST, endpoint.authority());
    if let Some(kind) = kind {
        message = message.header(CONTENT_TYPE, kind);
    }
    for (name, value) in &request.headers {
        message = message.header(name, value);
    }
    message.body(Full::new(body))
}

/// Collects an answer up to a limit, and says whether that was all of it. The connection is of no
/// further use while a rest is unread.
async fn collect(
    answer: http::Response<Incoming>,
    peer: Option<Peer>,
    limit: usize,
) -> Result<(Reply, bool), Failure> {
    let (head, mut incoming) = answer.into_parts();
    let mut body = Vec::new();
    let mut truncated = false;
    while !truncated && let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(cut_off)?;
        if let Some(data) = frame.data_ref() {
            let room = limit - body.len();
            truncated = data.len() > room;
            body.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    let reply = Reply {
        status: head.status,
        headers: head.headers,
        body: body.into(),
        truncated,
        peer,
    };
    Ok((reply, !truncated))
}

fn not_sent(error: hyper::Error) -> Failure {
    Failure::NotSent(TransportError::Broken(error))
}

fn cut_off(error: hyper::Error) -> Failure {
    Failure::CutOff(TransportError::Broken(error))
}
