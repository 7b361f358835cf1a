//! Forecasts: what a plan shows. That an apply does just that is a property in
//! `crates/simulator`.

use super::*;

fn forecast(declared: &str, is_there: &str) -> Vec<String> {
    let there = there(is_there);
    forecast::steps(&spec(declared), &there.observation, &there.work, NOW)
}

/// Ordinals, generations and images as written; never a member, a digest or a time, and no bookkeeping.
#[test]
fn forecasts_read_as_the_plan_shows_them() {
    for (declared, is_there, expected) in [
        ("v1 x1", "0 g0 v1 running healthy", &[][..]),
        (
            "v1 x2",
            "",
            &[
                "replica 0: create generation 0 from v1",
                "replica 1: create generation 0 from v1",
            ][..],
        ),
        (
            "v2 x1",
            "0 g0 v1 running healthy, 1 g0 v1 running healthy",
            &[
                "replica 0: create generation 1 from v2",
                "replica 0: promote generation 1, remove generation 0",
                "replica 1: remove generation 0",
            ][..],
        ),
        (
            "v1 x1",
            "0 g0 v1 unfinished healthy, 1 g2 v1 stopped",
            &[
                "replica 0: start generation 0",
                "replica 1: remove generation 2",
            ][..],
        ),
        // Who is ahead is promoted first.
        (
            "v2 x2",
            "0 g0 v1 running healthy, 0 g1 v2 running, 1 g0 v1 running healthy, 1 g1 v2 running soaking",
            &[
                "replica 1: promote generation 1, remove generation 0",
                "replica 0: promote generation 1, remove generation 0",
            ][..],
        ),
        (
            "v3 x1",
            "0 g0 v1 running healthy, 0 g1 v2 running",
            &[
                "replica 0: remove candidate generation 1",
                "replica 0: create generation 2 from v3",
                "replica 0: promote generation 2, remove generation 0",
            ][..],
        ),
    ] {
        assert_eq!(
            forecast(declared, is_there),
            expected,
            "{declared}: {is_there}"
        );
    }
}

/// A trial that a killed apply has left is taken up by the next one, however long ago that was.
#[test]
fn a_candidate_of_a_killed_apply_is_told_to_be_promoted() {
    assert_eq!(
        forecast(
            "v2 x1",
            "0 g0 v1 running healthy, 0 g1 v2 running, trial 0 g1 10h"
        ),
        ["replica 0: promote generation 1, remove generation 0"]
    );
}

/// Members that do not answer hide only what waits for them.
#[test]
fn silent_members_hide_what_waits_for_them() {
    let upgrade = [
        "replica 0: create generation 1 from v2",
        "replica 0: promote generation 1, remove generation 0",
    ];
    let surplus_is_silent = "0 g0 v1 running healthy, 1 g0 - unknown";
    assert_eq!(forecast("v2 x1", surplus_is_silent), upgrade);
    assert_eq!(forecast("v2 x2", surplus_is_silent), [""; 0]);
    let missing = forecast("v1 x3", surplus_is_silent);
    assert_eq!(missing, ["replica 2: create generation 0 from v1"]);
    // What is being moved may come back or not.
    assert_eq!(forecast("v1 x1", "0 g0 v1 moving"), [""; 0]);
}

/// A plan never waits and never stops half-way: the longest soak of the largest app is told to its end.
#[test]
fn the_largest_rollout_is_told_to_its_end() {
    let mut spec = spec("v2 x120");
    spec.health.min_healthy_time = Duration::from_secs(3600);
    spec.health.healthy_deadline = Duration::from_secs(7200);
    let replica = |place: u32| format!("{place} g0 v1 running healthy");
    let replicas: Vec<String> = (0..120).map(replica).collect();
    let there = there(&replicas.join(","));
    let told = forecast::steps(&spec, &there.observation, &there.work, NOW);
    assert_eq!(told.len(), 240);
    assert_eq!(
        told.last().map(String::as_str),
        Some("replica 119: promote generation 1, remove generation 0")
    );
}
