//! What holds for every address plan: a fleet is changed step by step, and the sentences are checked after each.
//!
//! Tables of single cases are in `tests.rs`.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Config, Held, plan};
use crate::given::Given;

/// Addresses 10.0.0.0 to 10.0.0.31; the range takes in all of them, reserved ones too.
const SIZE: u8 = 32;
const GATEWAY: u8 = 5;

#[derive(Debug, Clone)]
enum Action {
    /// A machine claims the next free address.
    Add(u8),
    /// A machine is pinned to an address, which may be reserved, taken, or its own.
    Pin(u8, u8),
    /// A machine claims no longer.
    Remove(u8),
}

fn action() -> impl Strategy<Value = Action> {
    let machine = 0..40_u8;
    prop_oneof![
        6 => machine.clone().prop_map(Action::Add),
        2 => (machine.clone(), 0..SIZE).prop_map(|(machine, address)| Action::Pin(machine, address)),
        2 => machine.prop_map(Action::Remove),
    ]
}

type Claims = BTreeMap<String, Given<String>>;

fn address(last_octet: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last_octet)
}

fn network(kind: &str, claims: &Claims) -> Config {
    let text = |text: &str| Given::Known(text.to_owned());
    let mut config = Config {
        name: text("lan"),
        kind: text(kind),
        cidr: text("10.0.0.0/27"),
        claims: Given::Known(claims.clone()),
        ..Config::default()
    };
    if kind == "lan" {
        config.gateway = Given::Known(address(GATEWAY).to_string());
        config.dns = Given::Known(vec![text("9.9.9.9")]);
        config.static_range = text("10.0.0.0-10.0.0.31");
    }
    config
}

fn change(claims: &Claims, action: &Action) -> Claims {
    let mut claims = claims.clone();
    let name = |machine: &u8| format!("m{machine:02}");
    match action {
        Action::Add(machine) => claims.insert(name(machine), Given::Absent),
        Action::Pin(machine, octet) => {
            claims.insert(name(machine), Given::Known(address(*octet).to_string()))
        }
        Action::Remove(machine) => claims.remove(&name(machine)),
    };
    claims
}

/// A plan whose inputs are all known, as the record that the next one gets.
fn held_after(config: &Config, held: &Held) -> Option<Held> {
    let addresses = plan(config, held).ok()?.addresses?;
    let known = |(machine, address)| (machine, Option::expect(address, "all inputs are known"));
    Some(addresses.into_iter().map(known).collect())
}

/// Whoever claims has an address, and nobody else.
fn invariant_every_claim_is_served(claims: &Claims, after: &Held) {
    assert!(claims.keys().eq(after.keys()));
}

/// No two machines have the same address.
fn invariant_addresses_are_unique(after: &Held) {
    let distinct: BTreeSet<&Ipv4Addr> = after.values().collect();
    assert_eq!(distinct.len(), after.len(), "{after:?}");
}

/// No machine has an address that is reserved or outside.
fn invariant_addresses_are_usable(kind: &str, after: &Held) {
    for address in after.values() {
        assert!(usable(kind, *address), "{address}");
    }
}

fn usable(kind: &str, address: Ipv4Addr) -> bool {
    let reserved: &[u8] = if kind == "lan" {
        &[0, GATEWAY, SIZE - 1]
    } else {
        &[0, 1, SIZE - 2, SIZE - 1]
    };
    let last = address.octets()[3];
    last < SIZE && !reserved.contains(&last)
}

/// A machine that had an address and claims without a pin has it still; a pinned one has its pin.
fn invariant_nobody_is_moved(claims: &Claims, before: &Held, after: &Held) {
    for (machine, claim) in claims {
        let expected = match claim {
            Given::Known(pin) => pin.clone(),
            _ => match before.get(machine) {
                Some(address) => address.to_string(),
                None => continue,
            },
        };
        assert_eq!(after[machine].to_string(), expected, "{machine}");
    }
}

