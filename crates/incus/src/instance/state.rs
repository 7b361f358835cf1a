//! What runs in an instance: the answer to `instance::state`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use crate::lenient::null_as_empty;

/// What runs in an instance.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InstanceState {
    /// `Running`, `Stopped` and so on.
    pub status: String,
    /// The status as a number.
    pub status_code: u16,
    /// The first process, as the member numbers it; 0 when stopped.
    pub pid: i64,
    /// How many processes run.
    pub processes: i64,
    /// The network interfaces by name; none when stopped.
    #[serde(deserialize_with = "null_as_empty")]
    pub network: BTreeMap<String, InterfaceState>,
}

/// One network interface of an instance.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InterfaceState {
    /// The addresses.
    #[serde(deserialize_with = "null_as_empty")]
    pub addresses: Vec<Address>,
    /// The hardware address.
    pub hwaddr: String,
    /// The other end of its cable, as the member calls it; empty for what was made inside of the instance.
    pub host_name: String,
    /// `up` or `down`.
    pub state: String,
    /// `broadcast`, `loopback` and so on.
    pub r#type: String,
}

/// One address of an interface.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Address {
    /// `inet` or `inet6`.
    pub family: String,
    /// The address.
    pub address: String,
    /// The length of the network's prefix.
    pub netmask: String,
    /// `global`, `link` or `local`.
    pub scope: String,
}

impl InstanceState {
    /// The one address to ask for what the instance serves: global, and of an interface that Incus has given it rather
    /// than of one that was made inside, such as another container engine's; IPv4 first. Between equals the
    /// interfaces' names decide.
    pub fn service_address(&self) -> Option<IpAddr> {
        let ranked = self.network.values().flat_map(|interface| {
            let is_inner = interface.host_name.is_empty();
            let global = interface.global_addresses();
            global.map(move |address| ((is_inner, address.is_ipv6()), address))
        });
        let first = ranked.min_by_key(|(rank, _)| *rank);
        first.map(|(_, address)| address)
    }

    /// The addresses under which others reach the instance, in the order of the interfaces' names.
    pub fn global_addresses(&self) -> Vec<IpAddr> {
        let interfaces = self.network.values();
        interfaces
            .flat_map(InterfaceState::global_addresses)
            .collect()
    }
}

impl InterfaceState {
    fn global_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let is_loopback = self.r#type == "loopback";
        self.addresses
            .iter()
            .filter(move |address| !is_loopback && address.scope == "global")
            .filter_map(|address| address.address.parse().ok())
    }
}
