//! What comes later: nothing is said about it, and nothing is rendered that it could still change.

use domain::given::Given;
use domain::seed::Declared;

use crate::fixtures::*;
use crate::golden;

/// A known file is the same whatever an unknown attribute turns out to be.
#[test]
fn a_file_waits_for_what_it_is_made_of() {
    for (case, seed) in golden::cases() {
        for path in TEXTS {
            let later = changed(seed.clone(), |seed| *text(seed, path) = Given::Unknown);
            for issue in later.check() {
                let place = format!("{path}: ");
                assert!(!issue.to_string().starts_with(&place), "{case}: {issue}");
            }
            let early = later.render(Some(&keys()));
            let was_there = text(&mut seed.clone(), path).is_set();
            let outcomes = [
                was_there.then(|| seed.clone()),
                Some(without(later.clone(), path)),
                Some(set(later.clone(), path, "another-value")),
            ];
            for outcome in outcomes.into_iter().flatten() {
                let finally = outcome.render(Some(&keys()));
                for (name, early) in &early {
                    let same = early.is_unknown() || finally.get(name) == Some(early);
                    assert!(same, "{case}: {name} did not wait for {path}");
                }
                let stays = later.knows_its_files() && !path.starts_with("extra_files");
                assert!(!stays || early.keys().eq(finally.keys()), "{case}: {path}");
            }
        }
    }
}

/// HO-SEED-24: before there are keys, what needs none is known already.
#[test]
fn files_with_keys_wait_for_them() {
    for (case, seed) in golden::cases() {
        let early = seed.render(None);
        for (name, text) in seed.render(Some(&keys())) {
            let has_key = name == "incus.json" || name == "network.json" && seed.wireguard.is_set();
            let expected = if has_key { Given::Unknown } else { text };
            assert_eq!(early.get(&name), Some(&expected), "{case}: {name}");
        }
    }
}

#[test]
fn the_names_of_the_files_may_come_later_too() {
    let cases: [fn(&mut Declared); 4] = [
        |seed| seed.update = Given::Unknown,
        |seed| seed.tailscale = Given::Unknown,
        |seed| seed.extra_files = Given::Unknown,
        |seed| *text(seed, "extra_files[\"kernel\"]") = Given::Unknown,
    ];
    for change in cases {
        let seed = changed(bootstrap(), change);
        assert_eq!((seed.check(), seed.knows_its_files()), (vec![], false));
    }
    assert!(bootstrap().knows_its_files());
    let later = changed(bootstrap(), |seed| seed.wireguard = Given::Unknown);
    assert!(later.knows_its_files());
    let files = later.render(Some(&keys()));
    assert_eq!(files.get("network.json"), Some(&Given::Unknown));
    assert_eq!(files.get("incus.json"), Some(&Given::Unknown));
    assert!(files["install.json"].known().is_some());
}

/// HO-WG-01, HO-WG-06, HO-WG-11: one address, and no endpoint.
#[test]
fn the_hub_learns_one_address_and_dials_nobody() {
    let overlay = with_overlay(join());
    let expected = format!("[Peer]\n# node2\nPublicKey = {HUB_KEY}\nAllowedIPs = 10.100.0.2/32\n");
    for (seed, expected) in [
        (overlay.clone(), Given::Known(expected)),
        (join(), Given::Absent),
        (
            changed(join(), |seed| seed.wireguard = Given::Unknown),
            Given::Unknown,
        ),
        (
            changed(overlay, |seed| {
                *text(seed, "wireguard.address") = Given::Unknown
            }),
            Given::Unknown,
        ),
    ] {
        assert_eq!(seed.hub_peer(HUB_KEY), expected);
    }
}
