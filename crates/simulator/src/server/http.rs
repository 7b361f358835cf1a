//! Connections: bytes to a [`Call`], an [`Answer`] to bytes, and the websocket of the events.
//!
//! Before: `server.rs` listens. After: `route.rs`.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::answer::{Answer, Refusal};
use super::call::Call;
use super::event::Filter;
use super::{Incus, route};

/// Takes connections until it is dropped, and they end with it.
pub(super) async fn accept(listener: UnixListener, incus: Arc<Incus>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { return };
                let incus = Arc::clone(&incus);
                let service = service_fn(move |request| respond(request, Arc::clone(&incus)));
                let connection = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades();
                // The client closes its connections as it likes.
                connections.spawn(async move { drop(connection.await) });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn respond(
    request: Request<Incoming>,
    incus: Arc<Incus>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() == "/1.0/events" {
        return Ok(events(request, incus));
    }
    let (head, body) = request.into_parts();
    let answer = match body.collect().await {
        Ok(body) => {
            let call = Call::new(&head.method, &head.uri, head.headers, body.to_bytes());
            route::answer(&incus, &call).await
        }
        Err(error) => Refusal::new(400, error.to_string()).answer(),
    };
    Ok(response(answer))
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        // What cannot stand in a header was in no request either.
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Becomes a websocket, if that is what was asked for.
fn events(mut request: Request<Incoming>, incus: Arc<Incus>) -> Response<Full<Bytes>> {
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) else {
        let mut answer = Answer::raw(Bytes::from_static(b"Bad Request\n"));
        answer.status = 400;
        return response(answer);
    };
    let accepted = derive_accept_key(key.as_bytes());
    let call = Call::new(
        request.method(),
        request.uri(),
        request.headers().clone(),
        Bytes::new(),
    );
    // Whoever listens hears everything from before this answer.
    let heard = incus.events.listen(Filter::of(&call));
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        // A client that goes away before it is one has nothing to hear.
        if let Ok(upgraded) = upgrade.await {
            heard.tell(TokioIo::new(upgraded)).await;
        }
    });
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accepted) = HeaderValue::from_str(&accepted) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    }
    response
}
