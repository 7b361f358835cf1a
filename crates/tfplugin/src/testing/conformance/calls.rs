//! The calls about one kind of managed object, each answer looked over for what holds of every answer.
//!
//! The rules of the single calls are in `walk.rs`. Unlike the calls in `../client.rs`, these carry all of an answer:
//! identities, and the fields by which a provider can leave the protocol.

use tonic::{Response, Status};

use super::Rule;
use super::finding::Finding;
use super::generate::SECRET;
use crate::testing::client::Client;
use crate::testing::from_wire;
use crate::validate::write_only_paths;
use crate::wire::dynamic;
use crate::wire::tfplugin6::{self as message, DynamicValue, ResourceIdentityData};
use crate::{
    Diagnostic, Diagnostics, Kind as Holds, Nesting, Path, PathStep, Schema, Type, Value, panics,
};

/// A kind of managed object, as the provider describes it.
pub(super) struct Kind {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) schema: Schema,
    /// What the schema implies.
    pub(super) of: Type,
    pub(super) identity: Option<Type>,
}

/// What a host stores of an object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) state: Value,
    pub(super) private: Vec<u8>,
    pub(super) identity: Value,
}

impl Object {
    /// No object.
    pub(super) fn none() -> Object {
        Object {
            state: Value::Null,
            private: Vec::new(),
            identity: Value::Null,
        }
    }
}

/// What a plan came to.
pub(super) struct Plan {
    /// What is planned.
    pub(super) object: Object,
    pub(super) requires_replace: Vec<Path>,
    pub(super) said: Diagnostics,
}

/// Everything of an answer that is judged alike.
pub(super) fn heed<T>(
    schema: &Schema,
    answer: Result<Response<T>, Status>,
    said: impl FnOnce(&mut T) -> Vec<message::Diagnostic>,
) -> Result<(T, Diagnostics), Finding> {
    let mut answer = answer
        .map_err(|status| Finding::new(Rule::CallBrokeOff, status.to_string()))?
        .into_inner();
    let said = from_wire::diagnostics(said(&mut answer));
    for one in said.iter() {
        judge_diagnostic(schema, one)?;
    }
    Ok((answer, said))
}

fn judge_diagnostic(schema: &Schema, one: &Diagnostic) -> Result<(), Finding> {
    let text = format!("{}: {}", one.summary, one.detail);
    if one.summary == panics::SUMMARY {
        return Err(Finding::new(Rule::Panicked, text));
    }
    if text.contains(SECRET) {
        return Err(Finding::new(Rule::SecretTold, text));
    }
    match &one.path {
        Some(path) if !exists(&schema.attributes, path) => {
            Err(Finding::new(Rule::DiagnosticPathMissing, text).at(path))
        }
        _ => Ok(()),
    }
}

/// Whether a path leads to an attribute, or into one that has parts with names.
pub(super) fn exists(attributes: &[crate::Attribute], path: &Path) -> bool {
    let Some((PathStep::Attribute(name), rest)) = path.steps.split_first() else {
        return path.steps.is_empty();
    };
    let Some(attribute) = attributes.iter().find(|attribute| &attribute.name == name) else {
        return false;
    };
    match (&attribute.kind, rest) {
        (_, []) => true,
        (Holds::Plain(of), rest) => leads_into(of, rest),
        (Holds::Nested(Nesting::Single, nested), rest) => exists(
            nested,
            &Path {
                steps: rest.to_vec(),
            },
        ),
        (Holds::Nested(Nesting::List, nested), [PathStep::Index(_), rest @ ..])
        | (Holds::Nested(Nesting::Map, nested), [PathStep::Key(_), rest @ ..]) => exists(
            nested,
            &Path {
                steps: rest.to_vec(),
            },
        ),
        (Holds::Nested(..), _) => false,
    }
}

fn leads_into(of: &Type, steps: &[PathStep]) -> bool {
    match (of, steps) {
        (_, []) | (Type::Dynamic, _) => true,
        (Type::List(of), [PathStep::Index(_), rest @ ..])
        | (Type::Map(of), [PathStep::Key(_), rest @ ..]) => leads_into(of, rest),
        (Type::Object(members), [PathStep::Attribute(name), rest @ ..]) => {
            members.get(name).is_some_and(|of| leads_into(of, rest))
        }
        _ => false,
    }
}

/// Reads a value of an answer.
pub(super) fn value(
    schema: &Schema,
    of: &Type,
    value: Option<&DynamicValue>,
) -> Result<Value, Finding> {
    let value = typed(value, of)?;
    match write_only_paths(&schema.attributes, &value).first() {
        Some(path) => Err(Finding::new(Rule::WriteOnlyLeaks, "").at(path)),
        None => Ok(value),
    }
}

pub(super) fn typed(value: Option<&DynamicValue>, of: &Type) -> Result<Value, Finding> {
    dynamic::from_wire(value, of)
        .map_err(|error| Finding::new(Rule::DoesNotFit, error.problem).at(&error.path))
}

/// Encodes a value of ours, which conforms.
pub(super) fn encoded(value: &Value, of: &Type) -> Result<Option<DynamicValue>, Finding> {
    match value.clone().conform(of) {
        Ok(value) => Ok(Some(dynamic::to_wire(&value, of))),
        Err(error) => {
            let seen = format!("It was given in a hint: {}.", error.problem);
            Err(Finding::new(Rule::DoesNotFit, seen).at(&error.path))
        }
    }
}

pub(super) fn capabilities() -> Option<message::ClientCapabilities> {
    Some(message::ClientCapabilities {
        deferral_allowed: false,
        write_only_attributes_allowed: true,
    })
}

