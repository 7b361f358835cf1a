//! Stands before an Incus socket, passes everything on byte by byte, and interferes at one chosen request.
//!
//! This is what "kill -9 at every step" means: the process that connected is killed before its n-th request reaches
//! Incus, or after Incus answered and before the answer is passed on. The product has no hooks for it. It also records
//! every request, for counting and for watching from outside. What a request means is not known here.

use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::http::{self, Body, Head};
use crate::process;

/// A request that came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
}

impl Seen {
    /// Whether the request can change anything.
    pub fn is_mutating(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.method, self.target)
    }
}

/// On which side of a request the proxy interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Incus never hears of the request.
    Before,
    /// Incus has answered, and the client never hears of it.
    After,
}

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Kills the process that sent the request, with everything below it.
    KillClient,
    /// Kills the process that started that one too, with everything below: OpenTofu and all of its providers.
    KillHost,
    /// Closes the connection.
    Drop,
    /// Waits, then goes on as if nothing were.
    Delay(Duration),
}

/// Which requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Only those that can change something.
    Mutating,
    /// Every one.
    All,
}

/// An interference: at the n-th counted request from when it was armed, the first being 1.
#[derive(Clone, Copy, Debug)]
pub struct Trap {
    /// Which requests count.
    pub counted: Counted,
    /// The number of the request.
    pub nth: usize,
    /// On which side of it.
    pub moment: Moment,
    /// What happens.
    pub deed: Deed,
}

#[derive(Debug, Default)]
struct Record {
    seen: Vec<Seen>,
    trap: Option<(Trap, usize)>,
    fired: Option<Seen>,
}

#[derive(Debug)]
struct Shared {
    incus: PathBuf,
    record: Mutex<Record>,
    ended: AtomicBool,
}

/// A running proxy; dropping it closes its socket.
#[derive(Debug)]
pub struct Proxy {
    socket: PathBuf,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens on `socket` for what is meant for the Incus socket `incus`.
    pub fn start(socket: &Path, incus: &Path) -> Result<Proxy> {
        let listener = UnixListener::bind(socket)
            .with_context(|| format!("listening on {}", socket.display()))?;
        let shared = Arc::new(Shared {
            incus: incus.to_owned(),
            record: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                if accepting.ended.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A connection that breaks is everyday life here: it is what the proxy is for.
                thread::spawn(move || drop(Connection::serve(&shared, client)));
            }
        });
        Ok(Proxy {
            socket: socket.to_owned(),
            shared,
        })
    }

    /// The endpoint that the product is to be given.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Forgets what came by and interferes from now on.
    pub fn arm(&self, trap: Trap) {
        *self.shared.record() = Record {
            trap: Some((trap, 0)),
            ..Record::default()
        };
    }

    /// Forgets what came by and only records from now on.
    pub fn clear(&self) {
        *self.shared.record() = Record::default();
    }

    /// The request at which it interfered, if that happened.
    pub fn fired(&self) -> Option<Seen> {
        self.shared.record().fired.clone()
    }

    /// Every request since the last [`Proxy::arm`] or [`Proxy::clear`].
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.record().seen.clone()
    }

    /// Those requests that can change something.
    pub fn mutations(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(Seen::is_mutating).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // The listening thread looks at the flag when somebody knocks.
        let _ = UnixStream::connect(&self.socket);
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and says what is to happen to it.
    fn note(&self, head: &Head) -> Option<Trap> {
        let seen = Seen {
            method: head.method().to_owned(),
            target: head.target().to_owned(),
        };
        let mut record = self.record();
        record.seen.push(seen.clone());
        let (trap, count) = record.trap.as_mut()?;
        if trap.counted == Counted::Mutating && !seen.is_mutating() {
            return None;
        }
        *count += 1;
        let trap = *trap;
        if *count != trap.nth {
            return None;
        }
        record.fired = Some(seen);
        Some(trap)
    }
}

/// What goes on between one client and Incus.
struct Connection {
    client: UnixStream,
    incus: UnixStream,
}

impl Connection {
    fn serve(shared: &Shared, client: UnixStream) -> io::Result<()> {
        let connection = Connection {
            incus: UnixStream::connect(&shared.incus)?,
            client,
        };
        let result = connection.exchange(shared);
        // Both sides learn that it is over, whichever of the two ended it.
        let _ = connection.client.shutdown(Shutdown::Both);
        let _ = connection.incus.shutdown(Shutdown::Both);
        result
    }

    fn exchange(&self, shared: &Shared) -> io::Result<()> {
        let mut requests = BufReader::new(self.client.try_clone()?);
        let mut responses = BufReader::new(self.incus.try_clone()?);
        while let Some(request) = Head::read(&mut requests)? {
            let trap = shared.note(&request);
            self.interfere(trap, Moment::Before)?;
            (&self.incus).write_all(request.raw())?;
            http::relay(
                request.request_body(),
                &mut requests,
                &mut &self.incus,
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
                (&self.client).write_all(&held)?;
            } else {
                (&self.client).write_all(response.raw())?;
                http::relay(body, &mut responses, &mut &self.client, &mut io::sink())?;
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
                let peer = rustix::net::sockopt::socket_peercred(&self.client)?;
                let client = u32::try_from(peer.pid.as_raw_nonzero().get()).unwrap_or(0);
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
        mut requests: BufReader<UnixStream>,
        mut responses: BufReader<UnixStream>,
    ) -> io::Result<()> {
        let incus = self.incus.try_clone()?;
        let up = thread::spawn(move || {
            let _ = copy_promptly(&mut requests, &incus);
            let _ = incus.shutdown(Shutdown::Write);
        });
        let down = copy_promptly(&mut responses, &self.client);
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = up.join();
        down
    }
}

fn aborted(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, why.to_owned())
}

fn copy_promptly(from: &mut impl Read, mut to: &UnixStream) -> io::Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            length => to.write_all(&piece[..length])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;
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
        let (proxy, _) = proxy(folder.path());
        let mut stream = UnixStream::connect(&proxy.socket).expect("connected");
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
}
