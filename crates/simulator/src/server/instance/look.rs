//! What runs in an instance: `/1.0/instances/NAME/state`.
//!
//! Before: `route.rs`. Addresses are made up, and nobody answers there: a health check over the network fails here.

use serde_json::{Map, Value, json};

use super::super::Incus;
use super::super::answer::{Answer, Told};
use super::super::state::{Key, NEVER};
use super::{Instance, Power};

pub(in super::super) fn state(incus: &Incus, of: &Key) -> Told {
    let mut state = incus.state();
    let instance = state.instance(of)?;
    let (status, status_code) = instance.power.shown();
    let is_up = instance.power != Power::Stopped;
    let started_at = match is_up {
        true => instance.last_used_at.as_str(),
        false => NEVER,
    };
    let (used, total): (u64, u64) = if is_up { (1 << 20, 4 << 30) } else { (0, 0) };
    let network = if is_up {
        Value::Object(interfaces(instance))
    } else {
        Value::Null
    };
    Ok(Answer::sync(&json!({
        "status": status, "status_code": status_code, "disk": {},
        "memory": {
            "usage": used, "usage_peak": used, "total": total, "swap_usage": 0, "swap_usage_peak": 0,
        },
        "network": network, "pid": instance.pid, "processes": u8::from(is_up),
        "cpu": { "usage": used, "allocated_time": 0 }, "started_at": started_at, "os_info": null,
    })))
}

/// The loopback, and one for each network card.
fn interfaces(instance: &Instance) -> Map<String, Value> {
    let interface = |kind: &str, host: &str, mtu: u32, addresses: Value| {
        json!({
            "addresses": addresses,
            "counters": {
                "bytes_received": 0, "bytes_sent": 0, "packets_received": 0, "packets_sent": 0, "errors_received": 0,
                "errors_sent": 0, "packets_dropped_outbound": 0, "packets_dropped_inbound": 0,
            },
            "hwaddr": "", "host_name": host, "mtu": mtu, "state": "up", "type": kind,
        })
    };
    let loopback = json!([
        { "family": "inet", "address": "127.0.0.1", "netmask": "8", "scope": "local" },
        { "family": "inet6", "address": "::1", "netmask": "128", "scope": "local" },
    ]);
    let mut interfaces =
        Map::from_iter([("lo".to_owned(), interface("loopback", "", 65_536, loopback))]);
    let cards = instance.expanded.1.iter();
    let cards = cards.filter(|(_, device)| device.get("type").is_some_and(|kind| kind == "nic"));
    for (name, _) in cards {
        // Documentation addresses (RFC 5737): nobody has them.
        let address = format!("192.0.2.{}", instance.starts % 254 + 1);
        let addresses =
            json!([{ "family": "inet", "address": address, "netmask": "24", "scope": "global" }]);
        let host = format!("veth-{name}");
        interfaces.insert(name.clone(), interface("broadcast", &host, 1500, addresses));
    }
    interfaces
}
