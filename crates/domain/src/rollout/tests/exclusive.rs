//! Where only one may run at a place: it is stopped first, and is the way back until the next one has proven itself.

use super::*;

/// Design 7, AP-16: everything that can be is there before the old one stops; then the new one is made, and the old one
/// goes when the new one has proven itself.
#[test]
fn the_old_one_stops_before_the_new_one_is_made() {
    check(
        "
        v1 x1 alone |                                                      | replica 0: create generation 0; again
        v1 x1 alone | 0 g0 v1 running healthy                              | converged
        v2 x1 alone | 0 g0 v1 running healthy                              | replica 0: stop generation 0; again
        v2 x1 alone | 0 g0 v1 moving healthy                               | replica 0: stop generation 0; again
        v2 x1 alone | 0 g0 v1 unfinished healthy                           | replica 0: create generation 1; again
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running          | wait 1s
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running well     | web-0-g1: healthy; wait 1s
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running soaking well | wait 1s
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy well | replica 0: promote generation 1, remove generation 0; again
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 never            | replica 0: start generation 1; again
        # One place after the other.
        v2 x2 alone | 0 g0 v1 running healthy, 1 g0 v1 running healthy     | replica 0: stop generation 0; again
        v2 x2 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running well, 1 g0 v1 running healthy | web-0-g1: healthy; wait 1s
        v2 x2 alone | 0 g1 v2 running healthy, 1 g0 v1 running healthy     | replica 1: stop generation 0; again
        ",
    );
}

/// Design 7: the previous image is the way back. Nothing ever runs beside it.
#[test]
fn what_fails_gives_way_to_what_served_before() {
    check(
        "
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 stopped          | web-0-g1: keep the last output; again
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 stopped kept     | replica 0: remove failed generation 1; again
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running sick, trial 0 g1 10m | web-0-g1: keep the last output; again
        # Its deletion was disturbed: it goes first, however healthy it is at the moment.
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running soaking, doomed 0 g1, failed 0 g1 | replica 0: remove generation 1; again
        v2 x1 alone | 0 g0 v1 unfinished healthy, failed 0 g1              | web-0-g0: not healthy; replica 0: start generation 0; again
        v2 x1 alone | 0 g0 v1 running, failed 0 g1                         | failed, web-0-g0 serves
        v2 x1 alone | 0 g0 v1 unfinished healthy refused, failed 0 g1      | failed
        # It could not even be made: the same.
        v2 x1 alone | 0 g0 v1 unfinished healthy, unmade 0 g1              | again
        # A later apply goes forward.
        v2 x1 alone | 0 g0 v1 running healthy, old failed 0 g1, record 0 g1 | replica 0: stop generation 0; again
        ",
    );
}

/// A create that was cut off came late: of three, the way back stays, whatever runs.
#[test]
fn the_way_back_outlives_what_came_late() {
    check(
        "
        v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running, 0 g2 v2 running, record 0 serving g0 | replica 0: remove generation 1; again
        ",
    );
}

/// A declaration that changes half-way: only the candidate goes, and a stopped one is no loser for having been stopped.
#[test]
fn a_change_half_way_keeps_the_way_back() {
    check(
        "
        v1 x1 alone | 0 g0 v1 unfinished healthy                           | web-0-g0: not healthy; replica 0: start generation 0; again
        v1 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running          | replica 0: remove candidate generation 1; again
        v3 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running          | replica 0: remove candidate generation 1; again
        v3 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running soaking  | replica 0: remove candidate generation 1; again
        v3 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy, record 0 serving g0 | replica 0: remove candidate generation 1; again
        # The one before was never healthy: this one is the better way back.
        v3 x1 alone | 0 g0 v1 unfinished, 0 g1 v2 running soaking          | replica 0: remove generation 0; again
        # Its promotion was decided.
        v3 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy, record 0 serving g1 | replica 0: remove generation 0; again
        ",
    );
}

/// Whoever started the old one again: two never run at once for longer than it takes to stop one.
#[test]
fn what_runs_beside_it_is_stopped() {
    check(
        "
        v2 x1 alone | 0 g0 v1 running healthy, 0 g1 v2 running well        | replica 0: stop generation 0; again
        v2 x1 alone | 0 g0 v1 running healthy, 0 g1 v2 running healthy well | replica 0: stop generation 0; again
        v2 x1 alone | 0 g0 v1 running healthy, 0 g1 v2 never               | replica 0: stop generation 0; again
        ",
    );
}

/// AP-38 is for what keeps nothing: what may be running on a member that is offline is not made anew.
#[test]
fn nothing_takes_the_place_of_what_may_be_running() {
    check(
        "
        v1 x1 alone | 0 g0 v1 lost                                         | web-0-g0 is out of reach
        v2 x1 alone | 0 g0 v1 lost                                         | web-0-g0 is out of reach
        v2 x1 alone | 0 g0 v1 unknown                                      | wait 1s
        # Changed back: the old one is not started while the candidate may be running out of sight.
        v1 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 lost             | web-0-g1 is out of reach
        v1 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 unknown          | wait 1s
        v1 x1 alone | 0 g0 v1 running healthy, 0 g1 v2 lost                | converged
        # One is missing: no other one stops for its successor.
        v2 x2 alone | 0 g0 v1 running healthy, 1 g0 v1 lost                | web-1-g0 is out of reach
        v1 x1       | 0 g0 v1 lost                                         | replica 0: create generation 1; again
        ",
    );
}

/// Design 7: a volume is made before the first workload and before anything stops, and the workload stays with it.
#[test]
fn a_workload_goes_where_its_volume_is() {
    check(
        "
        v1 x1 alone data | | replica 0: create volume data; again
        v1 x1 alone data | volume 0 data @m1 | replica 0: create generation 0; again
        v2 x1 alone data | volume 0 data @m1, 0 g0 v1 running healthy @m1 | replica 0: stop generation 0; again
        v2 x1 alone data log | volume 0 data @m1, 0 g0 v1 running healthy @m1 | replica 0: create volume log; again
        v1 x2 alone data | volume 0 data @m1, 0 g0 v1 running healthy @m1 | replica 1: create volume data; again
        ",
    );
    let mut there = there_with("alone data", "volume 0 data @m2");
    for (name, status) in [("m1", MemberStatus::Online), ("m2", MemberStatus::Online)] {
        there.observation.members.push(Member {
            name: name.to_owned(),
            status,
            architecture: "x86_64".to_owned(),
            schedulable: true,
            groups: Vec::new(),
        });
    }
    let decision = decide_on("v1 x1 alone data", &there);
    let [
        Step::Create {
            member, volumes, ..
        },
    ] = decision.steps.as_slice()
    else {
        panic!("{decision:?}");
    };
    assert_eq!(member.as_deref(), Some("m2"));
    let attached = Attached {
        volume: "data".to_owned(),
        source: "web-data".to_owned(),
        pool: "local".to_owned(),
    };
    assert_eq!(*volumes, [attached]);
    there.observation.members[1].status = MemberStatus::Offline;
    assert_eq!(told(&decide_on("v1 x1 alone data", &there)), "no member");
}

/// A volume that is smaller than declared grows before the workload is replaced.
#[test]
fn a_volume_grows_with_its_declaration() {
    let there = there_with(
        "alone data",
        "volume 0 data @m1, 0 g0 v1 running healthy @m1",
    );
    let mut declared = spec("v1 x1 alone data");
    let data = declared.volumes.get_mut("data").expect("a volume");
    data.size = Some(2 << 30);
    let decision = decide(&declared, &there.observation, &there.work, NOW);
    assert_eq!(told(&decision), "replica 0: resize volume data; again");
}
