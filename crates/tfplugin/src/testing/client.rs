//! The calls of a host, with values instead of messages.
//!
//! Values are brought into the shape of the schema that the provider itself told, so a test writes only the attributes
//! it cares for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint, Uri};

use super::from_wire;
use super::{ApplyRequest, PlanRequest, Planned};
use crate::decode::DecodeError;
use crate::wire::dynamic;
use crate::wire::go_plugin::Empty;
use crate::wire::go_plugin::grpc_controller_client::GrpcControllerClient;
use crate::wire::tfplugin6::provider_client::ProviderClient;
use crate::wire::tfplugin6::{self as message, DynamicValue};
use crate::{Applied, ConformError, Diagnostics, Imported, ReadState, Type, Value};

/// A call that did not come to an answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There was no connection.
    #[error("connecting to the provider's socket")]
    Connect(#[source] tonic::transport::Error),
    /// The call itself failed, or the provider went away.
    #[error("calling the provider")]
    Call(#[source] Box<tonic::Status>),
    /// The provider knows nothing of this name.
    #[error("looking up the schema of {0}")]
    Unknown(String),
    /// The test's value does not fit the provider's schema.
    #[error("preparing a value for the provider")]
    Conform(#[from] ConformError),
    /// The provider's value does not fit its schema.
    #[error("reading a value of the provider's")]
    Decode(#[from] DecodeError),
}

impl From<tonic::Status> for ClientError {
    fn from(status: tonic::Status) -> ClientError {
        ClientError::Call(Box::new(status))
    }
}

/// A connection to a provider.
#[derive(Clone)]
pub struct Client {
    provider: ProviderClient<Channel>,
    controller: GrpcControllerClient<Channel>,
    pub(super) channel: Channel,
    types: Arc<Types>,
}

#[derive(Default)]
struct Types {
    provider: Option<Type>,
    resources: BTreeMap<String, Type>,
    data_sources: BTreeMap<String, Type>,
    ephemeral_resources: BTreeMap<String, Type>,
}

/// What go-plugin's clients allow, so that only the provider's own limits are met.
pub(super) const LARGEST_MESSAGE: usize = i32::MAX as usize;

impl Client {
    pub(super) async fn connect(
        socket: &Path,
        tls: Option<ClientConfig>,
    ) -> Result<Client, ClientError> {
        let (socket, tls) = (
            socket.to_owned(),
            tls.map(|tls| TlsConnector::from(Arc::new(tls))),
        );
        let connector = tower::service_fn(move |_: Uri| dial(socket.clone(), tls.clone()));
        let endpoint = Endpoint::from_static("http://localhost");
        let channel = endpoint
            .connect_with_connector(connector)
            .await
            .map_err(ClientError::Connect)?;
        let provider = ProviderClient::new(channel.clone())
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        let mut client = Client {
            provider,
            controller: GrpcControllerClient::new(channel.clone()),
            channel,
            types: Arc::default(),
        };
        client.types = Arc::new(client.ask_for_types().await?);
        Ok(client)
    }

    async fn ask_for_types(&self) -> Result<Types, ClientError> {
        let request = message::get_provider_schema::Request {};
        let schemas = self
            .provider
            .clone()
            .get_provider_schema(request)
            .await?
            .into_inner();
        let of = |schemas: std::collections::HashMap<String, message::Schema>| {
            schemas
                .into_iter()
                .filter_map(|(name, schema)| {
                    Some((name, from_wire::schema(&schema)?.object_type()))
                })
                .collect()
        };
        Ok(Types {
            provider: schemas
                .provider
                .as_ref()
                .and_then(from_wire::schema)
                .map(|schema| schema.object_type()),
            resources: of(schemas.resource_schemas),
            data_sources: of(schemas.data_source_schemas),
            ephemeral_resources: of(schemas.ephemeral_resource_schemas),
        })
    }

    /// The type of a resource's states, as the provider told it.
    pub fn resource_type(&self, name: &str) -> Result<&Type, ClientError> {
        self.types
            .resources
            .get(name)
            .ok_or_else(|| ClientError::Unknown(name.to_owned()))
    }

    pub(super) fn ephemeral_type(&self, name: &str) -> Result<&Type, ClientError> {
        let of = self.types.ephemeral_resources.get(name);
        of.ok_or_else(|| ClientError::Unknown(name.to_owned()))
    }

    pub(super) fn provider(&self) -> ProviderClient<Channel> {
        self.provider.clone()
    }

    /// The names of everything the provider registers, without asking for schemas.
    pub async fn metadata(&self) -> Result<Vec<String>, ClientError> {
        let answer = self
            .provider
            .clone()
            .get_metadata(message::get_metadata::Request {})
            .await?
            .into_inner();
        let resources = answer.resources.into_iter().map(|kind| kind.type_name);
        let data_sources = answer.data_sources.into_iter().map(|kind| kind.type_name);
        let ephemeral = answer.ephemeral_resources.into_iter();
        let functions = answer.functions.into_iter().map(|function| function.name);
        Ok(resources
            .chain(data_sources)
            .chain(ephemeral.map(|kind| kind.type_name))
            .chain(functions)
            .collect())
    }

    /// Judges and then takes in the provider block.
    pub async fn configure(&self, config: Value) -> Result<Diagnostics, ClientError> {
        let of = self
            .types
            .provider
            .as_ref()
            .ok_or_else(|| ClientError::Unknown("the provider".to_owned()))?;
        let config = Some(encode(config, of)?);
        let request = message::validate_provider_config::Request {
            config: config.clone(),
        };
        let judged = self
            .provider
            .clone()
            .validate_provider_config(request)
            .await?
            .into_inner();
        let mut diagnostics = from_wire::diagnostics(judged.diagnostics);
        if !diagnostics.has_errors() {
            let request = message::configure_provider::Request {
                config,
                ..Default::default()
            };
            let answer = self
                .provider
                .clone()
                .configure_provider(request)
                .await?
                .into_inner();
            diagnostics.extend(from_wire::diagnostics(answer.diagnostics));
        }
        Ok(diagnostics)
    }

    /// Judges a configuration.
    pub async fn validate(&self, name: &str, config: Value) -> Result<Diagnostics, ClientError> {
        let config = Some(encode(config, self.resource_type(name)?)?);
        let request = message::validate_resource_config::Request {
            type_name: name.to_owned(),
            config,
            client_capabilities: Some(message::ClientCapabilities {
                deferral_allowed: false,
                write_only_attributes_allowed: true,
            }),
        };
        let answer = self
            .provider
            .clone()
            .validate_resource_config(request)
            .await?
            .into_inner();
        Ok(from_wire::diagnostics(answer.diagnostics))
    }

    /// Plans a change.
    pub async fn plan(&self, name: &str, request: PlanRequest) -> Result<Planned, ClientError> {
        let of = self.resource_type(name)?;
        let request = message::plan_resource_change::Request {
            type_name: name.to_owned(),
            prior_state: Some(encode(request.prior, of)?),
            proposed_new_state: Some(encode(request.proposed, of)?),
            config: Some(encode(request.config, of)?),
            prior_private: request.private,
            ..Default::default()
        };
        let answer = self
            .provider
            .clone()
            .plan_resource_change(request)
            .await?
            .into_inner();
        Ok(Planned {
            state: dynamic::from_wire(answer.planned_state.as_ref(), of)?,
            private: answer.planned_private,
            requires_replace: answer
                .requires_replace
                .into_iter()
                .map(from_wire::path)
                .collect(),
            diagnostics: from_wire::diagnostics(answer.diagnostics),
        })
    }

    /// Makes a change.
    pub async fn apply(&self, name: &str, request: ApplyRequest) -> Result<Applied, ClientError> {
        let of = self.resource_type(name)?;
        let request = message::apply_resource_change::Request {
            type_name: name.to_owned(),
            prior_state: Some(encode(request.prior, of)?),
            planned_state: Some(encode(request.planned, of)?),
            config: Some(encode(request.config, of)?),
            planned_private: request.private,
            ..Default::default()
        };
        let answer = self
            .provider
            .clone()
            .apply_resource_change(request)
            .await?
            .into_inner();
        Ok(Applied {
            state: dynamic::from_wire(answer.new_state.as_ref(), of)?,
            private: answer.private,
            diagnostics: from_wire::diagnostics(answer.diagnostics),
        })
    }

    /// Observes an object.
    pub async fn read(
        &self,
        name: &str,
        current: Value,
        private: Vec<u8>,
    ) -> Result<ReadState, ClientError> {
        let of = self.resource_type(name)?;
        let current_state = Some(encode(current, of)?);
        let request = message::read_resource::Request {
            type_name: name.to_owned(),
            current_state,
            private,
            ..Default::default()
        };
        let answer = self
            .provider
            .clone()
            .read_resource(request)
            .await?
            .into_inner();
        Ok(ReadState {
            state: dynamic::from_wire(answer.new_state.as_ref(), of)?,
            private: answer.private,
            diagnostics: from_wire::diagnostics(answer.diagnostics),
        })
    }

    /// Takes an object over. The state is null when there was none.
    pub async fn import(&self, name: &str, id: &str) -> Result<Imported, ClientError> {
        let of = self.resource_type(name)?;
        let request = message::import_resource_state::Request {
            type_name: name.to_owned(),
            id: id.to_owned(),
            ..Default::default()
        };
        let answer = self
            .provider
            .clone()
            .import_resource_state(request)
            .await?
            .into_inner();
        let imported = answer
            .imported_resources
            .into_iter()
            .next()
            .unwrap_or_default();
        Ok(Imported {
            state: dynamic::from_wire(imported.state.as_ref(), of)?,
            private: imported.private,
            diagnostics: from_wire::diagnostics(answer.diagnostics),
        })
    }

    /// Reads a stored state, given as the JSON text of the state file.
    pub async fn upgrade(
        &self,
        name: &str,
        version: i64,
        stored: &str,
    ) -> Result<(Value, Diagnostics), ClientError> {
        let of = self.resource_type(name)?;
        let raw_state = message::RawState {
            json: stored.as_bytes().to_vec(),
            ..Default::default()
        };
        let request = message::upgrade_resource_state::Request {
            type_name: name.to_owned(),
            version,
            raw_state: Some(raw_state),
        };
        let answer = self
            .provider
            .clone()
            .upgrade_resource_state(request)
            .await?
            .into_inner();
        let state = dynamic::from_wire(answer.upgraded_state.as_ref(), of)?;
        Ok((state, from_wire::diagnostics(answer.diagnostics)))
    }

    /// Asks a data source: judges the question, then reads.
    pub async fn read_data(
        &self,
        name: &str,
        config: Value,
    ) -> Result<(Value, Diagnostics), ClientError> {
        let of = self
            .types
            .data_sources
            .get(name)
            .ok_or_else(|| ClientError::Unknown(name.to_owned()))?;
        let config = Some(encode(config, of)?);
        let type_name = name.to_owned();
        let request = message::validate_data_resource_config::Request {
            type_name: type_name.clone(),
            config: config.clone(),
        };
        let judged = self
            .provider
            .clone()
            .validate_data_resource_config(request)
            .await?
            .into_inner();
        let mut diagnostics = from_wire::diagnostics(judged.diagnostics);
        if diagnostics.has_errors() {
            return Ok((Value::Null, diagnostics));
        }
        let request = message::read_data_source::Request {
            type_name,
            config,
            ..Default::default()
        };
        let answer = self
            .provider
            .clone()
            .read_data_source(request)
            .await?
            .into_inner();
        diagnostics.extend(from_wire::diagnostics(answer.diagnostics));
        Ok((dynamic::from_wire(answer.state.as_ref(), of)?, diagnostics))
    }

    /// Asks all calls in flight to stop.
    pub async fn stop(&self) -> Result<(), ClientError> {
        self.provider
            .clone()
            .stop_provider(message::stop_provider::Request {})
            .await?;
        Ok(())
    }

    /// Asks the process to end.
    pub async fn shutdown(&self) -> Result<(), ClientError> {
        self.controller.clone().shutdown(Empty {}).await?;
        Ok(())
    }
}

pub(super) fn encode(value: Value, of: &Type) -> Result<DynamicValue, ClientError> {
    Ok(dynamic::to_wire(&value.conform(of)?, of))
}

trait Io: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Io for T {}

async fn dial(socket: PathBuf, tls: Option<TlsConnector>) -> std::io::Result<TokioIo<Box<dyn Io>>> {
    let stream = UnixStream::connect(socket).await?;
    let io: Box<dyn Io> = match tls {
        None => Box::new(stream),
        Some(tls) => {
            let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
            Box::new(tls.connect(name, stream).await?)
        }
    };
    Ok(TokioIo::new(io))
}
