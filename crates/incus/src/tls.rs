//! TLS as Incus uses it: certificates that sign themselves, known by their fingerprints.
//!
//! `transport/connect.rs` performs the handshake with the configuration built here; whether a
//! server's certificate is accepted is asked of `trust.rs`, before the client shows its own.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, SignatureScheme, version,
};

use crate::certificate::{Fingerprint, lapse};
use crate::trust::{Distrust, Peer, Trusted};

/// The only cryptography of this workspace.
pub(crate) fn crypto() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// How to shake hands with a server.
pub(crate) fn configuration(trusted: &Arc<Trusted>) -> Result<ClientConfig, rustls::Error> {
    let crypto = Arc::new(crypto());
    let verifier = Verifier {
        trusted: Arc::clone(trusted),
        crypto: Arc::clone(&crypto),
    };
    // Incus speaks nothing older than 1.3, which also hides the client's certificate from others.
    let builder = ClientConfig::builder_with_provider(crypto)
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut configuration = match &trusted.identity {
        Some(identity) => {
            let certified = Arc::clone(&identity.certified);
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
        None => builder.with_no_client_auth(),
    };
    // A resumed session shows no certificate, and each connection is to be judged.
    configuration.resumption = Resumption::disabled();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

/// What is to be known about a certificate that a server shows.
pub(crate) fn peer(certificate: &CertificateDer<'_>, now: UnixTime) -> Peer {
    Peer {
        fingerprint: Fingerprint::of_der(certificate),
        lapse: lapse(certificate, now),
    }
}

/// The reason for which the verifier below has ended a handshake, if it has.
pub(crate) fn distrust(error: &std::io::Error) -> Option<Distrust> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(reason))) => {
            reason.downcast_ref::<Distrust>().cloned()
        }
        _ => None,
    }
}

/// Accepts a server by its certificate's fingerprint. Its name and issuer don't matter.
#[derive(Debug)]
struct Verifier {
    trusted: Arc<Trusted>,
    crypto: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.trusted.judge_peer(peer(end_entity, now)) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(distrust) => Err(CertificateError::Other(OtherError(Arc::new(distrust))).into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
