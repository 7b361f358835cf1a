//! Apps that run once on each machine: every machine is a place, and rolls by itself.
//!
//! The tables have a column more than elsewhere: the members, as in `placements.rs`, or `alone NAME` where Incus is not
//! clustered.

use super::placements::members;
use super::*;

/// What there is on these members.
fn there_on(who: &str, is_there: &str) -> There {
    let mut there = there(is_there);
    match who.strip_prefix("alone ") {
        Some(name) => there.observation.standalone = Some(name.to_owned()),
        None => members(&mut there, who),
    }
    there
}

/// Checks a table: lines of `declared | members | what is there | what is done`; lines with a # say why.
fn check(table: &str) {
    let lines = table.lines().map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert!(!lines.is_empty(), "an empty table");
    for line in lines {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [declared, who, is_there, expected] = columns.as_slice() else {
            panic!("four columns: {line}");
        };
        let decision = decide_on(declared, &there_on(who, is_there));
        assert_eq!(told(&decision), *expected, "{line}");
    }
}

/// HO-APP-14, HO-APP-57: each member has its own, also one that has just joined, and so has a server that is in no
/// cluster.
#[test]
fn every_machine_has_one() {
    check(
        "
        v1 xper-node | m1 online, m2 online |                            | machine m1: create generation 0; machine m2: create generation 0; again
        v1 xper-node | alone here           |                            | machine here: create generation 0; again
        v1 xper-node | alone here           | @here g0 v1 running healthy | converged
        v1 xper-node | m1 online, m2 online | @m1 g4 v1 running healthy  | machine m2: create generation 0; again
        # Who is no longer asked for new instances by Incus has its own all the same.
        v1 xper-node | m1 held              |                            | machine m1: create generation 0; again
        ",
    );
}

/// HO-APP-30, HO-APP-48: one pass makes candidates on all machines that are behind, and nobody waits for another one's
/// trial.
#[test]
fn machines_roll_by_themselves() {
    check(
        "
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m2 g3 v1 running healthy | machine m1: create generation 1; machine m2: create generation 4; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 running soaking well, @m2 g3 v1 running healthy | machine m2: create generation 4; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 running healthy well, @m2 g3 v1 running healthy | machine m1: promote generation 1, remove generation 0; machine m2: create generation 4; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 running well, @m2 g0 v1 running healthy, @m2 g1 v2 running healthy well | web-@m1-g1: healthy; machine m2: promote generation 1, remove generation 0; again
        v3 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 running, @m2 g0 v3 unfinished healthy | machine m1: remove candidate generation 1; web-@m2-g0: not healthy; machine m2: start generation 0; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 running soaking well, @m2 g1 v2 running healthy | wait 1s
        ",
    );
}

/// HO-APP-25: what goes wrong on one machine is told when the others have come to an end.
#[test]
fn a_failure_on_one_machine_holds_up_no_other() {
    check(
        "
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 stopped kept, @m2 g0 v1 running healthy | machine m2: create generation 1; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 stopped kept, @m2 g0 v1 running healthy, @m2 g1 v2 running soaking well | wait 1s
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 stopped, @m2 g1 v2 running healthy | web-@m1-g1: keep the last output; again
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 stopped kept, @m2 g1 v2 running healthy | machine m1: remove failed generation 1; again
        # Both failed: both go, or the next apply would begin with a candidate that is known to fail.
        v2 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, @m1 g1 v2 stopped kept, @m2 g1 v2 stopped kept | machine m1: remove failed generation 1; machine m2: remove failed generation 1; again
        # A name is taken on one machine.
        v1 xper-node | m1 online, m2 online | foreign web-m1-g0 | machine m2: create generation 0; again
        v1 xper-node | m1 online, m2 online | foreign web-m1-g0, @m2 g0 v1 running soaking well | wait 1s
        v1 xper-node | m1 online, m2 online | foreign web-m1-g0 of other, @m2 g0 v1 running healthy | web-m1-g0 is other's
        # Incus made none on one machine.
        v1 xper-node | m1 online, m2 online | failed @m1 g0 | machine m2: create generation 0; again
        v1 xper-node | m1 online, m2 online | failed @m1 g0, @m2 g0 v1 running soaking well | wait 1s
        v1 xper-node | m1 online, m2 online | failed @m1 g0, @m2 g0 v1 running healthy, 0 g0 v1 running healthy | failed
        v2 xper-node | m1 online, m2 online | failed @m1 g1, @m1 g0 v1 running healthy, @m2 g0 v2 running healthy | failed, web-@m1-g0 serves
        v2 xper-node | m1 online, m2 online | unmade @m1 g1, @m1 g0 v1 running healthy, @m2 g0 v1 running healthy | machine m2: create generation 1; again
        ",
    );
}

