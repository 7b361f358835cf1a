//! Mutual TLS with exactly one other side: the host that started this process.
//!
//! The host gives its certificate in the environment and learns ours from the handshake line, so there is no authority
//! and no chain: the host's certificate is accepted by being itself, byte for byte, and proves itself by its key. Any
//! other local program is refused, although it may know the socket. rustls' own verifier is no use here, because the
//! host's certificate claims to be an authority, which a client must not be.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
};

/// The encryption could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("reading the host's certificate from PLUGIN_CLIENT_CERT")]
    HostCertificate(#[source] rustls::pki_types::pem::Error),
    #[error("making this process's own certificate")]
    OwnCertificate(#[source] rcgen::Error),
    #[error("setting TLS up")]
    Setup(#[source] rustls::Error),
}

/// What the listener needs, and the certificate that the host has to learn.
pub(crate) struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) certificate: CertificateDer<'static>,
}

/// Makes a key and a certificate for this process, to be used with this host only.
pub(crate) fn identify(host_certificate: &str) -> Result<Identity, Error> {
    let host = CertificateDer::from_pem_slice(host_certificate.as_bytes())
        .map_err(Error::HostCertificate)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = HostOnly {
        host,
        algorithms: provider.signature_verification_algorithms,
    };
    let (certificate, key) = own_certificate()?;
    let config = configure(provider, verifier, certificate.clone(), key).map_err(Error::Setup)?;
    Ok(Identity {
        config: Arc::new(config),
        certificate,
    })
}

/// A self-signed certificate for `localhost`, the name by which hosts ask. Its key is a P-256 one: quickly made, and
/// it never leaves this process.
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .map_err(Error::OwnCertificate)?;
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, "localhost");
    parameters
        .extended_key_usages
        .push(rcgen::ExtendedKeyUsagePurpose::ServerAuth);
    let key = rcgen::KeyPair::generate().map_err(Error::OwnCertificate)?;
    let certificate = parameters
        .self_signed(&key)
        .map_err(Error::OwnCertificate)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok((certificate.der().clone(), key))
}

fn configure(
    provider: Arc<CryptoProvider>,
    verifier: HostOnly,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // The host connects once. Sessions to be resumed would only be a second way in.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Accepts one certificate, and of that one only what its key has signed.
#[derive(Debug)]
struct HostOnly {
    host: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for HostOnly {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // No hints: a host that is told names would look for a chain and send nothing.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if *end_entity == self.host {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
