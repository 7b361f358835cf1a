//! Certificates as users paste them: which text is one, and how a seed spells it.
//!
//! Before: attributes and files with PEM. After: DER, by which two are compared, and one spelling of PEM whatever the
//! line ends and the text around it were, so that the same certificate renders the same file.
//! Not here: whether it has expired. Nothing here knows what time it is.

use core::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

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

/// Under which name the holder of a certificate is asked for, by whoever reaches it at `address`: `None` if the certificate
/// is made out to the address, or cannot be read, or names nothing.
pub fn name_for(text: &str, address: Ipv4Addr) -> Option<String> {
    let der = all(text).ok()?.into_iter().next()?;
    let certificate = Certificate::from_der(&der).ok()?;
    let found = certificate
        .tbs_certificate()
        .get_extension::<SubjectAltName>();
    let (_, SubjectAltName(names)) = found.ok()??;
    let is_address = |name: &GeneralName| matches!(name, GeneralName::IpAddress(bytes) if bytes.as_bytes() == address.octets());
    if names.iter().any(is_address) {
        return None;
    }
    names.iter().find_map(|name| match name {
        // What is made out to every name below another one is so to this one, too.
        GeneralName::DnsName(name) => Some(name.as_str().replace("*.", "any.")),
        _ => None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Made out to 127.0.0.1 and m1.
    const OF_INCUS: &str = "MIIBgzCCASqgAwIBAgIUMMu7LcK/TvodeHyo0MHcmbri5TQwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeDAgFw0yNjExMzAyMDUwMzBaGA8yMTI2MTEwNjIwNTAzMFowDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABI7/vFWr/Lp2HGwHIbYLhY3s3f47GDXevfnHsoY0qS2QSUB6SW/HT4CVd3BqXLbxUY5E2e3cc3YPrKvRNUGbLTyjaDBmMB0GA1UdDgQWBBQGXiD2P9Jmsgk66Z/4w+/TOYfvmzAfBgNVHSMEGDAWgBQGXiD2P9Jmsgk66Z/4w+/TOYfvmzAPBgNVHRMBAf8EBTADAQH/MBMGA1UdEQQMMAqHBH8AAAGCAm0xMAoGCCqGSM49BAMCA0cAMEQCIAnaeAKucymSS7IIxS5p3RjYTla8xQ/eMZcnrOKQSKo2AiA6HYIDG8zmhYy+x5Cdz5jXWl5VXVOLeINjvYGYaDhW0w==";
    /// Made out to *.example.net and x.
    const OF_A_SITE: &str = "MIIBjDCCATKgAwIBAgIUbN/L3zJ2U5RORbi70brM6SPnnlUwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeDAgFw0yNjExMzAyMDUwMzBaGA8yMTI2MTEwNjIwNTAzMFowDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIISfBM/uRVpr8Pp2OJqcPatbGklHiu/8NCGELw83mjdsBOjP/ieku713yiQSpyG6qngkBq9EaIIOh0sVYve0ySjcDBuMB0GA1UdDgQWBBRch0iNIomCg7tIgN3tYYhY8ujFVjAfBgNVHSMEGDAWgBRch0iNIomCg7tIgN3tYYhY8ujFVjAPBgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCDSouZXhhbXBsZS5uZXSCAXgwCgYIKoZIzj0EAwIDSAAwRQIgRwwslYpvN31nW5jM2S6yqqpc9A4UwuHn//QhIKi3E4UCIQDBTjQKdo4qxqZ/cKQ+KJoCNz23OLH6G+syD6z9ClgroQ==";
    /// Made out to nobody.
    const OF_NOBODY: &str = "MIIBbzCCARWgAwIBAgIUcj8vTDQoCtWezBSE1zftiJBs2+owCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeDAgFw0yNjExMzAyMDUwMzBaGA8yMTI2MTEwNjIwNTAzMFowDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNJYGS33cAt+TLTz/O9DlTt3wLwGWnI3VwAH6/ue46X/1lV5W9oO570FgcUTuOpk1p3LyAviZDdlX20jVC7kHfGjUzBRMB0GA1UdDgQWBBQZwHtF72sB3aYTR1z+NcXf+6faWTAfBgNVHSMEGDAWgBQZwHtF72sB3aYTR1z+NcXf+6faWTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDzNuFs42lPWO/AyV2zh19WnB0d14bYikpWrYR0pgAWuwIgQghRsPqhiCf2hS0d/FubVMjJVzQAg0g0iaKNoBJMis4=";

    /// HO-OBS-04: whoever reads metrics from 127.0.0.1 knows whom to expect there.
    #[test]
    fn a_certificate_says_under_which_name_its_holder_is_asked_for() {
        for (body, expected) in [
            (OF_INCUS, None),
            (OF_A_SITE, Some("any.example.net")),
            (OF_NOBODY, None),
            ("MAMC", None),
        ] {
            let text = format!("{BEGIN}\n{body}\n{END}\n");
            let name = name_for(&text, Ipv4Addr::LOCALHOST);
            assert_eq!(name.as_deref(), expected);
        }
        let text = format!("{BEGIN}\n{OF_INCUS}\n{END}\n");
        let name = name_for(&text, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(name.as_deref(), Some("m1"));
    }
}
