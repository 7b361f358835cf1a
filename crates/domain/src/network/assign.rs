//! Gives addresses to machines: pins, then keepers, then newcomers.
//!
//! Before: `check.rs` made typed values of the configuration. After: the provider shows the answer as the plan.
//! Not here: parsing, and what is wrong whoever holds which address (`check.rs`).

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{Claim, Kind, Network, Pool, Reserved};
use super::{Assignments, Held};
use crate::issue::{Issue, attribute, element};

/// The addresses, and why they are not to be used if there are issues.
pub(super) struct Assigned {
    pub(super) assignments: Assignments,
    pub(super) issues: Vec<Issue>,
}

pub(super) fn assign(network: &Network<'_>, held: &Held) -> Assigned {
    let mut assignments = Assignments {
        addresses: None,
        prefix_length: network.subnet.map(|subnet| subnet.prefix_length()),
        free: None,
    };
    let Some(claims) = &network.claims else {
        return Assigned {
            assignments,
            issues: Vec::new(),
        };
    };
    let pool = network.pool();
    let keepers = keepers(claims, held);
    let mut issues = collisions(claims, &keepers);
    if let Some(pool) = &pool {
        issues.extend(stranded(network, pool, &keepers));
    }

    let mut addresses: BTreeMap<&str, Option<Ipv4Addr>> = claims
        .iter()
        .map(|(machine, claim)| (*machine, settled(machine, *claim, held)))
        .collect();
    if let Some(pool) = &pool {
        match newcomers(pool, &mut addresses, claims) {
            Ok(free) => assignments.free = free,
            Err(shortage) => issues.push(shortage.issue(network, pool)),
        }
    }
    let owned = |(machine, address): (&str, _)| (machine.to_owned(), address);
    assignments.addresses = Some(addresses.into_iter().map(owned).collect());
    Assigned {
        assignments,
        issues,
    }
}

/// The address that a machine has whoever else comes or goes: its pin, else the one that it holds.
///
/// A pin that is unknown may turn out to be another address than the one held, so nothing is promised then.
fn settled(machine: &str, claim: Claim, held: &Held) -> Option<Ipv4Addr> {
    match claim {
        Claim::Pinned(pin) => Some(pin),
        Claim::Next => held.get(machine).copied(),
        Claim::Undecided => None,
    }
}

/// Machines that hold an address and ask for no other one.
fn keepers<'a>(claims: &BTreeMap<&'a str, Claim>, held: &Held) -> BTreeMap<&'a str, Ipv4Addr> {
    claims
        .iter()
        .filter(|(_, claim)| **claim == Claim::Next)
        .filter_map(|(machine, _)| Some((*machine, *held.get(*machine)?)))
        .collect()
}

/// HO-IPAM-07: nobody gets an address that a keeper has; the keeper is named and not moved.
fn collisions(claims: &BTreeMap<&str, Claim>, keepers: &BTreeMap<&str, Ipv4Addr>) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut kept_by: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    for (machine, address) in keepers {
        // Two keepers of one address cannot come from a plan of ours, only from a state that was edited by hand.
        if let Some(other) = kept_by.insert(*address, machine) {
            let detail = format!(
                "The state has {address} for the machines {other:?} and {machine:?}. Expected one machine for \
                 each address. Pin one of the two to another address in claims."
            );
            let summary = format!("Machine {machine:?} holds the address of another machine");
            issues.push(Issue::new(element("claims", machine), summary, detail));
        }
    }
    for (machine, claim) in claims {
        if let Claim::Pinned(pin) = claim
            && let Some(holder) = kept_by.get(pin)
        {
            let detail = format!(
                "Machine {machine:?} is pinned to {pin}, which machine {holder:?} holds since an earlier apply. A \
                 holder is never moved silently. Pin {machine:?} to a free address, or pin {holder:?} to another \
                 one, or remove the claim of {holder:?}."
            );
            let summary = format!("The pin of machine {machine:?} is held by machine {holder:?}");
            issues.push(Issue::new(element("claims", machine), summary, detail));
        }
    }
    issues
}

/// Keepers whose address the network no longer allows, one issue for each attribute that is the cause.
///
/// docs/decisions/0001: they are neither moved nor left where nothing reaches them; the user says which.
fn stranded(network: &Network<'_>, pool: &Pool, keepers: &BTreeMap<&str, Ipv4Addr>) -> Vec<Issue> {
    let mut by_cause: BTreeMap<(&'static str, String), Vec<String>> = BTreeMap::new();
    for (machine, address) in keepers {
        let range_attribute = range_attribute(network.kind);
        let cause = match pool.reserved.get(address) {
            Some(Reserved::Gateway) => ("gateway", "the gateway's".to_owned()),
            Some(reserved) => ("cidr", format!("{reserved} now")),
            None if !pool.range.contains(*address) => {
                (range_attribute, format!("outside of {}", pool.range))
            }
            None => continue,
        };
        by_cause
            .entry(cause)
            .or_default()
            .push(format!("{machine} ({address})"));
    }
    by_cause
        .into_iter()
        .map(|((name, reason), machines)| {
            let detail = format!(
                "These machines hold an address that is {reason}: {}. A machine keeps its address until it is \
                 moved deliberately. Change {name} so that it allows these addresses, or pin each of these \
                 machines to a free address in claims. Changing the name of the network replaces it and gives \
                 every machine a new address.",
                machines.join(", ")
            );
            let summary = format!("The change of {name} would leave machines without their address");
            Issue::new(attribute(name), summary, detail)
        })
        .collect()
}

/// The attribute that says where addresses come from.
fn range_attribute(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Overlay) => "cidr",
        Some(Kind::Lan) | None => "static_range",
    }
}

