//! Questions to workloads that are servers of the test, at an Incus that is one, too.

use core::time::Duration;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use domain::moment::Moment;
use domain::secret::Secrets;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use incus::{Client, Endpoint};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};

use super::*;
use crate::clock;
use crate::cluster::Settings;

/// An Incus with one workload, which is in this state and has a file with these headers.
struct Incus {
    cluster: Cluster,
    seen: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

const HERE: &str = r#"{"status":"Running","pid":7,"network":{"eth0":{"type":"broadcast","host_name":"veth1","addresses":[
    {"family":"inet","address":"127.0.0.1","scope":"global"}]}}}"#;
const NOWHERE: &str = r#"{"status":"Running","pid":7,"network":{"eth0":{"type":"broadcast","host_name":"veth1","addresses":[
    {"family":"inet6","address":"fe80::1","scope":"link"}]}}}"#;
const ENDED: &str = r#"{"status":"Running","pid":0,"network":{"eth0":{"type":"broadcast","host_name":"veth1","addresses":[
    {"family":"inet","address":"127.0.0.1","scope":"global"}]}}}"#;
const BUSY: &str = r#"{"type":"error","error":"Daemon is shutting down","error_code":500}"#;

impl Incus {
    fn start(state: &'static str, headers: &[(&'static str, String)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("unix.socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, headers) = (Arc::clone(&seen), headers.to_vec());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, headers) = (Arc::clone(&seen), headers.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let line = format!("{} {}", request.method(), request.uri());
                    let answer = answer(&line, state, &headers);
                    seen.lock().expect("no panic").push(line);
                    async { Ok::<_, Infallible>(answer) }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        let client = Client::new(vec![Endpoint::Unix(path)]);
        let settings = Settings {
            project: "p".to_owned(),
            ..Settings::default()
        };
        Self {
            cluster: Cluster::new(client, settings),
            seen: kept,
            _folder: folder,
        }
    }

    /// What reached Incus, apart from what its client asks of every server.
    fn seen(&self) -> Vec<String> {
        let mut seen = self.seen.lock().expect("no panic").clone();
        seen.retain(|line| line.contains("/instances/web-g1/"));
        seen
    }
}

fn answer(line: &str, state: &str, headers: &[(&'static str, String)]) -> Response<Full<Bytes>> {
    let metadata = match line {
        "GET /1.0" => {
            let fingerprint = "c1".repeat(32);
            format!(
                r#"{{"auth":"trusted","environment":{{"server_version":"6.0.4","certificate_fingerprint":"{fingerprint}"}}}}"#
            )
        }
        "GET /1.0/instances?project=default" => "[]".to_owned(),
        "GET /1.0/instances/web-g1/state?project=p" if state == BUSY => {
            let mut response = Response::new(Full::from(BUSY));
            *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
            return response;
        }
        "GET /1.0/instances/web-g1/state?project=p" => state.to_owned(),
        "HEAD /1.0/instances/web-g1/files?project=p&path=%2Frun%2Fbeat" => {
            let mut response = Response::new(Full::default());
            for (name, value) in headers {
                response
                    .headers_mut()
                    .insert(*name, value.parse().expect("a value"));
            }
            if headers.is_empty() {
                *response.status_mut() = hyper::StatusCode::NOT_FOUND;
            }
            return response;
        }
        other => panic!("nobody asks for {other}"),
    };
    Response::new(Full::from(format!(
        r#"{{"type":"sync","metadata":{metadata}}}"#
    )))
}

/// A workload that answers every connection with these bytes, and its port.
async fn workload(bytes: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 1024];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..length]).to_lowercase();
                let whole = text.starts_with("get /health?full=1 http/1.1\r\n")
                    && text.contains(&format!("\r\nhost: 127.0.0.1:{port}\r\n"));
                let told = if whole {
                    bytes
                } else {
                    "HTTP/1.1 400 \r\n\r\n"
                };
                let _ = stream.write_all(told.as_bytes()).await;
                // It neither says more nor hangs up.
                core::future::pending::<()>().await;
            });
        }
    });
    port
}

/// Nobody listens there.
async fn closed() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port()
}

const LIMIT: Duration = Duration::from_secs(2);

async fn http(incus: &Incus, port: u16) -> Option<Probe> {
    network::http(&incus.cluster, "web-g1", port, "/health?full=1", LIMIT).await
}

fn why(probe: Option<Probe>) -> String {
    match probe {
        Some(Probe::Healthy) => "healthy".to_owned(),
        Some(Probe::Unhealthy(why)) => why,
        None => "no answer".to_owned(),
    }
}

