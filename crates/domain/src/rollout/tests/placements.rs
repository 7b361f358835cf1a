//! Placements: which member a new workload goes to.

use std::collections::BTreeMap;

use super::*;
use crate::observation::{Member, MemberStatus};
use crate::placement;

/// Members as words: `m1 online`, `offline`, `other` or `held`, the architecture if it is not the usual one, and how many
/// Incus instances it has.
pub(super) fn members(there: &mut There, words: &str) {
    for words in words.split(',') {
        let words: Vec<&str> = words.split_whitespace().collect();
        let [name, status, rest @ ..] = words.as_slice() else {
            panic!("{words:?}");
        };
        let mut member = Member {
            name: (*name).to_owned(),
            status: match *status {
                "online" | "held" => MemberStatus::Online,
                "offline" => MemberStatus::Offline,
                "other" => MemberStatus::Other,
                other => panic!("{other}"),
            },
            architecture: "x86_64".to_owned(),
            schedulable: *status != "held",
            groups: vec!["default".to_owned()],
        };
        for word in rest {
            match word.parse() {
                Ok(load) => drop(there.observation.load.insert(member.name.clone(), load)),
                Err(_) => member.architecture = (*word).to_owned(),
            }
        }
        there.observation.members.push(member);
    }
}

/// Design 7: ours is the choice: online, open, of the architecture; fewest of the app, then fewest, then by name.
#[test]
fn workloads_go_where_there_are_fewest() {
    for (is_there, who, expected) in [
        ("", "m2 online, m1 online", Some("m1")),
        ("", "m1 online 5, m2 online 4", Some("m2")),
        (
            "0 g0 v1 running @m1",
            "m1 online 1, m2 online 9",
            Some("m2"),
        ),
        (
            "0 g0 v1 stopped @m1",
            "m1 online 1, m2 online 9",
            Some("m2"),
        ),
        // What an Offline member had does not count against it any more than its name is one to choose.
        ("0 g0 - lost @m1", "m1 online 1, m2 online 9", Some("m1")),
        (
            "",
            "m1 offline, m2 other, m3 held, m4 online 99",
            Some("m4"),
        ),
        ("", "m1 online aarch64, m2 online 7", Some("m2")),
        ("", "m1 offline, m2 online aarch64", None),
    ] {
        let mut there = there(is_there);
        members(&mut there, who);
        there.observation.architecture = Some("x86_64".to_owned());
        let chosen = placement::choose(&there.observation, &Place::FIRST, None);
        let chosen = chosen.ok().map(|member| member.expect("clustered"));
        assert_eq!(chosen.as_deref(), expected, "{is_there} on {who}");
    }
}

/// Where Incus is not clustered there is nothing to choose; an unknown architecture rules nobody out.
#[test]
fn what_is_not_known_rules_nobody_out() {
    assert_eq!(
        placement::choose(&Observation::default(), &Place::FIRST, None),
        Ok(None)
    );
    let mut there = there("");
    members(&mut there, "m1 online aarch64");
    assert_eq!(
        placement::choose(&there.observation, &Place::FIRST, None),
        Ok(Some("m1".to_owned()))
    );
}

/// If nobody can take a workload nothing is created, and the error names who was looked at.
#[test]
fn without_a_member_nothing_is_created() {
    let mut there = there("0 g0 v1 running healthy");
    members(&mut there, "m1 offline, m2 held");
    assert_eq!(told(&decide_on("v1 x2", &there)), "no member");
    assert_eq!(told(&decide_on("v2 x1", &there)), "no member");
    let decision = decide_on("v2 x1", &there);
    assert_eq!(decision.work, there.work, "nothing was decided");
    let Next::NoMember(why) = decision.next else {
        panic!("{:?}", decision.next);
    };
    assert!(
        why.to_string().contains("none of m1, m2 is online"),
        "{why}"
    );
}

/// The member of a create is on record with it.
#[test]
fn the_member_is_recorded() {
    let mut there = there("");
    members(&mut there, "m1 online 3, m2 online");
    let made = decide_on("v1 x1", &there)
        .work
        .made(&Place::FIRST, 0)
        .cloned();
    let made = made.expect("recorded");
    assert_eq!(
        (made.name.as_str(), made.member.as_deref()),
        ("web-g0", Some("m2"))
    );
    let load = BTreeMap::from([("m1".to_owned(), 3)]);
    assert_eq!(there.observation.load, load);
}

/// Design 7: a member is dead, its workload was made anew elsewhere, and then it comes back with what served once.
#[test]
fn what_comes_back_does_not_outrank_what_has_taken_its_place() {
    let mut before = there("0 g1 - lost @m1, record 0 serving g1");
    members(&mut before, "m1 offline, m2 online");
    let decision = decide_on("v1 x1", &before);
    assert_eq!(told(&decision), "replica 0: create generation 2; again");
    assert_eq!(decision.work.slots[&Place::FIRST].serving, None);
    check(
        "
        v2 x1 | 0 g1 v1 running healthy, 0 g2 v1 running healthy, record 0 g2 | replica 0: remove generation 1; again
        # It has proven nothing yet.
        v2 x1 | 0 g1 v1 running healthy, 0 g2 v1 running, record 0 g2 | replica 0: remove candidate generation 2; again
        ",
    );
}
