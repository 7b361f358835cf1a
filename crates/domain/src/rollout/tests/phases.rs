//! Phases: the word that the state shows.

use super::*;

/// Where a rollout is, by what is there; the last column but one says which image failed last.
#[test]
fn phases_tell_where_a_rollout_is() {
    let table = "
        v1 x1 | 0 g0 v1 running healthy                             |    | serving
        v1 x1 | 0 g0 v1 evacuated healthy                           |    | serving
        v1 x1 |                                                     |    | degraded
        v1 x1 | 0 g0 v1 unfinished healthy                             |    | degraded
        v1 x2 | 0 g0 v1 running healthy                             |    | degraded
        v2 x1 | 0 g0 v1 running healthy                             |    | starting
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running            |    | starting
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running soaking    |    | soaking
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well |  | promoting
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped            |    | reverting
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running            |    | reverting
        v1 x1 | 0 g0 v1 running healthy, 1 g0 v1 running healthy    |    | draining
        v2 x1 | 0 g0 v1 running, 0 g1 v1 running, 0 g2 v2 running   |    | draining
        v1 x1 | 0 g0 - unknown                                      |    | unknown
        v1 x1 | 0 g0 v1 running healthy, 1 g0 - lost                |    | serving
        # The declared image failed, and what served before it goes on serving.
        v2 x1 | 0 g0 v1 running healthy                             | v2 | reverted
        # It does not serve; it was another image; it is on its way again.
        v2 x1 | 0 g0 v1 unfinished healthy                             | v2 | degraded
        v3 x1 | 0 g0 v1 running healthy                             | v2 | starting
        v2 x1 | 0 g0 v1 running healthy, 0 g2 v2 running            | v2 | starting
        v1 x1 | 0 g0 v1 running healthy                             | v2 | serving
        ";
    let lines = table.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [declared, is_there, failed, expected] = columns.as_slice() else {
            panic!("four columns: {line}");
        };
        let mut there = there(is_there);
        there.work.failure = (!failed.is_empty()).then(|| FailureRecord {
            place: Place::FIRST,
            revision: 0,
            candidate: String::new(),
            generation: 1,
            image: (*failed).to_owned(),
            error: String::new(),
            at: NOW,
        });
        let phase = phase::of(&spec(declared), &there.observation, &there.work, NOW);
        assert_eq!(phase.word(), *expected, "{line}");
    }
}

/// An image that cannot be had is no matter for those who need none: what is there only has to be kept, or go.
#[test]
fn an_image_is_needed_only_for_workloads_that_are_not_there() {
    for (declared, is_there, has_every) in [
        ("v1 x1", "0 g0 v1 running healthy", true),
        (
            "v1 x1",
            "0 g0 v1 running healthy, 1 g0 v1 running healthy",
            true,
        ),
        ("v1 x2", "0 g0 v1 running healthy, 1 g0 v1 stopped", true),
        ("v1 x2", "0 g0 v1 running healthy", false),
        ("v2 x1", "0 g0 v1 running healthy", false),
        ("v1 x1", "", false),
    ] {
        let observation = there(is_there).observation;
        let found = has_every_workload(&spec(declared), &observation);
        assert_eq!(found, has_every, "{declared}: {is_there}");
    }
}
