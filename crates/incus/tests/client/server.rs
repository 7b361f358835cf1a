//! A server that does with each request what the test says, and remembers what reached it.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header, server::conn::http1, upgrade};
use hyper_util::rt::TokioIo;
use incus::{Client, Endpoint, Limits, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

/// The certificate's fingerprint of one cluster, and that of another.
pub(crate) const C1: &str = "c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1";
pub(crate) const C2: &str = "c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2";

/// What the server does with a request.
pub(crate) enum Answer {
    /// Answers with this document.
    Json(u16, Value),
    /// Answers with this text.
    Text(u16, &'static str),
    /// Never answers.
    Hang,
    /// Closes the connection without an answer.
    CutOff,
    /// Announces an answer and closes the connection in the middle of it.
    CutOffInside,
    /// Opens a websocket, sends these and reads on until the client has gone.
    Websocket(Vec<Message>),
}

/// Decides what to do with a request, which is printed as `GET /1.0?project=p`.
type Handler = dyn Fn(&str) -> Option<Answer> + Send + Sync;

/// A running server.
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    record: Arc<Record>,
    _folder: Option<tempfile::TempDir>,
}

/// What reached a server.
#[derive(Default)]
struct Record {
    lines: Mutex<Vec<String>>,
    connections: Mutex<usize>,
    heard: Mutex<Vec<Message>>,
}

impl Server {
    /// Starts a server of this cluster on a socket. Where `handler` says nothing, it is a healthy
    /// member.
    pub(crate) fn start(
        cluster: &'static str,
        handler: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("unix.socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (record, handler) = behind(cluster, handler);
        let kept = Arc::clone(&record);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&record), Arc::clone(&handler)));
            }
        });
        Self {
            endpoint: Endpoint::Unix(path),
            record: kept,
            _folder: Some(folder),
        }
    }

    /// Starts a server that shows this certificate to the network. It says of itself that it is of
    /// cluster c1, which does not matter there.
    pub(crate) async fn start_tls(
        configuration: ServerConfig,
        handler: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let acceptor = TlsAcceptor::from(Arc::new(configuration));
        let (record, handler) = behind(C1, handler);
        let kept = Arc::clone(&record);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, handler) = (Arc::clone(&record), Arc::clone(&handler));
                let accepting = acceptor.accept(stream);
                tokio::spawn(async move {
                    // A client that does not like the certificate ends the handshake.
                    if let Ok(stream) = accepting.await {
                        serve(stream, record, handler).await;
                    }
                });
            }
        });
        Self {
            endpoint: Endpoint::parse(&format!("https://127.0.0.1:{port}")).expect("an endpoint"),
            record: kept,
            _folder: None,
        }
    }

    /// The requests that reached it, apart from those that judge it.
    pub(crate) fn requests(&self) -> Vec<String> {
        let mut lines = self.everything();
        lines.retain(|line| line != "GET /1.0" && line != "GET /1.0/cluster/members");
        lines
    }

    /// All requests that reached it.
    pub(crate) fn everything(&self) -> Vec<String> {
        self.record.lines.lock().expect("no panic").clone()
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        *self.record.connections.lock().expect("no panic")
    }

    /// What came over websockets.
    pub(crate) fn heard(&self) -> Vec<Message> {
        self.record.heard.lock().expect("no panic").clone()
    }
}

/// What a server does: what the test says, else what a healthy member does.
fn behind(
    cluster: &'static str,
    handler: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
) -> (Arc<Record>, Arc<Handler>) {
    let handler = move |line: &str| handler(line).or_else(|| Some(healthy(cluster, line)));
    (Arc::default(), Arc::new(handler))
}

/// A client of these servers that loses patience soon.
pub(crate) fn client(endpoints: &[&Endpoint]) -> Client {
    trusting(endpoints, Trust::default())
}

/// A client with this trust.
pub(crate) fn trusting(endpoints: &[&Endpoint], trust: Trust) -> Client {
    let limits = Limits {
        next_endpoint: Duration::from_millis(100),
        judgement: Duration::from_millis(500),
        wait_slice: Duration::from_secs(1),
        event_silence: Duration::from_millis(600),
    };
    let endpoints = endpoints.iter().map(|one| (*one).clone()).collect();
    Client::with_trust(endpoints, limits, trust)
}

