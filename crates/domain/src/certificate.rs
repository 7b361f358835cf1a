//! Certificates as users paste them: which text is one, and how a seed spells it.
//!
//! Before: attributes and files with PEM. After: DER, by which two are compared, and one spelling of PEM whatever the
//! line ends and the text around it were, so that the same certificate renders the same file.
//! Not here: whether it has expired. Nothing here knows what time it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use crate::seed::secret;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Why a text is not the certificate that was asked for. The message continues "The text".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is a private key in it.
    #[error("holds a private key, which must stay with its owner (it is not repeated here)")]
    PrivateKey,
    /// There is no certificate in it.
    #[error("holds no certificate in PEM form")]
    Missing,
    /// There are this many.
    #[error("holds {0} certificates")]
    Several(usize),
    /// There is more than a certificate in it.
    #[error("holds another PEM block beside a certificate")]
    OtherBlock,
    /// What stands between the lines that mark a certificate is no base64, or has no end.
    #[error("holds a certificate whose PEM form is damaged")]
    Damaged,
    /// What it decodes to is something else.
    #[error("holds a PEM block CERTIFICATE that is not an X.509 certificate")]
    NotX509,
}

/// The one certificate in a text, in DER form.
///
/// # Errors
/// If there is none, another thing or more than that.
pub(crate) fn one(text: &str) -> Result<Vec<u8>, Error> {
    let mut all = all(text)?;
    match (all.len(), all.pop()) {
        (1, Some(der)) => Ok(der),
        (count, _) => Err(Error::Several(count)),
    }
}

/// The certificates in a text, at least one, in DER form. Lines between them count as remarks.
///
/// # Errors
/// If there is none, or something else.
pub(crate) fn all(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    if secret::is_private_key(text) {
        return Err(Error::PrivateKey);
    }
    let mut certificates = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line == BEGIN {
            let mut body = String::new();
            loop {
                match lines.next() {
                    Some(END) => break,
                    Some(line) => body.push_str(line),
                    None => return Err(Error::Damaged),
                }
            }
            let der = STANDARD.decode(body).map_err(|_| Error::Damaged)?;
            Certificate::from_der(&der).map_err(|_| Error::NotX509)?;
            certificates.push(der);
        } else if line.starts_with("-----BEGIN ") {
            return Err(Error::OtherBlock);
        } else if line.contains("-----") {
            return Err(Error::Damaged);
        }
    }
    if certificates.is_empty() {
        return Err(Error::Missing);
    }
    Ok(certificates)
}

/// A certificate in PEM form, with lines of 64 characters.
pub(crate) fn pem(der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = format!("{BEGIN}\n");
    for (position, character) in body.chars().enumerate() {
        if position > 0 && position % 64 == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text + "\n" + END + "\n"
}

/// The spelling of a seed, or the text as it is where it is no certificate, which `check` refuses.
pub(crate) fn normalised(text: &str) -> String {
    one(text).map_or_else(|_| text.to_owned(), |der| pem(&der))
}
