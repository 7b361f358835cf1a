//! The socket that the host connects to, and the streams that come in through it.
//!
//! It lies in a folder that only its owner can enter, and goes away with it. Streams are accepted and, with TLS, brought
//! through their handshake each in a task of its own, so that one that stalls delays nobody. What comes out is for
//! tonic (`serve.rs`); how many are open is for `host.rs`.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::Connected;

use crate::host::{Host, Presence};
use crate::log;

/// The operating system's limit for the path of a unix socket, with the zero byte at its end.
const LONGEST_PATH: usize = 108;

/// How long a client may take to introduce itself.
const TLS_HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// The socket could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("making a folder for the socket in {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    #[error("binding the socket {}", .0.display())]
    Bind(PathBuf, #[source] io::Error),
    #[error(
        "placing the socket in {}: its path would be longer than {} bytes; choose a shorter folder in \
         PLUGIN_UNIX_SOCKET_DIR", .0.display(), LONGEST_PATH - 1
    )]
    PathTooLong(PathBuf),
}

/// A bound socket. Its folder is removed when it is dropped.
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    listener: UnixListener,
    folder: tempfile::TempDir,
}

impl Socket {
    /// Binds in a new folder, inside the one that the host wants or else the system's for temporary files.
    pub(crate) fn bind(wanted: Option<&Path>) -> Result<Socket, Error> {
        let folder = match wanted {
            Some(parent) => {
                make_folder(parent)?.ok_or_else(|| Error::PathTooLong(parent.to_owned()))?
            }
            None => {
                let temporary = std::env::temp_dir();
                let fallback = Path::new("/tmp");
                // Users have long TMPDIRs, and did not mean them for sockets.
                match make_folder(&temporary)? {
                    Some(folder) => folder,
                    None => make_folder(fallback)?
                        .ok_or_else(|| Error::PathTooLong(fallback.to_owned()))?,
                }
            }
        };
        let path = socket_path(folder.path());
        let listener =
            UnixListener::bind(&path).map_err(|error| Error::Bind(path.clone(), error))?;
        Ok(Socket {
            path,
            listener,
            folder,
        })
    }

    /// Accepts streams until nobody wants them any more; then nobody can connect either. The folder stays for whoever
    /// removes it.
    pub(crate) fn accept(
        self,
        acceptor: Option<TlsAcceptor>,
        host: Host,
    ) -> (mpsc::Receiver<Stream>, tempfile::TempDir) {
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(accept(self.listener, acceptor, host, sender));
        (receiver, self.folder)
    }
}

fn socket_path(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// A new folder for its owner only; `None` when a socket in it would have too long a path.
fn make_folder(parent: &Path) -> Result<Option<tempfile::TempDir>, Error> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new()
        .prefix("plugin")
        .permissions(owner_only)
        .tempdir_in(parent);
    let folder = folder.map_err(|error| Error::Folder(parent.to_owned(), error))?;
    let fits = socket_path(folder.path()).as_os_str().len() < LONGEST_PATH;
    Ok(fits.then_some(folder))
}

async fn accept(
    listener: UnixListener,
    acceptor: Option<TlsAcceptor>,
    host: Host,
    sender: mpsc::Sender<Stream>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = sender.closed() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(introduce(
                    stream,
                    acceptor.clone(),
                    host.clone(),
                    sender.clone(),
                ));
            }
            Err(error) => {
                log::warn("accepting a connection failed", &[("error", &error)]);
                // The usual reason is that file descriptors have run out; trying at once would only burn time.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Brings one stream through its handshake. Whoever fails it is dropped without a word.
async fn introduce(
    stream: UnixStream,
    acceptor: Option<TlsAcceptor>,
    host: Host,
    sender: mpsc::Sender<Stream>,
) {
    let io: Box<dyn Io> = match acceptor {
        None => Box::new(stream),
        Some(acceptor) => {
            match tokio::time::timeout(TLS_HANDSHAKE_TIME, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => Box::new(stream),
                Ok(Err(error)) => return log::warn("a client was refused", &[("error", &error)]),
                Err(_) => {
                    return log::warn(
                        "a client was refused",
                        &[("error", &"its handshake took too long")],
                    );
                }
            }
        }
    };
    let stream = Stream {
        io,
        _presence: Arc::new(host.enter()),
    };
    // Nobody receives when the process is ending.
    let _ = sender.send(stream).await;
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A stream from the host.
pub(crate) struct Stream {
    io: Box<dyn Io>,
    _presence: Arc<Presence>,
}

impl Connected for Stream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_folder_is_its_owners_and_goes_away() {
        let parent = tempfile::tempdir().expect("a folder");
        let socket = Socket::bind(Some(parent.path())).expect("a socket");
        let folder = socket.path.parent().expect("a folder").to_owned();
        let mode = std::fs::metadata(&folder)
            .expect("it exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(folder.starts_with(parent.path()));
        drop(socket);
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_wanted_folder_with_too_long_a_path_is_refused_by_name() {
        let parent = tempfile::tempdir().expect("a folder");
        let long = parent.path().join("x".repeat(100));
        std::fs::create_dir(&long).expect("a folder");
        let error = Socket::bind(Some(&long))
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            error.contains("PLUGIN_UNIX_SOCKET_DIR") && error.contains("xxx"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(&long).expect("a folder").count(), 0);
    }
}
