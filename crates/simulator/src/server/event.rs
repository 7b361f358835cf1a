//! The stream of events: what happens to objects, and how operations go on.
//!
//! Before: whoever changes something says so here. After: a websocket for each listener (`http.rs`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::call::Call;
use super::operation::now;

/// So many events wait for a slow listener, who is dropped after that.
const BACKLOG: usize = 8192;

/// How often a listener hears that the stream still is there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Everybody who listens.
pub(super) struct Events(Sender<Arc<Event>>);

#[derive(Debug)]
struct Event {
    kind: &'static str,
    project: String,
    text: String,
}

/// What a listener wants to hear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Empty means everything.
    kinds: Vec<String>,
    /// `None` means all of them.
    project: Option<String>,
}

/// A listener who has not been told anything yet.
pub(super) struct Heard {
    filter: Filter,
    receiver: Receiver<Arc<Event>>,
}

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Events {
    /// Something happened to the object at `source`, which has a `name` if it is an instance.
    pub(super) fn lifecycle(
        &self,
        action: &str,
        source: &str,
        (project, location): (&str, &str),
        name: Option<&str>,
    ) {
        let mut metadata = json!({
            "action": action, "source": source,
            "requestor": { "username": "root", "protocol": "unix", "address": "@" },
        });
        if let Some(name) = name {
            metadata["name"] = json!(name);
            metadata["project"] = json!(project);
        }
        self.send("lifecycle", project, location, &metadata);
    }

    /// An operation went on.
    pub(super) fn operation(&self, project: &str, location: &str, operation: &Value) {
        self.send("operation", project, location, operation);
    }

    fn send(&self, kind: &'static str, project: &str, location: &str, metadata: &Value) {
        // Nobody is told most of what happens.
        if self.0.receiver_count() == 0 {
            return;
        }
        let event = json!({
            "type": kind, "timestamp": now(), "metadata": metadata, "location": location, "project": project,
        });
        // Whoever went away meanwhile misses nothing.
        let _ = self.0.send(Arc::new(Event {
            kind,
            project: project.to_owned(),
            text: format!("{event}\n"),
        }));
    }

    pub(super) fn listen(&self, filter: Filter) -> Heard {
        Heard {
            filter,
            receiver: self.0.subscribe(),
        }
    }
}

impl Filter {
    pub(super) fn of(call: &Call) -> Self {
        let kinds = call.query.get("type").map(|kinds| kinds.split(','));
        Self {
            kinds: kinds.into_iter().flatten().map(str::to_owned).collect(),
            project: (!call.all_projects()).then(|| call.project().to_owned()),
        }
    }

    fn wants(&self, event: &Event) -> bool {
        let of_kind = self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.kind);
        let of_project = self
            .project
            .as_ref()
            .is_none_or(|one| *one == event.project);
        of_kind && of_project
    }
}

impl Heard {
    /// Tells the listener everything until one side ends.
    pub(super) async fn tell(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
        let (mut to, mut from) = socket.split();
        // Its first tick is at once, as Incus's is.
        let mut keepalive = tokio::time::interval(KEEPALIVE);
        loop {
            let message = tokio::select! {
                _ = keepalive.tick() => Message::Ping(b"keepalive".as_slice().into()),
                event = self.receiver.recv() => match event {
                    Ok(event) if self.filter.wants(&event) => Message::text(event.text.as_str()),
                    Ok(_) => continue,
                    // Too slow, or the end.
                    Err(_) => return,
                },
                heard = from.next() => match heard {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return,
                },
            };
            if to.send(message).await.is_err() {
                return;
            }
        }
    }
}
