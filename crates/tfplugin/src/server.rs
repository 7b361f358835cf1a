//! The protocol's calls, one method each: decode, let the right file work, encode.
//!
//! Calls about functions, ephemeral resources and identities go on in the files of `server/`; those that no resource
//! here has a use for (lists, actions, state stores) are answered "unimplemented" by the generated code.
//!
//! Before this file stands tonic, which was set up in `serve.rs`; every call runs in a task of its own (`calls.rs`).
//! Behind it stand `validate.rs`, `planning.rs`, `apply.rs` and `upgrade.rs`, which know nothing of messages, as this
//! file knows nothing of the rules. An RPC itself never fails: what went wrong is a diagnostic in its response.

mod controller;
mod ephemeral;
mod functions;
mod identity;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tonic::{Request, Response, Status};

use crate::calls::Calls;
use crate::kinds::{Described, Kind, Kinds};
use crate::wire::tfplugin6::provider_server::{Provider as ProviderService, ProviderServer};
use crate::wire::tfplugin6::{self as message, ServerCapabilities};
use crate::wire::{diagnostic, resource, schema};
use crate::{
    DataSource, Diagnostic, Diagnostics, EphemeralResource, Provider, Resource, apply, log,
    planning, upgrade, validate,
};

pub(crate) use controller::Controller;

/// The largest message either way. Values are held in memory a few times over, so there has to be an end.
const LARGEST_MESSAGE: usize = 256 << 20;

/// A provider as the host sees it.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    provider: Kind<dyn Provider>,
    resources: Kinds<dyn Resource>,
    data_sources: Kinds<dyn DataSource>,
    ephemeral_resources: Kinds<dyn EphemeralResource>,
    functions: functions::Functions,
    calls: Calls,
}

impl Server {
    pub(crate) fn new(provider: Arc<dyn Provider>, calls: Calls) -> Server {
        let resources = Kinds::new("resource", provider.resources());
        let data_sources = Kinds::new("data source", provider.data_sources());
        let ephemeral_resources = Kinds::new("ephemeral resource", provider.ephemeral_resources());
        let functions = provider.functions().into_iter().collect();
        let provider = Kind::new("the provider", provider);
        Server {
            shared: Arc::new(Shared {
                provider,
                resources,
                data_sources,
                ephemeral_resources,
                functions,
                calls,
            }),
        }
    }

    pub(crate) fn into_service(self) -> ProviderServer<Server> {
        ProviderServer::new(self)
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE)
    }

    /// Runs a handler that only looks, and turns its failure into diagnostics.
    async fn judge(
        &self,
        handler: impl FnOnce(&Shared) -> Result<Diagnostics, Diagnostic> + Send + 'static,
    ) -> Vec<message::Diagnostic> {
        let shared = self.shared.clone();
        let judged = self
            .shared
            .calls
            .run(move |_| async move { handler(&shared) })
            .await;
        diagnostic::to_wire(judged.unwrap_or_else(Diagnostics::from))
    }
}

fn failed(failure: Diagnostic) -> Vec<message::Diagnostic> {
    diagnostic::to_wire([failure])
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        generate_resource_config: false,
    }
}

impl Shared {
    fn schemas(&self) -> message::get_provider_schema::Response {
        fn all<T: Described + ?Sized>(kinds: &Kinds<T>) -> HashMap<String, message::Schema> {
            let schemas = kinds
                .iter()
                .map(|kind| (kind.name.clone(), schema::to_wire(kind.schema())));
            schemas.collect()
        }
        message::get_provider_schema::Response {
            provider: Some(schema::to_wire(self.provider.schema())),
            resource_schemas: all(&self.resources),
            data_source_schemas: all(&self.data_sources),
            ephemeral_resource_schemas: all(&self.ephemeral_resources),
            functions: functions::described(&self.functions),
            server_capabilities: Some(capabilities()),
            ..Default::default()
        }
    }
}

