//! The calls about what exists only while it is used. Behind it stands `ephemeral.rs`, in front of it `server.rs`.

use super::{Server, failed};
use crate::wire::ephemeral::{private_to_wire, timestamp_to_wire};
use crate::wire::{diagnostic, tfplugin6 as message};
use crate::{apply, validate};

impl Server {
    pub(super) async fn validate_ephemeral(
        &self,
        request: message::validate_ephemeral_resource_config::Request,
    ) -> message::validate_ephemeral_resource_config::Response {
        let diagnostics = self.judge(move |shared| {
            let kind = shared.ephemeral_resources.find(&request.type_name)?;
            let config = kind.decode(request.config.as_ref(), "a configuration")?;
            let mut diagnostics = validate::validate(kind.schema(), &config);
            kind.handler.validate(&config, &mut diagnostics);
            Ok(diagnostics)
        });
        message::validate_ephemeral_resource_config::Response {
            diagnostics: diagnostics.await,
        }
    }

    pub(super) async fn open(
        &self,
        request: message::open_ephemeral_resource::Request,
    ) -> message::open_ephemeral_resource::Response {
        let shared = self.shared.clone();
        let opened = self.shared.calls.run(move |call| async move {
            let kind = shared.ephemeral_resources.find(&request.type_name)?;
            let config = kind.decode(request.config.as_ref(), "a configuration")?;
            let opened = kind.handler.open(config, &call).await;
            let private = opened.private.clone();
            let succeeded = !opened.diagnostics.has_errors();
            let (result, mut diagnostics) =
                apply::answer(kind.schema(), opened.result, opened.diagnostics);
            // The host closes only what it takes for open: what it will not take is closed here.
            if succeeded && diagnostics.has_errors() {
                diagnostics.extend(kind.handler.close(private.clone(), &call).await);
            }
            Ok(message::open_ephemeral_resource::Response {
                diagnostics: diagnostic::to_wire(diagnostics),
                renew_at: opened.renew_at.map(timestamp_to_wire),
                result: Some(kind.encode(&result)),
                private: private_to_wire(private),
                deferred: None,
            })
        });
        opened
            .await
            .unwrap_or_else(|failure| message::open_ephemeral_resource::Response {
                diagnostics: failed(failure),
                ..Default::default()
            })
    }

    pub(super) async fn renew(
        &self,
        request: message::renew_ephemeral_resource::Request,
    ) -> message::renew_ephemeral_resource::Response {
        let shared = self.shared.clone();
        // What could not be renewed still has to be closed, and that needs what was noted.
        let noted = request.private.clone();
        let renewed = self.shared.calls.run(move |call| async move {
            let kind = shared.ephemeral_resources.find(&request.type_name)?;
            let private = request.private.unwrap_or_default();
            let renewed = kind.handler.renew(private, &call).await;
            Ok(message::renew_ephemeral_resource::Response {
                diagnostics: diagnostic::to_wire(renewed.diagnostics),
                renew_at: renewed.renew_at.map(timestamp_to_wire),
                private: private_to_wire(renewed.private),
            })
        });
        renewed
            .await
            .unwrap_or_else(|failure| message::renew_ephemeral_resource::Response {
                diagnostics: failed(failure),
                renew_at: None,
                private: noted,
            })
    }

    pub(super) async fn close(
        &self,
        request: message::close_ephemeral_resource::Request,
    ) -> message::close_ephemeral_resource::Response {
        let shared = self.shared.clone();
        let closed = self
            .shared
            .calls
            .run_also_when_stopped(move |call| async move {
                let kind = shared.ephemeral_resources.find(&request.type_name)?;
                let private = request.private.unwrap_or_default();
                Ok(kind.handler.close(private, &call).await)
            });
        message::close_ephemeral_resource::Response {
            diagnostics: diagnostic::to_wire(closed.await.unwrap_or_else(Into::into)),
        }
    }
}
