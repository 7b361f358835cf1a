//! Tables for address plans: a network, who held what, and who gets what or why nobody does.
//!
//! Refusals are in `tests/refusals.rs`, what must hold for every network is in `properties.rs`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own table has to stop"
)]

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use super::{Assignments, Config, Held, check, plan};
use crate::given::Given;

mod refusals;

fn known(text: &str) -> Given<String> {
    Given::Known(text.to_owned())
}

/// Claims as text: `a b=10.0.0.5 c=?` are the next free one, a pin, and an unknown pin.
fn claims(text: &str) -> Given<BTreeMap<String, Given<String>>> {
    let claim = |word: &str| match word.split_once('=') {
        None => (word.to_owned(), Given::Absent),
        Some((machine, "?")) => (machine.to_owned(), Given::Unknown),
        Some((machine, pin)) => (machine.to_owned(), known(pin)),
    };
    Given::Known(text.split_whitespace().map(claim).collect())
}

/// The LAN of the tables: .1 is the gateway, .10 to .14 are for machines.
fn lan(claims_text: &str) -> Config {
    Config {
        name: known("lan"),
        kind: Given::Absent,
        cidr: known("10.0.0.0/24"),
        gateway: known("10.0.0.1"),
        dns: Given::Known(vec![known("10.0.0.1")]),
        static_range: known("10.0.0.10-10.0.0.14"),
        claims: claims(claims_text),
    }
}

fn overlay(claims_text: &str) -> Config {
    Config {
        name: known("wg"),
        kind: known("overlay"),
        cidr: known("10.100.0.0/24"),
        claims: claims(claims_text),
        ..Config::default()
    }
}

/// Held addresses as text: `a=10.0.0.10 b=10.0.0.11`.
fn held(text: &str) -> Held {
    let one = |word: &str| {
        let (machine, address) = word.split_once('=').unwrap();
        (machine.to_owned(), address.parse::<Ipv4Addr>().unwrap())
    };
    text.split_whitespace().map(one).collect()
}

/// Assignments as text, sorted by machine: `a=10.0.0.10 b=?`, and ` free=3` behind them.
fn show(assignments: &Assignments) -> String {
    let mut words = Vec::new();
    match &assignments.addresses {
        None => words.push("?".to_owned()),
        Some(addresses) => words.extend(addresses.iter().map(|(machine, address)| {
            let address = address.map_or("?".to_owned(), |address| address.to_string());
            format!("{machine}={address}")
        })),
    }
    let free = assignments
        .free
        .map_or("?".to_owned(), |free| free.to_string());
    words.push(format!("free={free}"));
    words.join(" ")
}

fn check_plan(config: &Config, held_text: &str, expected: &str) {
    match plan(config, &held(held_text)) {
        Ok(assignments) => assert_eq!(show(&assignments), expected, "{config:?}"),
        Err(issues) => panic!("{config:?} is refused: {issues:#?}"),
    }
}

