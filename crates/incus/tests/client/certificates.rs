//! Certificates made on the spot, and servers that show them.

use std::sync::Arc;

use incus::{Fingerprint, Identity};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, ServerConfig, SignatureScheme};

/// A certificate with its key, valid in these years.
pub(crate) struct Certificate {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Certificate {
    /// One that is valid now.
    pub(crate) fn new(name: &str) -> Self {
        Self::between(name, 2020, 4000)
    }

    pub(crate) fn between(name: &str, from: i32, to: i32) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new([name.to_owned()]).expect("names");
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(to, 1, 1);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Self { certificate, key }
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_der(self.certificate.der())
    }

    pub(crate) fn identity(&self) -> Identity {
        let (certificate, key) = (self.certificate.pem(), self.key.serialize_pem());
        let identity = Identity::from_pem(Some(&certificate), Some(&key));
        identity.expect("an identity").expect("an identity")
    }

    /// A server that shows this and asks for a client's certificate, as Incus does.
    pub(crate) fn server(&self) -> ServerConfig {
        self.server_with(Anybody { required: false })
    }

    /// A server that lets nobody in who shows nothing.
    pub(crate) fn strict_server(&self) -> ServerConfig {
        self.server_with(Anybody { required: true })
    }

    fn server_with(&self, verifier: Anybody) -> ServerConfig {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).expect("a key");
        let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(vec![self.certificate.der().clone()], key)
            .expect("a certificate with its key")
    }
}

/// Takes any client's certificate, as Incus does before it looks into its trust store.
#[derive(Debug)]
struct Anybody {
    required: bool,
}

impl ClientCertVerifier for Anybody {
    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let crypto = rustls::crypto::aws_lc_rs::default_provider();
        let algorithms = crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let crypto = rustls::crypto::aws_lc_rs::default_provider();
        crypto.signature_verification_algorithms.supported_schemes()
    }
}
