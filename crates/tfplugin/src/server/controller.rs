//! go-plugin's own service: the host's wish that the process ends.
//!
//! Before: tonic, set up in `serve.rs`. After: `serve.rs` again, which waits for the token.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response};

use super::Answer;
use crate::wire::go_plugin::Empty;
use crate::wire::go_plugin::grpc_controller_server::{GrpcController, GrpcControllerServer};

/// go-plugin's wish that the process ends.
pub(crate) struct Controller {
    shutdown: CancellationToken,
}

impl Controller {
    pub(crate) fn new(shutdown: CancellationToken) -> Controller {
        Controller { shutdown }
    }

    pub(crate) fn into_service(self) -> GrpcControllerServer<Controller> {
        GrpcControllerServer::new(self)
    }
}

#[async_trait]
impl GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Answer<Empty> {
        // The answer is on its way before the connection closes: `serve.rs` lets open requests finish.
        self.shutdown.cancel();
        Ok(Response::new(Empty {}))
    }
}
