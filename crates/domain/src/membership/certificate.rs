//! Certificates in PEM form, as far as one has to be known again: its bytes, and their fingerprint.
//!
//! Before: an attribute. After: Incus is asked to trust it, and lists it by its fingerprint. Not here: what is written
//! in it. A private key is refused, and no text of one is ever repeated.

use core::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A public certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// In PEM form.
    pub pem: String,
    /// SHA-256 of its DER form, in lower-case hexadecimal.
    pub fingerprint: String,
}

/// Why a text is no certificate. The message continues "the text …"; it repeats nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is a private key in it.
    #[error("holds a private key")]
    PrivateKey,
    /// There is no certificate in it.
    #[error("holds no certificate in PEM form")]
    None,
    /// There is more than one.
    #[error("holds more than one certificate")]
    Several,
    /// What stands between the lines that mark a certificate is no base64.
    #[error("holds a certificate that is not whole")]
    Damaged,
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

impl Certificate {
    /// Reads a text that holds one certificate, and beside it nothing that is secret.
    ///
    /// # Errors
    /// The first reason why it does not.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.contains("PRIVATE KEY-----") {
            return Err(Error::PrivateKey);
        }
        let (_, behind) = text.split_once(BEGIN).ok_or(Error::None)?;
        let (body, rest) = behind.split_once(END).ok_or(Error::Damaged)?;
        if rest.contains(BEGIN) {
            return Err(Error::Several);
        }
        let body: String = body.chars().filter(|one| !one.is_whitespace()).collect();
        let der = STANDARD.decode(body).map_err(|_| Error::Damaged)?;
        // The outermost element of every certificate is a sequence.
        if der.first() != Some(&0x30) {
            return Err(Error::Damaged);
        }
        Ok(Self {
            pem: text.to_owned(),
            fingerprint: hexadecimal(&Sha256::digest(der)),
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The shortest text that has the form of one.
    pub(in super::super) const PEM: &str =
        "-----BEGIN CERTIFICATE-----\nMAMC\nAQE=\n-----END CERTIFICATE-----\n";

    #[test]
    fn a_certificate_is_known_by_the_digest_of_its_bytes() {
        let certificate = Certificate::parse(PEM).expect("a certificate");
        let expected = hexadecimal(&Sha256::digest([0x30, 0x03, 0x02, 0x01, 0x01]));
        assert_eq!(certificate.fingerprint, expected);
        let crlf = PEM.replace('\n', "\r\n");
        let read = Certificate::parse(&crlf).expect("a certificate");
        assert_eq!(read.fingerprint, expected);
    }

    #[test]
    fn what_is_no_public_certificate_says_why() {
        let key = format!("{PEM}-----BEGIN EC PRIVATE KEY-----\nhunter2\n");
        let twice = format!("{PEM}{PEM}");
        for (text, error) in [
            ("", Error::None),
            ("hello", Error::None),
            ("-----BEGIN CERTIFICATE-----\nMAMC", Error::Damaged),
            (
                "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
                Error::Damaged,
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                Error::Damaged,
            ),
            (key.as_str(), Error::PrivateKey),
            (twice.as_str(), Error::Several),
        ] {
            assert_eq!(Certificate::parse(text), Err(error), "{text}");
        }
    }
}
