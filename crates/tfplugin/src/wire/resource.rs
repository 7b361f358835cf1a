//! The messages about managed objects: requests decoded by their kind's schema, answers encoded by it.
//!
//! `server.rs` calls these on both sides of the work.

use super::diagnostic;
use super::tfplugin6::{self as message, import_resource_state::ImportedResource};
use crate::apply::ApplyRequest;
use crate::kinds::Kind;
use crate::planning::{PlanRequest, Planned};
use crate::{Applied, Diagnostic, Imported, ReadRequest, ReadState, Resource};

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
}

/// What is encoded.
impl Kind<dyn Resource> {
    pub(crate) fn planned(&self, planned: Planned) -> message::plan_resource_change::Response {
        let paths = planned.requires_replace.iter();
        message::plan_resource_change::Response {
            planned_state: Some(self.encode(&planned.state)),
            requires_replace: paths.map(diagnostic::path_to_wire).collect(),
            planned_private: planned.private,
            diagnostics: diagnostic::to_wire(planned.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn applied(&self, applied: Applied) -> message::apply_resource_change::Response {
        message::apply_resource_change::Response {
            new_state: Some(self.encode(&applied.state)),
            private: applied.private,
            diagnostics: diagnostic::to_wire(applied.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn observed(&self, read: ReadState) -> message::read_resource::Response {
        message::read_resource::Response {
            new_state: Some(self.encode(&read.state)),
            private: read.private,
            diagnostics: diagnostic::to_wire(read.diagnostics),
            ..Default::default()
        }
    }

    pub(crate) fn imported(&self, imported: Imported) -> message::import_resource_state::Response {
        let resource = (!imported.state.is_null()).then(|| ImportedResource {
            type_name: self.name.clone(),
            state: Some(self.encode(&imported.state)),
            private: imported.private,
            identity: None,
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