pub(super) fn not_deferred(deferred: &Option<message::Deferred>) -> Result<(), Finding> {
    match deferred {
        Some(deferred) => Err(Finding::new(Rule::Deferred, format!("{deferred:?}"))),
        None => Ok(()),
    }
}

impl Kind {
    fn encode(&self, value: &Value) -> Result<Option<DynamicValue>, Finding> {
        encoded(value, &self.of)
    }

    fn encode_identity(&self, identity: &Value) -> Result<Option<ResourceIdentityData>, Finding> {
        let Some(of) = self.identity.as_ref().filter(|_| !identity.is_null()) else {
            return Ok(None);
        };
        let identity_data = encoded(identity, of)?;
        Ok(Some(ResourceIdentityData { identity_data }))
    }

    fn identity(&self, identity: Option<ResourceIdentityData>) -> Result<Value, Finding> {
        let data = identity.and_then(|identity| identity.identity_data);
        match &self.identity {
            Some(of) => typed(data.as_ref(), of),
            None => Ok(Value::Null),
        }
    }

    fn object(
        &self,
        state: Option<&DynamicValue>,
        private: Vec<u8>,
        identity: Option<ResourceIdentityData>,
    ) -> Result<Object, Finding> {
        Ok(Object {
            state: value(&self.schema, &self.of, state)?,
            private,
            identity: self.identity(identity)?,
        })
    }

    pub(super) async fn validate(&self, config: &Value) -> Result<Diagnostics, Finding> {
        let request = message::validate_resource_config::Request {
            type_name: self.name.clone(),
            config: self.encode(config)?,
            client_capabilities: capabilities(),
        };
        let answer = self
            .client
            .provider()
            .validate_resource_config(request)
            .await;
        let (_, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        Ok(said)
    }

    /// Plans; `proposed` is null for a destruction, as `config` is.
    pub(super) async fn plan(
        &self,
        config: &Value,
        proposed: &Value,
        prior: &Object,
    ) -> Result<Plan, Finding> {
        let request = message::plan_resource_change::Request {
            type_name: self.name.clone(),
            prior_state: self.encode(&prior.state)?,
            proposed_new_state: self.encode(proposed)?,
            config: self.encode(config)?,
            prior_private: prior.private.clone(),
            prior_identity: self.encode_identity(&prior.identity)?,
            client_capabilities: capabilities(),
            ..Default::default()
        };
        let answer = self.client.provider().plan_resource_change(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        if answer.legacy_type_system {
            return Err(Finding::new(Rule::LegacyTypeSystem, ""));
        }
        not_deferred(&answer.deferred)?;
        Ok(Plan {
            object: self.object(
                answer.planned_state.as_ref(),
                answer.planned_private,
                answer.planned_identity,
            )?,
            requires_replace: answer
                .requires_replace
                .into_iter()
                .map(from_wire::path)
                .collect(),
            said,
        })
    }

    pub(super) async fn apply(
        &self,
        config: &Value,
        planned: &Object,
        prior: &Object,
    ) -> Result<(Object, Diagnostics), Finding> {
        let request = message::apply_resource_change::Request {
            type_name: self.name.clone(),
            prior_state: self.encode(&prior.state)?,
            planned_state: self.encode(&planned.state)?,
            config: self.encode(config)?,
            planned_private: planned.private.clone(),
            planned_identity: self.encode_identity(&planned.identity)?,
            ..Default::default()
        };
        let answer = self.client.provider().apply_resource_change(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        if answer.legacy_type_system {
            return Err(Finding::new(Rule::LegacyTypeSystem, ""));
        }
        let object = self.object(
            answer.new_state.as_ref(),
            answer.private,
            answer.new_identity,
        )?;
        Ok((object, said))
    }

    pub(super) async fn read(&self, current: &Object) -> Result<(Object, Diagnostics), Finding> {
        let request = message::read_resource::Request {
            type_name: self.name.clone(),
            current_state: self.encode(&current.state)?,
            private: current.private.clone(),
            current_identity: self.encode_identity(&current.identity)?,
            client_capabilities: capabilities(),
            ..Default::default()
        };
        let answer = self.client.provider().read_resource(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        not_deferred(&answer.deferred)?;
        let object = self.object(
            answer.new_state.as_ref(),
            answer.private,
            answer.new_identity,
        )?;
        Ok((object, said))
    }

    /// Takes an object over, by its identity or by a text.
    pub(super) async fn import(
        &self,
        id: &str,
        identity: &Value,
    ) -> Result<(Object, Diagnostics), Finding> {
        let request = message::import_resource_state::Request {
            type_name: self.name.clone(),
            id: id.to_owned(),
            identity: self.encode_identity(identity)?,
            client_capabilities: capabilities(),
        };
        let answer = self.client.provider().import_resource_state(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        not_deferred(&answer.deferred)?;
        let imported = answer.imported_resources.into_iter().next();
        let imported = imported.unwrap_or_default();
        let object = self.object(imported.state.as_ref(), imported.private, imported.identity)?;
        Ok((object, said))
    }

    /// Reads a stored state of the present schema version.
    pub(super) async fn upgrade(&self, stored: String) -> Result<(Value, Diagnostics), Finding> {
        let request = message::upgrade_resource_state::Request {
            type_name: self.name.clone(),
            version: self.schema.version,
            raw_state: Some(message::RawState {
                json: stored.into_bytes(),
                ..Default::default()
            }),
        };
        let answer = self.client.provider().upgrade_resource_state(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        Ok((
            value(&self.schema, &self.of, answer.upgraded_state.as_ref())?,
            said,
        ))
    }
}
