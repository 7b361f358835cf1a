//! A tunnel: a hub, and a machine behind a router that hides its address, each with a WireGuard of its own (HO-WG-12).
//!
//! ```text
//! hub 198.51.100.10 ── 198.51.100.1 router 192.168.50.1 ── 192.168.50.10 machine
//! ```
//!
//! Below `lab.rs`, beside members and clusters. Keys and configurations come from the scenario; that packets cross is
//! shown by real connections and by nothing else. The processes are in `peer.rs`.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::guard::Guard;
use super::peer::{DAEMON, Peer, TOOL};
use super::record::Record;
use super::{begin, forget, is_live, lock, network, teardown};
use crate::process::{self, Missing, run, run_with_input, tool};
use crate::tofu::on_path;

/// The ends, and where they are.
const ENDS: [(&str, &str); 2] = [("hub", "198.51.100.10"), ("machine", "192.168.50.10")];

/// The router's addresses in both networks.
const GATEWAYS: [&str; 2] = ["198.51.100.1", "192.168.50.1"];

/// Long enough for a handshake and the repetition of a lost packet after a second, and short where nothing ever comes.
const LONGEST_CONNECT: Duration = Duration::from_millis(2500);

/// Far more than an established connection inside one machine needs.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// What the client sends, and what the listener answers.
const QUESTION: &str = "who is there?";
const ANSWER: &str = "the other end";

/// Two ends of a tunnel that is still to be configured; dropping it takes it down.
#[derive(Debug)]
pub struct Tunnel {
    /// Reachable for everybody.
    pub hub: Peer,
    /// Behind the router, which lets nobody in.
    pub machine: Peer,
    record: Record,
    guard: Option<Guard>,
}

/// What both ends saw of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What the listener received.
    pub received: String,
    /// What the client was answered.
    pub answered: String,
    /// The client's address as the listener saw it.
    pub seen_from: IpAddr,
}

/// Keys as `wg` makes them.
pub struct Keypair {
    /// For the end that it belongs to, and for no command line.
    pub private: String,
    /// For the other end.
    pub public: String,
}

impl Keypair {
    /// A new pair.
    pub fn generate() -> Result<Keypair> {
        let private = run(&mut tool(TOOL, &["genkey"]))?;
        let public = run_with_input(&mut tool(TOOL, &["pubkey"]), &private)?;
        Ok(Keypair {
            private: private.trim().to_owned(),
            public: public.trim().to_owned(),
        })
    }
}

impl Tunnel {
    /// Brings up the networks, the router and a WireGuard at either end. On an error nothing remains.
    pub fn up(slug: &str) -> Result<Tunnel> {
        Tunnel::check()?;
        let record = Record::create_tunnel(slug, &ENDS)?;
        let peer = |index: usize| Peer::new(record.members[index].clone());
        let mut tunnel = Tunnel {
            hub: peer(0),
            machine: peer(1),
            guard: None,
            record,
        };
        // From here on an early return drops the tunnel, which takes it down.
        tunnel.guard = Some(begin(&tunnel.record)?);
        tunnel
            .start()
            .with_context(|| format!("bringing up the tunnel {}", tunnel.record.id))?;
        Ok(tunnel)
    }

    /// An error of the kind [`Missing`] where this machine can have no tunnel.
    pub fn check() -> Result<()> {
        if !Path::new("/dev/net/tun").exists() {
            return Err(Missing("/dev/net/tun".to_owned()).into());
        }
        for (program, package) in [(DAEMON, "wireguard-go"), (TOOL, "wireguard-tools")] {
            if on_path(program).is_none() {
                return Err(Missing(format!(
                    "{program} (run acceptance/prerequisites, it installs {package})"
                ))
                .into());
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        {
            // As in a lab of members.
            let _alone = lock("network")?;
            network::create_behind_router(&self.record, GATEWAYS)?;
        }
        self.hub.start()?;
        self.machine.start()
    }

    /// Everything that it has on disk.
    pub fn directory(&self) -> &Path {
        &self.record.directory
    }

    /// The address under which the hub sees whatever comes from behind the router.
    pub fn public_address(&self) -> &'static str {
        GATEWAYS[0]
    }

    /// Connects from one end to an address at the other, and sends a line each way: a real TCP connection. An error when
    /// it does not come about, after some seconds at most.
    pub fn tcp_exchange(
        &self,
        from: &Peer,
        to: &Peer,
        address: Ipv4Addr,
        port: u16,
    ) -> Result<Exchange> {
        let at = SocketAddr::from((address, port));
        let telling = || format!("a connection from {} to {} at {at}", from.name(), to.name());
        // It listens before anybody connects.
        let listener =
            process::inside(&to.network(), || TcpListener::bind(at).context("listening"))
                .with_context(telling)?;
        let (served, asked) = thread::scope(|scope| {
            let serving = scope.spawn(|| serve(&listener));
            let asked = process::inside(&from.network(), || ask(at));
            if asked.is_err() {
                // Nobody came, so that the listener has to be told not to wait. What it then says does not matter.
                let _ = process::inside(&to.network(), || {
                    TcpStream::connect(at).context("waking the listener")
                });
            }
            (serving.join(), asked)
        });
        let answered = asked.with_context(telling)?;
        let served = served.map_err(|_| anyhow!("the listener panicked"))?;
        let (received, seen_from) = served.with_context(telling)?;
        ensure!(
            received == QUESTION && answered == ANSWER,
            "{}: {received:?} was received and {answered:?} answered",
            telling()
        );
        Ok(Exchange {
            received,
            answered,
            seen_from,
        })
    }

    /// Takes it down and says what could not be taken down.
    pub fn down(mut self) -> Result<()> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<()> {
        let taken_down = teardown::take_down(&self.record);
        self.hub.collect();
        self.machine.collect();
        forget(&self.record);
        taken_down
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        if !is_live(&self.record) {
            return;
        }
        if let Err(error) = self.take_down() {
            eprintln!("{error:#}");
        }
    }
}

/// Answers one client.
fn serve(listener: &TcpListener) -> Result<(String, IpAddr)> {
    let (mut stream, client) = listener.accept().context("waiting for a client")?;
    stream.set_read_timeout(Some(LONGEST_SILENCE))?;
    let mut received = String::new();
    stream.read_to_string(&mut received).context("listening")?;
    stream.write_all(ANSWER.as_bytes()).context("answering")?;
    Ok((received, client.ip()))
}

/// Asks a listener.
fn ask(at: SocketAddr) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, LONGEST_CONNECT).context("connecting")?;
    stream.set_read_timeout(Some(LONGEST_SILENCE))?;
    stream.write_all(QUESTION.as_bytes()).context("asking")?;
    stream.shutdown(Shutdown::Write).context("asking")?;
    let mut answered = String::new();
    stream
        .read_to_string(&mut answered)
        .context("waiting for the answer")?;
    Ok(answered)
}
