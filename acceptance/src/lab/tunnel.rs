//! A tunnel: a hub, and a machine behind a router that hides its address, each with a WireGuard of its own (HO-WG-12).
//!
//! ```text
//! hub 198.51.100.10 ── 198.51.100.1 router 192.168.50.1 ── 192.168.50.10 machine
//! ```
//!
//! Below `lab.rs`, beside members and clusters. Keys and configurations come from the scenario; that packets cross is
//! shown by real connections (`exchange.rs`) and by nothing else. The processes are in `peer.rs`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::exchange::{Exchange, connect, listen};
use super::guard::Guard;
use super::peer::{DAEMON, Peer, TOOL};
use super::record::Record;
use super::{begin, forget, is_live, lock, network, teardown};
use crate::process::{Missing, run, run_with_input, tool};
use crate::tofu::on_path;

/// The ends, and where they are.
const ENDS: [(&str, &str); 2] = [("hub", "198.51.100.10"), ("machine", "192.168.50.10")];

/// The router's addresses in both networks.
const GATEWAYS: [&str; 2] = ["198.51.100.1", "192.168.50.1"];

/// WireGuard repeats a handshake that got lost only after five seconds.
const LONGEST_CONNECT: Duration = Duration::from_secs(15);

/// Where nothing may come: long enough for a handshake, and for the repetition of a lost packet after a second.
const SHORTEST_DOUBT: Duration = Duration::from_millis(2500);

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
        let listener = listen(to, at)?;
        connect(from, to, &listener, at, LONGEST_CONNECT)
            .with_context(|| format!("connecting {} to {} at {at}", from.name(), to.name()))
    }

    /// An error when such a connection does come about.
    pub fn expect_no_tcp(
        &self,
        from: &Peer,
        to: &Peer,
        address: Ipv4Addr,
        port: u16,
    ) -> Result<()> {
        let at = SocketAddr::from((address, port));
        let listener = listen(to, at)?;
        let connected = connect(from, to, &listener, at, SHORTEST_DOUBT);
        ensure!(
            connected.is_err(),
            "{} should not reach {} at {at}: {connected:?}",
            from.name(),
            to.name()
        );
        Ok(())
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
