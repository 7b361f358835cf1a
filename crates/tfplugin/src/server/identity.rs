//! The calls about identities and about objects that come from elsewhere. Behind it stand `identity.rs` and `apply.rs`,
//! in front of it the list of all calls (`server.rs`).

use std::collections::HashMap;

use serde_json::Value as Json;

use super::{Server, Shared, failed};
use crate::wire::{diagnostic, resource, tfplugin6 as message};
use crate::{Diagnostic, MoveRequest, apply, identity};

impl Shared {
    /// The identity schemas of all resources that have one.
    pub(super) fn identity_schemas(&self) -> HashMap<String, message::ResourceIdentitySchema> {
        let schemas = self.resources.iter().filter_map(|kind| {
            let schema = kind.handler.identity()?;
            Some((
                kind.name.clone(),
                resource::identity_schema_to_wire(&schema),
            ))
        });
        schemas.collect()
    }
}

impl Server {
    pub(super) async fn upgrade_identity(
        &self,
        request: message::upgrade_resource_identity::Request,
    ) -> message::upgrade_resource_identity::Response {
        let shared = self.shared.clone();
        let upgraded = self.shared.calls.run(move |_| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let schema = kind.handler.identity().ok_or_else(|| {
                Diagnostic::error(format!("Objects of kind {} have no identity", kind.name))
            })?;
            let stored = resource::stored(request.raw_identity)?;
            let identity = identity::upgrade(&*kind.handler, &schema, request.version, &stored)?;
            Ok(kind.encode_identity(&identity))
        });
        match upgraded.await {
            Ok(upgraded_identity) => message::upgrade_resource_identity::Response {
                upgraded_identity,
                diagnostics: Vec::new(),
            },
            Err(failure) => message::upgrade_resource_identity::Response {
                upgraded_identity: None,
                diagnostics: failed(failure),
            },
        }
    }

    pub(super) async fn move_state(
        &self,
        request: message::move_resource_state::Request,
    ) -> message::move_resource_state::Response {
        let shared = self.shared.clone();
        let moved = self.shared.calls.run(move |_| async move {
            let kind = shared.resources.find(&request.target_type_name)?;
            let source = format!(
                "{} ({})",
                request.source_type_name, request.source_provider_address
            );
            let (state, private, mut diagnostics) =
                match kind.handler.move_state(move_request(request)?) {
                    Some(moved) => apply::moved(kind.schema(), moved?),
                    None => return Err(unknown_source(&kind.name, &source)),
                };
            let identity = kind.identity(&state, None, &mut diagnostics);
            Ok(message::move_resource_state::Response {
                target_state: Some(kind.encode(&state)),
                target_private: private,
                target_identity: identity,
                diagnostics: diagnostic::to_wire(diagnostics),
            })
        });
        moved
            .await
            .unwrap_or_else(|failure| message::move_resource_state::Response {
                diagnostics: failed(failure),
                ..Default::default()
            })
    }
}

fn move_request(request: message::move_resource_state::Request) -> Result<MoveRequest, Diagnostic> {
    let parse = |stored: Vec<u8>| {
        serde_json::from_slice::<Json>(&stored).map_err(|_| {
            Diagnostic::error("A stored state is not JSON").detail("The state file may be damaged.")
        })
    };
    let identity = resource::stored(request.source_identity)?;
    Ok(MoveRequest {
        source_provider: request.source_provider_address,
        source_type: request.source_type_name,
        source_version: request.source_schema_version,
        state: parse(resource::stored(request.source_state)?)?,
        identity: (!identity.is_empty())
            .then(|| parse(identity))
            .transpose()?,
        private: request.source_private,
    })
}

fn unknown_source(target: &str, source: &str) -> Diagnostic {
    Diagnostic::error(format!("A {target} cannot be moved from {source}")).detail(
        "This version of the provider does not know how such an object becomes one of that kind. Remove the `moved` \
         block, and import the object instead.",
    )
}
