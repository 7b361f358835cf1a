//! Over https: certificates on both sides, and what is told when one is wrong.
//!
//! A server is known by its fingerprint, and a private key appears in no message.

use incus::{EventFilter, Fingerprint, Notice, Trust, profile};
use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::certificates::Certificate;
use crate::server::{Answer, C1, C2, Server, client, error, nobody, sync, trusting};

const NAMES: &str = "GET /1.0/profiles?project=p";

pub(crate) fn profiles(line: &str) -> Option<Answer> {
    (line == NAMES).then(|| sync(json!(["/1.0/profiles/web?project=p"])))?
}

fn pinned(fingerprints: &[Fingerprint]) -> Trust {
    Trust {
        identity: None,
        server_fingerprints: fingerprints.to_vec(),
        ..Trust::default()
    }
}

#[tokio::test]
async fn any_pinned_fingerprint_is_accepted_in_silence() {
    let certificate = Certificate::new("m1");
    let server = Server::start_tls(certificate.server(), profiles).await;
    let other = Certificate::new("old").fingerprint();
    let client = trusting(
        &[&server.endpoint],
        pinned(&[other, certificate.fingerprint()]),
    );
    for _ in 0..2 {
        let names = client.send(profile::names("p")).await.expect("names");
        assert_eq!(names, ["web"]);
    }
    assert_eq!(server.connections(), 1, "connections are reused");
    assert_eq!(client.take_notices(), []);
    assert_eq!(client.cluster(), Some(certificate.fingerprint()));
}

#[tokio::test]
async fn a_fingerprint_that_does_not_match_is_told_with_the_expected_ones() {
    let certificate = Certificate::new("m1");
    let server = Server::start_tls(certificate.server(), profiles).await;
    let (one, two) = (
        Certificate::new("a").fingerprint(),
        Certificate::new("b").fingerprint(),
    );
    let client = trusting(&[&server.endpoint], pinned(&[one, two]));
    let refused = client
        .send(profile::names("p"))
        .await
        .expect_err("another server");
    let seen = certificate.fingerprint();
    let expected = format!("the server's certificate is {seen}, expected {one} or {two}");
    assert!(refused.to_string().contains(&expected), "{refused}");
    assert!(refused.is_unreachable());
    assert!(
        server.everything().is_empty(),
        "nothing is said to a stranger"
    );
}

#[tokio::test]
async fn trust_on_first_use_is_told_once_and_holds_afterwards() {
    let certificate = Certificate::new("m1");
    let first = Server::start_tls(certificate.server(), |line| match line {
        NAMES => Some(Answer::CutOff),
        _ => None,
    })
    .await;
    let stranger = Certificate::new("m2");
    let second = Server::start_tls(stranger.server(), profiles).await;
    let client = client(&[&nobody(), &first.endpoint, &second.endpoint]);
    let (seen, expected) = (stranger.fingerprint(), certificate.fingerprint());
    let refused = client
        .send(profile::names("p"))
        .await
        .expect_err("another cluster");
    let told = format!("another cluster (its certificate is {seen}, expected {expected})");
    assert!(refused.to_string().contains(&told), "{refused}");
    assert!(second.everything().is_empty());
    let endpoint = first.endpoint.clone();
    let notice = Notice::TrustedOnFirstUse {
        endpoint,
        fingerprint: expected,
    };
    assert!(notice.to_string().contains(&expected.to_string()));
    assert_eq!(client.take_notices(), [notice]);
    assert_eq!(client.take_notices(), []);
}

#[tokio::test]
async fn a_server_whose_certificate_expired_is_used_only_where_it_was_pinned() {
    for (from, to, told) in [
        (2020, 2021, "expired on 2021-01-01T00:00:00Z"),
        (3999, 4000, "is not valid before 3999-01-01T00:00:00Z"),
    ] {
        let certificate = Certificate::between("m1", from, to);
        let server = Server::start_tls(certificate.server(), profiles).await;
        let seen = certificate.fingerprint();
        let refused = client(&[&server.endpoint]).send(profile::names("p")).await;
        let refused = refused
            .expect_err("the certificate does not count")
            .to_string();
        assert!(
            refused.contains(&format!("certificate {seen} {told}")),
            "{refused}"
        );
        assert!(server.everything().is_empty());

        let client = trusting(&[&server.endpoint], pinned(&[seen]));
        client.send(profile::names("p")).await.expect("names");
        let notices = client.take_notices();
        assert_eq!(notices.len(), 1);
        let printed = notices[0].to_string();
        assert!(
            printed.contains(told) && printed.contains(&seen.to_string()),
            "{printed}"
        );
    }
}

