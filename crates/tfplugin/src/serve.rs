//! Makes a process of a provider, from the first look at the environment to the exit code.
//!
//! ```text
//! handshake.rs  is a host there, what does it want
//!     │
//! tls.rs, socket.rs  who may come in, and where
//!     │
//! handshake.rs  the line for the host
//!     │
//! server.rs     the calls, each run by calls.rs
//!     │
//! host.rs       until Shutdown, SIGTERM, or nobody is left
//! ```
//!
//! Whatever cannot be done before the line is not done at all, and what can wait does: a host starts a provider several
//! times for each command. What comes after the end is the operating system's.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Router;

use crate::calls::Calls;
use crate::handshake::{self, Greeting};
use crate::host::Host;
use crate::reattach;
use crate::server::{Controller, Server};
use crate::socket::{Socket, Stream};
use crate::{Provider, log, panics, socket, tls};

/// How long connections have to close once all calls have been answered. The host kills after two seconds.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The process could not begin, or not go on.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("starting the runtime")]
    Runtime(#[source] io::Error),
    #[error("setting up the connection's encryption")]
    Tls(#[from] tls::Error),
    #[error("setting up the socket")]
    Socket(#[from] socket::Error),
    #[error("listening for signals")]
    Signals(#[source] io::Error),
    #[error("greeting the host")]
    Print(#[source] io::Error),
    #[error("serving the host")]
    Serve(#[source] tonic::transport::Error),
}

/// Serves a provider until its host has no further use for it, and says how the process is to end.
///
/// It is all that `main` has to do. Started by hand rather than by a host, it says so and fails.
///
/// ```no_run
/// # use std::sync::Arc;
/// # struct Toy;
/// # #[async_trait::async_trait]
/// # impl tfplugin::Provider for Toy {
/// #     fn schema(&self) -> tfplugin::Schema { tfplugin::Schema::new(0, "A toy.") }
/// #     async fn configure(&self, _: tfplugin::Value, _: &tfplugin::Call) -> tfplugin::Diagnostics { Default::default() }
/// #     fn resources(&self) -> Vec<(&'static str, Arc<dyn tfplugin::Resource>)> { vec![] }
/// # }
/// fn main() -> std::process::ExitCode {
///     tfplugin::serve(Toy)
/// }
/// ```
pub fn serve(provider: impl Provider) -> ExitCode {
    serve_provider(Arc::new(provider))
}

/// What [`serve_with`] can be told.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// The provider's address, such as `registry.opentofu.org/example/toy`, as configurations name it in `source`.
    pub address: &'static str,
}

/// Serves a provider as [`serve`] does, and with the argument `--debug` as one that is started by hand.
///
/// Then it prints one line that sets `TF_REATTACH_PROVIDERS`. Hosts that have this variable use the running process, in
/// which a debugger can wait, instead of starting one of their own. It serves in clear, to its own user only, until
/// Ctrl-C.
pub fn serve_with(provider: impl Provider, options: ServeOptions) -> ExitCode {
    if !std::env::args()
        .skip(1)
        .any(|argument| argument == "--debug")
    {
        return serve_provider(Arc::new(provider));
    }
    panics::install_hook();
    end_with(run(serve_by_hand(Arc::new(provider), options)))
}

fn serve_provider(provider: Arc<dyn Provider>) -> ExitCode {
    let greeting = match Greeting::read(|name| std::env::var_os(name)) {
        Ok(greeting) => greeting,
        Err(error) => return fail(&error),
    };
    panics::install_hook();
    end_with(run(greet_and_serve(provider, greeting)))
}

fn end_with(served: Result<(), Error>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Says on standard error why it ends, with all causes.
fn fail(error: &(dyn StdError + 'static)) -> ExitCode {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let text: Vec<String> = causes.map(ToString::to_string).collect();
    // Nobody may be listening, and then there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}", text.join(": "));
    ExitCode::FAILURE
}

fn run(serving: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    // Handlers wait for others most of the time; two threads keep one free for the host's stop.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("provider")
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let served = runtime.block_on(serving);
    // Blocking work that a provider left behind must not hold the process.
    runtime.shutdown_background();
    served
}

async fn greet_and_serve(provider: Arc<dyn Provider>, greeting: Greeting) -> Result<(), Error> {
    let signals = Signals::listen().map_err(Error::Signals)?;
    // Before the line: a host that ends right after it has read it would not be missed otherwise.
    let host = Host::new(Calls::default());
    let identity = greeting
        .client_certificate
        .as_deref()
        .map(tls::identify)
        .transpose()?;
    let socket = Socket::bind(greeting.socket_folder.as_deref())?;
    let certificate = identity
        .as_ref()
        .map(|identity| identity.certificate.as_ref());
    let line = handshake::line(&socket.path, certificate, greeting.asks_for_multiplexing);
    let acceptor = identity.map(|identity| TlsAcceptor::from(identity.config));
    handshake::print(&line).map_err(Error::Print)?;
    serve_host(provider, socket, acceptor, signals, host, StartedBy::Host).await
}

/// For `--debug`: nobody started it who would end it, and many hosts may come and go.
async fn serve_by_hand(provider: Arc<dyn Provider>, options: ServeOptions) -> Result<(), Error> {
    let signals = Signals::listen().map_err(Error::Signals)?;
    let host = Host::new(Calls::default());
    let socket = Socket::bind(None)?;
    let line = reattach::line(options.address, std::process::id(), &socket.path);
    handshake::print(&line).map_err(Error::Print)?;
    serve_host(provider, socket, None, signals, host, StartedBy::Hand).await
}

/// Who may end the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartedBy {
    Host,
    Hand,
}

async fn serve_host(
    provider: Arc<dyn Provider>,
    socket: Socket,
    acceptor: Option<TlsAcceptor>,
    mut signals: Signals,
    host: Host,
    started_by: StartedBy,
) -> Result<(), Error> {
    let calls = host.calls().clone();
    let (shutdown, closing) = (CancellationToken::new(), CancellationToken::new());
    let (mut streams, folder) = socket.accept(acceptor, host.clone());
    let incoming = futures_util::stream::poll_fn(move |context| {
        streams
            .poll_recv(context)
            .map(|stream| stream.map(Ok::<Stream, io::Error>))
    });
    let router = router(provider, calls.clone(), shutdown.clone());
    let serving = tokio::spawn(
        router.serve_with_incoming_shutdown(incoming, closing.clone().cancelled_owned()),
    );

    let by_host = started_by == StartedBy::Host;
    let reason = tokio::select! {
        () = shutdown.cancelled(), if by_host => "the host said so",
        () = host.gone(), if by_host => "the host is gone",
        reason = signals.ended(by_host) => reason,
    };
    log::debug("the provider is ending", &[("reason", &reason)]);
    // Removed first: a host that loses patience kills, and then nothing is left behind.
    drop(folder);
    calls.close();
    calls.finished().await;
    closing.cancel();
    // What is not closed by now is a host that does not listen.
    match tokio::time::timeout(CLOSING_TIME, serving).await {
        Ok(Ok(served)) => served.map_err(Error::Serve),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

fn router(provider: Arc<dyn Provider>, calls: Calls, shutdown: CancellationToken) -> Router {
    tonic::transport::Server::builder()
        .add_service(Server::new(provider, calls).into_service())
        .add_service(Controller::new(shutdown).into_service())
}

/// The signals that concern a provider.
struct Signals {
    terminate: Signal,
    /// Held so that the signal does nothing by itself. The user's Ctrl-C reaches every process of the group; the host
    /// answers it with a stop, and a provider that had died of it could not be stopped in good order.
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal to end. An interrupt is one only for who was started by hand.
    async fn ended(&mut self, by_host: bool) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv(), if !by_host => "it was interrupted",
            _ = self.terminate.recv() => "it was told to terminate",
        }
    }
}
