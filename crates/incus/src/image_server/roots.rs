//! Whom https believes when images are looked up: the certificate authorities that this machine trusts.
//!
//! Before: `fetch.rs` opens a connection. These servers are the world's, so that names and issuers count, unlike those
//! of Incus itself (`tls.rs`). `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, as they do for most programs.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

use crate::tls::crypto;

/// How to shake hands with a server of images; `None` where this machine trusts nobody.
pub(super) fn configuration() -> Option<Arc<ClientConfig>> {
    // Reading some hundred certificates takes milliseconds, and is needed at most once.
    static LOADED: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    LOADED.get_or_init(load).clone()
}

fn load() -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    // One that cannot be read takes nothing away from the others.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return None;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto()));
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let mut configuration = builder.with_root_certificates(roots).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(configuration))
}
