//! The bytes: connections to one endpoint, reused while they are fresh, and websockets.
//!
//! `client.rs` decides whom to ask and what a failure means; this file only says precisely how far
//! a request got. Network listeners (TLS) will be one more arm of `connect`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::endpoint::Endpoint;
use crate::envelope::Reply;
use crate::error::TransportError;
use crate::request::{Body, Request};

/// A healthy server takes a connection in milliseconds, even when its database hangs.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Incus closes an idle connection after 30 seconds. Well before, a request can't meet the closing
/// on its way, after which nobody would know whether it was carried out.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// More idle connections than this are of no use after a burst.
const IDLE_COUNT: usize = 8;

/// A socket has no host name, but HTTP wants one.
const HOST_NAME: &str = "incus";

/// A way to a server, with its idle connections.
pub(crate) struct Link {
    pub(crate) endpoint: Endpoint,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: SendRequest<Full<Bytes>>,
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

/// Why no websocket came about.
pub(crate) enum NoWebsocket {
    /// The server gave a plain answer instead.
    Answered(Reply),
    /// The connection did not come about, or broke.
    Lost(TransportError),
}

/// Whatever carries bytes both ways.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

type Stream = Box<dyn Duplex>;

impl Link {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            idle: Mutex::default(),
        }
    }

    /// Sends a request and collects the answer.
    ///
    /// Dropping the future closes the connection; the request may have been carried out.
    pub(crate) async fn exchange<T>(&self, request: &Request<T>) -> Result<Reply, Failure> {
        let message = message(request)
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
            match connection.ready().await {
                Err(error) if is_new => return Err(not_sent(error)),
                Err(_) => continue,
                Ok(()) => {}
            }
            match connection.try_send_request(message).await {
                Ok(answer) => {
                    let (reply, whole) = collect(answer, limit).await?;
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
    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, TransportError> {
        let stream = connect(&self.endpoint).await?;
        let (connection, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(TransportError::Broken)?;
        tokio::spawn(async move {
            // Whoever uses the connection sees the same error at its end.
            let _ = driver.await;
        });
        Ok(connection)
    }

    fn take_idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle();
        idle.retain(|idle| idle.since.elapsed() < IDLE_LIMIT && !idle.connection.is_closed());
        idle.pop().map(|idle| idle.connection)
    }

    fn put_idle(&self, connection: SendRequest<Full<Bytes>>) {
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

    /// Opens a websocket that counts as lost when nothing is heard for so long.
    pub(crate) async fn websocket(
        &self,
        path_and_query: &str,
        silence: Duration,
    ) -> Result<Messages, NoWebsocket> {
        let stream = connect(&self.endpoint).await.map_err(NoWebsocket::Lost)?;
        let address = format!("ws://{HOST_NAME}{path_and_query}");
        let handshake = tokio_tungstenite::client_async(address, stream);
        match timeout(silence, handshake).await {
            Ok(Ok((socket, _))) => Ok(Messages {
                socket,
                silence,
                heard: Instant::now(),
            }),
            Ok(Err(tungstenite::Error::Http(answer))) => {
                Err(NoWebsocket::Answered(refused(*answer)))
            }
            Ok(Err(error)) => Err(NoWebsocket::Lost(websocket(error))),
            Err(_) => Err(NoWebsocket::Lost(TransportError::AnswerTimeout(silence))),
        }
    }
}

async fn connect(endpoint: &Endpoint) -> Result<Stream, TransportError> {
    let connecting = async {
        match endpoint {
            Endpoint::Unix(path) => match UnixStream::connect(path).await {
                Ok(stream) => Ok(Box::new(stream) as Stream),
                Err(error) => Err(TransportError::Connect(error)),
            },
            Endpoint::Https { .. } => Err(TransportError::HttpsUnsupported),
        }
    };
    timeout(CONNECT_LIMIT, connecting)
        .await
        .unwrap_or(Err(TransportError::ConnectTimeout(CONNECT_LIMIT)))
}

fn message<T>(request: &Request<T>) -> Result<http::Request<Full<Bytes>>, http::Error> {
    let (kind, body) = match request.body() {
        Body::Empty => (None, Bytes::new()),
        Body::Json(value) => (Some("application/json"), value.to_string().into()),
        Body::Raw(bytes) => (Some("application/octet-stream"), bytes.clone()),
    };
    let mut message = http::Request::builder()
        .method(request.method())
        .uri(request.path_and_query())
        .header(HOST, HOST_NAME);
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
async fn collect(answer: http::Response<Incoming>, limit: usize) -> Result<(Reply, bool), Failure> {
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
    };
    Ok((reply, !truncated))
}

/// The answer of a server that opens no websocket. Only the beginning of its body is here.
fn refused(answer: http::Response<Option<Vec<u8>>>) -> Reply {
    let (head, body) = answer.into_parts();
    Reply {
        status: head.status,
        headers: head.headers,
        body: body.unwrap_or_default().into(),
        truncated: false,
    }
}

fn websocket(error: tungstenite::Error) -> TransportError {
    TransportError::Websocket(Box::new(error))
}

fn not_sent(error: hyper::Error) -> Failure {
    Failure::NotSent(TransportError::Broken(error))
}

fn cut_off(error: hyper::Error) -> Failure {
    Failure::CutOff(TransportError::Broken(error))
}

/// The texts that come over a websocket. Pings are answered on the way.
pub(crate) struct Messages {
    socket: WebSocketStream<Stream>,
    silence: Duration,
    heard: Instant,
}

impl Messages {
    /// The next text. Safe to drop: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<String, TransportError> {
        loop {
            // A member that is cut off leaves the connection open and sends not even pings. The
            // time runs on while nobody waits, so that short waits add up.
            let message = timeout_at(self.heard + self.silence, self.socket.next())
                .await
                .map_err(|_| TransportError::Silent(self.silence))?
                .ok_or(TransportError::Closed)?
                .map_err(websocket)?;
            self.heard = Instant::now();
            match message {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Close(_) => return Err(TransportError::Closed),
                // A ping is answered by the next read; the rest carries nothing for us.
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {}
            }
        }
    }
}