/// The failure that is told is the first machine's; the others are named with it.
#[test]
fn all_machines_that_failed_are_named() {
    let there = there_on(
        "m1 online, m2 online",
        "@m1 g0 v1 stopped kept, @m2 g0 v1 never refused kept",
    );
    let failure = decide_on("v1 xper-node", &there).work.failure;
    let failure = failure.expect("both failed");
    assert_eq!(failure.place, Place::Machine("m1".to_owned()));
    assert_eq!(
        failure.error,
        "it ended by itself; its last output:\nkept\nweb-@m2-g0 failed, too"
    );
}

/// Design 7: a member that is offline, evacuated or blocked is left alone with what it has, nothing of it comes up
/// elsewhere, and the others do not wait for it.
#[test]
fn a_machine_that_takes_nothing_is_left_alone() {
    check(
        "
        v1 xper-node | m1 offline, m2 online | @m1 g0 - lost, @m2 g0 v1 running healthy | converged
        v1 xper-node | m1 offline, m2 online |                           | machine m2: create generation 0; again
        v2 xper-node | m1 offline, m2 online | @m1 g0 - lost, @m2 g0 v1 running healthy | machine m2: create generation 1; again
        v1 xper-node | m1 other, m2 online   | @m1 g0 v1 evacuated healthy, @m2 g0 v1 running healthy | converged
        v2 xper-node | m1 other              | @m1 g0 v1 running healthy | converged
        v1 xper-node | m1 other              | @m1 g0 v1 unfinished healthy | converged
        v2 xper-node | m1 other              | @m1 g0 v1 running healthy, @m1 g1 v2 stopped | converged
        # Back from the evacuation: Incus starts it itself, and a restore is not interfered with.
        v1 xper-node | m1 online             | @m1 g0 v1 evacuated healthy | converged
        # Silent, but not Offline yet: the others do what they have to, and then this is waited for.
        v2 xper-node | m1 online, m2 online  | @m1 g0 - unknown, @m2 g0 v1 running healthy | machine m2: create generation 1; again
        v2 xper-node | m1 online, m2 online  | @m1 g0 - unknown, @m2 g0 v2 running healthy | wait 1s
        # It is back, and behind.
        v2 xper-node | m1 online, m2 online  | @m1 g0 v1 running healthy, @m2 g0 v2 running healthy | machine m1: create generation 1; again
        ",
    );
}

/// A member that has left the cluster has no place any more: what is left of it holds nothing up, and should it come
/// back, its generations go on.
#[test]
fn a_machine_that_has_left_has_no_place() {
    check(
        "
        v1 xper-node | m1 online            | @m1 g0 v1 running healthy, record @m2 g7 | converged
        v1 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy, record @m2 g7 | machine m2: create generation 8; again
        # A member that was renamed: what carries the old name goes once the new one serves.
        v1 xper-node | m2 online            | @m1 g0 v1 running healthy @m2 | machine m2: create generation 0; again
        v1 xper-node | m2 online            | @m1 g0 v1 running healthy @m2, @m2 g0 v1 running healthy | machine m1: remove generation 0; again
        # A single server that became the first member of a cluster keeps its own.
        v1 xper-node | m1 online, m2 online | @m1 g0 v1 running healthy | machine m2: create generation 0; again
        ",
    );
}

