//! The tunnel lab itself: real packets cross it exactly when the keys fit, and nothing of it is left.
//!
//! Keys are those of `wg`; what the product makes of a tunnel is judged elsewhere with the same lab.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};

use crate::lab::{Keypair, Tunnel};
use crate::scenario::{Context, Need, Scenario};

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "tcp_crosses_a_tunnel_both_ways_only_with_the_right_keys",
    proves: "Between a hub and a machine behind NAT, TCP crosses the tunnel from either end, and does not while the hub \
             has the key of somebody else (HO-WG-12).",
    group: "tunnel",
    needs: &[Need::WireGuard],
    seconds: 10,
    run: crosses,
}];

const HUB: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 1);
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 11);
/// What WireGuard leaves of an ordinary packet.
const MTU: u16 = 1420;

fn crosses(_: &Context) -> Result<()> {
    let tunnel = Tunnel::up("tunnel")?;
    let (hub, machine) = (&tunnel.hub, &tunnel.machine);
    let outside: Ipv4Addr = hub.address().parse()?;
    let inside: Ipv4Addr = machine.address().parse()?;
    // The router does what the tunnel is there for: out under its own address, and no way in.
    let out = tunnel.tcp_exchange(machine, hub, outside, 8080)?;
    ensure!(
        out.seen_from.to_string() == tunnel.public_address(),
        "{out:?}"
    );
    tunnel.expect_no_tcp(hub, machine, inside, 8080)?;

    let (of_hub, of_machine) = (Keypair::generate()?, Keypair::generate()?);
    let stranger = Keypair::generate()?;
    let hub_knows = |key: &str| {
        format!(
            "[Interface]\nPrivateKey = {}\nListenPort = 51820\n\n\
             [Peer]\nPublicKey = {key}\nAllowedIPs = {MACHINE}/32\n",
            of_hub.private
        )
    };
    let at_machine = format!(
        "[Interface]\nPrivateKey = {}\n\n\
         [Peer]\nPublicKey = {}\nAllowedIPs = {HUB}/32\nEndpoint = {outside}:51820\nPersistentKeepalive = 25\n",
        of_machine.private, of_hub.public
    );
    hub.configure(&hub_knows(&stranger.public), &format!("{HUB}/24"), MTU)?;
    machine.configure(&at_machine, &format!("{MACHINE}/24"), MTU)?;
    for (from, to, address) in [(machine, hub, HUB), (hub, machine, MACHINE)] {
        tunnel.expect_no_tcp(from, to, address, 8080)?;
    }

    hub.configure(&hub_knows(&of_machine.public), &format!("{HUB}/24"), MTU)?;
    // The machine tries again by itself only after some seconds; its configuration makes it try at once.
    machine.configure(&at_machine, &format!("{MACHINE}/24"), MTU)?;
    for (from, to, address, seen) in [(machine, hub, HUB, MACHINE), (hub, machine, MACHINE, HUB)] {
        let crossed = tunnel.tcp_exchange(from, to, address, 8080)?;
        ensure!(crossed.seen_from == seen, "{crossed:?}");
    }
    let seen_at = hub.endpoints()?;
    ensure!(
        seen_at.contains(&format!("\t{}:", tunnel.public_address())),
        "the hub sees the machine elsewhere: {seen_at}"
    );
    tunnel.down()
}
