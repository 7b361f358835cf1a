//! Events: what happens in Incus, told as it happens.
//!
//! `client.rs` opens the stream and `transport.rs` moves its messages; this file reads them.
//! Events only make a reader quicker: none is sent when a member dies, some come twice, and after a
//! gap everything must be read again anyway.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::envelope::malformed;
use crate::error::Error;
use crate::operation::Operation;
use crate::request::escape;
use crate::transport::Messages;

/// Which events to receive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// The project whose events to receive; `None` means all of them.
    pub project: Option<String>,
    /// Whether to receive what happens to objects.
    pub lifecycle: bool,
    /// Whether to receive the progress of operations.
    pub operations: bool,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it happened, as the server wrote it.
    pub timestamp: String,
    /// The project of the object; empty if it has none.
    pub project: String,
    /// The member on which it happened.
    pub location: String,
    /// What happened.
    pub happening: Happening,
}

/// What an event tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// Something happened to an object.
    Lifecycle(Lifecycle),
    /// An operation went on.
    Operation(Box<Operation>),
    /// Another kind of event, named here.
    Other(String),
}

/// What happened to an object. `Debug` leaves the context out.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Lifecycle {
    /// What happened, such as `instance-started`.
    pub action: String,
    /// The object's address, such as `/1.0/instances/web`.
    pub source: String,
    /// The object's name; older servers leave it out.
    pub name: String,
    /// What else the server tells.
    pub context: Value,
}

#[derive(Deserialize)]
struct Wire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    metadata: Value,
}

/// Events as they come.
pub struct EventStream {
    endpoint: Endpoint,
    messages: Messages,
    ended: bool,
}

impl EventFilter {
    pub(crate) fn path_and_query(&self) -> String {
        let kinds = [
            (self.lifecycle, "lifecycle"),
            (self.operations, "operation"),
        ];
        let kinds: Vec<&str> = kinds
            .into_iter()
            .filter_map(|(wanted, kind)| wanted.then_some(kind))
            .collect();
        let project = match &self.project {
            Some(project) => format!("project={}", escape(project)),
            None => "all-projects=true".to_owned(),
        };
        format!("/1.0/events?type={}&{project}", kinds.join(","))
    }
}

impl EventStream {
    pub(crate) fn new(endpoint: Endpoint, messages: Messages) -> Self {
        Self {
            endpoint,
            messages,
            ended: false,
        }
    }

    /// The next event. Safe to drop: no event is lost.
    ///
    /// When the stream ends, an error says how, and then `None` comes: open it again, and read
    /// again what matters. An event that cannot be read is an error, too, but does not end it.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.ended {
            return None;
        }
        Some(match self.messages.next().await {
            Ok(text) => parse(&text).map_err(|cause| Error::Malformed {
                doing: "receiving an event".to_owned(),
                endpoint: self.endpoint.clone(),
                cause,
            }),
            Err(cause) => {
                self.ended = true;
                Err(Error::EventsEnded {
                    endpoint: self.endpoint.clone(),
                    cause,
                })
            }
        })
    }
}

fn parse(text: &str) -> Result<Event, serde_json::Error> {
    let wire: Wire = serde_json::from_str(text)?;
    let happening = match wire.kind.as_str() {
        "lifecycle" => Happening::Lifecycle(serde_json::from_value(wire.metadata)?),
        "operation" => Happening::Operation(serde_json::from_value(wire.metadata)?),
        "" => return Err(malformed("the event has no type")),
        _ => Happening::Other(wire.kind),
    };
    Ok(Event {
        timestamp: wire.timestamp,
        project: wire.project,
        location: wire.location,
        happening,
    })
}

impl fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifecycle")
            .field("action", &self.action)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the events of {}", self.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_print_as_addresses() {
        for (filter, address) in [
            (
                EventFilter {
                    project: None,
                    lifecycle: true,
                    operations: true,
                },
                "/1.0/events?type=lifecycle,operation&all-projects=true",
            ),
            (
                EventFilter {
                    project: Some("a b".to_owned()),
                    lifecycle: true,
                    operations: false,
                },
                "/1.0/events?type=lifecycle&project=a%20b",
            ),
        ] {
            assert_eq!(filter.path_and_query(), address);
        }
    }

    #[test]
    fn events_are_read_by_their_type() {
        let event = parse(
            r#"{"type":"lifecycle","timestamp":"2026-01-01T00:00:00Z","location":"m1","project":"p",
                "metadata":{"action":"instance-started","source":"/1.0/instances/web","context":null,
                "requestor":{"protocol":"unix"}}}"#,
        )
        .expect("an event");
        assert_eq!(event.location, "m1");
        assert_eq!(event.project, "p");
        let Happening::Lifecycle(lifecycle) = event.happening else {
            panic!("no lifecycle event");
        };
        assert_eq!(lifecycle.action, "instance-started");
        assert_eq!(lifecycle.source, "/1.0/instances/web");

        let event = parse(r#"{"type":"operation","metadata":{"id":"u","status_code":200}}"#);
        let Happening::Operation(operation) = event.expect("an event").happening else {
            panic!("no operation event");
        };
        assert_eq!(operation.id, "u");

        let event = parse(r#"{"type":"logging","metadata":{"level":"info"}}"#);
        assert_eq!(
            event.expect("an event").happening,
            Happening::Other("logging".to_owned())
        );
        for nonsense in ["", "[]", "{}", r#"{"type":"lifecycle","metadata":3}"#] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