/// HO-APP-14: from a count to every machine and back, what is declared comes up before anything else goes.
#[test]
fn a_count_becomes_one_per_machine_and_back() {
    check(
        "
        v1 xper-node | m1 online, m2 online | 0 g3 v1 running healthy | machine m1: create generation 0; machine m2: create generation 0; again
        v1 xper-node | m1 online, m2 online | 0 g3 v1 running healthy, @m1 g0 v1 running soaking well, @m2 g0 v1 running healthy | wait 1s
        v1 xper-node | m1 online, m2 online | 0 g3 v1 running healthy, 1 g0 v1 running healthy, @m1 g0 v1 running healthy, @m2 g0 v1 running healthy | replica 1: remove generation 0; again
        v1 xper-node | m1 online, m2 online | 0 g3 v1 running healthy, @m1 g0 v1 running healthy, @m2 g0 v1 running healthy | replica 0: remove generation 3; again
        v1 x1        | m1 online, m2 online | @m1 g0 v1 running healthy, @m2 g0 v1 running healthy, record 0 g3 | replica 0: create generation 4; again
        v1 x1        | m1 online, m2 online | 0 g4 v1 running healthy, @m1 g0 v1 running healthy, @m2 g0 v1 running healthy | machine m2: remove generation 0; again
        v1 x1        | m1 online, m2 online | 0 g4 v1 running healthy, @m1 g0 v1 running healthy | machine m1: remove generation 0; again
        v1 x1        | m1 offline, m2 online | 0 g4 v1 running healthy, @m1 g0 - lost | converged
        ",
    );
}

/// A workload goes to its machine, and says so: in its name, and on record together with those of the other machines.
#[test]
fn workloads_are_made_on_their_machines_and_recorded_together() {
    let there = there_on("m1 online, m2 online 9", "record @m1 g2, record @m9 g5");
    let decision = decide_on("v1 xper-node", &there);
    let made: Vec<(&str, Option<&str>)> = decision
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Create { name, member, .. } => Some((name.as_str(), member.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(made, [("web-m1-g3", Some("m1")), ("web-m2-g0", Some("m2"))]);
    let recorded = |machine: &str| {
        let slot = &decision.work.slots[&Place::Machine(machine.to_owned())];
        let names = slot.workloads.iter().map(|made| made.name.as_str());
        (slot.generation, names.collect::<Vec<_>>())
    };
    assert_eq!(recorded("m1"), (3, vec!["web-m1-g3"]));
    assert_eq!(recorded("m2"), (0, vec!["web-m2-g0"]));
    assert_eq!(
        recorded("m9"),
        (5, vec![]),
        "one that has left, for its return"
    );
    let told: Vec<String> = decision.steps.iter().map(ToString::to_string).collect();
    assert_eq!(decision.work.decided, told);
}

/// The plan of an existing app names its machines, and only those that take something.
#[test]
fn forecasts_name_machines() {
    let forecast = |declared: &str, who: &str, is_there: &str| {
        let there = there_on(who, is_there);
        forecast::steps(&spec(declared), &there.observation, &there.work, NOW)
    };
    let both = "@m1 g0 v1 running healthy, @m2 g0 v1 running healthy";
    assert_eq!(
        forecast("v2 xper-node", "m1 online, m2 online", both),
        [
            "machine m1: create generation 1 from v2",
            "machine m2: create generation 1 from v2",
            "machine m1: promote generation 1, remove generation 0",
            "machine m2: promote generation 1, remove generation 0",
        ]
    );
    let one = "@m1 g0 v1 running healthy, @m2 g0 - lost";
    assert_eq!(
        forecast("v2 xper-node", "m1 online, m2 offline, m3 online", one),
        [
            "machine m1: create generation 1 from v2",
            "machine m3: create generation 0 from v2",
            "machine m1: promote generation 1, remove generation 0",
        ]
    );
}
