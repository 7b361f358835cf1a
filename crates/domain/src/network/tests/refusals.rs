//! Tables for configurations that are refused: each issue at its path, with what was seen and what to do.

use super::*;

/// HO-IPAM-07, case 30: an address that another machine holds is refused, and the holder is named.
#[test]
fn a_pin_on_a_held_address_names_the_holder() {
    check_issues(
        &lan("a=10.0.0.11 b"),
        "b=10.0.0.11",
        &[&[
            "claims[\"a\"]: ",
            "held by machine \"b\"",
            "pinned to 10.0.0.11",
            "never moved silently",
            "pin \"b\" to another",
        ]],
    );
}

/// Case 30: one address in the state for two machines is reported, and never given to both.
#[test]
fn a_state_with_one_address_twice_is_refused() {
    let twice = "a=10.0.0.11 b=10.0.0.11";
    check_issues(&lan("a b"), twice, &[&["claims[\"b\"]", "\"a\" and \"b\""]]);
    check_plan(
        &lan("a=10.0.0.10 b"),
        twice,
        "a=10.0.0.10 b=10.0.0.11 free=3",
    );
}

/// Exhaustion is its own error with the counts, and names who gets nothing.
#[test]
fn a_full_range_says_how_full() {
    check_issues(
        &lan("a b c=10.0.0.12 d e f g"),
        "a=10.0.0.10",
        &[&[
            "static_range: The network has 5 addresses for 7 machines",
            "7 machines claim an address of 10.0.0.10-10.0.0.14, which has 5 usable ones, 2 of them pinned or held",
            "2 without an address: f, g.",
            "Widen static_range",
        ]],
    );
    let mut config = overlay("a b");
    config.cidr = known("10.100.0.0/30");
    check_issues(
        &config,
        "",
        &[&["cidr: The network has 0 addresses for 2", "Widen cidr"]],
    );
    // With an unknown pin nobody new is given an address, but too many are too many already.
    check_issues(
        &lan("a=? b c d e f"),
        "",
        &[&["The network has 5 addresses for 6 machines"]],
    );
}

/// docs/decisions/0001: machines outside of a changed range are neither moved nor forgotten; all are named.
#[test]
fn a_change_that_strands_machines_is_refused() {
    let mut config = lan("a b c");
    config.static_range = known("10.0.0.12-10.0.0.20");
    let before = "a=10.0.0.10 b=10.0.0.11 c=10.0.0.12";
    check_issues(
        &config,
        before,
        &[&[
            "static_range: ",
            "outside of 10.0.0.12-10.0.0.20: a (10.0.0.10), b (10.0.0.11).",
            "pin each",
            "Changing the name of the network replaces it",
        ]],
    );
    config.claims = claims("a=10.0.0.20 b=10.0.0.13 c");
    check_plan(
        &config,
        before,
        "a=10.0.0.20 b=10.0.0.13 c=10.0.0.12 free=6",
    );

    let mut config = lan("a b");
    config.gateway = known("10.0.0.11");
    check_issues(
        &config,
        "a=10.0.0.10 b=10.0.0.11",
        &[&["gateway: ", "the gateway's: b (10.0.0.11)."]],
    );

    let mut config = overlay("a b");
    config.cidr = known("10.100.1.0/24");
    check_issues(
        &config,
        "a=10.100.0.2 b=10.100.0.3",
        &[&["cidr: ", "a (10.100.0.2), b (10.100.0.3)"]],
    );
    config.cidr = known("10.100.0.0/30");
    config.claims = claims("a");
    check_issues(
        &config,
        "a=10.100.0.2",
        &[
            &["cidr: ", "reserved for a peer", "a (10.100.0.2)"],
            &["cidr: The network has 0 addresses for 1 machines"],
        ],
    );
}

/// HO-CFG-13: a partial addressing set is refused, and so is the addressing of a LAN on an overlay.
#[test]
fn the_addressing_of_a_network_is_declared_as_a_whole() {
    let nothing = Config {
        name: known("lan"),
        ..Config::default()
    };
    check_issues(
        &nothing,
        "",
        &[
            &["cidr: The addressing of a LAN lacks cidr"],
            &["gateway: The addressing of a LAN lacks gateway"],
            &["dns: The addressing of a LAN lacks dns"],
            &["static_range: The addressing of a LAN lacks static_range"],
        ],
    );
    let mut config = lan("");
    config.kind = known("overlay");
    check_issues(
        &config,
        "",
        &[
            &["gateway: An overlay has no gateway"],
            &["dns: An overlay has no dns"],
            &["static_range: An overlay has no static_range"],
        ],
    );
    config = overlay("");
    config.cidr = Given::Absent;
    check_issues(
        &config,
        "",
        &[&["cidr: The addressing of an overlay lacks cidr"]],
    );
    config = lan("");
    config.kind = known("wan");
    check_issues(
        &config,
        "",
        &[&["kind: ", "The kind is \"wan\"", "\"lan\" or \"overlay\""]],
    );
}

