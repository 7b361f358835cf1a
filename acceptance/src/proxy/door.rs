//! Where the proxy listens, and what it connects every client to.
//!
//! Before `connection.rs`, which does the rest.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::{Context, Result};

use super::Shared;
use super::connection::Connection;
use super::tls::{Client, Server};
use crate::lab::{Lab, Member};
use crate::pair::Pair;
use crate::process::inside;

/// Incus's own.
const PORT: u16 = 8443;

/// One place that the proxy listens at.
#[derive(Debug)]
pub(super) enum Door {
    /// A unix socket.
    Unix(PathBuf),
    /// An address, seen in a network namespace.
    Https { network: PathBuf, at: SocketAddr },
}

impl Door {
    pub(super) fn unix(shared: &Arc<Shared>, socket: &Path, incus: &Path) -> Result<Door> {
        let listener = UnixListener::bind(socket)
            .with_context(|| format!("listening on {}", socket.display()))?;
        let incus = incus.to_owned();
        let connect = move |client: UnixStream| {
            Ok(Connection {
                member: String::new(),
                incus: Arc::new(UnixStream::connect(&incus)?),
                client: Arc::new(client),
            })
        };
        let shared = Arc::clone(shared);
        thread::spawn(move || accept(listener.incoming(), &shared, connect));
        Ok(Door::Unix(socket.to_owned()))
    }

    pub(super) fn https(
        shared: &Arc<Shared>,
        lab: &Lab,
        member: &Member,
        operator: &Pair,
    ) -> Result<Door> {
        let network = Path::new("/run/netns").join(lab.operator()?);
        let address: IpAddr = member.address().parse().context("an address")?;
        let at = SocketAddr::new(address, PORT);
        let listener = inside(&network, || Ok(TcpListener::bind(at)?));
        let listener = listener.with_context(|| format!("listening for {}", member.name()))?;
        let server = Server::of(member.directory(), &network);
        let client = Client::new(operator)?;
        let (beside, name) = (member.network(), member.name().to_owned());
        let connect = move |accepted: TcpStream| {
            // From beside the daemon, where its address is its own.
            let plain = inside(&beside, || Ok(TcpStream::connect(at)?));
            Ok(Connection {
                member: name.clone(),
                incus: Arc::new(client.connect(plain.map_err(io::Error::other)?)?),
                client: Arc::new(server.accept(accepted)?),
            })
        };
        let shared = Arc::clone(shared);
        thread::spawn(move || accept(listener.incoming(), &shared, connect));
        Ok(Door::Https { network, at })
    }

    pub(super) fn endpoint(&self) -> String {
        match self {
            Door::Unix(socket) => format!("unix://{}", socket.display()),
            Door::Https { at, .. } => format!("https://{at}"),
        }
    }

    /// Connects once, so that the listening thread looks around.
    pub(super) fn knock(&self) {
        match self {
            Door::Unix(socket) => {
                let _ = UnixStream::connect(socket);
                let _ = std::fs::remove_file(socket);
            }
            Door::Https { network, at } => {
                let _ = inside(network, || Ok(TcpStream::connect(at)?));
            }
        }
    }
}

/// Serves every client in a thread of its own, until the proxy has ended.
fn accept<S: Send + 'static>(
    clients: impl Iterator<Item = io::Result<S>>,
    shared: &Arc<Shared>,
    connect: impl Fn(S) -> io::Result<Connection> + Clone + Send + 'static,
) {
    for client in clients.filter_map(Result::ok) {
        if shared.ended.load(Ordering::Relaxed) {
            return;
        }
        let (shared, connect) = (Arc::clone(shared), connect.clone());
        thread::spawn(move || connect(client).and_then(|connection| connection.serve(&shared)));
    }
}
