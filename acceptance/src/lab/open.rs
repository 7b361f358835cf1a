//! A fresh machine that is reached over the network, and by whom: what its operator does on plain Linux, or a seed on
//! IncusOS, before it becomes a member.
//!
//! After `member.rs` started its daemon. Becoming a member is what the product does, and not here.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Incus, Member};
use crate::pair::Pair;

impl Member {
    /// Listens on its own address and trusts this client. The newer release is told by a preseed, as IncusOS tells it; the
    /// older one, whose preseed takes no certificates, over its socket.
    pub fn open_to(&self, operator: &Pair) -> Result<()> {
        let address = format!("{}:8443", self.address());
        let config = json!({ "core.https_address": address });
        let opening = || format!("opening {} to its operator", self.name());
        match self.incus() {
            Incus::V7 => self.preseed(&json!({
                "config": config,
                "certificates": [{ "name": "operator", "type": "client", "certificate": operator.certificate }],
            })),
            Incus::V6 => {
                let observer = self.observer();
                let body = json!({ "config": config });
                let told = observer.request("PATCH", "/1.0", Some(&body));
                told.and_then(|_| operator.add_to(&observer))
            }
        }
        .with_context(opening)
    }
}
