//! `homelab_join_token`: lets one server into the cluster by hand, and is revoked if nobody has used it.
//!
//! Before: `tfplugin` decoded the configuration. After: `incus::cluster::token` makes the token, OpenTofu hands it on and
//! forgets it. What is noted until the end is the operation that stands for it, never the token. `homelab_cluster_member`
//! needs none of this: it makes its own, last, and in memory.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{issue, name};
use incus::cluster::token;
use tfplugin::{
    Attribute, Call, Diagnostic, Diagnostics, EphemeralResource, Opened, Schema, Type, Value,
};

use crate::diagnose;
use crate::session::{NoCluster, Session};

/// The ephemeral resource `homelab_join_token`.
pub(crate) struct JoinToken {
    session: Arc<Session>,
}

impl JoinToken {
    /// Tokens of the cluster that this session is configured for.
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }
}

#[async_trait]
impl EphemeralResource for JoinToken {
    // Schema.

    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Makes a token that lets one server into the cluster, for a server that joins in another way than by \
             `homelab_cluster_member`, which needs none.\n\n\
             Whoever has the token becomes a member, under any name. It is in no plan and no state, works once, and is revoked \
             as soon as OpenTofu does not need it any more, unless it was used by then. OpenTofu opens it in a plan and again \
             in the apply, each time as another token; an earlier one for the same name ends by that. So use it in the same \
             apply: in the configuration of a provider, in a provisioner, or in a write-only attribute.",
        )
        .attributes([
            Attribute::string("name").required().describe(
                "The name of the member that is to join.",
            ),
            Attribute::string("token").computed().sensitive().describe(
                "The token, as `incus admin init` and a preseed take it.",
            ),
            Attribute::string("expires_at").computed().describe(
                "When it ends to be valid, in RFC 3339; the cluster's `cluster.join_token_expiry` decides, three hours if \
                 unset.",
            ),
            Attribute::list("addresses", Type::String).computed().describe(
                "Where the cluster answers, each as `host:port`.",
            ),
            Attribute::string("fingerprint").computed().describe(
                "The SHA-256 fingerprint of the cluster's certificate, in hexadecimal.",
            ),
        ])
    }

    // Validate.

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if let Some(text) = config.attr("name").as_str() {
            let issue = name::issue(issue::attribute("name"), "member", text);
            diagnostics.extend(diagnose::issues(issue.as_slice()));
        }
    }

    // Open.

    async fn open(&self, mut config: Value, _call: &Call) -> Opened {
        let cluster = match self.session.cluster() {
            Ok(cluster) => cluster,
            Err(none) => return Opened::failed(NoCluster::diagnostic(none)),
        };
        let name = config.attr("name").as_str().unwrap_or_default().to_owned();
        let minted = cluster.client.send(token::mint(&name)).await;
        let notices = self.session.notices(&cluster);
        let token = match minted {
            Ok(token) => token,
            Err(error) => {
                let failed =
                    diagnose::unread_member("Making a join token for", &name, &error.into());
                return Opened::failed(failed);
            }
        };
        config.set_attr("token", token.encode());
        config.set_attr("expires_at", token.expires_at.as_str());
        let addresses = token.addresses.iter().map(Value::from).collect();
        config.set_attr("addresses", Value::List(addresses));
        config.set_attr("fingerprint", token.fingerprint.as_str());
        let mut opened = Opened::new(config);
        opened.private = token.operation.id.into_bytes();
        opened.diagnostics.extend(notices);
        opened
    }

    // Close.

    /// A token that was used, or replaced by a later one, is not in the list any more.
    async fn close(&self, private: Vec<u8>, _call: &Call) -> Diagnostics {
        let cluster = match self.session.cluster() {
            Ok(cluster) => cluster,
            Err(none) => return unrevoked(NoCluster::diagnostic(none).detail),
        };
        let pending = match cluster.client.send(token::pending()).await {
            Ok(pending) => pending,
            Err(error) => return unrevoked(diagnose::told(&error)),
        };
        let ours = pending
            .iter()
            .find(|token| token.operation.id.as_bytes() == private);
        let Some(token) = ours else {
            return Diagnostics::new();
        };
        match cluster.client.send(token::revoke(token)).await {
            Ok(()) => Diagnostics::new(),
            // It was used between the two requests.
            Err(error) if error.is_not_found() => Diagnostics::new(),
            Err(error) => unrevoked(diagnose::told(&error)),
        }
    }
}

fn unrevoked(why: String) -> Diagnostics {
    Diagnostic::warning("A join token could not be revoked")
        .detail(format!(
            "{why} Whoever has it can join the cluster until it ends. `incus cluster list-tokens` shows it, and `incus cluster \
             revoke-token NAME` ends it."
        ))
        .into()
}
