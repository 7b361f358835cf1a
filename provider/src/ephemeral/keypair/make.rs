//! Makes pairs of keys from the machine's randomness; `keypair.rs` says of which kind.
//!
//! [`Pair`] has no `Debug`, so that no log and no panic can show its private half. Errors say which step failed and repeat
//! nothing of the key.

use core::time::Duration;
use std::time::SystemTime;

use aws_lc_rs::agreement::{PrivateKey, X25519};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use incus::Fingerprint;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P384_SHA384,
};

/// Clocks of machines without a battery differ; a certificate that begins just now is refused by some.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// A pair of keys, each half as its users write it.
pub(super) struct Pair {
    pub(super) private_key: String,
    pub(super) public_key: String,
    pub(super) certificate: Option<String>,
    pub(super) fingerprint: Option<String>,
}

/// What a client certificate says.
pub(super) struct ClientCertificate {
    pub(super) common_name: String,
    pub(super) validity: Duration,
    pub(super) now: SystemTime,
}

/// Which step failed. Causes are left out: one of them could show what it was given.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("The machine gave no random numbers")]
    Random,
    #[error("The key could not be made")]
    Key,
    #[error("The certificate could not be signed")]
    Certificate,
}

/// A pair as `wg genkey | tee key | wg pubkey` makes it.
pub(super) fn wireguard() -> Result<Pair, Failure> {
    let mut private_key = [0; 32];
    getrandom::fill(&mut private_key).map_err(|_| Failure::Random)?;
    clamp(&mut private_key);
    Ok(Pair {
        private_key: STANDARD.encode(private_key),
        public_key: STANDARD.encode(wireguard_public_key(&private_key)?),
        certificate: None,
        fingerprint: None,
    })
}

/// Makes any 32 bytes a private key of X25519 (RFC 7748, section 5), as `wg genkey` does. The library's own keys are
/// deliberately left without it, and not every implementation of WireGuard makes up for that.
fn clamp(key: &mut [u8; 32]) {
    key[0] &= 0b1111_1000;
    key[31] = key[31] & 0b0111_1111 | 0b0100_0000;
}

pub(super) fn wireguard_public_key(private_key: &[u8; 32]) -> Result<Vec<u8>, Failure> {
    let key = PrivateKey::from_private_key(&X25519, private_key).map_err(|_| Failure::Key)?;
    let public_key = key.compute_public_key().map_err(|_| Failure::Key)?;
    Ok(public_key.as_ref().to_vec())
}

/// A key and a certificate as `incus remote generate-certificate` makes them.
pub(super) fn client_certificate(wanted: &ClientCertificate) -> Result<Pair, Failure> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).map_err(|_| Failure::Key)?;
    let ends = wanted.now.checked_add(wanted.validity);
    let mut parameters = CertificateParams::default();
    parameters.not_before = (wanted.now - CLOCK_SKEW).into();
    parameters.not_after = ends.ok_or(Failure::Certificate)?.into();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, &wanted.common_name);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters
        .self_signed(&key)
        .map_err(|_| Failure::Certificate)?;
    Ok(Pair {
        private_key: key.serialize_pem(),
        public_key: key.public_key_pem(),
        certificate: Some(certificate.pem()),
        fingerprint: Some(Fingerprint::of_der(certificate.der()).to_string()),
    })
}