/// Each expected text is a part of the issue at the same place, which prints as `path: summary. detail`.
fn check_issues(config: &Config, held_text: &str, expected: &[&[&str]]) {
    let issues = plan(config, &held(held_text)).expect_err("the plan has to be refused");
    let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), expected.len(), "{texts:#?}");
    for (text, parts) in texts.iter().zip(expected) {
        for part in *parts {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}

/// HO-IPAM-02, HO-IPAM-03: pins first, then names in ascending order take the lowest free address.
#[test]
fn newcomers_take_the_lowest_free_address_in_the_order_of_their_names() {
    check_plan(&lan(""), "", "free=5");
    check_plan(&lan("b a"), "", "a=10.0.0.10 b=10.0.0.11 free=3");
    check_plan(
        &lan("a b z=10.0.0.10"),
        "",
        "a=10.0.0.11 b=10.0.0.12 z=10.0.0.10 free=2",
    );
    let full = "a=10.0.0.10 b=10.0.0.11 c=10.0.0.12 d=10.0.0.13 e=10.0.0.14 free=0";
    check_plan(&lan("a b c d e"), "", full);
}

/// HO-IPAM-04, HO-IPAM-11: a machine keeps its address, whoever comes and goes.
#[test]
fn a_machine_keeps_its_address() {
    check_plan(
        &lan("a b c"),
        "b=10.0.0.10 c=10.0.0.12",
        "a=10.0.0.11 b=10.0.0.10 c=10.0.0.12 free=2",
    );
    check_plan(
        &lan("c"),
        "a=10.0.0.10 b=10.0.0.11 c=10.0.0.12",
        "c=10.0.0.12 free=4",
    );
    // A pin on the address that the machine has, and its removal, change nothing.
    check_plan(&lan("a=10.0.0.12"), "a=10.0.0.12", "a=10.0.0.12 free=4");
    check_plan(&lan("a b"), "a=10.0.0.12", "a=10.0.0.12 b=10.0.0.10 free=3");
}

/// docs/decisions/0002: a pin of its own moves a machine, and frees what it held.
#[test]
fn a_pin_moves_its_machine_and_frees_the_address() {
    check_plan(
        &lan("a=10.0.0.14 b"),
        "a=10.0.0.10",
        "a=10.0.0.14 b=10.0.0.10 free=3",
    );
    // Two machines that are both pinned may swap: nobody is moved silently.
    check_plan(
        &lan("a=10.0.0.11 b=10.0.0.10"),
        "a=10.0.0.10 b=10.0.0.11",
        "a=10.0.0.11 b=10.0.0.10 free=3",
    );
    // A machine that no longer claims holds nothing.
    check_plan(&lan("b=10.0.0.10"), "a=10.0.0.10", "b=10.0.0.10 free=4");
}

/// Never the network, broadcast or gateway address, although the range has all three.
#[test]
fn reserved_addresses_are_never_given() {
    let mut config = lan("a b c d e");
    config.cidr = known("10.0.0.0/29");
    config.static_range = known("10.0.0.0-10.0.0.7");
    config.gateway = known("10.0.0.3");
    config.dns = Given::Known(vec![known("9.9.9.9"), known("2620:fe::fe")]);
    let full = "a=10.0.0.1 b=10.0.0.2 c=10.0.0.4 d=10.0.0.5 e=10.0.0.6 free=0";
    check_plan(&config, "", full);
}

/// docs/decisions/0002: a resolver inside the range is not handed out, but may be pinned.
#[test]
fn a_resolver_is_not_handed_out() {
    let mut config = lan("a b");
    config.dns = Given::Known(vec![known("10.0.0.10")]);
    check_plan(&config, "", "a=10.0.0.11 b=10.0.0.12 free=2");
    config.claims = claims("a resolver=10.0.0.10");
    check_plan(&config, "", "a=10.0.0.11 resolver=10.0.0.10 free=3");
    // The machine was there before the address was declared a resolver: it stays.
    config.claims = claims("a");
    check_plan(&config, "a=10.0.0.10", "a=10.0.0.10 free=4");
}

/// HO-WG-03, HO-WG-04: hub first, last usable address reserved, machines from .2.
#[test]
fn an_overlay_reserves_the_hub_and_the_last_address() {
    check_plan(
        &overlay("a b"),
        "b=10.100.0.2",
        "a=10.100.0.3 b=10.100.0.2 free=250",
    );
    check_issues(
        &overlay("a=10.100.0.1 b=10.100.0.254 c=10.100.0.255 d=10.100.0.0 e=10.100.1.1"),
        "",
        &[
            &["claims[\"a\"]", "10.100.0.1 is the hub of the overlay"],
            &["claims[\"b\"]", "10.100.0.254 is reserved for a peer"],
            &["claims[\"c\"]", "10.100.0.255 is the broadcast address"],
            &["claims[\"d\"]", "10.100.0.0 is the network address"],
            &["claims[\"e\"]", "outside of the network 10.100.0.0/24"],
        ],
    );
}

/// Case 7: an unknown value is no change. Held addresses stay known, newcomers wait.
#[test]
fn unknown_values_leave_held_addresses_known() {
    check_plan(
        &lan("a b=? c d=10.0.0.14"),
        "a=10.0.0.12",
        "a=10.0.0.12 b=? c=? d=10.0.0.14 free=?",
    );
    // The unknown pin may turn out to be another address than the one that the machine has.
    check_plan(
        &lan("a=? b"),
        "a=10.0.0.10 b=10.0.0.11",
        "a=? b=10.0.0.11 free=?",
    );
    // What an unknown pin may give up can be pinned meanwhile.
    check_plan(
        &lan("a=? b=10.0.0.10"),
        "a=10.0.0.10",
        "a=? b=10.0.0.10 free=?",
    );

    let mut config = lan("");
    config.claims = Given::Unknown;
    check_plan(&config, "a=10.0.0.10", "? free=?");

    type Change = fn(&mut Config);
    let changes: [Change; 6] = [
        |config| config.kind = Given::Unknown,
        |config| config.cidr = Given::Unknown,
        |config| config.gateway = Given::Unknown,
        |config| config.dns = Given::Unknown,
        |config| config.dns = Given::Known(vec![Given::Unknown]),
        |config| config.static_range = Given::Unknown,
    ];
    for change in changes {
        let mut config = lan("a b c=10.0.0.14");
        change(&mut config);
        check_plan(&config, "a=10.0.0.12", "a=10.0.0.12 b=? c=10.0.0.14 free=?");
        assert_eq!(check(&config), []);
    }
}

#[test]
fn the_prefix_length_is_that_of_the_subnet() {
    let mut config = lan("");
    let length = |config: &Config| plan(config, &Held::new()).unwrap().prefix_length;
    assert_eq!(length(&config), Some(24));
    config.cidr = Given::Unknown;
    assert_eq!(length(&config), None);
}

/// A whole /16 of claims is planned without a search for each.
#[test]
fn sixty_five_thousand_claims_are_planned() {
    let machine = |number: u32| (format!("m{number:05}"), Given::Absent);
    let config = Config {
        cidr: known("10.0.0.0/15"),
        static_range: known("10.0.0.10-10.1.255.254"),
        claims: Given::Known((0..65_000).map(machine).collect()),
        ..lan("")
    };
    let first = plan(&config, &Held::new()).unwrap();
    let addresses = first.addresses.unwrap();
    let held: Held = addresses
        .into_iter()
        .map(|(machine, address)| (machine, address.unwrap()))
        .collect();
    assert_eq!(held["m00000"], Ipv4Addr::new(10, 0, 0, 10));
    assert_eq!(held["m64999"], Ipv4Addr::from_bits(0x0a00_000a + 64_999));
    let second = plan(&config, &held).unwrap();
    assert_eq!(second.addresses.unwrap().len(), 65_000);
    assert_eq!(second.free, Some(131_072 - 10 - 1 - 65_000));
}
