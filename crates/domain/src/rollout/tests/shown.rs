//! What follows from the state machine: where workloads go, what a plan shows, and which phase a state shows.

use super::*;
use crate::observation::{Member, MemberStatus};
use crate::placement;

/// Design 7: ours is the choice of the member: online, open, of the architecture, fewest of the app, then fewest.
#[test]
fn workloads_go_where_there_are_fewest() {
    let member = |name: &str, status, schedulable, architecture: &str| Member {
        name: name.to_owned(),
        status,
        architecture: architecture.to_owned(),
        schedulable,
    };
    use MemberStatus::{Offline, Online, Other};
    let mut seen = observation(&["0 g0 v1 running healthy @m1"]);
    seen.members = vec![
        member("m1", Online, true, "x86_64"),
        member("m2", Online, true, "x86_64"),
        member("m3", Online, true, "x86_64"),
        member("m4", Offline, true, "x86_64"),
        member("m5", Other, true, "x86_64"),
        member("m6", Online, false, "x86_64"),
        member("m7", Online, true, "aarch64"),
    ];
    seen.load = BTreeMap::from([
        ("m1".to_owned(), 1),
        ("m2".to_owned(), 9),
        ("m3".to_owned(), 8),
    ]);
    seen.architecture = Some("x86_64".to_owned());
    assert_eq!(placement::choose(&seen), Ok(Some("m3".to_owned())));
    seen.architecture = Some("riscv64".to_owned());
    assert_eq!(told(&spec("v1", 2), &seen, &Work::default()), "no member");
}

/// Design 7: the plan's steps are those of the apply, in the user's words.
#[test]
fn forecasts_read_as_the_plan_shows_them() {
    let forecast = |image, replicas, there: &[&str]| {
        forecast::steps(
            &spec(image, replicas),
            &observation(there),
            &Work::default(),
            NOW,
        )
    };
    assert_eq!(
        forecast("v1", 2, &[]),
        [
            "replica 0: create generation 0 from v1",
            "replica 1: create generation 0 from v1"
        ]
    );
    assert_eq!(
        forecast(
            "v2",
            1,
            &["0 g0 v1 running healthy", "1 g0 v1 running healthy"]
        ),
        [
            "replica 0: create generation 1 from v2",
            "replica 0: promote generation 1, remove generation 0",
            "replica 1: remove generation 0",
        ]
    );
    assert_eq!(forecast("v1", 1, &["0 g0 v1 running healthy"]), [""; 0]);
}

#[test]
fn phases_tell_where_a_rollout_is() {
    for (image, there, failed, expected) in [
        ("v1", &["0 g0 v1 running healthy"][..], false, "serving"),
        ("v1", &[][..], false, "degraded"),
        ("v1", &["0 g0 v1 stopped healthy"][..], false, "degraded"),
        ("v2", &["0 g0 v1 running healthy"][..], false, "starting"),
        ("v2", &["0 g0 v1 running healthy"][..], true, "reverted"),
        (
            "v2",
            &["0 g0 v1 running healthy", "0 g1 v2 running"][..],
            false,
            "starting",
        ),
        (
            "v2",
            &["0 g0 v1 running healthy", "0 g1 v2 running soaking"][..],
            false,
            "soaking",
        ),
        (
            "v1",
            &["0 g0 v1 running healthy", "0 g1 v2 running"][..],
            false,
            "reverting",
        ),
        (
            "v1",
            &["0 g0 v1 running healthy", "1 g0 v1 running healthy"][..],
            false,
            "draining",
        ),
        ("v1", &["0 g0 - unknown"][..], false, "unknown"),
    ] {
        let failure = failed.then(|| FailureRecord {
            ordinal: 0,
            generation: 1,
            image: "v2".to_owned(),
            error: String::new(),
            at: NOW,
        });
        let work = Work {
            failure,
            ..Work::default()
        };
        let phase = phase::of(&spec(image, 1), &observation(there), &work, NOW);
        assert_eq!(phase.word(), expected, "{image}: {there:?}");
    }
}
