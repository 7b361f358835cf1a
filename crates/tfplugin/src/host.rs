//! Whether the host is still there.
//!
//! A host that is well calls `Shutdown`; one that was killed calls nothing. A lost connection alone proves little,
//! since a client without work drops its connection after half an hour and makes a new one when it needs one. So the
//! judgement here has three parts, see [`Host::gone`]. `socket.rs` counts connections here, `serve.rs` waits here.

use std::os::unix::process::parent_id;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::calls::Calls;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A host whose calls were cut off has this long to connect again.
const CUT_OFF_TIME: Duration = Duration::from_secs(5);
/// A host that did not connect for so long will not, although its process lives.
const SILENT_TIME: Duration = Duration::from_secs(3_600);

/// The host, as far as it can be seen from here.
#[derive(Clone)]
pub(crate) struct Host {
    connections: Arc<Mutex<Connections>>,
    calls: Calls,
    parent: u32,
}

struct Connections {
    open: usize,
    /// When the last connection went, or the process began.
    since: Instant,
}

/// An open connection.
pub(crate) struct Presence(Host);

impl Host {
    pub(crate) fn new(calls: Calls) -> Host {
        let connections = Connections {
            open: 0,
            since: Instant::now(),
        };
        Host {
            connections: Arc::new(Mutex::new(connections)),
            calls,
            parent: parent_id(),
        }
    }

    /// The calls that it makes.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Counts a connection for as long as the answer lives.
    pub(crate) fn enter(&self) -> Presence {
        self.lock().open += 1;
        self.calls.taken_up();
        Presence(self.clone())
    }

    /// Waits until the host is gone. Without a connection it is when the process that started this one has ended, or
    /// when calls were cut off and not taken up again, or when it has been silent for an hour.
    pub(crate) async fn gone(&self) {
        while !self.is_gone() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn is_gone(&self) -> bool {
        let connections = self.lock();
        let silent = connections.since.elapsed();
        let orphaned = parent_id() != self.parent;
        let cut_off = self.calls.abandoned() && silent >= CUT_OFF_TIME;
        connections.open == 0 && (orphaned || cut_off || silent >= SILENT_TIME)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut connections = self.0.lock();
        connections.open -= 1;
        connections.since = Instant::now();
    }
}
