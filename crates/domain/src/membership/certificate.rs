//! Certificates in PEM form, as far as one has to be known again: its bytes, and their fingerprint.
//!
//! Before: an attribute. After: Incus is asked to trust it, and lists it by its fingerprint. Not here: what is written
//! in it. A private key is refused, and no text of one is ever repeated.

use sha2::{Digest, Sha256};

use crate::certificate;
use crate::hex::hex;

pub use crate::certificate::Error;

/// A public certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// In PEM form.
    pub pem: String,
    /// SHA-256 of its DER form, in lower-case hexadecimal.
    pub fingerprint: String,
}

impl Certificate {
    /// Reads a text that holds one certificate, and beside it nothing that is secret.
    ///
    /// # Errors
    /// Why it does not.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let der = certificate::one(text)?;
        Ok(Self {
            pem: certificate::pem(&der),
            fingerprint: hex(&Sha256::digest(der)),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const PEM: &str =
        include_str!("../../tests/seeds/certificates/metrics.pem");

    /// As `openssl x509 -fingerprint -sha256` prints it.
    const FINGERPRINT: &str = "3328f1e508a4375b7856a2d1ca7dbc21d1ae573d286307a0d1e28f4ffcc7989d";

    #[test]
    fn a_certificate_is_known_by_the_digest_of_its_bytes() {
        for text in [
            PEM.to_owned(),
            PEM.replace('\n', "\r\n"),
            format!("metrics\n{PEM}"),
        ] {
            let certificate = Certificate::parse(&text).expect("a certificate");
            assert_eq!(certificate.fingerprint, FINGERPRINT);
            assert_eq!(certificate.pem, PEM);
        }
    }

    #[test]
    fn what_is_no_public_certificate_says_why() {
        let key = format!("{PEM}-----BEGIN EC PRIVATE KEY-----\nhunter2\n");
        let twice = format!("{PEM}{PEM}");
        let block =
            |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----");
        for (text, error) in [
            (String::new(), Error::Missing),
            ("hello".to_owned(), Error::Missing),
            (
                "-----BEGIN CERTIFICATE-----\nMAMC".to_owned(),
                Error::Damaged,
            ),
            (block("!"), Error::Damaged),
            (block("MAMCAQE="), Error::NotX509),
            (key, Error::PrivateKey),
            (twice, Error::Several(2)),
        ] {
            assert_eq!(Certificate::parse(&text), Err(error), "{text}");
        }
    }
}
