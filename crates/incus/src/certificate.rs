//! Certificates as identities: a fingerprint to know one by, and the dates between which it counts.
//!
//! Incus's certificates sign themselves, so there is no authority to ask: a certificate is known by
//! its fingerprint (`trust.rs` judges it), and its dates are read only to say what is wrong.
//! `certificate/self_signed.rs` makes new ones, for clients.

mod self_signed;

use std::fmt;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest, Sha256};
use webpki::{EndEntityCert, KeyUsage};

pub use self_signed::{Pair, SelfSignedError, Wanted, self_signed};

/// What a certificate is known by: the SHA-256 of its DER form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fingerprint: a SHA-256 is 64 hexadecimal digits")]
pub struct FingerprintError {
    text: String,
}

/// Why a text holds no certificate to take a fingerprint of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no certificate in PEM form in it")]
pub struct NoCertificate;

/// A certificate that does not count at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lapse {
    /// Its time is over.
    Expired {
        /// Since when.
        since: Timestamp,
    },
    /// Its time has not come, or this machine's clock is wrong.
    NotYetValid {
        /// From when on it counts.
        from: Timestamp,
    },
}

impl Fingerprint {
    /// Reads 64 hexadecimal digits in any case, also with colons between the bytes.
    pub fn parse(text: &str) -> Result<Self, FingerprintError> {
        let refuse = || FingerprintError {
            // The beginning is enough to find it, whatever was pasted here.
            text: text.chars().take(80).collect(),
        };
        let digits: Vec<u8> = match text.split(':').collect::<Vec<_>>() {
            bytes if bytes.len() == 32 && bytes.iter().all(|byte| byte.len() == 2) => {
                bytes.concat().into_bytes()
            }
            _ => text.as_bytes().to_vec(),
        };
        if digits.len() != 64 {
            return Err(refuse());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |index: usize| char::from(pair[index]).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                return Err(refuse());
            };
            *byte = (high << 4 | low) as u8;
        }
        Ok(Self(bytes))
    }

    /// The fingerprint of a certificate in DER form.
    pub fn of_der(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }

    /// The fingerprint of the first certificate in a PEM text.
    pub fn of_pem(pem: &str) -> Result<Self, NoCertificate> {
        let certificate =
            CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| NoCertificate)?;
        Ok(Self::of_der(&certificate))
    }
}

/// Says whether a certificate does not count at this time. One whose dates cannot be read says
/// nothing about them.
pub(crate) fn lapse(certificate: &CertificateDer<'_>, now: UnixTime) -> Option<Lapse> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    // The dates are checked before anything else; that no authority is known, and everything else
    // that is said about the certificate, does not matter here.
    let usage = KeyUsage::server_auth();
    let checked = certificate.verify_for_usage(&[], &[], &[], now, usage, None, None);
    match checked.err()? {
        webpki::Error::CertExpired { not_after, .. } => Some(Lapse::Expired {
            since: timestamp(not_after),
        }),
        webpki::Error::CertNotValidYet { not_before, .. } => Some(Lapse::NotYetValid {
            from: timestamp(not_before),
        }),
        _ => None,
    }
}

fn timestamp(time: UnixTime) -> Timestamp {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Lapse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired { since } => write!(f, "expired on {since}"),
            Self::NotYetValid { from } => write!(f, "is not valid before {from}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn fingerprints_are_sha256_however_they_are_written() {
        let fingerprint = Fingerprint::of_der(b"abc");
        assert_eq!(fingerprint.to_string(), HEX);
        let pairs: Vec<String> = HEX
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).to_uppercase())
            .collect();
        for text in [HEX.to_owned(), HEX.to_uppercase(), pairs.join(":")] {
            assert_eq!(Fingerprint::parse(&text), Ok(fingerprint), "{text}");
        }
    }

    #[test]
    fn what_is_no_fingerprint_is_refused() {
        let multibyte = "ü".repeat(32);
        let long = format!("{HEX}0");
        let short = &HEX[..63];
        let signed = format!("+{}", &HEX[1..]);
        let colons = format!("{}:", &HEX[..63]);
        for text in ["", "ab", short, &long, &multibyte, &signed, &colons] {
            assert!(Fingerprint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_without_certificate_has_no_fingerprint() {
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA"] {
            assert_eq!(Fingerprint::of_pem(text), Err(NoCertificate), "{text}");
        }
    }

    #[test]
    fn the_dates_of_a_certificate_are_read() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut parameters = rcgen::CertificateParams::new(["m1".to_owned()]).expect("names");
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let at = |text: &str| {
            let time: Timestamp = text.parse().expect("a time");
            let seconds = u64::try_from(time.as_second()).expect("after 1970");
            let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
            lapse(certificate.der(), now).map(|lapse| lapse.to_string())
        };
        assert_eq!(at("2025-01-01T00:00:00Z"), None);
        assert_eq!(
            at("2019-01-01T00:00:00Z").as_deref(),
            Some("is not valid before 2020-01-01T00:00:00Z")
        );
        assert_eq!(
            at("2031-01-01T00:00:00Z").as_deref(),
            Some("expired on 2030-01-01T00:00:00Z")
        );
        assert_eq!(
            lapse(&CertificateDer::from(vec![0x30, 1]), UnixTime::now()),
            None
        );
    }
}