#[tokio::test]
async fn the_client_shows_its_certificate_and_events_come_over_the_same_transport() {
    let (server, me) = (Certificate::new("m1"), Certificate::new("me"));
    let event = r#"{"type":"lifecycle","metadata":{"action":"instance-started"}}"#;
    let server = Server::start_tls(server.strict_server(), move |line| match line {
        _ if line.starts_with("GET /1.0/events") => {
            Some(Answer::Websocket(vec![Message::text(event)]))
        }
        _ => profiles(line),
    })
    .await;
    let trust = Trust {
        identity: Some(me.identity()),
        ..Trust::default()
    };
    let showing = trusting(&[&server.endpoint], trust);
    showing.send(profile::names("p")).await.expect("names");
    let mut events = showing
        .events(EventFilter::default())
        .await
        .expect("a stream");
    events.next().await.expect("an event").expect("an event");

    let silent = client(&[&server.endpoint]).send(profile::names("p")).await;
    assert!(silent.expect_err("nothing was shown").is_unreachable());
}

#[tokio::test]
async fn a_client_whose_certificate_expired_is_told_so_before_a_server_says_less() {
    let certificate = Certificate::new("m1");
    let server = Server::start_tls(certificate.server(), profiles).await;
    let me = Certificate::between("me", 2020, 2021);
    let trust = Trust {
        identity: Some(me.identity()),
        server_fingerprints: vec![certificate.fingerprint()],
        ..Trust::default()
    };
    let client = trusting(&[&server.endpoint], trust);
    let refused = client
        .send(profile::names("p"))
        .await
        .expect_err("expired")
        .to_string();
    let told = format!(
        "the client certificate {} expired on 2021-01-01",
        me.fingerprint()
    );
    assert!(refused.contains(&told), "{refused}");
    assert_eq!(server.connections(), 0);
    let printed = format!("{client_identity:?}", client_identity = me.identity());
    assert_eq!(
        printed,
        format!("the client certificate {}", me.fingerprint())
    );
}

#[tokio::test]
async fn a_client_that_is_not_trusted_is_told_what_it_has_shown() {
    let me = Certificate::new("me");
    for (identity, told) in [
        (None, "which has shown no certificate".to_owned()),
        (
            Some(me.identity()),
            format!("whose certificate is {}", me.fingerprint()),
        ),
    ] {
        let server = Server::start_tls(Certificate::new("m1").server(), |line| match line {
            "GET /1.0" => sync(json!({ "auth": "untrusted" })),
            _ => error(403, "not authorized"),
        })
        .await;
        let trust = Trust {
            identity,
            ..Trust::default()
        };
        let client = trusting(&[&server.endpoint], trust);
        let refused = client
            .send(profile::names("p"))
            .await
            .expect_err("a stranger");
        let told = format!("the server does not trust this client, {told}");
        assert!(refused.to_string().contains(&told), "{refused}");
        assert_eq!(server.everything(), ["GET /1.0"]);
    }
}

#[tokio::test]
async fn the_certificate_of_the_connection_counts_and_not_what_is_said_of_it() {
    // The server shows another certificate than the one of the cluster that it claims to be of.
    let server = Server::start_tls(Certificate::new("m1").server(), profiles).await;
    let claimed = Fingerprint::parse(C1).expect("a fingerprint");
    let client = trusting(&[&server.endpoint], pinned(&[claimed]));
    let refused = client.send(profile::names("p")).await.expect_err("a liar");
    assert!(
        refused.to_string().contains(&format!("expected {claimed}")),
        "{refused}"
    );
    assert!(server.everything().is_empty());
}

#[tokio::test]
async fn what_does_not_speak_tls_is_told_apart_from_a_server_that_is_down() {
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let port = plain.local_addr().expect("an address").port();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    for host in ["127.0.0.1", "localhost"] {
        let endpoint = incus::Endpoint::parse(&format!("https://{host}:{port}")).expect(host);
        let refused = client(&[&endpoint]).send(profile::names("p")).await;
        let refused = refused.expect_err("no TLS").to_string();
        assert!(refused.contains("the TLS handshake failed: "), "{refused}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let endpoint =
        incus::Endpoint::parse(&format!("https://127.0.0.1:{port}")).expect("an endpoint");
    let refused = client(&[&endpoint]).send(profile::names("p")).await;
    let refused = refused.expect_err("nobody").to_string();
    assert!(refused.contains("the connection failed: "), "{refused}");
}

#[tokio::test]
async fn a_socket_is_judged_by_the_cluster_behind_it() {
    let ours = Server::start(C1, profiles);
    let foreign = Server::start(C2, profiles);
    let pin = Fingerprint::parse(C1).expect("a fingerprint");
    let client = trusting(&[&foreign.endpoint, &ours.endpoint], pinned(&[pin]));
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(ours.requests(), [NAMES]);
    assert!(foreign.requests().is_empty());
    assert_eq!(
        client.take_notices(),
        [],
        "a socket of this machine needs no warning"
    );
}
