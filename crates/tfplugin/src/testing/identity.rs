//! Who the host is: a certificate like the one that go-plugin makes for each process it starts.
//!
//! Its key is a P-521 one and it claims to be an authority. Both are what trips other servers, so both are kept here.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P521_SHA512,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};

/// A host's key and certificate.
pub struct HostIdentity {
    /// What a provider is given in its environment.
    pub certificate_pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl HostIdentity {
    /// Makes a new one.
    pub fn new() -> Result<HostIdentity, rcgen::Error> {
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
        parameters
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, "HashiCorp");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyAgreement,
            KeyUsagePurpose::KeyCertSign,
        ];
        parameters.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512)?;
        let certificate = parameters.self_signed(&key)?;
        Ok(HostIdentity {
            certificate_pem: certificate.pem(),
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        })
    }

    /// How to connect to a provider with this certificate: no other one is trusted.
    pub(super) fn trusting(
        &self,
        provider: CertificateDer<'static>,
    ) -> Result<ClientConfig, rustls::Error> {
        let chain = vec![self.certificate.clone()];
        trusting(provider)?
            .with_client_auth_cert(chain, self.key.clone_key())
            .map(with_protocol)
    }
}

/// The same without showing a certificate, as any local program could try.
pub(super) fn nobody_trusting(
    provider: CertificateDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    Ok(with_protocol(trusting(provider)?.with_no_client_auth()))
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>;

fn trusting(provider: CertificateDer<'static>) -> Result<Builder, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    Ok(builder
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots))
}

fn with_protocol(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}