impl Shared {
    fn metadata(&self) -> message::get_metadata::Response {
        use message::get_metadata::{
            DataSourceMetadata, EphemeralMetadata, FunctionMetadata, ResourceMetadata,
        };
        fn all<T: Described + ?Sized, M>(kinds: &Kinds<T>, make: fn(String) -> M) -> Vec<M> {
            kinds.iter().map(|kind| make(kind.name.clone())).collect()
        }
        let functions = self.functions.keys().map(|name| FunctionMetadata {
            name: (*name).to_owned(),
        });
        message::get_metadata::Response {
            server_capabilities: Some(capabilities()),
            resources: all(&self.resources, |type_name| ResourceMetadata { type_name }),
            data_sources: all(&self.data_sources, |type_name| DataSourceMetadata {
                type_name,
            }),
            ephemeral_resources: all(&self.ephemeral_resources, |type_name| EphemeralMetadata {
                type_name,
            }),
            functions: functions.collect(),
            ..Default::default()
        }
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[async_trait]
impl ProviderService for Server {
    async fn get_metadata(
        &self,
        _: Request<message::get_metadata::Request>,
    ) -> Answer<message::get_metadata::Response> {
        Ok(Response::new(self.shared.metadata()))
    }

    async fn get_provider_schema(
        &self,
        _: Request<message::get_provider_schema::Request>,
    ) -> Answer<message::get_provider_schema::Response> {
        let shared = self.shared.clone();
        let described = self
            .shared
            .calls
            .run(move |_| async move { Ok(shared.schemas()) })
            .await;
        Ok(Response::new(described.unwrap_or_else(|failure| {
            message::get_provider_schema::Response {
                diagnostics: failed(failure),
                ..Default::default()
            }
        })))
    }

    async fn get_functions(
        &self,
        _: Request<message::get_functions::Request>,
    ) -> Answer<message::get_functions::Response> {
        let shared = self.shared.clone();
        let described = self
            .shared
            .calls
            .run(move |_| async move { Ok(functions::described(&shared.functions)) });
        let (functions, diagnostics) = match described.await {
            Ok(functions) => (functions, Vec::new()),
            Err(failure) => (HashMap::new(), failed(failure)),
        };
        Ok(Response::new(message::get_functions::Response {
            functions,
            diagnostics,
        }))
    }

    async fn call_function(
        &self,
        request: Request<message::call_function::Request>,
    ) -> Answer<message::call_function::Response> {
        Ok(Response::new(self.call(request.into_inner()).await))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<message::get_resource_identity_schemas::Request>,
    ) -> Answer<message::get_resource_identity_schemas::Response> {
        let shared = self.shared.clone();
        let described = self
            .shared
            .calls
            .run(move |_| async move { Ok(shared.identity_schemas()) });
        let (identity_schemas, diagnostics) = match described.await {
            Ok(schemas) => (schemas, Vec::new()),
            Err(failure) => (HashMap::new(), failed(failure)),
        };
        Ok(Response::new(
            message::get_resource_identity_schemas::Response {
                identity_schemas,
                diagnostics,
            },
        ))
    }

    async fn upgrade_resource_identity(
        &self,
        request: Request<message::upgrade_resource_identity::Request>,
    ) -> Answer<message::upgrade_resource_identity::Response> {
        let response = self.upgrade_identity(request.into_inner()).await;
        Ok(Response::new(response))
    }

    async fn move_resource_state(
        &self,
        request: Request<message::move_resource_state::Request>,
    ) -> Answer<message::move_resource_state::Response> {
        Ok(Response::new(self.move_state(request.into_inner()).await))
    }

    async fn validate_ephemeral_resource_config(
        &self,
        request: Request<message::validate_ephemeral_resource_config::Request>,
    ) -> Answer<message::validate_ephemeral_resource_config::Response> {
        let response = self.validate_ephemeral(request.into_inner()).await;
        Ok(Response::new(response))
    }

    async fn open_ephemeral_resource(
        &self,
        request: Request<message::open_ephemeral_resource::Request>,
    ) -> Answer<message::open_ephemeral_resource::Response> {
        Ok(Response::new(self.open(request.into_inner()).await))
    }

    async fn renew_ephemeral_resource(
        &self,
        request: Request<message::renew_ephemeral_resource::Request>,
    ) -> Answer<message::renew_ephemeral_resource::Response> {
        Ok(Response::new(self.renew(request.into_inner()).await))
    }

    async fn close_ephemeral_resource(
        &self,
        request: Request<message::close_ephemeral_resource::Request>,
    ) -> Answer<message::close_ephemeral_resource::Response> {
        Ok(Response::new(self.close(request.into_inner()).await))
    }

    async fn validate_provider_config(
        &self,
        request: Request<message::validate_provider_config::Request>,
    ) -> Answer<message::validate_provider_config::Response> {
        let request = request.into_inner();
        let diagnostics = self.judge(move |shared| {
            let config = shared
                .provider
                .decode(request.config.as_ref(), "a configuration")?;
            let mut diagnostics = validate::validate(shared.provider.schema(), &config);
            shared.provider.handler.validate(&config, &mut diagnostics);
            Ok(diagnostics)
        });
        Ok(Response::new(message::validate_provider_config::Response {
            diagnostics: diagnostics.await,
        }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<message::validate_resource_config::Request>,
    ) -> Answer<message::validate_resource_config::Response> {
        let request = request.into_inner();
        let diagnostics = self.judge(move |shared| {
            let kind = shared.resources.find(&request.type_name)?;
            let config = kind.decode(request.config.as_ref(), "a configuration")?;
            let mut diagnostics = validate::validate(kind.schema(), &config);
            let capabilities = request.client_capabilities.unwrap_or_default();
            if !capabilities.write_only_attributes_allowed {
                validate::refuse_write_only(kind.schema(), &config, &mut diagnostics);
            }
            kind.handler.validate(&config, &mut diagnostics);
            Ok(diagnostics)
        });
        Ok(Response::new(message::validate_resource_config::Response {
            diagnostics: diagnostics.await,
        }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<message::validate_data_resource_config::Request>,
    ) -> Answer<message::validate_data_resource_config::Response> {
        let request = request.into_inner();
        let diagnostics = self.judge(move |shared| {
            let kind = shared.data_sources.find(&request.type_name)?;
            let config = kind.decode(request.config.as_ref(), "a configuration")?;
            let mut diagnostics = validate::validate(kind.schema(), &config);
            kind.handler.validate(&config, &mut diagnostics);
            Ok(diagnostics)
        });
        Ok(Response::new(
            message::validate_data_resource_config::Response {
                diagnostics: diagnostics.await,
            },
        ))
    }

    async fn configure_provider(
        &self,
        request: Request<message::configure_provider::Request>,
    ) -> Answer<message::configure_provider::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        self.shared.calls.begin();
        let configured = self.shared.calls.run(move |call| async move {
            let config = shared
                .provider
                .decode(request.config.as_ref(), "a configuration")?;
            Ok(shared.provider.handler.configure(config, &call).await)
        });
        let diagnostics = diagnostic::to_wire(configured.await.unwrap_or_else(Diagnostics::from));
        Ok(Response::new(message::configure_provider::Response {
            diagnostics,
        }))
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<message::upgrade_resource_state::Request>,
    ) -> Answer<message::upgrade_resource_state::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        let upgraded = self.shared.calls.run(move |_| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let stored = resource::stored(request.raw_state)?;
            let state = upgrade::upgrade(&*kind.handler, kind.schema(), request.version, &stored)?;
            Ok(kind.encode(&state))
        });
        let (upgraded_state, diagnostics) = match upgraded.await {
            Ok(state) => (Some(state), Vec::new()),
            Err(failure) => (None, failed(failure)),
        };
        let response = message::upgrade_resource_state::Response {
            upgraded_state,
            diagnostics,
        };
        Ok(Response::new(response))
    }

    async fn read_resource(
        &self,
        request: Request<message::read_resource::Request>,
    ) -> Answer<message::read_resource::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        // What cannot be observed stays as it is.
        let (current, noted) = (request.current_state.clone(), request.private.clone());
        let identity = request.current_identity.clone();
        let read = self.shared.calls.run(move |call| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let before = request.current_identity.clone();
            let request = kind.read_request(request)?;
            let read = apply::read(&*kind.handler, kind.schema(), request, &call).await;
            Ok(kind.observed(read, before.as_ref()))
        });
        Ok(Response::new(read.await.unwrap_or_else(|failure| {
            message::read_resource::Response {
                new_state: current,
                private: noted,
                new_identity: identity,
                diagnostics: failed(failure),
                ..Default::default()
            }
        })))
    }

    async fn plan_resource_change(
        &self,
        request: Request<message::plan_resource_change::Request>,
    ) -> Answer<message::plan_resource_change::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        let planned = self.shared.calls.run(move |_| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let before = request.prior_identity.clone();
            let request = kind.plan_request(request)?;
            let planned = planning::plan(&*kind.handler, kind.schema(), request);
            Ok(kind.planned(planned, before.as_ref()))
        });
        Ok(Response::new(planned.await.unwrap_or_else(|failure| {
            message::plan_resource_change::Response {
                diagnostics: failed(failure),
                ..Default::default()
            }
        })))
    }

    async fn apply_resource_change(
        &self,
        request: Request<message::apply_resource_change::Request>,
    ) -> Answer<message::apply_resource_change::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        // What was not answered for stays as it was; of a creation nothing can be said then.
        let (prior, noted) = (request.prior_state.clone(), request.planned_private.clone());
        let identity = request.planned_identity.clone();
        let applied = self.shared.calls.run(move |call| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let before = request.planned_identity.clone();
            let request = kind.apply_request(request)?;
            let applied = apply::apply(&*kind.handler, kind.schema(), request, &call).await;
            Ok(kind.applied(applied, before.as_ref()))
        });
        Ok(Response::new(applied.await.unwrap_or_else(|failure| {
            message::apply_resource_change::Response {
                new_state: prior,
                private: noted,
                new_identity: identity,
                diagnostics: failed(failure),
                ..Default::default()
            }
        })))
    }

    async fn import_resource_state(
        &self,
        request: Request<message::import_resource_state::Request>,
    ) -> Answer<message::import_resource_state::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        let imported = self.shared.calls.run(move |call| async move {
            let kind = shared.resources.find(&request.type_name)?;
            let before = request.identity.clone();
            let request = kind.import_request(request)?;
            let imported = apply::import(&*kind.handler, kind.schema(), request, &call).await;
            Ok(kind.imported(imported, before.as_ref()))
        });
        Ok(Response::new(imported.await.unwrap_or_else(|failure| {
            message::import_resource_state::Response {
                diagnostics: failed(failure),
                ..Default::default()
            }
        })))
    }

    async fn read_data_source(
        &self,
        request: Request<message::read_data_source::Request>,
    ) -> Answer<message::read_data_source::Response> {
        let (shared, request) = (self.shared.clone(), request.into_inner());
        let read = self.shared.calls.run(move |call| async move {
            let kind = shared.data_sources.find(&request.type_name)?;
            let config = kind.decode(request.config.as_ref(), "a configuration")?;
            let (state, diagnostics) = kind.handler.read(config, &call).await;
            let (state, diagnostics) = apply::answer(kind.schema(), state, diagnostics);
            Ok((kind.encode(&state), diagnostic::to_wire(diagnostics)))
        });
        let (state, diagnostics) = match read.await {
            Ok((state, diagnostics)) => (Some(state), diagnostics),
            Err(failure) => (None, failed(failure)),
        };
        Ok(Response::new(message::read_data_source::Response {
            state,
            diagnostics,
            ..Default::default()
        }))
    }

    async fn stop_provider(
        &self,
        _: Request<message::stop_provider::Request>,
    ) -> Answer<message::stop_provider::Response> {
        log::debug("the host asked to stop", &[]);
        self.shared.calls.stop();
        Ok(Response::new(message::stop_provider::Response {
            error: String::new(),
        }))
    }
}