/// Newcomers take the lowest addresses that nobody else has, in the order of their names.
fn invariant_newcomers_are_packed(kind: &str, claims: &Claims, before: &Held, after: &Held) {
    let newcomer =
        |machine: &String| claims[machine] == Given::Absent && !before.contains_key(machine);
    let (new, old): (Vec<_>, Vec<_>) = after.iter().partition(|(machine, _)| newcomer(machine));
    let others: BTreeSet<Ipv4Addr> = old.into_iter().map(|(_, address)| *address).collect();
    let free = (0..SIZE)
        .map(address)
        .filter(|address| usable(kind, *address) && !others.contains(address));
    let expected: Vec<Ipv4Addr> = free.take(new.len()).collect();
    let given: Vec<Ipv4Addr> = new.into_iter().map(|(_, address)| *address).collect();
    assert_eq!(given, expected);
}

proptest! {
    /// HO-IPAM-04 to HO-IPAM-08, HO-WG-04.
    #[test]
    fn a_fleet_that_changes_keeps_its_addresses(
        overlay in any::<bool>(),
        actions in proptest::collection::vec(action(), 1..60),
    ) {
        let kind = if overlay { "overlay" } else { "lan" };
        let (mut claims, mut held) = (Claims::new(), Held::new());
        for action in &actions {
            let changed = change(&claims, action);
            let config = network(kind, &changed);
            let Some(after) = held_after(&config, &held) else {
                // Refused whole (HO-IPAM-06): the fleet stays as it was.
                continue;
            };
            invariant_every_claim_is_served(&changed, &after);
            invariant_addresses_are_unique(&after);
            invariant_addresses_are_usable(kind, &after);
            invariant_nobody_is_moved(&changed, &held, &after);
            invariant_newcomers_are_packed(kind, &changed, &held, &after);
            prop_assert_eq!(held_after(&config, &after), Some(after.clone()), "the second plan is empty");
            (claims, held) = (changed, after);
        }
    }

    /// Nothing is refused without a reason: newcomers are served as long as there is room.
    #[test]
    fn newcomers_are_served_as_long_as_there_is_room(machines in 0..40_u8) {
        let claims: Claims = (0..machines).map(|machine| (format!("m{machine}"), Given::Absent)).collect();
        let planned = plan(&network("lan", &claims), &Held::new());
        match planned {
            Ok(assignments) => prop_assert_eq!(assignments.free, Some(29 - u64::from(machines))),
            Err(issues) => {
                prop_assert!(machines > 29, "{:?}", issues);
                prop_assert_eq!(issues.len(), 1);
            }
        }
    }

    /// What a plan with unknown pins promises still holds when they become known.
    #[test]
    fn what_is_planned_as_known_stays(
        machines in proptest::collection::btree_map(0..20_u8, (any::<bool>(), proptest::option::of(0..SIZE)), 1..10),
        before in proptest::collection::btree_map(0..20_u8, 6..31_u8, 0..10),
    ) {
        let name = |machine: &u8| format!("m{machine:02}");
        let held: Held = before.iter().map(|(machine, octet)| (name(machine), address(*octet))).collect();
        let pin = |octet: &Option<u8>| octet.map_or(Given::Absent, |octet| Given::Known(address(octet).to_string()));
        let final_claims: Claims = machines.iter().map(|(machine, (_, octet))| (name(machine), pin(octet))).collect();
        let first_claims: Claims = machines
            .iter()
            .map(|(machine, (unknown, octet))| (name(machine), if *unknown { Given::Unknown } else { pin(octet) }))
            .collect();
        if let Some(last) = held_after(&network("lan", &final_claims), &held) {
            let first = plan(&network("lan", &first_claims), &held).expect("less is known, so nothing more is wrong");
            for (machine, planned) in first.addresses.expect("the machines are known") {
                if let Some(planned) = planned {
                    prop_assert_eq!(planned, last[&machine]);
                }
            }
        }
    }
}