/// HO-APP-41: success and redirects are healthy; a failure tells what was asked of which generation.
#[tokio::test]
async fn a_web_server_answers_by_its_status_and_is_quoted() {
    let incus = Incus::start(HERE, &[]);
    for (bytes, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "healthy"),
        // The body is none of the question.
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", "healthy"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "healthy"),
        // Nobody is there, and nobody is asked.
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n",
            "healthy",
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 15\r\n\r\nout\n <b>of  it ",
            "GET @ of web-g1 answered 503 Service Unavailable: out <b>of it",
        ),
        // What does not come in time is not quoted, and changes nothing.
        (
            "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 99\r\n\r\nbroken",
            "GET @ of web-g1 answered 500 Internal Server Error: broken",
        ),
        (
            "HTTP/1.1 404 Not Found\r\n\r\n",
            "GET @ of web-g1 answered 404 Not Found",
        ),
        ("", "GET @ of web-g1: no answer came within 2 s"),
        (
            "SSH-2.0-OpenSSH\r\n",
            "GET @ of web-g1: the connection broke: invalid HTTP version parsed",
        ),
    ] {
        let port = workload(bytes).await;
        let address = format!("http://127.0.0.1:{port}/health?full=1");
        let seen = why(http(&incus, port).await);
        assert_eq!(seen.replace(&address, "@"), expected, "{bytes:?}");
    }
    let state = "GET /1.0/instances/web-g1/state?project=p".to_owned();
    assert_eq!(
        incus.seen(),
        vec![state; 9],
        "one request for each question"
    );
}

#[tokio::test]
async fn a_long_error_is_quoted_from_its_beginning() {
    let incus = Incus::start(HERE, &[]);
    let text = format!("HTTP/1.1 500 \r\n\r\n{}", "x".repeat(100_000));
    let port = workload(Box::leak(text.into_boxed_str())).await;
    let told = why(http(&incus, port).await);
    assert!(
        told.ends_with(&format!(": {}", "x".repeat(LONGEST_QUOTE))),
        "{told}"
    );
    assert!(told.len() < LONGEST_QUOTE + 100, "{told}");
}

#[tokio::test]
async fn a_port_answers_by_taking_connections() {
    let incus = Incus::start(HERE, &[]);
    let tcp = async |port| why(network::tcp(&incus.cluster, "web-g1", port, LIMIT).await);
    assert_eq!(tcp(workload("").await).await, "healthy");
    let port = closed().await;
    let refused = format!(
        "127.0.0.1:{port} of web-g1: the connection failed: Connection refused (os error 111)"
    );
    assert_eq!(tcp(port).await, format!("connecting to {refused}"));
    let http = why(http(&incus, port).await);
    assert!(
        http.ends_with("the connection failed: Connection refused (os error 111)"),
        "{http}"
    );
    assert_eq!(incus.seen().len(), 3, "one request for each question");
}

#[tokio::test]
async fn where_nobody_is_met_the_way_may_be_missing() {
    let incus = Incus::start(HERE, &[]);
    // A listener that accepts nobody: once its queue is full, the kernel lets everybody else wait.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a port");
    let listener = socket.listen(0).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let queue = (0..4)
        .map(|_| tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)));
    let _queue = futures_util::future::join_all(queue).await;
    let told = why(network::tcp(&incus.cluster, "web-g1", address.port(), LIMIT).await);
    assert_eq!(
        told,
        format!(
            "connecting to {address} of web-g1: no connection came about within 2 s; it is asked from this machine, \
             which may have no way to the workload's network"
        )
    );
}

#[tokio::test]
async fn a_workload_without_an_address_is_not_healthy_yet() {
    let incus = Incus::start(NOWHERE, &[]);
    let tcp = network::tcp(&incus.cluster, "web-g1", 80, LIMIT).await;
    assert_eq!(why(tcp), "web-g1 has no address yet");
    assert_eq!(why(http(&incus, 80).await), "web-g1 has no address yet");
}

