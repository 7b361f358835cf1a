//! A provider's process, started and ended as a host does.
//!
//! Its calls are in `client.rs`; who the host is, in `identity.rs`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rustls::pki_types::CertificateDer;

use super::client::{Client, ClientError};
use super::identity::{HostIdentity, nobody_trusting};

/// A provider could not be started, or did not behave.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The operating system did not start it.
    #[error("starting the provider {}", .0.display())]
    Start(PathBuf, #[source] std::io::Error),
    /// It ended or kept silent instead of introducing itself. The text is its standard error.
    #[error("waiting for the provider's handshake; it said: {0}")]
    NoHandshake(String),
    /// Its line is not the one that a host reads.
    #[error("reading the provider's handshake {0:?}")]
    Handshake(String),
    /// The host's own certificate could not be made.
    #[error("making the host's certificate")]
    Identity(#[from] rcgen::Error),
    /// TLS could not be set up.
    #[error("setting TLS up")]
    Tls(#[from] rustls::Error),
    /// It could not be talked to.
    #[error("connecting to the provider")]
    Connect(#[from] ClientError),
    /// It did not end in time.
    #[error("waiting for the provider to end")]
    StillRunning,
}

/// How a provider is started.
pub struct Launch {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    cookie: bool,
    encrypted: bool,
}

/// How long a provider has for its handshake, and at its end.
const PATIENCE: Duration = Duration::from_secs(20);

impl Launch {
    /// As OpenTofu starts it.
    pub fn new(program: impl Into<PathBuf>) -> Launch {
        Launch {
            program: program.into(),
            environment: Vec::new(),
            cookie: true,
            encrypted: true,
        }
    }

    /// With one more variable.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Launch {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// As by hand: without the cookie.
    pub fn without_cookie(mut self) -> Launch {
        self.cookie = false;
        self
    }

    /// As a host with encryption switched off.
    pub fn in_clear(mut self) -> Launch {
        self.encrypted = false;
        self
    }

    /// Starts it, reads its handshake and connects.
    pub async fn start(self) -> Result<Host, HostError> {
        let identity = HostIdentity::new()?;
        let mut host = self.spawn(&identity)?;
        host.client = Some(host.connect_as(Some(&identity)).await?);
        Ok(host)
    }

    fn spawn(self, identity: &HostIdentity) -> Result<Host, HostError> {
        let mut command = Command::new(&self.program);
        command
            .env("PLUGIN_PROTOCOL_VERSIONS", "6,5")
            .env("PLUGIN_MIN_PORT", "10000")
            .env("PLUGIN_MAX_PORT", "25000");
        command
            .env_remove("PLUGIN_CLIENT_CERT")
            .env_remove("TF_PLUGIN_MAGIC_COOKIE");
        if self.cookie {
            let cookie = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
            command.env("TF_PLUGIN_MAGIC_COOKIE", cookie);
        }
        if self.encrypted {
            command.env("PLUGIN_CLIENT_CERT", &identity.certificate_pem);
        }
        command
            .envs(self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command
            .spawn()
            .map_err(|error| HostError::Start(self.program, error))?;
        let errors = child.stderr.take().map(collect);
        let (line, output) = read_line(&mut child);
        let Some(line) = line else {
            // Without a handshake there is nothing to be had from it but what it said.
            let _ = child.kill();
            let said = errors
                .and_then(|thread| thread.join().ok())
                .unwrap_or_default();
            return Err(HostError::NoHandshake(said));
        };
        let start_time = begun.elapsed();
        let handshake = Handshake::parse(&line).ok_or(HostError::Handshake(line))?;
        Ok(Host {
            child,
            handshake,
            output,
            errors,
            client: None,
            start_time,
        })
    }
}

/// A running provider. Dropped without an end, it is killed.
pub struct Host {
    child: Child,
    handshake: Handshake,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
    client: Option<Client>,
    /// From the start of the process to its handshake.
    pub start_time: Duration,
}

/// How a provider ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to standard output behind the handshake: nothing, if it is well.
    pub output: String,
    /// What it wrote to standard error: its log.
    pub errors: String,
}

impl Host {
    /// Starts a provider as OpenTofu does.
    pub async fn start(program: impl Into<PathBuf>) -> Result<Host, HostError> {
        Launch::new(program).start().await
    }

    /// The calls. A client may be cloned and used from several tasks.
    ///
    /// # Panics
    ///
    /// After [`Host::disappear`].
    #[expect(
        clippy::expect_used,
        reason = "a test without a connection has gone wrong before"
    )]
    pub fn client(&self) -> Client {
        self.client.clone().expect("the host is connected")
    }

    /// Connects once more, as the host whose certificate is given or as a program that has none.
    pub async fn connect_as(&self, identity: Option<&HostIdentity>) -> Result<Client, HostError> {
        let tls = match (&self.handshake.certificate, identity) {
            (None, _) => None,
            (Some(certificate), Some(identity)) => Some(identity.trusting(certificate.clone())?),
            (Some(certificate), None) => Some(nobody_trusting(certificate.clone())?),
        };
        Ok(Client::connect(&self.handshake.socket, tls).await?)
    }

    /// The socket it listens at.
    pub fn socket(&self) -> &Path {
        &self.handshake.socket
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Drops the connection without a word, as a host that was killed does.
    pub fn disappear(&mut self) {
        self.client = None;
    }

    /// Ends it as OpenTofu does: with a call and some patience.
    pub async fn shutdown(self) -> Result<Ended, HostError> {
        self.client().shutdown().await?;
        self.ended(PATIENCE).await
    }

    /// Waits until it has ended.
    pub async fn ended(mut self, patience: Duration) -> Result<Ended, HostError> {
        let begun = Instant::now();
        loop {
            // A process that cannot be waited for has been waited for already.
            if let Ok(Some(status)) = self.child.try_wait() {
                let join = |thread: Option<JoinHandle<String>>| {
                    thread.and_then(|thread| thread.join().ok())
                };
                let output = join(self.output.take()).unwrap_or_default();
                let errors = join(self.errors.take()).unwrap_or_default();
                return Ok(Ended {
                    status,
                    output,
                    errors,
                });
            }
            if begun.elapsed() > patience {
                return Err(HostError::StillRunning);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What was killed could not tidy up. Only an empty folder is removed.
        let _ = std::fs::remove_file(&self.handshake.socket);
        let _ = self.handshake.socket.parent().map(std::fs::remove_dir);
    }
}

/// What the line says.
struct Handshake {
    socket: PathBuf,
    certificate: Option<CertificateDer<'static>>,
}

impl Handshake {
    fn parse(line: &str) -> Option<Handshake> {
        let fields: Vec<&str> = line.trim_end_matches('\n').split('|').collect();
        let ["1", "6", "unix", socket, "grpc", certificate] = fields.as_slice() else {
            return None;
        };
        let certificate = STANDARD_NO_PAD.decode(certificate).ok()?;
        let certificate = (!certificate.is_empty()).then(|| CertificateDer::from(certificate));
        Some(Handshake {
            socket: PathBuf::from(socket),
            certificate,
        })
    }
}

/// The first line, in time, and a thread that collects what follows.
fn read_line(child: &mut Child) -> (Option<String>, Option<JoinHandle<String>>) {
    let Some(output) = child.stdout.take() else {
        return (None, None);
    };
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut line = String::new();
        if reader.read_line(&mut line).is_ok_and(|length| length > 0) {
            // Whoever waited has lost patience, if this fails.
            let _ = sender.send(line);
        }
        drop(sender);
        read_all(reader)
    });
    (receiver.recv_timeout(PATIENCE).ok(), Some(thread))
}

fn collect(stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || read_all(stream))
}

fn read_all(mut stream: impl Read) -> String {
    let mut text = Vec::new();
    // What was read before an error is still worth seeing.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
