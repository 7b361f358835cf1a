//! One client's connection, from its first request to its end: what is passed on, and where it is cut.
//!
//! After `door.rs` has connected both sides.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;

use super::stream::{Duplex, Stream};
use super::{Deed, Moment, Shared, Trap};
use crate::http::{self, Body, Head};
use crate::process;

/// What goes on between one client and Incus.
pub(super) struct Connection {
    /// The member that it is for; empty at a unix socket.
    pub(super) member: String,
    pub(super) client: Stream,
    pub(super) incus: Stream,
}

impl Connection {
    /// Serves it to its end. A connection that breaks is everyday life here: it is what the proxy is for.
    pub(super) fn serve(&self, shared: &Shared) -> io::Result<()> {
        let result = self.exchange(shared);
        // Both sides learn that it is over, whichever of the two ended it.
        self.client.end();
        self.incus.end();
        result
    }

    fn exchange(&self, shared: &Shared) -> io::Result<()> {
        let mut requests = BufReader::new(Duplex(Arc::clone(&self.client)));
        let mut responses = BufReader::new(Duplex(Arc::clone(&self.incus)));
        let mut to_client = Duplex(Arc::clone(&self.client));
        let mut to_incus = Duplex(Arc::clone(&self.incus));
        while let Some(request) = Head::read(&mut requests)? {
            let trap = shared.note(&self.member, &request);
            self.interfere(trap, Moment::Before)?;
            to_incus.write_all(request.raw())?;
            http::relay(
                request.request_body(),
                &mut requests,
                &mut to_incus,
                &mut io::sink(),
            )?;
            let Some(response) = Head::read(&mut responses)? else {
                return Ok(());
            };
            let body = response.response_body(request.method());
            if trap.is_some_and(|trap| trap.moment == Moment::After) {
                let mut held = response.raw().to_vec();
                http::relay(body, &mut responses, &mut held, &mut io::sink())?;
                self.interfere(trap, Moment::After)?;
                to_client.write_all(&held)?;
            } else {
                to_client.write_all(response.raw())?;
                http::relay(body, &mut responses, &mut to_client, &mut io::sink())?;
            }
            match body {
                Body::Upgraded => return self.tunnel(requests, responses),
                Body::UntilClose => return Ok(()),
                Body::Length(_) | Body::Chunked => {}
            }
        }
        Ok(())
    }

    fn interfere(&self, trap: Option<Trap>, moment: Moment) -> io::Result<()> {
        let Some(trap) = trap.filter(|trap| trap.moment == moment) else {
            return Ok(());
        };
        match trap.deed {
            Deed::Delay(time) => {
                thread::sleep(time);
                Ok(())
            }
            Deed::Drop => Err(aborted("dropped on purpose")),
            Deed::KillClient | Deed::KillHost => {
                let client = self.client.owner()?;
                let host = process::parent(client).filter(|_| trap.deed == Deed::KillHost);
                let root = host.unwrap_or(client);
                // A test that knocks by itself must not kill itself.
                if root != std::process::id() {
                    process::end(&process::with_descendants(&[root])).map_err(io::Error::other)?;
                }
                Err(aborted("killed on purpose"))
            }
        }
    }

    /// Copies both ways until either side closes.
    fn tunnel(
        &self,
        mut requests: BufReader<Duplex>,
        mut responses: BufReader<Duplex>,
    ) -> io::Result<()> {
        let incus = Arc::clone(&self.incus);
        let up = thread::spawn(move || {
            let _ = copy_promptly(&mut requests, &mut Duplex(Arc::clone(&incus)));
            incus.end();
        });
        let down = copy_promptly(&mut responses, &mut Duplex(Arc::clone(&self.client)));
        self.client.end();
        let _ = up.join();
        down
    }
}

fn aborted(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, why.to_owned())
}

fn copy_promptly(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            length => to.write_all(&piece[..length])?,
        }
    }
}