/// More claims than addresses.
struct Shortage {
    claims: u64,
    usable: u64,
    taken: u64,
    without: Vec<String>,
}

impl Shortage {
    fn issue(self, network: &Network<'_>, pool: &Pool) -> Issue {
        let name = range_attribute(network.kind);
        let Self {
            claims,
            usable,
            taken,
            without,
        } = self;
        let detail = format!(
            "{claims} machines claim an address of {}, which has {usable} usable ones, {taken} of them pinned or \
             held. {} without an address: {}. Widen {name}, or remove claims.",
            pool.range,
            without.len(),
            without.join(", ")
        );
        Issue::new(
            attribute(name),
            format!("The network has {usable} addresses for {claims} machines"),
            detail,
        )
    }
}

/// Fills in the addresses of machines that have none yet, in ascending order of their names; says how many
/// addresses are left. With an undecided claim nobody new gets one: the claim may turn out to take it.
fn newcomers(
    pool: &Pool,
    addresses: &mut BTreeMap<&str, Option<Ipv4Addr>>,
    claims: &BTreeMap<&str, Claim>,
) -> Result<Option<u64>, Shortage> {
    let taken: BTreeSet<Ipv4Addr> = addresses.values().flatten().copied().collect();
    let undecided = claims.values().any(|claim| *claim == Claim::Undecided);
    let mut walk = FreeAddresses::new(pool, &taken);
    let available = walk.remaining();
    let usable = pool.range.size() - inside(pool, pool.reserved.keys());
    let waiting = |claim: &Claim| matches!(claim, Claim::Next);
    let newcomers: Vec<&str> = addresses
        .iter()
        .filter(|(machine, address)| address.is_none() && claims.get(*machine).is_some_and(waiting))
        .map(|(machine, _)| *machine)
        .collect();
    let claiming = addresses.len() as u64;
    if newcomers.len() as u64 > available || claiming > usable {
        let served = usize::try_from(available).unwrap_or(usize::MAX);
        return Err(Shortage {
            claims: claiming,
            usable,
            taken: inside(pool, taken.iter()),
            without: newcomers
                .into_iter()
                .skip(served)
                .map(str::to_owned)
                .collect(),
        });
    }
    if undecided {
        return Ok(None);
    }
    let left = available - newcomers.len() as u64;
    for machine in newcomers {
        addresses.insert(machine, walk.next());
    }
    Ok(Some(left))
}

/// How many of these addresses are in the pool's range.
fn inside<'a>(pool: &Pool, addresses: impl Iterator<Item = &'a Ipv4Addr>) -> u64 {
    addresses
        .filter(|address| pool.range.contains(**address))
        .count() as u64
}

/// The free addresses of a pool, lowest first.
///
/// It goes over the range once and never back, so that newcomers cost a look at each taken address in all,
/// not a look at each for every one of them.
struct FreeAddresses<'a> {
    pool: &'a Pool,
    taken: &'a BTreeSet<Ipv4Addr>,
    /// The next address to look at, wider than an address so that it may stand behind the last one.
    position: u64,
}

impl<'a> FreeAddresses<'a> {
    fn new(pool: &'a Pool, taken: &'a BTreeSet<Ipv4Addr>) -> Self {
        Self {
            pool,
            taken,
            position: u64::from(pool.range.first.to_bits()),
        }
    }

    /// How many there are in all, whatever was given already, by arithmetic: a range may have millions of addresses.
    fn remaining(&self) -> u64 {
        let unavailable: BTreeSet<&Ipv4Addr> = self
            .taken
            .iter()
            .chain(self.pool.reserved.keys())
            .chain(&self.pool.resolvers)
            .collect();
        self.pool.range.size() - inside(self.pool, unavailable.into_iter())
    }
}

impl Iterator for FreeAddresses<'_> {
    type Item = Ipv4Addr;

    fn next(&mut self) -> Option<Ipv4Addr> {
        while self.position <= u64::from(self.pool.range.last.to_bits()) {
            let address = Ipv4Addr::from_bits(u32::try_from(self.position).ok()?);
            self.position += 1;
            let unavailable = self.taken.contains(&address)
                || self.pool.reserved.contains_key(&address)
                || self.pool.resolvers.contains(&address);
            if !unavailable {
                return Some(address);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::subnet::Range;

    /// Newcomers cost one look at each address up to the last one given: the whole is not a square.
    #[test]
    fn sixty_five_thousand_newcomers_look_at_each_address_once() {
        let range = Range::parse("10.0.0.0-10.1.255.255").expect("a valid range");
        let pool = Pool {
            range,
            reserved: BTreeMap::from([(range.first, Reserved::Network)]),
            resolvers: BTreeSet::new(),
        };
        // The lower half is taken: a search from the start for each newcomer would look 65,000 × 65,000 times.
        let taken: BTreeSet<Ipv4Addr> = (1..=65_000)
            .map(|offset| Ipv4Addr::from_bits(range.first.to_bits() + offset))
            .collect();
        let mut walk = FreeAddresses::new(&pool, &taken);
        assert_eq!(walk.remaining(), 131_072 - 65_000 - 1);
        let given: Vec<Ipv4Addr> = walk.by_ref().take(65_000).collect();
        assert!(given.is_sorted() && given.iter().all(|address| !taken.contains(address)));
        let looked_at = walk.position - u64::from(range.first.to_bits());
        assert_eq!(looked_at, 1 + 65_000 + 65_000);
    }
}
