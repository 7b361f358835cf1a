//! Makes client certificates that sign themselves, from this machine's randomness.
//!
//! Before this, somebody decided on a name and a validity and read the clock; after it, the pair goes to a configuration,
//! a seed or a file. Not here: the pair's use against a server, which is `../identity.rs`.
//!
//! [`Pair`] has no `Debug`, so that no log and no panic can show its private half. Errors say which step failed and repeat
//! nothing of the key.

use core::time::Duration;
use std::time::SystemTime;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P384_SHA384,
};

use super::Fingerprint;

/// Clocks of machines without a battery differ; a certificate that begins just now is refused by some.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// What a certificate shall say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The name in it, at most 64 characters (RFC 5280). Incus shows it nowhere, but it helps people.
    pub common_name: String,
    /// How long it counts from `now` on.
    pub validity: Duration,
    /// The time at which it is made; it counts from an hour before, since clocks differ.
    pub now: SystemTime,
}

/// A certificate and the key that it was signed with.
pub struct Pair {
    /// The private half, in PEM (PKCS #8). A secret.
    pub private_key: String,
    /// The public half, in PEM.
    pub public_key: String,
    /// The certificate, in PEM.
    pub certificate: String,
    /// What Incus lists the certificate by.
    pub fingerprint: Fingerprint,
}

/// Which step failed. Causes are left out: one of them could show what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SelfSignedError {
    /// The machine gave no random numbers, or the library refused them.
    #[error("The key could not be made")]
    Key,
    /// The name or the validity fits into no certificate.
    #[error("The certificate could not be signed")]
    Certificate,
}

/// Makes a key and a certificate as `incus remote generate-certificate` makes them: ECDSA on P-384, for clients
/// (HO-SEED-11). Each call makes another pair.
pub fn self_signed(wanted: &Wanted) -> Result<Pair, SelfSignedError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).map_err(|_| SelfSignedError::Key)?;
    let begins = wanted.now.checked_sub(CLOCK_SKEW);
    let ends = wanted.now.checked_add(wanted.validity);
    let mut parameters = CertificateParams::default();
    parameters.not_before = begins.ok_or(SelfSignedError::Certificate)?.into();
    parameters.not_after = ends.ok_or(SelfSignedError::Certificate)?.into();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, &wanted.common_name);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters
        .self_signed(&key)
        .map_err(|_| SelfSignedError::Certificate)?;
    Ok(Pair {
        private_key: key.serialize_pem(),
        public_key: key.public_key_pem(),
        certificate: certificate.pem(),
        fingerprint: Fingerprint::of_der(certificate.der()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, UnixTime};

    use super::super::lapse;
    use super::*;
    use crate::Identity;

    /// 2026-01-01T00:00:00Z, in seconds since 1970.
    const NOW: u64 = 1_767_225_600;

    fn made(validity: u64) -> Result<Pair, SelfSignedError> {
        self_signed(&Wanted {
            common_name: "Käthe's laptop".into(),
            validity: Duration::from_secs(validity),
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(NOW),
        })
    }

    /// The certificate is of this key, has the name, and is one that this crate itself shows to servers (HO-SEED-11).
    #[test]
    fn a_pair_is_as_incus_takes_it() {
        let pair = made(7200).expect("a pair");
        assert!(pair.private_key.starts_with("-----BEGIN PRIVATE KEY-----"));
        assert!(pair.public_key.starts_with("-----BEGIN PUBLIC KEY-----"));
        assert_eq!(Fingerprint::of_pem(&pair.certificate), Ok(pair.fingerprint));
        let identity = Identity::from_pem(Some(&pair.certificate), Some(&pair.private_key));
        let identity = identity.expect("the key fits").expect("an identity");
        assert_eq!(identity.fingerprint(), pair.fingerprint);
        let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM");
        let name = "Käthe's laptop".as_bytes();
        assert!(der.windows(name.len()).any(|window| window == name));
    }

    #[test]
    fn it_counts_from_an_hour_ago_until_its_validity_is_over() {
        let pair = made(7200).expect("a pair");
        let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM");
        let at = |seconds| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            lapse(&der, now).map(|lapse| lapse.to_string())
        };
        let begins = "is not valid before 2025-12-31T23:00:00Z";
        assert_eq!(at(NOW - 3601).as_deref(), Some(begins));
        assert_eq!(at(NOW - 3600), None);
        assert_eq!(at(NOW + 7200), None);
        let ended = "expired on 2026-01-01T02:00:00Z";
        assert_eq!(at(NOW + 7201).as_deref(), Some(ended));
    }

    #[test]
    fn no_two_pairs_are_alike() {
        let keys: BTreeSet<String> = (0..4)
            .filter_map(|_| made(60).ok())
            .flat_map(|pair| [pair.private_key, pair.public_key])
            .collect();
        assert_eq!(keys.len(), 8);
    }

    #[test]
    fn a_validity_beyond_all_time_is_refused() {
        assert_eq!(made(u64::MAX).err(), Some(SelfSignedError::Certificate));
    }
}