/// An endpoint behind which nobody listens.
pub(crate) fn nobody() -> Endpoint {
    Endpoint::Unix(PathBuf::from("/nonexistent/incus/unix.socket"))
}

/// A plain answer.
pub(crate) fn sync(metadata: Value) -> Option<Answer> {
    Some(Answer::Json(
        200,
        json!({ "type": "sync", "status_code": 200, "metadata": metadata }),
    ))
}

/// An error with equal codes in status line and body.
pub(crate) fn error(code: u16, message: &str) -> Option<Answer> {
    Some(Answer::Json(code, error_body(code, message)))
}

/// The body of an error.
pub(crate) fn error_body(code: u16, message: &str) -> Value {
    json!({ "type": "error", "error": message, "error_code": code, "metadata": null })
}

fn healthy(cluster: &str, line: &str) -> Answer {
    let metadata = match line {
        "GET /1.0" => json!({
            "auth": "trusted",
            "environment": {
                "server_version": "6.0.4",
                "server_clustered": true,
                "certificate_fingerprint": cluster,
            },
        }),
        "GET /1.0/cluster/members" => json!(["/1.0/cluster/members/m1"]),
        _ => return Answer::Json(404, error_body(404, "Not Found")),
    };
    Answer::Json(200, json!({ "type": "sync", "metadata": metadata }))
}

type Body = BoxBody<Bytes, io::Error>;

/// Serves one connection to its end.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    record: Arc<Record>,
    handler: Arc<Handler>,
) {
    *record.connections.lock().expect("no panic") += 1;
    let service = service_fn(|request: Request<Incoming>| {
        let (record, handler) = (Arc::clone(&record), Arc::clone(&handler));
        async move {
            let line = format!("{} {}", request.method(), request.uri());
            record.lines.lock().expect("no panic").push(line.clone());
            let answer = handler(&line).expect("every request has an answer");
            respond(answer, request, record).await
        }
    });
    // The client closes its connections as it likes, and some answers break them.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

async fn respond(
    answer: Answer,
    request: Request<Incoming>,
    record: Arc<Record>,
) -> Result<Response<Body>, io::Error> {
    let whole = |status: u16, text: String| {
        let body = Full::from(text).map_err(|never: Infallible| match never {});
        let mut response = Response::new(body.boxed());
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        response
    };
    match answer {
        Answer::Json(status, value) => Ok(whole(status, value.to_string())),
        Answer::Text(status, text) => Ok(whole(status, text.to_owned())),
        Answer::Hang => std::future::pending().await,
        Answer::CutOff => Err(io::ErrorKind::ConnectionReset.into()),
        Answer::CutOffInside => {
            let parts = stream::iter([
                Ok(Frame::data(Bytes::from_static(b"{\"type\":\"sync\""))),
                Err(io::ErrorKind::ConnectionReset.into()),
            ]);
            Ok(Response::new(BodyExt::boxed(StreamBody::new(parts))))
        }
        Answer::Websocket(messages) => Ok(open_websocket(request, messages, record)),
    }
}

fn open_websocket(
    mut request: Request<Incoming>,
    messages: Vec<Message>,
    record: Arc<Record>,
) -> Response<Body> {
    let key = request.headers()[header::SEC_WEBSOCKET_KEY].as_bytes();
    let accept = derive_accept_key(key);
    tokio::spawn(async move {
        let upgraded = upgrade::on(&mut request).await.expect("an upgrade");
        let io = TokioIo::new(upgraded);
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
        for message in messages {
            if socket.send(message).await.is_err() {
                return;
            }
        }
        while let Some(Ok(message)) = socket.next().await {
            record.heard.lock().expect("no panic").push(message);
        }
    });
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept)
        .body(
            Full::default()
                .map_err(|never: Infallible| match never {})
                .boxed(),
        )
        .expect("a response")
}
