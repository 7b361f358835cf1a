//! The messages about managed objects: requests decoded by their kind's schema, answers encoded by it.
//!
//! `server.rs` calls these on both sides of the work.

use super::tfplugin6::{self as message, import_resource_state::ImportedResource};
use super::{diagnostic, dynamic};
use crate::apply::ApplyRequest;
use crate::identity;
use crate::kinds::Kind;
use crate::planning::{PlanRequest, Planned};
use crate::{
    Applied, Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Imported, ReadRequest,
    ReadState, Resource, Value,
};

/// What is decoded.
impl Kind<dyn Resource> {
    pub(crate) fn plan_request(
        &self,
        request: message::plan_resource_change::Request,
    ) -> Result<PlanRequest, Diagnostic> {
        Ok(PlanRequest {
            config: self.decode(request.config.as_ref(), "a configuration")?,
            prior: self.decode(request.prior_state.as_ref(), "a prior state")?,
            proposed: self.decode(request.proposed_new_state.as_ref(), "a proposed state")?,
            private: request.prior_private,
        })
    }

    pub(crate) fn apply_request(
        &self,
        request: message::apply_resource_change::Request,
    ) -> Result<ApplyRequest, Diagnostic> {
        Ok(ApplyRequest {
            config: self.decode(request.config.as_ref(), "a configuration")?,
            prior: self.decode(request.prior_state.as_ref(), "a prior state")?,
            planned: self.decode(request.planned_state.as_ref(), "a planned state")?,
            private: request.planned_private,
        })
    }

    pub(crate) fn read_request(
        &self,
        request: message::read_resource::Request,
    ) -> Result<ReadRequest, Diagnostic> {
        let current = self.decode(request.current_state.as_ref(), "a state")?;
        Ok(ReadRequest {
            current,
            private: request.private,
        })
    }

    pub(crate) fn import_request(
        &self,
        request: message::import_resource_state::Request,
    ) -> Result<ImportRequest, Diagnostic> {
        let identity = self.decode_identity(request.identity.as_ref())?;
        Ok(ImportRequest {
            id: request.id,
            identity: (!identity.is_null()).then_some(identity),
        })
    }
}

/// Identities.
impl Kind<dyn Resource> {
    /// Decodes an identity; null when there is none.
    pub(crate) fn decode_identity(
        &self,
        identity: Option<&message::ResourceIdentityData>,
    ) -> Result<Value, Diagnostic> {
        let (Some(identity), Some(schema)) = (identity, self.handler.identity()) else {
            return Ok(Value::Null);
        };
        dynamic::from_wire(identity.identity_data.as_ref(), &schema.object_type()).map_err(
            |error| {
                let name = &self.name;
                let summary = format!("OpenTofu sent an identity of {name} that cannot be read");
                Diagnostic::error(summary).detail(format!("{error}."))
            },
        )
    }

    /// Encodes an identity that conforms to its schema.
    pub(crate) fn encode_identity(
        &self,
        identity: &Value,
    ) -> Option<message::ResourceIdentityData> {
        let schema = self.handler.identity()?;
        (!identity.is_null()).then(|| message::ResourceIdentityData {
            identity_data: Some(dynamic::to_wire(identity, &schema.object_type())),
        })
    }

    /// The identity that goes with a state into an answer. One that changed is an error, and the old one stays.
    pub(crate) fn identity(
        &self,
        state: &Value,
        before: Option<&message::ResourceIdentityData>,
        diagnostics: &mut Diagnostics,
    ) -> Option<message::ResourceIdentityData> {
        let schema = self.handler.identity()?;
        let settled = self
            .decode_identity(before)
            .and_then(|before| identity::of_state(&*self.handler, &schema, state, &before));
        match settled {
            Ok(identity) => self.encode_identity(&identity),
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                before.cloned()
            }
        }
    }
}

/// Encodes an identity schema.
pub(crate) fn identity_schema_to_wire(schema: &IdentitySchema) -> message::ResourceIdentitySchema {
    use message::resource_identity_schema::IdentityAttribute;
    let attributes = schema.attributes.iter().map(|attribute| IdentityAttribute {
        name: attribute.name.clone(),
        r#type: attribute.of.to_json().to_string().into_bytes(),
        required_for_import: attribute.required_for_import,
        optional_for_import: !attribute.required_for_import,
        description: attribute.description.clone(),
    });
    message::ResourceIdentitySchema {
        version: schema.version,
        identity_attributes: attributes.collect(),
    }
}

/// What is encoded.
impl Kind<dyn Resource> {
    pub(crate) fn planned(
        &self,
        mut planned: Planned,
        before: Option<&message::ResourceIdentityData>,
    ) -> message::plan_resource_change::Response {
        // What replaces the object may change its identity too.
        let before = before.filter(|_| planned.requires_replace.is_empty());
        let identity = self.identity(&planned.state, before, &mut planned.diagnostics);
        let paths = planned.requires_replace.iter();
        message::plan_resource_change::Response {
            planned_state: Some(self.encode(&planned.state)),
            requires_replace: paths.map(diagnostic::path_to_wire).collect(),
            planned_private: planned.private,
            planned_identity: identity,
            diagnostics: diagnostic::to_wire(planned.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn applied(
        &self,
        mut applied: Applied,
        before: Option<&message::ResourceIdentityData>,
    ) -> message::apply_resource_change::Response {
        let identity = self.identity(&applied.state, before, &mut applied.diagnostics);
        message::apply_resource_change::Response {
            new_state: Some(self.encode(&applied.state)),
            private: applied.private,
            new_identity: identity,
            diagnostics: diagnostic::to_wire(applied.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn observed(
        &self,
        mut read: ReadState,
        before: Option<&message::ResourceIdentityData>,
    ) -> message::read_resource::Response {
        let identity = self.identity(&read.state, before, &mut read.diagnostics);
        message::read_resource::Response {
            new_state: Some(self.encode(&read.state)),
            private: read.private,
            new_identity: identity,
            diagnostics: diagnostic::to_wire(read.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn imported(
        &self,
        mut imported: Imported,
        before: Option<&message::ResourceIdentityData>,
    ) -> message::import_resource_state::Response {
        let identity = self.identity(&imported.state, before, &mut imported.diagnostics);
        let resource = (!imported.state.is_null()).then(|| ImportedResource {
            type_name: self.name.clone(),
            state: Some(self.encode(&imported.state)),
            private: imported.private,
            identity,
        });
        message::import_resource_state::Response {
            imported_resources: resource.into_iter().collect(),
            diagnostics: diagnostic::to_wire(imported.diagnostics),
            ..Default::default()
        }
    }
}

/// The JSON text of a stored state.
pub(crate) fn stored(state: Option<message::RawState>) -> Result<Vec<u8>, Diagnostic> {
    let state = state.unwrap_or_default();
    if state.json.is_empty() && !state.flatmap.is_empty() {
        let error = Diagnostic::error("A stored state is in a format from before version 0.12");
        return Err(
            error.detail("Apply once with an older version of the provider and of OpenTofu.")
        );
    }
    Ok(state.json)
}
