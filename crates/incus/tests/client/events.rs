//! The stream of events: pings, ends and silence.

use std::time::{Duration, Instant};

use incus::event::Happening;
use incus::{Error, EventFilter};
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::server::{Answer, C1, Server, client, error, nobody};

const EVENTS: &str = "GET /1.0/events?type=lifecycle&all-projects=true";

fn filter() -> EventFilter {
    EventFilter {
        lifecycle: true,
        ..EventFilter::default()
    }
}

fn sends(messages: Vec<Message>) -> Server {
    Server::start(C1, move |line| {
        (line == EVENTS).then(|| Answer::Websocket(messages.clone()))
    })
}

fn started(name: &str) -> Message {
    Message::text(format!(
        r#"{{"type":"lifecycle","metadata":{{"action":"instance-started","source":"/1.0/instances/{name}"}}}}"#
    ))
}

#[tokio::test]
async fn events_come_in_order_pings_are_answered_and_the_end_is_told() {
    let ping = Message::Ping("keepalive".into());
    let server = sends(vec![
        started("a"),
        ping,
        Message::text("nonsense"),
        started("b"),
        Message::Close(None),
    ]);
    let client = client(&[&nobody(), &server.endpoint]);
    let mut events = client.events(filter()).await.expect("a stream");
    for expected in [Some("/1.0/instances/a"), None, Some("/1.0/instances/b")] {
        let source = match events.next().await.expect("the stream goes on") {
            Ok(event) => match event.happening {
                Happening::Lifecycle(lifecycle) => Some(lifecycle.source),
                other => panic!("no lifecycle event: {other:?}"),
            },
            Err(Error::Malformed { .. }) => None,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(source.as_deref(), expected);
    }
    let end = events.next().await.expect("an end").expect_err("an end");
    assert!(matches!(end, Error::EventsEnded { .. }), "{end}");
    assert!(events.next().await.is_none());
    let pong = Message::Pong("keepalive".into());
    let answered = async {
        while !server.heard().contains(&pong) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), answered)
        .await
        .expect("the ping is answered");
}

#[tokio::test]
async fn a_silent_stream_has_ended_though_its_connection_is_open() {
    let server = sends(vec![started("a")]);
    let client = client(&[&server.endpoint]);
    let mut events = client.events(filter()).await.expect("a stream");
    events.next().await.expect("an event").expect("an event");
    let begun = Instant::now();
    let end = events.next().await.expect("an end").expect_err("an end");
    assert!(matches!(end, Error::EventsEnded { .. }), "{end}");
    let waited = begun.elapsed();
    assert!(waited > Duration::from_millis(400) && waited < Duration::from_secs(3));
}

#[tokio::test]
async fn a_refusal_is_the_servers_and_not_a_connection_that_failed() {
    let server = Server::start(C1, |line| {
        (line == EVENTS).then(|| error(403, "not yours"))?
    });
    let client = client(&[&server.endpoint]);
    let refused = client.events(filter()).await.expect_err("refused");
    assert_eq!(refused.status(), Some(403), "{refused}");
    assert!(
        refused.to_string().ends_with("error 403: not yours"),
        "{refused}"
    );
    assert_eq!(server.requests(), [EVENTS], "asking again helps nobody");
}

#[tokio::test]
async fn a_stream_is_opened_where_there_is_a_database() {
    let without = Server::start(C1, |line| {
        (line == EVENTS).then(|| error(503, "no database"))?
    });
    let with = sends(vec![started("a")]);
    let client = client(&[&without.endpoint, &with.endpoint]);
    let mut events = client.events(filter()).await.expect("a stream");
    events.next().await.expect("an event").expect("an event");
    assert_eq!(without.requests(), [EVENTS]);
}
