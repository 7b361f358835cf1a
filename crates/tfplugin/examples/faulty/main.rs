//! A provider with one fault: a man in the middle between a host and the toy, who damages one kind of answer.
//!
//! The conformance tests start it like any provider, with the fault's name in `TFPLUGIN_FAULT`, to see that each fault
//! is found. It starts the toy itself and passes bytes on; what it damages, it does in `faults.rs`. It serves in clear.
//! It is a test of the tests: nothing here is to be learnt from.

mod faults;
mod values;
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
mod wire {
    tonic::include_proto!("tfplugin6");
}

use std::convert::Infallible;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};

use tfplugin::testing::{Client, Host, Launch, RawBytes};
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};

use faults::Faults;

type AnyError = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<ExitCode, AnyError> {
    let fault = std::env::var("TFPLUGIN_FAULT").unwrap_or_default();
    let program = std::env::current_exe()?.with_file_name("tfplugin-toy");
    let host = Launch::new(program).with("TF_LOG", "off").in_clear();
    let host = host.start().await?;
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("faulty.sock");
    let listener = UnixListener::bind(&socket)?;
    if fault == "prints-before-the-handshake" {
        print("Hello!\n")?;
    }
    print(&format!("1|6|unix|{}|grpc|\n", socket.display()))?;
    let ending = serve(listener, &host, fault.clone()).await?;
    // The host's own shutdown came through here, and the toy ends too.
    ending.notified().await;
    host.shutdown().await?;
    Ok(match fault.as_str() {
        "ends-with-a-failure" => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// Standard output, which `println` is banned from here for good reasons.
fn print(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    output.write_all(text.as_bytes())?;
    output.flush()
}

async fn serve(
    listener: UnixListener,
    host: &Host,
    fault: String,
) -> Result<Arc<Notify>, AnyError> {
    let ending = Arc::new(Notify::new());
    let middle = Middle {
        toy: host.client(),
        faults: Arc::new(Faults::new(fault)),
    };
    let controller = Controller {
        ending: Arc::clone(&ending),
    };
    let router = tonic::transport::Server::builder()
        .add_service(middle)
        .add_service(controller);
    let incoming = futures_util::stream::unfold(listener, |listener| async {
        let stream = listener.accept().await.map(|(stream, _)| stream);
        Some((stream, listener))
    });
    tokio::spawn(router.serve_with_incoming(incoming));
    Ok(ending)
}

/// The calls of the provider's service, whichever they are.
#[derive(Clone)]
struct Middle {
    toy: Client,
    faults: Arc<Faults>,
}

impl NamedService for Middle {
    const NAME: &'static str = "tfplugin6.Provider";
}

impl Service<http::Request<Body>> for Middle {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let call = request.uri().path().rsplit('/').next().unwrap_or_default();
        let passing = Passing {
            middle: self.clone(),
            call: call.to_owned(),
        };
        Box::pin(async move { Ok(Grpc::new(RawBytes).unary(passing, request).await) })
    }
}

/// One call.
struct Passing {
    middle: Middle,
    call: String,
}

impl UnaryService<Vec<u8>> for Passing {
    type Response = Vec<u8>;
    type Future = BoxFuture<Response<Vec<u8>>, Status>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        let (middle, call) = (self.middle.clone(), self.call.clone());
        Box::pin(async move {
            let request = request.into_inner();
            let answer = middle.toy.call_raw(&call, request.clone()).await;
            let answer = answer.map_err(|error| Status::internal(error.to_string()))?;
            let damaged = middle.faults.damage(&call, &request, &answer);
            let damaged = damaged.map_err(|error| Status::internal(error.to_string()))?;
            Ok(Response::new(damaged))
        })
    }
}

/// go-plugin's own service: the host's wish that the process ends.
#[derive(Clone)]
struct Controller {
    ending: Arc<Notify>,
}

impl NamedService for Controller {
    const NAME: &'static str = "plugin.GRPCController";
}

impl Service<http::Request<Body>> for Controller {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let controller = self.clone();
        Box::pin(async move { Ok(Grpc::new(RawBytes).unary(controller, request).await) })
    }
}

impl UnaryService<Vec<u8>> for Controller {
    type Response = Vec<u8>;
    type Future = BoxFuture<Response<Vec<u8>>, Status>;

    fn call(&mut self, _: Request<Vec<u8>>) -> Self::Future {
        let ending = Arc::clone(&self.ending);
        Box::pin(async move {
            // The answer goes out first.
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                ending.notify_one();
            });
            Ok(Response::new(Vec::new()))
        })
    }
}
