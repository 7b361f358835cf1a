//! CIDRs and address ranges: text to numbers, with a reason for every refusal.
//!
//! Before: `check.rs` hands over one attribute's text. After: typed values that are never parsed again.
//! Not here: how attributes fit together (`check.rs`). Only IPv4: machines get one IPv4 address each.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// Shortest prefix. A homelab's widest private network is 10.0.0.0/8, and a wider one would take in addresses
/// that no machine may have, such as loopback.
const SHORTEST_PREFIX: u8 = 8;

/// Longest prefix. Behind it there is no room for a network address, a gateway, a machine and a broadcast address.
const LONGEST_PREFIX: u8 = 30;

/// An IPv4 network; its address has no host bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet {
    network: Ipv4Addr,
    prefix_length: u8,
}

/// Addresses from `first` to `last`, both included; `first` is not above `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: Ipv4Addr,
    pub(crate) last: Ipv4Addr,
}

/// Why a text is no address, subnet or range. The message continues a quotation of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("is not an IPv4 address")]
    NotAnAddress,
    #[error("is IPv6, and machines get IPv4 addresses only")]
    Ipv6,
    #[error("has no prefix length")]
    MissingPrefix,
    #[error(
        "has the prefix length {0:?}, which is not a number from {SHORTEST_PREFIX} to {LONGEST_PREFIX}"
    )]
    Prefix(String),
    #[error("has host bits set; the network of that address is {0}")]
    HostBits(Subnet),
    #[error(
        "is in a block that no machine can have an address in (this-network, loopback, multicast or reserved)"
    )]
    Unusable,
    #[error("is not two addresses with a hyphen between")]
    NotARange,
    #[error("ends before it starts; the other way round it is {0}")]
    Reversed(Range),
}

/// Reads an IPv4 address.
pub(crate) fn parse_address(text: &str) -> Result<Ipv4Addr, Error> {
    text.parse().map_err(|_| {
        if text.parse::<Ipv6Addr>().is_ok() {
            Error::Ipv6
        } else {
            Error::NotAnAddress
        }
    })
}

impl Subnet {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let Some((address, prefix)) = text.split_once('/') else {
            parse_address(text)?;
            return Err(Error::MissingPrefix);
        };
        let address = parse_address(address)?;
        let prefix_length = parse_prefix(prefix)?;
        let subnet = Self {
            network: Ipv4Addr::from_bits(address.to_bits() & mask(prefix_length)),
            prefix_length,
        };
        let first_octet = address.octets()[0];
        if matches!(first_octet, 0 | 127 | 224..) {
            Err(Error::Unusable)
        } else if subnet.network == address {
            Ok(subnet)
        } else {
            Err(Error::HostBits(subnet))
        }
    }

    pub(crate) fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.prefix_length) == self.network.to_bits()
    }

    pub(crate) fn network(self) -> Ipv4Addr {
        self.network
    }

    pub(crate) fn broadcast(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | !mask(self.prefix_length))
    }

    /// Where the hub of an overlay is.
    pub(crate) fn first_usable(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() + 1)
    }

    pub(crate) fn last_usable(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.broadcast().to_bits() - 1)
    }

    pub(crate) fn prefix_length(self) -> u8 {
        self.prefix_length
    }

    pub(super) fn whole(self) -> Range {
        Range {
            first: self.network,
            last: self.broadcast(),
        }
    }
}

/// Only plain decimal digits: Rust's own parser would also take "+24" and "024".
fn parse_prefix(text: &str) -> Result<u8, Error> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(length @ SHORTEST_PREFIX..=LONGEST_PREFIX) if plain => Ok(length),
        _ => Err(Error::Prefix(text.to_owned())),
    }
}

fn mask(prefix_length: u8) -> u32 {
    // Prefix lengths are from 8 to 30, so the shift is never by the whole width.
    u32::MAX << (32 - u32::from(prefix_length))
}

