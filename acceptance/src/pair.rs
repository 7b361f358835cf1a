//! A client certificate and its key, made here: what an operator has, or a collector of metrics.
//!
//! Servers are made to trust it by `lab/open.rs`, by a preseed or by hand; users give it to the provider as files.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::json;

use crate::observer::Observer;

/// A certificate and its key, in PEM form and as Incus is told it.
pub struct Pair {
    /// The certificate, in PEM form.
    pub certificate: String,
    /// Its private key, in PEM form.
    pub key: String,
    der: String,
}

impl Pair {
    /// A pair that holds from 2020 until this year.
    pub fn new(until: i32) -> Result<Pair> {
        let mut params = CertificateParams::new(vec!["operator".to_owned()])?;
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate()?;
        let made = params.self_signed(&key)?;
        Ok(Pair {
            certificate: made.pem(),
            key: key.serialize_pem(),
            der: STANDARD.encode(made.der()),
        })
    }

    /// Makes a server trust it as a client.
    pub fn add_to(&self, observer: &Observer) -> Result<()> {
        self.add_as(observer, "client", "operator")
    }

    /// Makes a server trust it as one of this type.
    pub fn add_as(&self, observer: &Observer, kind: &str, name: &str) -> Result<()> {
        let body = json!({ "type": kind, "name": name, "certificate": self.der });
        let added = observer.request("POST", "/1.0/certificates", Some(&body));
        added.map(drop)
    }
}

/// Without the key.
impl std::fmt::Debug for Pair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pair")
    }
}
