//! Whom https believes when images are looked up: the certificate authorities that this machine trusts.
//!
//! Before: `fetch.rs` opens a connection. These servers are the world's, so that names and issuers count, unlike those
//! of Incus itself (`tls.rs`). `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, as they do for most programs.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::TransportError;
use crate::tls::crypto;

/// How to shake hands with a server of images; `None` where this machine trusts nobody.
pub(super) fn configuration() -> Option<Arc<ClientConfig>> {
    // Reading some hundred certificates takes milliseconds, and is needed at most once.
    static LOADED: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    LOADED
        .get_or_init(|| believing(rustls_native_certs::load_native_certs().certs))
        .clone()
}

fn believing(authorities: Vec<CertificateDer<'static>>) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    // One that cannot be read takes nothing away from the others.
    roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return None;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto()));
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let mut configuration = builder.with_root_certificates(roots).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(configuration))
}

/// Shakes hands with a server that should be `host`.
pub(super) async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin>(
    configuration: Arc<ClientConfig>,
    host: &str,
    stream: S,
) -> Result<TlsStream<S>, TransportError> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| TransportError::Connect(io::Error::other(error)))?;
    TlsConnector::from(configuration)
        .connect(name, stream)
        .await
        .map_err(TransportError::Handshake)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// The address of a server that shakes hands with everybody, and its certificate.
    async fn server() -> (std::net::SocketAddr, CertificateDer<'static>) {
        let names = vec!["localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let certificate = cert.der().clone();
        let configuration = ServerConfig::builder_with_provider(Arc::new(crypto()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .expect("a key that fits");
        let acceptor = TlsAcceptor::from(Arc::new(configuration));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = acceptor.accept(stream).await;
            }
        });
        (address, certificate)
    }

    #[tokio::test]
    async fn a_server_is_believed_for_its_authority_and_its_name() {
        let (address, certificate) = server().await;
        let (_, stranger) = server().await;
        for (authority, host, believed) in [
            (&certificate, "localhost", true),
            (&certificate, "elsewhere", false),
            (&stranger, "localhost", false),
        ] {
            let configuration = believing(vec![authority.clone()]).expect("an authority");
            let stream = TcpStream::connect(address).await.expect("a connection");
            let shaken = shake_hands(configuration, host, stream).await;
            assert_eq!(shaken.is_ok(), believed, "{host}: {:?}", shaken.err());
        }
    }

    #[test]
    fn a_machine_without_authorities_believes_nobody() {
        let nonsense = CertificateDer::from(vec![1, 2, 3]);
        assert!(believing(Vec::new()).is_none() && believing(vec![nonsense]).is_none());
    }
}
