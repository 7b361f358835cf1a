//! An https server that shows whatever certificate it is told to for each connection, and passes on each request.
//!
//! Before: `fleet.rs` starts it. After: `answers.rs` says what to answer. It asks for no client's certificate: who is
//! trusted is up to the world.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, server::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A request, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Value,
    line: String,
}

/// As `PUT /1.0/cluster`.
impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.line)
    }
}

/// What a listener needs to know.
pub(crate) trait Host: Send + Sync + 'static {
    /// The certificate to show at this moment.
    fn certificate(&self) -> Arc<CertifiedKey>;
    /// The status and the document to answer with.
    fn answer(&self, call: Call) -> (u16, Value);
}

/// Serves until the test ends.
pub(crate) fn listen(listener: TcpListener, host: Arc<impl Host>) {
    let acceptor = TlsAcceptor::from(Arc::new(configuration(Arc::clone(&host))));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (accepting, host) = (acceptor.accept(stream), Arc::clone(&host));
            tokio::spawn(async move {
                // A client that does not like the certificate ends the handshake.
                let Ok(stream) = accepting.await else { return };
                let service = service_fn(|request| respond(request, Arc::clone(&host)));
                // The client closes its connections as it likes.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
}

/// A certificate as a server shows it.
pub(crate) fn shown(certificate: &str, key: &str) -> Arc<CertifiedKey> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let shown = CertifiedKey::from_der(
        vec![certificate.expect("a certificate")],
        key.expect("a key"),
        &rustls::crypto::aws_lc_rs::default_provider(),
    );
    Arc::new(shown.expect("a certificate with its key"))
}

struct Shows<H>(Arc<H>);

impl<H> fmt::Debug for Shows<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the certificate of a machine")
    }
}

impl<H: Host> ResolvesServerCert for Shows<H> {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.certificate())
    }
}

fn configuration(host: Arc<impl Host>) -> ServerConfig {
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(crypto)
        .with_protocol_versions(&[&version::TLS13])
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shows(host)))
}

async fn respond(
    request: Request<Incoming>,
    host: Arc<impl Host>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_owned(), value.to_owned())
    };
    let query = head.uri.query().unwrap_or_default();
    let (status, answer) = host.answer(Call {
        line: format!("{} {}", head.method, head.uri),
        method: head.method.to_string(),
        path: head
            .uri
            .path()
            .split('/')
            .skip(1)
            .map(str::to_owned)
            .collect(),
        query: query
            .split('&')
            .filter(|part| !part.is_empty())
            .map(pair)
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    let mut response = Response::new(Full::from(answer.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    Ok(response)
}