impl Range {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let (first, last) = text.split_once('-').ok_or(Error::NotARange)?;
        let either = |text| match parse_address(text) {
            Err(Error::NotAnAddress) => Err(Error::NotARange),
            other => other,
        };
        let (first, last) = (either(first)?, either(last)?);
        if first > last {
            let turned = Self {
                first: last,
                last: first,
            };
            return Err(Error::Reversed(turned));
        }
        Ok(Self { first, last })
    }

    pub(crate) fn contains(self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&address)
    }

    pub(super) fn size(self) -> u64 {
        u64::from(self.last.to_bits()) - u64::from(self.first.to_bits()) + 1
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.prefix_length)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-CFG-07, HO-IPAM-08: malformed text fails at parse, and says why.
    #[test]
    fn what_is_no_subnet_says_why() {
        for (text, part) in [
            ("", "is not an IPv4 address"),
            ("lan", "is not an IPv4 address"),
            ("192.168.1.0", "has no prefix length"),
            ("192.168.1/24", "is not an IPv4 address"),
            ("192.168.01.0/24", "is not an IPv4 address"),
            ("192.168.1.0 /24", "is not an IPv4 address"),
            ("fd00::/64", "is IPv6"),
            ("192.168.1.0/", "prefix length \"\""),
            ("192.168.1.0/33", "prefix length \"33\""),
            ("192.168.1.0/31", "not a number from 8 to 30"),
            ("192.0.0.0/7", "not a number from 8 to 30"),
            ("192.168.1.0/024", "prefix length \"024\""),
            ("192.168.1.0/+24", "prefix length \"+24\""),
            ("192.168.1.0/24/1", "prefix length \"24/1\""),
            (
                "192.168.1.5/24",
                "the network of that address is 192.168.1.0/24",
            ),
            ("10.1.0.0/8", "the network of that address is 10.0.0.0/8"),
            ("0.0.0.0/8", "is in a block that no machine"),
            ("127.0.0.0/8", "is in a block that no machine"),
            ("224.0.0.0/24", "is in a block that no machine"),
        ] {
            let message = Subnet::parse(text).expect_err(text).to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn a_subnet_knows_its_borders() {
        for (text, network, broadcast) in [
            ("192.168.1.0/24", "192.168.1.0", "192.168.1.255"),
            ("10.0.0.0/8", "10.0.0.0", "10.255.255.255"),
            ("10.0.0.4/30", "10.0.0.4", "10.0.0.7"),
        ] {
            let subnet = Subnet::parse(text).expect(text);
            assert_eq!(subnet.to_string(), text);
            assert_eq!(subnet.network().to_string(), network);
            assert_eq!(subnet.broadcast().to_string(), broadcast);
            assert!(subnet.contains(subnet.network()) && subnet.contains(subnet.broadcast()));
            let behind = Ipv4Addr::from_bits(subnet.broadcast().to_bits() + 1);
            assert!(!subnet.contains(behind), "{text} contains {behind}");
        }
    }

    #[test]
    fn what_is_no_range_says_why() {
        for (text, part) in [
            ("", "is not two addresses"),
            ("192.168.1.10", "is not two addresses"),
            ("192.168.1.10-", "is not two addresses"),
            ("192.168.1.10-20", "is not two addresses"),
            ("192.168.1.10 - 192.168.1.20", "is not two addresses"),
            (
                "192.168.1.1-192.168.1.2-192.168.1.3",
                "is not two addresses",
            ),
            ("fd00::1-fd00::2", "is IPv6"),
            (
                "192.168.1.20-192.168.1.10",
                "the other way round it is 192.168.1.10-192.168.1.20",
            ),
        ] {
            let message = Range::parse(text).expect_err(text).to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn a_range_includes_both_ends() {
        let range = Range::parse("10.0.0.9-10.0.0.11").expect("a valid range");
        assert_eq!(range.size(), 3);
        for (last_octet, inside) in [(8, false), (9, true), (11, true), (12, false)] {
            assert_eq!(range.contains(Ipv4Addr::new(10, 0, 0, last_octet)), inside);
        }
        let one = Range::parse("10.0.0.9-10.0.0.9").expect("a range of one");
        assert_eq!(one.size(), 1);
    }
}
