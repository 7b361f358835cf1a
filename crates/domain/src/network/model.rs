//! A network in typed values: what `check.rs` makes of text and `assign.rs` works with.
//!
//! Not here: text. Whoever has one of these values never parses anything again (HO-CFG-11).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};

use super::subnet::{Range, Subnet};

/// A network in typed values. `None` is what is unknown or wrong. What is wrong has its issue, also where a
/// value stands in for it that was plainly meant, to check the rest against.
#[derive(Debug, Default)]
pub(super) struct Network<'a> {
    pub(super) kind: Option<Kind>,
    pub(super) subnet: Option<Subnet>,
    pub(super) gateway: Option<Ipv4Addr>,
    pub(super) dns: Option<Vec<IpAddr>>,
    pub(super) static_range: Option<Range>,
    pub(super) claims: Option<BTreeMap<&'a str, Claim>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A local network with a router, where a DHCP server leaves a range alone.
    Lan,
    /// The WireGuard overlay: all of its subnet is ours, the hub has the first address.
    Overlay,
}

/// What one machine asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// The address that it holds, else the next free one.
    Next,
    /// This address.
    Pinned(Ipv4Addr),
    /// A pin that is unknown or wrong.
    Undecided,
}

/// Where addresses come from, known as a whole.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) range: Range,
    /// Addresses that no machine gets, inside or outside of the range.
    pub(super) reserved: BTreeMap<Ipv4Addr, Reserved>,
    /// Resolvers of the LAN. One may well be a machine of ours, by a pin; none is handed out by itself, since
    /// that would put a second host on the resolver's address.
    pub(super) resolvers: BTreeSet<Ipv4Addr>,
}

/// Whose an address is that no machine gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    Network,
    Broadcast,
    Gateway,
    Hub,
    Probe,
}

impl Network<'_> {
    /// The pool, as soon as everything that shapes it is known.
    pub(super) fn pool(&self) -> Option<Pool> {
        let (subnet, kind) = (self.subnet?, self.kind?);
        let range = match kind {
            Kind::Lan => self.static_range?,
            Kind::Overlay => subnet.whole(),
        };
        let resolvers = match kind {
            Kind::Lan => {
                // Without the gateway the pool is not known, so its address might be handed out.
                self.gateway?;
                self.dns.as_ref()?.iter().filter_map(ipv4).collect()
            }
            Kind::Overlay => BTreeSet::new(),
        };
        Some(Pool {
            range,
            reserved: self.reserved(),
            resolvers,
        })
    }

    /// The reserved addresses, as far as they are known.
    pub(super) fn reserved(&self) -> BTreeMap<Ipv4Addr, Reserved> {
        let mut reserved = BTreeMap::new();
        if let Some(gateway) = self.gateway {
            reserved.insert(gateway, Reserved::Gateway);
        }
        if let Some(subnet) = self.subnet {
            let (network, broadcast) = (subnet.network(), subnet.broadcast());
            if self.kind == Some(Kind::Overlay) {
                // Of the smallest subnet (/30) these are the only two, and the hub goes first.
                reserved.insert(
                    Ipv4Addr::from_bits(broadcast.to_bits() - 1),
                    Reserved::Probe,
                );
                reserved.insert(Ipv4Addr::from_bits(network.to_bits() + 1), Reserved::Hub);
            }
            reserved.insert(network, Reserved::Network);
            reserved.insert(broadcast, Reserved::Broadcast);
        }
        reserved
    }
}

fn ipv4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

impl fmt::Display for Reserved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Network => "the network address",
            Self::Broadcast => "the broadcast address",
            Self::Gateway => "the gateway",
            Self::Hub => "the hub of the overlay",
            Self::Probe => "reserved for a peer that probes the overlay",
        })
    }
}
