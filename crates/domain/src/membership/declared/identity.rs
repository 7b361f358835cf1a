//! Whom to trust: the fingerprint of the machine before it joins, and the certificate that reads its metrics.
//!
//! Before: `declared.rs`. Nothing of what was pasted is repeated: it may be a key.

use super::{Optional, optional};
use crate::given::Given;
use crate::issue::{Issue, attribute};
use crate::membership::certificate::{self, Certificate};

pub(super) fn read_fingerprint(given: &Given<String>, issues: &mut Vec<Issue>) -> Optional<String> {
    optional(given, |text| {
        let digits: String = text.chars().filter(|one| *one != ':').collect();
        let is_one = digits.len() == 64 && digits.chars().all(|one| one.is_ascii_hexdigit());
        if !is_one {
            issues.push(Issue::new(
                attribute("server_fingerprint"),
                "The fingerprint of a machine is not valid",
                format!(
                    "It has {} characters. Expected the SHA-256 of the certificate that the machine shows before it \
                     joins: 64 hexadecimal digits, with or without colons between the bytes.",
                    text.chars().count()
                ),
            ));
        }
        is_one.then(|| digits.to_lowercase())
    })
}

pub(super) fn read_certificate(
    given: &Given<String>,
    issues: &mut Vec<Issue>,
) -> Optional<Certificate> {
    optional(given, |text| {
        let refuse = |error: certificate::Error| {
            let remedy = match error {
                certificate::Error::PrivateKey => {
                    " Remove the key from it: it belongs to whoever reads the metrics, and should not be in a \
                     configuration at all."
                }
                _ => "",
            };
            Issue::new(
                attribute("metrics_certificate"),
                "The metrics certificate of a member is not valid",
                format!(
                    "The text {error}. Expected one public certificate in PEM form, such as \
                     homelab_seed.NAME.metrics_certificate.{remedy}"
                ),
            )
        };
        Certificate::parse(text)
            .map_err(|error| issues.push(refuse(error)))
            .ok()
    })
}
