//! The proxy before a server of its own that answers with what it was asked.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use super::stream::{Connected, Duplex};
use super::tls::{Client, Server};
use super::*;
use crate::http;
use crate::observer::Observer;

/// A server that answers every request with its own path as JSON, in chunks, and keeps the connection.
fn echo(folder: &Path) -> PathBuf {
    let socket = folder.join("incus.socket");
    let listener = UnixListener::bind(&socket).expect("a listener");
    thread::spawn(move || {
        for client in listener.incoming().filter_map(Result::ok) {
            thread::spawn(move || {
                let mut requests = BufReader::new(client.try_clone().expect("a second handle"));
                while let Ok(Some(head)) = Head::read(&mut requests) {
                    let mut body = Vec::new();
                    http::relay(
                        head.request_body(),
                        &mut requests,
                        &mut io::sink(),
                        &mut body,
                    )
                    .expect("a body");
                    if head.header("upgrade").is_some() {
                        (&client)
                            .write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
                            .expect("written");
                        let mut line = String::new();
                        requests.read_line(&mut line).expect("a line");
                        (&client)
                            .write_all(line.to_uppercase().as_bytes())
                            .expect("written");
                        return;
                    }
                    let text = format!("{{\"metadata\":\"{}{}\"}}", head.target(), body.len());
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n",
                        text.len()
                    );
                    (&client).write_all(answer.as_bytes()).expect("written");
                }
            });
        }
    });
    socket
}

fn proxy(folder: &Path) -> (Proxy, Observer) {
    let socket = folder.join("proxy.socket");
    let proxy = Proxy::start(&socket, &echo(folder)).expect("a proxy");
    (proxy, Observer::new(&socket))
}

#[test]
fn requests_pass_unchanged_and_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (proxy, observer) = proxy(folder.path());
    assert_eq!(observer.get("/a?b=c").expect("an answer"), "/a?b=c0");
    let body = serde_json::json!({ "key": 1 });
    assert_eq!(
        observer
            .request("POST", "/d", Some(&body))
            .expect("an answer")["metadata"],
        "/d9"
    );
    let told: Vec<String> = proxy.seen().iter().map(Seen::to_string).collect();
    assert_eq!(told, ["GET /a?b=c", "POST /d"]);
    assert_eq!(proxy.mutations().len(), 1);
}

#[test]
fn it_interferes_at_the_chosen_request_and_only_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (proxy, observer) = proxy(folder.path());
    for moment in [Moment::Before, Moment::After] {
        proxy.arm(Trap {
            counted: Counted::Mutating,
            nth: 2,
            moment,
            deed: Deed::Drop,
        });
        observer.get("/look").expect("reads do not count");
        observer
            .request("POST", "/first", None)
            .expect("the first passes");
        assert!(proxy.fired().is_none());
        observer
            .request("PATCH", "/second", None)
            .expect_err("the second is cut off");
        observer
            .request("POST", "/third", None)
            .expect("the third passes");
        assert_eq!(
            proxy.fired().map(|seen| seen.to_string()).as_deref(),
            Some("PATCH /second")
        );
    }
}

#[test]
fn a_connection_can_change_its_protocol() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_proxy, _) = proxy(folder.path());
    let mut stream = UnixStream::connect(folder.path().join("proxy.socket")).expect("connected");
    stream
        .write_all(b"GET /events HTTP/1.1\r\nUpgrade: websocket\r\n\r\nhello\n")
        .expect("written");
    let mut all = String::new();
    stream.read_to_string(&mut all).expect("an answer");
    assert!(
        all.starts_with("HTTP/1.1 101 ") && all.ends_with("\r\n\r\nHELLO\n"),
        "{all}"
    );
}

/// Of a daemon that shows its own certificate, and from some moment on its cluster's.
#[test]
fn an_encrypted_connection_carries_what_it_is_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = |kind: &str, pair: &Pair| {
        let file = |suffix| folder.path().join(format!("{kind}.{suffix}"));
        std::fs::write(file("crt"), &pair.certificate).expect("written");
        std::fs::write(file("key"), &pair.key).expect("written");
    };
    let (pair, other) = (
        Pair::new(2200).expect("a pair"),
        Pair::new(2200).expect("a pair"),
    );
    let server = Server::of(folder.path(), Path::new("/proc/self/ns/net"));
    let client = Client::new(&other).expect("a client");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let at = listener.local_addr().expect("an address");
    // More than either side buffers, so that it has to be sent in pieces.
    let long = vec![b'x'; 300_000];
    for kind in ["server", "cluster"] {
        identity(kind, &pair);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (stream, _) = listener.accept().expect("a client");
                let stream = server.accept(stream).expect("shaken hands");
                let mut said = Duplex(Arc::new(stream));
                let mut bytes = vec![0; long.len()];
                said.read_exact(&mut bytes).expect("all of it");
                said.write_all(&bytes).expect("sent back");
            });
            let stream = TcpStream::connect(at).expect("connected");
            let stream: Arc<dyn Connected> =
                Arc::new(client.connect(stream).expect("shaken hands"));
            stream.send(&long).expect("sent");
            let mut back = vec![0; long.len()];
            Duplex(Arc::clone(&stream))
                .read_exact(&mut back)
                .expect("all of it");
            assert!(back == long, "{kind}");
            stream.end();
        });
    }
}
