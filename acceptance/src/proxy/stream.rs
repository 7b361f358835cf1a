//! The two kinds of connections that the proxy has, as one: it reads in one thread while another one writes.
//!
//! `connection.rs` uses them; the encrypted kind is `tls.rs`.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// A connection, shared by those who read from it and write to it.
pub(super) type Stream = Arc<dyn Connected>;

/// What a connection can do.
pub(super) trait Connected: Send + Sync {
    /// Waits for bytes; none is the end.
    fn receive(&self, into: &mut [u8]) -> io::Result<usize>;
    /// Sends all of it.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// Ends it, both ways, for both sides.
    fn end(&self);
    /// The process at the other end.
    fn owner(&self) -> io::Result<u32>;
}

impl Connected for UnixStream {
    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(into)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&mut &*self).write_all(bytes)
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    fn owner(&self) -> io::Result<u32> {
        let peer = rustix::net::sockopt::socket_peercred(self)?;
        Ok(u32::try_from(peer.pid.as_raw_nonzero().get()).unwrap_or(0))
    }
}

/// A connection as the standard library's traits want it.
pub(super) struct Duplex(pub(super) Stream);

impl Read for Duplex {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.receive(into)
    }
}

impl Write for Duplex {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
