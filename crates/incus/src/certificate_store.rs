//! The certificates that a server, or a cluster, trusts: `/1.0/certificates`.
//!
//! Not here: what a certificate is known by (`certificate.rs`), and which servers we trust
//! (`trust.rs`). A join replaces the joiner's store by the cluster's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::json;

use crate::certificate::{Fingerprint, NoCertificate};
use crate::envelope;
use crate::lenient::null_as_empty;
use crate::request::{Request, path};

/// A certificate that is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Trusted {
    /// The name: of a server's certificate, the name under which it joined, or tried to.
    pub name: String,
    /// `client`, `server` or `metrics`.
    pub r#type: String,
    /// Whether it may use some projects only.
    pub restricted: bool,
    /// Which.
    #[serde(deserialize_with = "null_as_empty")]
    pub projects: Vec<String>,
    /// The certificate, in PEM.
    pub certificate: String,
    /// Its fingerprint: SHA-256 in hexadecimal.
    pub fingerprint: String,
    /// What the operator says about it.
    pub description: String,
}

/// What a certificate is trusted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything.
    Client,
    /// Reading metrics, and nothing else.
    Metrics,
}

/// Lists the certificates that are trusted.
pub fn list() -> Request<Vec<Trusted>> {
    let doing = "listing the trusted certificates";
    Request::get(path(&["certificates"]), doing, envelope::list).recursive()
}

/// Trusts a certificate, given in PEM. One that is trusted already is a conflict.
///
/// # Errors
///
/// There is no certificate in the text.
pub fn create(name: &str, kind: Kind, pem: &str) -> Result<Request<()>, NoCertificate> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| NoCertificate)?;
    let doing = format!("trusting certificate {name}");
    let kind = match kind {
        Kind::Client => "client",
        Kind::Metrics => "metrics",
    };
    let request = Request::post(path(&["certificates"]), doing, envelope::nothing);
    Ok(request.json(json!({
        "name": name,
        "type": kind,
        // Base64 of the DER form is what all versions take: 6.0.4 refuses PEM.
        "certificate": STANDARD.encode(der),
    })))
}

/// Ends the trust in a certificate.
pub fn delete(fingerprint: &Fingerprint) -> Request<()> {
    let fingerprint = fingerprint.to_string();
    let doing = format!("ending the trust in certificate {fingerprint}");
    Request::delete(
        path(&["certificates", &fingerprint]),
        doing,
        envelope::nothing,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn trusted_certificates_are_read() {
        assert_eq!(list().to_string(), "GET /1.0/certificates?recursion=1");
        let body = r#"{"type":"sync","metadata":[{"name":"m2","type":"server","restricted":false,
            "projects":null,"certificate":"PEM","fingerprint":"ab"}]}"#;
        let trusted = (list().read)(&reply(200, body)).expect("certificates");
        assert_eq!(
            (trusted[0].name.as_str(), trusted[0].r#type.as_str()),
            ("m2", "server")
        );
        let fingerprint = Fingerprint::of_der(b"abc");
        assert_eq!(
            delete(&fingerprint).to_string(),
            format!("DELETE /1.0/certificates/{fingerprint}")
        );
    }

    #[test]
    fn a_certificate_travels_as_base64_of_its_der_form() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let names = rcgen::CertificateParams::new(["m2".to_owned()]).expect("names");
        let certificate = names.self_signed(&key).expect("a certificate");
        for (kind, written) in [(Kind::Metrics, "metrics"), (Kind::Client, "client")] {
            let request = create("m2-metrics", kind, &certificate.pem()).expect("a request");
            assert_eq!(request.to_string(), "POST /1.0/certificates");
            let body = json!({
                "name": "m2-metrics",
                "type": written,
                "certificate": STANDARD.encode(certificate.der()),
            });
            assert_eq!(request.body(), &Body::Json(body));
        }
        let none = create("x", Kind::Metrics, "hello");
        assert_eq!(none.expect_err("no certificate"), NoCertificate);
    }
}
