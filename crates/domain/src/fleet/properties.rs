//! What holds for every fleet. Tables of single cases are in `tests.rs`.
#![allow(
    clippy::unwrap_used,
    reason = "a generator that cannot make its own fleet has to stop"
)]

use proptest::prelude::*;

use super::tests::fleet;
use super::{Fleet, check};

/// A few entries of each kind out of which most issues can come.
fn any_fleet() -> impl Strategy<Value = (Fleet, Fleet)> {
    let value = |values: &'static [&'static str]| prop::sample::select(values);
    let machine = (
        value(&["a", "b"]),
        value(&["525400000001", "525400000002"]),
        value(&["bootstrap", "join"]),
        value(&["10.0.0.1", "10.0.0.2"]),
    );
    let app = (
        value(&["w", "w-1", "w-a"]),
        value(&["1", "2", "per-node"]),
        value(&["agent", "alloy"]),
        value(&["tcp:0.0.0.0:80", "tcp:0.0.0.0:81"]),
    );
    let hidden = proptest::collection::vec(any::<bool>(), 40);
    let machines = proptest::collection::vec(machine, 0..4);
    let apps = proptest::collection::vec(app, 0..4);
    (machines, apps, hidden).prop_map(|(machines, apps, hidden)| {
        let mut hidden = hidden.into_iter().cycle();
        let mut word = |name: &str, value: &str| {
            let shown = if hidden.next().unwrap() { "?" } else { value };
            (format!(" {name}={value}"), format!(" {name}={shown}"))
        };
        let mut texts = |index: usize, words: [(&str, &str); 4]| {
            let mut both = (format!("k{index}"), format!("k{index}"));
            for (name, value) in words {
                let (whole, partial) = word(name, value);
                both.0.push_str(&whole);
                both.1.push_str(&partial);
            }
            both
        };
        let machines: Vec<(String, String)> = machines
            .iter()
            .enumerate()
            .map(|(index, (name, mac, role, address))| {
                texts(
                    index,
                    [
                        ("name", name),
                        ("mac", mac),
                        ("role", role),
                        ("address", address),
                    ],
                )
            })
            .collect();
        let apps: Vec<(String, String)> = apps
            .iter()
            .enumerate()
            .map(|(index, (name, replicas, r#type, listen))| {
                texts(
                    index,
                    [
                        ("name", name),
                        ("replicas", replicas),
                        ("type", r#type),
                        ("listen", listen),
                    ],
                )
            })
            .collect();
        let of = |pick: fn(&(String, String)) -> &str| {
            let machines: Vec<&str> = machines.iter().map(pick).collect();
            let apps: Vec<&str> = apps.iter().map(pick).collect();
            fleet(&[], &machines, &apps)
        };
        (of(|both| &both.0), of(|both| &both.1))
    })
}

proptest! {
    /// A plan never refuses for what an apply would not: with less known, there is no issue where none will be.
    #[test]
    fn what_is_unknown_makes_no_issue((whole, partial) in any_fleet()) {
        if check(&whole).issues.is_empty() {
            let early = check(&partial).issues;
            prop_assert!(early.is_empty(), "{early:#?}");
        }
        prop_assert!(check(&whole).complete);
    }
}
