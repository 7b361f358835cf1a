//! The calls of a host about functions, ephemeral resources, identities and moves, with values instead of messages.
//!
//! The older calls are in `client.rs`. Identities have their type from the provider too, which is asked when needed.

use super::client::{Client, ClientError, encode};
use super::from_wire;
use crate::wire::dynamic;
use crate::wire::tfplugin6 as message;
use crate::{Diagnostics, Type, Value};

impl Client {
    /// Calls a function; `Err` inside is its error, with the number of the argument. A null argument is sent as a host
    /// sends it: without any encoding.
    pub async fn call_function(
        &self,
        name: &str,
        arguments: &[(Value, Type)],
    ) -> Result<Result<Value, (String, Option<i64>)>, ClientError> {
        let described = self
            .provider()
            .get_functions(message::get_functions::Request {})
            .await?
            .into_inner();
        let unknown = || ClientError::Unknown(name.to_owned());
        let signature = described.functions.get(name).ok_or_else(unknown)?;
        let returns = signature.r#return.clone().unwrap_or_default().r#type;
        let returns = serde_json::from_slice(&returns).ok();
        let returns = returns.and_then(|json| Type::from_json(&json).ok());
        let arguments = arguments.iter().map(|(value, of)| match value {
            Value::Null => Ok(message::DynamicValue::default()),
            value => encode(value.clone(), of),
        });
        let request = message::call_function::Request {
            name: name.to_owned(),
            arguments: arguments.collect::<Result<_, _>>()?,
        };
        let answer = self.provider().call_function(request).await?.into_inner();
        if let Some(error) = answer.error {
            return Ok(Err((error.text, error.function_argument)));
        }
        let returns = returns.ok_or_else(unknown)?;
        Ok(Ok(dynamic::from_wire(answer.result.as_ref(), &returns)?))
    }

    /// Opens an ephemeral resource: the result, what was noted, and whether it is to be renewed.
    pub async fn open(
        &self,
        name: &str,
        config: Value,
    ) -> Result<(Value, Vec<u8>, bool, Diagnostics), ClientError> {
        let of = self.ephemeral_type(name)?;
        let request = message::open_ephemeral_resource::Request {
            type_name: name.to_owned(),
            config: Some(encode(config, of)?),
            client_capabilities: None,
        };
        let answer = self
            .provider()
            .open_ephemeral_resource(request)
            .await?
            .into_inner();
        let result = dynamic::from_wire(answer.result.as_ref(), of)?;
        let diagnostics = from_wire::diagnostics(answer.diagnostics);
        let private = answer.private.unwrap_or_default();
        Ok((result, private, answer.renew_at.is_some(), diagnostics))
    }

    /// Renews one: what was noted, and whether it is to be renewed again.
    pub async fn renew(
        &self,
        name: &str,
        private: Vec<u8>,
    ) -> Result<(Vec<u8>, bool, Diagnostics), ClientError> {
        let request = message::renew_ephemeral_resource::Request {
            type_name: name.to_owned(),
            private: Some(private),
        };
        let answer = self
            .provider()
            .renew_ephemeral_resource(request)
            .await?
            .into_inner();
        let diagnostics = from_wire::diagnostics(answer.diagnostics);
        let private = answer.private.unwrap_or_default();
        Ok((private, answer.renew_at.is_some(), diagnostics))
    }

    /// Closes one.
    pub async fn close(&self, name: &str, private: Vec<u8>) -> Result<Diagnostics, ClientError> {
        let request = message::close_ephemeral_resource::Request {
            type_name: name.to_owned(),
            private: Some(private),
        };
        let answer = self
            .provider()
            .close_ephemeral_resource(request)
            .await?
            .into_inner();
        Ok(from_wire::diagnostics(answer.diagnostics))
    }

    /// Observes an object that has an identity: its state, and its identity after it.
    pub async fn read_identified(
        &self,
        name: &str,
        current: Value,
        identity: Value,
    ) -> Result<(Value, Value, Diagnostics), ClientError> {
        let (of, identity_of) = (self.resource_type(name)?, self.identity_type(name).await?);
        let request = message::read_resource::Request {
            type_name: name.to_owned(),
            current_state: Some(encode(current, of)?),
            current_identity: identity_to_wire(identity, &identity_of)?,
            ..Default::default()
        };
        let answer = self.provider().read_resource(request).await?.into_inner();
        Ok((
            dynamic::from_wire(answer.new_state.as_ref(), of)?,
            identity_from_wire(answer.new_identity, &identity_of)?,
            from_wire::diagnostics(answer.diagnostics),
        ))
    }

    /// Takes an object over by its identity: its state, and its identity after it.
    pub async fn import_identified(
        &self,
        name: &str,
        identity: Value,
    ) -> Result<(Value, Value, Diagnostics), ClientError> {
        let (of, identity_of) = (self.resource_type(name)?, self.identity_type(name).await?);
        let request = message::import_resource_state::Request {
            type_name: name.to_owned(),
            identity: identity_to_wire(identity, &identity_of)?,
            ..Default::default()
        };
        let answer = self
            .provider()
            .import_resource_state(request)
            .await?
            .into_inner();
        let imported = answer.imported_resources.into_iter().next();
        let imported = imported.unwrap_or_default();
        Ok((
            dynamic::from_wire(imported.state.as_ref(), of)?,
            identity_from_wire(imported.identity, &identity_of)?,
            from_wire::diagnostics(answer.diagnostics),
        ))
    }

    /// Moves the stored state of another kind, of the same provider, here.
    pub async fn move_state(
        &self,
        source: &str,
        stored: &str,
        name: &str,
    ) -> Result<(Value, Diagnostics), ClientError> {
        let of = self.resource_type(name)?;
        let request = message::move_resource_state::Request {
            source_provider_address: "registry.opentofu.org/example/toy".to_owned(),
            source_type_name: source.to_owned(),
            source_state: Some(message::RawState {
                json: stored.as_bytes().to_vec(),
                ..Default::default()
            }),
            target_type_name: name.to_owned(),
            ..Default::default()
        };
        let answer = self
            .provider()
            .move_resource_state(request)
            .await?
            .into_inner();
        let state = dynamic::from_wire(answer.target_state.as_ref(), of)?;
        Ok((state, from_wire::diagnostics(answer.diagnostics)))
    }

    async fn identity_type(&self, name: &str) -> Result<Type, ClientError> {
        let request = message::get_resource_identity_schemas::Request {};
        let schemas = self
            .provider()
            .get_resource_identity_schemas(request)
            .await?
            .into_inner();
        let unknown = || ClientError::Unknown(name.to_owned());
        let schema = schemas.identity_schemas.get(name).ok_or_else(unknown)?;
        let attributes = schema.identity_attributes.iter().map(|attribute| {
            let of = serde_json::from_slice(&attribute.r#type).ok()?;
            Some((attribute.name.clone(), Type::from_json(&of).ok()?))
        });
        let attributes = attributes.collect::<Option<_>>().ok_or_else(unknown)?;
        Ok(Type::Object(attributes))
    }
}

fn identity_to_wire(
    identity: Value,
    of: &Type,
) -> Result<Option<message::ResourceIdentityData>, ClientError> {
    if identity.is_null() {
        return Ok(None);
    }
    Ok(Some(message::ResourceIdentityData {
        identity_data: Some(encode(identity, of)?),
    }))
}

fn identity_from_wire(
    identity: Option<message::ResourceIdentityData>,
    of: &Type,
) -> Result<Value, ClientError> {
    let data = identity.and_then(|identity| identity.identity_data);
    Ok(dynamic::from_wire(data.as_ref(), of)?)
}
