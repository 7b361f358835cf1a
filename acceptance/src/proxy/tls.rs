//! The encrypted kind of connection: in the place of a daemon to its clients, and of a client to the daemon.
//!
//! Nobody's identity is judged here: a lab is its own network, and what the product makes of certificates shows in the
//! product. Used by `door.rs`.

mod judge;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use super::owner;
use super::stream::Connected;
use crate::pair::Pair;
use crate::process::inside;
use judge::Anybody;

/// The side that stands in for a daemon.
#[derive(Clone, Debug)]
pub(super) struct Server {
    daemon: PathBuf,
    network: PathBuf,
}

impl Server {
    /// For the daemon with this folder, listening in this network.
    pub(super) fn of(daemon: &Path, network: &Path) -> Server {
        Server {
            daemon: daemon.to_owned(),
            network: network.to_owned(),
        }
    }

    /// Shows the certificate that the daemon shows at this moment: the cluster's as soon as it has one.
    pub(super) fn accept(&self, stream: TcpStream) -> io::Result<Tls> {
        let kind = ["cluster", "server"].into_iter().find(|kind| {
            let key = self.daemon.join(format!("{kind}.key"));
            key.exists()
        });
        let read = |suffix| {
            fs::read(
                self.daemon
                    .join(format!("{}.{suffix}", kind.unwrap_or("server"))),
            )
        };
        let (certificates, key) =
            identity(&read("crt")?, &read("key")?).map_err(io::Error::other)?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_client_cert_verifier(Arc::new(Anybody))
            .with_single_cert(certificates, key)
            .map_err(io::Error::other)?;
        let connection = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
        Tls::shake_hands(stream, connection.into(), Some(self.network.clone()))
    }
}

/// The side that stands in for a client.
#[derive(Clone, Debug)]
pub(super) struct Client(Arc<ClientConfig>);

impl Client {
    /// Asks as this one.
    pub(super) fn new(operator: &Pair) -> Result<Client> {
        let (certificates, key) =
            identity(operator.certificate.as_bytes(), operator.key.as_bytes())?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_client_auth_cert(certificates, key)?;
        Ok(Client(Arc::new(config)))
    }

    pub(super) fn connect(&self, stream: TcpStream) -> io::Result<Tls> {
        let name = ServerName::IpAddress(stream.peer_addr()?.ip().into());
        let connection =
            ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Tls::shake_hands(stream, connection.into(), None)
    }
}

fn identity(
    certificate: &[u8],
    key: &[u8],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let certificates = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let key = PrivateKeyDer::from_pem_slice(key).context("reading a key")?;
    Ok((certificates.context("reading a certificate")?, key))
}

/// An encrypted connection. One thread may wait for bytes while another one sends: nothing is locked while it waits.
pub(super) struct Tls {
    stream: TcpStream,
    connection: Mutex<Connection>,
    /// Where the client is, on the side that stands in for a daemon.
    network: Option<PathBuf>,
}

impl Tls {
    fn shake_hands(
        stream: TcpStream,
        mut connection: Connection,
        network: Option<PathBuf>,
    ) -> io::Result<Tls> {
        while connection.is_handshaking() {
            connection.complete_io(&mut &stream)?;
        }
        Ok(Tls {
            stream,
            connection: Mutex::new(connection),
            network,
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is ready to be sent.
    fn flush(&self, connection: &mut Connection) -> io::Result<()> {
        while connection.wants_write() {
            connection.write_tls(&mut &self.stream)?;
        }
        Ok(())
    }
}

impl Connected for Tls {
    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut sealed = [0; 16 * 1024];
        loop {
            match self.connection().reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Who just hangs up has said all that he had to say.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            let length = (&self.stream).read(&mut sealed)?;
            let mut piece = &sealed[..length];
            let mut connection = self.connection();
            loop {
                connection.read_tls(&mut piece)?;
                connection.process_new_packets().map_err(io::Error::other)?;
                if piece.is_empty() {
                    break;
                }
            }
            self.flush(&mut connection)?;
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut connection = self.connection();
        // What does not fit into its buffer at once is sent in pieces.
        let mut left = bytes;
        while !left.is_empty() {
            let taken = connection.writer().write(left)?;
            left = &left[taken..];
            self.flush(&mut connection)?;
        }
        Ok(())
    }

    fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn owner(&self) -> io::Result<u32> {
        let client = self.stream.peer_addr()?;
        let network = self
            .network
            .as_deref()
            .unwrap_or(Path::new("/proc/self/ns/net"));
        inside(network, || Ok(owner::of(client)?)).map_err(io::Error::other)
    }
}
