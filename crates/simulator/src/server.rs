//! An Incus in memory behind a unix socket: the real provider under the real `tofu` plans and applies against it.
//!
//! ```text
//! socket ─> http.rs (a Call, an Answer) ─> route.rs ─┬─> instance/…, profile.rs, image.rs, …   one file per object
//!                                                    └─> event.rs                              the stream of events
//! state.rs <─ what they all read and change, under one lock; operation.rs <─ what goes on after the answer
//! ```
//!
//! It speaks as Incus 6.0.4 does, as far as apps need it, and is for what the lab cannot show: ten thousand workloads,
//! virtual machines, shared pools. What it claims stands in `exchanges.json`: the same requests are sent to it and to a
//! real Incus. A request that it does not know is answered with 404, and named on stderr. Not here: joins and removals of
//! members, dead members (`fleet.rs` has those), and whatever happens inside of a workload.

mod answer;
mod archive;
mod call;
mod cluster;
mod event;
mod http;
mod image;
mod instance;
mod network;
mod operation;
mod others;
mod profile;
mod project;
mod route;
mod state;
mod storage;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use event::Events;
use state::State;

/// What an Incus is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How many members it has; one is a server by itself, without cluster.
    pub members: usize,
    /// How long every change takes. A change of a profile is read before and written after it, so that concurrent writers
    /// lose updates, as measured; with zero they cannot meet.
    pub latency: Duration,
    /// So many instances that are none of ours are there from the start, running, in the default project.
    pub instances_of_others: usize,
    /// A pool with this name that all members share, beside the pool `local`.
    pub shared_pool: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            members: 3,
            latency: Duration::ZERO,
            instances_of_others: 0,
            shared_pool: None,
        }
    }
}

/// A server that listens; dropping it ends it and removes its socket.
#[derive(Debug)]
pub struct Server {
    socket: PathBuf,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on a socket, which must not exist.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn start(socket: &Path, options: &Options) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let incus = Arc::new(Incus {
            state: Mutex::new(State::new(options)),
            events: Events::default(),
            latency: options.latency,
        });
        Ok(Self {
            socket: socket.to_owned(),
            accepting: tokio::spawn(http::accept(listener, incus)),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        // Whoever removed it before has done our work.
        let _ = fs::remove_file(&self.socket);
    }
}

/// What all requests share.
struct Incus {
    state: Mutex<State>,
    events: Events,
    latency: Duration,
}

impl Incus {
    fn state(&self) -> MutexGuard<'_, State> {
        // A change is made in one go after all that can refuse it, so a panic elsewhere spoils nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the time pass that a change takes.
    async fn work(&self) {
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
    }
}
