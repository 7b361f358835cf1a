//! Who this client is to a server: a certificate and the private key that belongs to it.
//!
//! Before this comes a configuration with both as PEM texts; `tls.rs` shows the identity to
//! servers. Whatever is wrong with the texts is found here, before anything is opened, and told
//! without repeating them: they are secrets, or may be by mistake.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::sign::CertifiedKey;

use crate::certificate::{Fingerprint, Lapse, lapse};
use crate::tls::crypto;

/// A client certificate with its private key. `Debug` prints the certificate's fingerprint.
#[derive(Clone)]
pub struct Identity {
    pub(crate) certified: Arc<CertifiedKey>,
    certificate: CertificateDer<'static>,
}

/// Why two texts make no identity. No message repeats anything of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A certificate alone proves nothing.
    #[error("the client certificate {certificate} comes without its private key")]
    KeyMissing {
        /// The certificate's fingerprint.
        certificate: Fingerprint,
    },
    /// A key alone says nothing.
    #[error("a client key comes without its certificate")]
    CertificateMissing,
    /// Where the certificate should be is a private key, perhaps beside it.
    #[error(
        "the client certificate's text contains a private key, which belongs into the key alone"
    )]
    KeyInCertificate,
    /// The certificate's text is something else.
    #[error("the client certificate is no certificate in PEM form")]
    UnreadableCertificate,
    /// The key needs a password.
    #[error("the client key is encrypted; only a key that needs no password can be used")]
    EncryptedKey,
    /// The key's text is something else.
    #[error("the client key is no private key in PEM form")]
    UnreadableKey,
    /// The key is of a kind that is not known.
    #[error("the client key is of a kind that cannot be used; use an ECDSA, Ed25519 or RSA key")]
    UnusableKey,
    /// The key belongs to another certificate.
    #[error("the client key does not fit the client certificate {certificate}")]
    KeyDoesNotFit {
        /// The certificate's fingerprint.
        certificate: Fingerprint,
    },
}

impl Identity {
    /// Reads certificate and key as a configuration has them: both or neither.
    pub fn from_pem(
        certificate: Option<&str>,
        key: Option<&str>,
    ) -> Result<Option<Self>, IdentityError> {
        let (certificate, key) = match (certificate, key) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(IdentityError::CertificateMissing),
            (Some(certificate), key) => (chain(certificate)?, key),
        };
        let fingerprint = Fingerprint::of_der(&certificate[0]);
        let key = private_key(key.ok_or(IdentityError::KeyMissing {
            certificate: fingerprint,
        })?)?;
        let first = certificate[0].clone();
        let certified = match CertifiedKey::from_der(certificate, key, &crypto()) {
            Ok(certified) => certified,
            Err(rustls::Error::InconsistentKeys(_)) => {
                return Err(IdentityError::KeyDoesNotFit {
                    certificate: fingerprint,
                });
            }
            Err(rustls::Error::InvalidCertificate(_)) => {
                return Err(IdentityError::UnreadableCertificate);
            }
            Err(_) => return Err(IdentityError::UnusableKey),
        };
        Ok(Some(Self {
            certified: Arc::new(certified),
            certificate: first,
        }))
    }

    /// What servers know this client by.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_der(&self.certificate)
    }

    /// Says whether the certificate does not count today.
    pub fn lapse(&self) -> Option<Lapse> {
        lapse(&self.certificate, UnixTime::now())
    }
}

/// The certificates of a text, at least one.
fn chain(text: &str) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    // A certificate is shown in plans, so a key must not come along with it.
    if text.contains("PRIVATE KEY-----") {
        return Err(IdentityError::KeyInCertificate);
    }
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        // What the PEM reader says quotes what it read.
        Ok(_) | Err(_) => Err(IdentityError::UnreadableCertificate),
    }
}

fn private_key(text: &str) -> Result<PrivateKeyDer<'static>, IdentityError> {
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(IdentityError::EncryptedKey);
    }
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| IdentityError::UnreadableKey)
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client certificate {}", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["me".to_owned()]).expect("a certificate");
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn certificate_and_key_make_an_identity_and_nothing_is_none() {
        assert!(matches!(Identity::from_pem(None, None), Ok(None)));
        let (certificate, key) = pair();
        let identity = Identity::from_pem(Some(&certificate), Some(&key));
        let identity = identity.expect("an identity").expect("an identity");
        let fingerprint = Fingerprint::of_pem(&certificate).expect("a certificate");
        assert_eq!(identity.fingerprint(), fingerprint);
        assert_eq!(identity.lapse(), None);
        assert_eq!(
            format!("{identity:?}"),
            format!("the client certificate {fingerprint}")
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_no_key_is_repeated() {
        let (certificate, key) = pair();
        let (_, other) = pair();
        let certificate_of = Fingerprint::of_pem(&certificate).expect("a certificate");
        let combined = format!("{certificate}{key}");
        let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let cut = &key[..key.len() / 2];
        let hollow = "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n";
        let nonsense = "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n";
        let c = Some(certificate.as_str());
        for (certificate, key, expected) in [
            (
                c,
                None,
                IdentityError::KeyMissing {
                    certificate: certificate_of,
                },
            ),
            (None, Some(key.as_str()), IdentityError::CertificateMissing),
            (Some(&combined), Some(&key), IdentityError::KeyInCertificate),
            (Some(&key), Some(&key), IdentityError::KeyInCertificate),
            (
                Some("hello"),
                Some(&key),
                IdentityError::UnreadableCertificate,
            ),
            (
                Some(nonsense),
                Some(&key),
                IdentityError::UnreadableCertificate,
            ),
            (c, Some(&encrypted), IdentityError::EncryptedKey),
            (c, Some(cut), IdentityError::UnreadableKey),
            (c, c, IdentityError::UnreadableKey),
            (c, Some(hollow), IdentityError::UnusableKey),
            (
                c,
                Some(&other),
                IdentityError::KeyDoesNotFit {
                    certificate: certificate_of,
                },
            ),
        ] {
            let error = Identity::from_pem(certificate, key).expect_err("something is wrong");
            assert_eq!(error, expected);
            let told = format!("{error} {error:?}");
            let lines = combined.lines().chain(other.lines());
            for secret in lines.filter(|line| line.len() > 20 && !line.starts_with("---")) {
                assert!(!told.contains(secret), "{told}");
            }
        }
    }
}