/// HO-CFG-10: all issues at once, each at its path.
#[test]
fn every_issue_is_reported_at_once() {
    let mut config =
        lan("a=10.0.0.99 b=10.0.0.1 c=x d=10.0.0.10 e=10.0.0.10 Bad=10.9.9.9 g h=10.0.0.14");
    config.name = known("");
    config.dns = Given::Known(vec![known("10.0.0.1"), known("resolver"), Given::Absent]);
    check_issues(
        &config,
        "g=10.0.0.14",
        &[
            &["name: The name of a network is not valid", "is empty"],
            &["dns[1]: ", "\"resolver\" is not an IP address"],
            &["dns[2]: ", "is null"],
            &["claims[\"Bad\"]: The name of a machine", "contains 'B'"],
            &["claims[\"Bad\"]: The pin", "outside of the network"],
            &[
                "claims[\"a\"]: ",
                "outside of the static range 10.0.0.10-10.0.0.14",
            ],
            &["claims[\"b\"]: ", "10.0.0.1 is the gateway"],
            &["claims[\"c\"]: ", "\"x\" is not an IPv4 address"],
            &[
                "claims[\"e\"]: ",
                "10.0.0.10 is also the pin of machine \"d\"",
            ],
            &["claims[\"h\"]: ", "held by machine \"g\""],
        ],
    );
}

/// HO-CFG-10: a slip whose correction is plain does not hide what is wrong beside it.
#[test]
fn the_rest_is_checked_against_what_was_meant() {
    let mut config = lan("a=10.0.0.99 b=10.0.0.10 c d e f g");
    config.cidr = known("10.0.0.7/24");
    config.static_range = known("10.0.0.14-10.0.0.10");
    config.gateway = known("10.0.0.255");
    check_issues(
        &config,
        "",
        &[
            &["cidr: ", "10.0.0.0/24"],
            &["gateway: ", "is the broadcast address"],
            &["static_range: ", "10.0.0.10-10.0.0.14"],
            &["claims[\"a\"]: ", "outside of the static range"],
            &["static_range: The network has 5 addresses for 7 machines"],
        ],
    );
}

/// HO-CFG-08: the issues of one attribute, beside those of `subnet.rs`.
#[test]
fn addressing_has_to_fit_together() {
    type Change = fn(&mut Config);
    let table: [(Change, &[&str]); 10] = [
        (
            |config| config.cidr = known("10.0.0.7/24"),
            &["cidr: ", "host bits", "Set cidr = \"10.0.0.0/24\""],
        ),
        (
            |config| config.cidr = known("fd00::/64"),
            &["cidr: ", "is IPv6"],
        ),
        (
            |config| config.gateway = known("10.0.1.1"),
            &["gateway: ", "outside of 10.0.0.0/24"],
        ),
        (
            |config| config.gateway = known("10.0.0.0"),
            &["gateway: ", "is the network address"],
        ),
        (
            |config| config.gateway = known("10.0.0.255"),
            &["gateway: ", "is the broadcast address"],
        ),
        (
            |config| config.gateway = known("fe80::1"),
            &["gateway: ", "is IPv6"],
        ),
        (
            |config| config.static_range = known("10.0.0.10-10.0.1.10"),
            &["static_range: ", "not entirely inside of 10.0.0.0/24"],
        ),
        (
            |config| config.static_range = known("10.0.0.20-10.0.0.10"),
            &["static_range: ", "10.0.0.10-10.0.0.20"],
        ),
        (
            |config| config.static_range = known("10.0.0.10"),
            &["static_range: ", "is not two addresses"],
        ),
        (
            |config| config.claims = claims("web_1"),
            &["claims[\"web_1\"]: ", "Rename the machine"],
        ),
    ];
    for (change, parts) in table {
        let mut config = lan("a");
        change(&mut config);
        check_issues(&config, "", &[parts]);
        let alone: Vec<String> = check(&config).iter().map(ToString::to_string).collect();
        assert_eq!(alone.len(), 1, "the check alone finds the same: {alone:#?}");
    }
}

/// What is known is checked although something else is unknown.
#[test]
fn unknown_values_hide_no_issues() {
    let mut config = lan("a=10.0.1.1 b=? c=10.0.0.10 d");
    config.static_range = Given::Unknown;
    config.gateway = known("10.0.0.255");
    check_issues(
        &config,
        "d=10.0.0.10",
        &[
            &["gateway: ", "is the broadcast address"],
            &["claims[\"a\"]: ", "outside of the network 10.0.0.0/24"],
            &["claims[\"c\"]: ", "held by machine \"d\""],
        ],
    );
}
