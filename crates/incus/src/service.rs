//! What runs in an instance, asked at the instance's own address: whether it takes connections, and
//! what it answers to a GET.
//!
//! Before: `instance::state` says which address. After: the caller judges the answer. This is none
//! of Incus's API and goes through no server: the way from here to the instance is part of the
//! question. Plain HTTP alone, as inside of a network that one trusts.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::error::TransportError;

/// How much of an error's body is kept, from its beginning.
const BODY_SIZE: usize = 2 << 10;

/// What a web server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The first 2 KiB of the body, if the status is an error's: it may say why. Less, if not all
    /// of that came in time.
    pub body: String,
}

/// Opens a connection and closes it at once.
///
/// # Errors
/// If none came about within the limit.
pub async fn connect(address: SocketAddr, limit: Duration) -> Result<(), TransportError> {
    open(address, limit, Instant::now() + limit).await.map(drop)
}

/// Sends a GET on a connection of its own. Redirects are an answer like any other.
///
/// # Errors
/// If no answer came within the limit, which connecting is part of.
pub async fn get(
    address: SocketAddr,
    path: &str,
    limit: Duration,
) -> Result<Answer, TransportError> {
    let until = Instant::now() + limit;
    let request = Request::get(path)
        .header(HOST, address.to_string())
        .header(USER_AGENT, "homelab")
        .body(Empty::<Bytes>::new())
        .map_err(TransportError::Unwritable)?;
    let stream = open(address, limit, until).await?;
    let answering = async {
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(TransportError::Broken)?;
        // The connection ends with this future, whatever the server does.
        let mut drivers = JoinSet::new();
        drivers.spawn(driver);
        let response = sender
            .send_request(request)
            .await
            .map_err(TransportError::Broken)?;
        Ok((response, sender, drivers))
    };
    let (response, _sender, _drivers) = timeout_at(until, answering)
        .await
        .unwrap_or(Err(TransportError::AnswerTimeout(limit)))?;
    let status = response.status();
    let is_error = !status.is_success() && !status.is_redirection();
    let mut body = Vec::new();
    if is_error {
        // The status counts, whatever becomes of the rest.
        let _ = timeout_at(until, collect(response, &mut body)).await;
    }
    Ok(Answer {
        status,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

async fn open(
    address: SocketAddr,
    limit: Duration,
    until: Instant,
) -> Result<TcpStream, TransportError> {
    let connecting = async {
        let connected = TcpStream::connect(address).await;
        connected.map_err(TransportError::Connect)
    };
    timeout_at(until, connecting)
        .await
        .unwrap_or(Err(TransportError::ConnectTimeout(limit)))
}

async fn collect(response: Response<Incoming>, body: &mut Vec<u8>) {
    let mut incoming = response.into_body();
    while let Some(Ok(frame)) = incoming.frame().await {
        if let Some(data) = frame.data_ref() {
            let room = BODY_SIZE - body.len();
            body.extend_from_slice(&data[..data.len().min(room)]);
        }
        if body.len() == BODY_SIZE {
            return;
        }
    }
}