/// HO-APP-46: fresh for three ticks by the member's clock, and by ours where it does not tell its own.
#[tokio::test]
async fn a_heartbeat_is_judged_by_the_clock_of_its_server() {
    let now = clock::now();
    let ago = |seconds: i64| {
        let text = clock::rfc3339(Moment(now.0 / 1000 * 1000 - seconds * 1000));
        text.replace('T', " ").replace('Z', " +0000 UTC")
    };
    let (zone, date) = (
        "2026-11-30 23:22:12 +0530 IST",
        "Mon, 30 Nov 2026 17:53:42 GMT",
    );
    let late = "Mon, 30 Nov 2026 17:53:43 GMT";
    let early = "Mon, 30 Nov 2026 17:51:42 GMT";
    let too_early = "Mon, 30 Nov 2026 17:51:41 GMT";
    for (kind, modified, date, expected) in [
        ("file", zone, date, "healthy"),
        (
            "file",
            zone,
            late,
            "the file /run/beat of web-g1 was written 1m31s ago, which is longer than 1m30s",
        ),
        ("file", zone, early, "healthy"),
        (
            "file",
            zone,
            too_early,
            "the file /run/beat of web-g1 is from 31s in the future: compare the clocks of the workload and its member",
        ),
        ("file", &ago(20), "", "healthy"),
        (
            "file",
            &ago(-3600),
            "",
            "the file /run/beat of web-g1 is from 5",
        ),
        (
            "file",
            &ago(3600),
            "",
            "the file /run/beat of web-g1 was written 1h",
        ),
        (
            "file",
            "",
            date,
            "the file /run/beat of web-g1 does not say when it was written",
        ),
        (
            "directory",
            zone,
            date,
            "the file /run/beat of web-g1 is a directory, not a file",
        ),
        (
            "symlink",
            zone,
            date,
            "the file /run/beat of web-g1 is a symlink, not a file",
        ),
    ] {
        let headers = [
            ("x-incus-type", kind.to_owned()),
            ("x-incus-modified", modified.to_owned()),
            ("date", date.to_owned()),
        ];
        let incus = Incus::start(HERE, &headers);
        let told = why(heartbeat::file(&incus.cluster, "web-g1", "/run/beat").await);
        assert!(
            told.starts_with(expected),
            "{told}, not {expected}: {kind} {modified} {date}"
        );
        assert_eq!(incus.seen().len(), 2);
    }
}

/// It may be listed as running for a while, and others may have its address or its file may be fresh.
#[tokio::test]
async fn a_workload_that_has_ended_is_not_asked() {
    let now = clock::rfc3339(clock::now()).replace('T', " ");
    let headers = [("x-incus-modified", now.replace('Z', " +0000 UTC"))];
    let incus = Incus::start(ENDED, &headers);
    let port = workload("HTTP/1.1 200 OK\r\n\r\n").await;
    let path = "/health?full=1".to_owned();
    for check in [
        Check::Running {},
        Check::Http { port, path },
        Check::Tcp { port },
        Check::HeartbeatFile {
            path: "/run/beat".to_owned(),
        },
    ] {
        let told = why(probe(&incus.cluster, "web-g1", &check, &Secrets::default()).await);
        assert_eq!(told, "its first process has ended", "{check:?}");
    }
    let state = "GET /1.0/instances/web-g1/state?project=p".to_owned();
    assert_eq!(incus.seen(), vec![state; 4]);
}

/// A daemon that starts anew knows nothing of its workloads for a moment, and they run on.
#[tokio::test]
async fn an_error_of_incus_is_no_answer_of_the_workload() {
    let incus = Incus::start(BUSY, &[]);
    for check in [
        Check::Running {},
        Check::Tcp { port: 80 },
        Check::HeartbeatFile {
            path: "/run/beat".to_owned(),
        },
    ] {
        let told = why(probe(&incus.cluster, "web-g1", &check, &Secrets::default()).await);
        assert_eq!(told, "no answer", "{check:?}");
    }
}

#[tokio::test]
async fn a_heartbeat_that_was_never_written_is_missed() {
    let incus = Incus::start(HERE, &[]);
    let check = Check::HeartbeatFile {
        path: "/run/beat".to_owned(),
    };
    let told = why(probe(&incus.cluster, "web-g1", &check, &Secrets::default()).await);
    assert_eq!(told, "there is no file /run/beat in web-g1");
}

/// Measured: a container whose init has ended is listed as running until its stop hook is through, without a process.
#[test]
fn what_runs_has_a_process() {
    let state = |status: &str, pid| InstanceState {
        status: status.to_owned(),
        pid,
        ..InstanceState::default()
    };
    for (status, pid, why) in [
        ("Running", 4711, None),
        ("Ready", 4711, None),
        ("Running", -1, Some("its first process has ended")),
        ("Running", 0, Some("its first process has ended")),
        ("Stopped", 0, Some("it is Stopped")),
        ("Frozen", 4711, Some("it is Frozen")),
    ] {
        let expected = match why {
            None => Probe::Healthy,
            Some(why) => Probe::Unhealthy(why.to_owned()),
        };
        assert_eq!(alive(&state(status, pid)), expected, "{status} {pid}");
    }
}
