//! One call from the host, as a resource's code sees it: something that may be asked to stop.
//!
//! The server (`server.rs`) makes one for each call and cancels it when the user interrupts, when the host is gone or
//! when the process is to end (`calls.rs`). The code is never dropped on the way: it looks at its safe points whether it
//! should stop, and then returns what is true with an error.

use tokio_util::sync::CancellationToken;

/// One call from the host.
#[derive(Clone, Debug, Default)]
pub struct Call {
    stop: CancellationToken,
}

impl Call {
    /// A call that stops when the token is cancelled. A default call is never asked to stop.
    pub fn new(stop: CancellationToken) -> Call {
        Call { stop }
    }

    /// Whether the work should end at its next safe point.
    pub fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until the work should end.
    pub async fn until_stopped(&self) {
        self.stop.cancelled().await;
    }

    /// The token itself, for what runs on its own.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }
}
