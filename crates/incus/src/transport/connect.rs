//! Opening a stream to an endpoint: a socket of this machine, or TLS over TCP.
//!
//! `transport.rs` sends requests over the stream. Network connections go straight to the endpoint:
//! the environment's proxies are not asked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::tls;
use crate::trust::{Peer, Trusted};

/// A healthy server takes a connection in milliseconds, even when its database hangs.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Whatever carries bytes both ways.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// An open stream, and the certificate that was shown on it.
pub(super) struct Stream {
    pub(super) io: Box<dyn Duplex>,
    pub(super) peer: Option<Peer>,
}

pub(super) async fn connect(
    endpoint: &Endpoint,
    trusted: &Arc<Trusted>,
) -> Result<Stream, TransportError> {
    let connecting = async {
        match endpoint {
            Endpoint::Unix(path) => match UnixStream::connect(path).await {
                Ok(stream) => Ok(Stream {
                    io: Box::new(stream),
                    peer: None,
                }),
                Err(error) => Err(TransportError::Connect(error)),
            },
            Endpoint::Https { host, port } => over_tls(host, *port, trusted).await,
        }
    };
    timeout(CONNECT_LIMIT, connecting)
        .await
        .unwrap_or(Err(TransportError::ConnectTimeout(CONNECT_LIMIT)))
}

async fn over_tls(host: &str, port: u16, trusted: &Arc<Trusted>) -> Result<Stream, TransportError> {
    // Servers take a client with such a certificate for a stranger, and say no more than that.
    if let Some(identity) = &trusted.identity
        && let Some(lapse) = identity.lapse()
    {
        let certificate = identity.fingerprint();
        return Err(TransportError::ClientCertificate { certificate, lapse });
    }
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| TransportError::Connect(io::Error::other(error)))?;
    let configuration = tls::configuration(trusted)
        .map_err(|error| TransportError::Handshake(io::Error::other(error)))?;
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(TransportError::Connect)?;
    // Requests are small and each waits for its answer, so there is nothing to gather.
    stream.set_nodelay(true).map_err(TransportError::Connect)?;
    let stream = TlsConnector::from(Arc::new(configuration))
        .connect(name, stream)
        .await
        .map_err(|error| match tls::distrust(&error) {
            Some(distrust) => TransportError::Distrusted(Box::new(distrust)),
            None => TransportError::Handshake(error),
        })?;
    let certificates = stream.get_ref().1.peer_certificates();
    let peer = certificates.and_then(<[_]>::first);
    Ok(Stream {
        peer: peer.map(|certificate| tls::peer(certificate, UnixTime::now())),
        io: Box::new(stream),
    })
}
