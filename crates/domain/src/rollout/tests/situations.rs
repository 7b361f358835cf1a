//! What is done in which situation.

use super::*;

/// HO-APP-31…34: zero, one, two and three generations.
#[test]
fn generations_follow_each_other() {
    check(
        "
        # Nothing is there.
        v1 x1 |                                                     | replica 0: create generation 0; again
        v1 x1 | 0 g0 v1 running healthy                             | converged
        # Another image is declared: the next generation comes up beside what serves, whether that is healthy or not.
        v2 x1 | 0 g3 v1 running healthy                             | replica 0: create generation 4; again
        v2 x1 | 0 g3 v1 running                                     | replica 0: create generation 4; again
        v2 x1 | 0 g3 v1 stopped                                     | replica 0: create generation 4; again
        v2 x1 | 0 g3 v1 never                                       | replica 0: create generation 4; again
        # It is on trial, and takes over.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running well       | web-0-g1: healthy; wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well | replica 0: promote generation 1, remove generation 0; again
        # Three: the newest and the one that serves are the pair.
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy, 0 g2 v3 running well | replica 0: remove generation 0; again
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 unfinished healthy, 0 g2 v3 running | replica 0: remove generation 1; again
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running, 0 g2 v3 running | replica 0: remove generation 1; again
        # A candidate that was left alone in between never served, however healthy it once was.
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy, 0 g2 v3 running, record 0 serving g0 | replica 0: remove generation 1; again
        v3 x1 | 0 g0 v1 running, 0 g1 v1 running, 0 g2 v2 stopped, 0 g3 v3 running | replica 0: remove generation 0; replica 0: remove generation 2; again
        ",
    );
}

/// Design 7: the declaration changes while a candidate is on trial; what runs and is proven stays.
#[test]
fn a_declaration_that_changes_half_way_leaves_what_serves() {
    check(
        "
        # Changed back: only the candidate goes. Changed again: it goes, too, and the next one starts over.
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running well    | replica 0: remove candidate generation 1; again
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running well    | replica 0: remove candidate generation 1; again
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped         | replica 0: remove candidate generation 1; again
        # A stamp of long ago is no promotion: nobody may have asked since.
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy, record 0 serving g0 | replica 0: remove candidate generation 1; again
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy | replica 0: remove candidate generation 1; again
        # Its promotion was decided, so its predecessor may be stopping already: rolling back goes forward (HO-APP-56).
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy, record 0 serving g1 | replica 0: remove generation 0; again
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy, record 0 serving g1 | replica 0: remove generation 0; again
        # The record was lost: what was healthy for long enough was promoted at that moment.
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy | replica 0: remove generation 0; again
        # What is declared is found stopped beside a candidate that has proven nothing: it is started, once.
        v1 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 running      | web-0-g0: not healthy; replica 0: start generation 0; again
        v1 x1 | 0 g0 v1 stopped, 0 g1 v2 running                 | replica 0: remove generation 0; again
        v1 x1 | 0 g0 v1 unfinished refused, 0 g1 v2 running      | replica 0: remove generation 0; again
        # The candidate is all that runs and can: the one before would serve later than it.
        v3 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 running         | replica 0: remove generation 0; again
        v1 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy | replica 0: remove generation 0; again
        v3 x1 | 0 g0 v1 evacuated healthy, 0 g1 v2 running       | replica 0: remove generation 0; again
        # Or all that is healthy.
        v3 x1 | 0 g0 v1 running, 0 g1 v2 running soaking         | replica 0: remove generation 0; again
        # Nothing runs: the candidate goes, and the one before is brought back.
        v1 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 stopped         | replica 0: remove candidate generation 1; again
        ",
    );
}

/// Cases 34: whoever decided a deletion may come back to it, so what is doomed neither serves nor takes over.
#[test]
fn what_is_doomed_is_not_counted_on() {
    check(
        "
        # Declared once more while it was being removed: the next one is begun when it is gone.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well, doomed 0 g1 | replica 0: remove generation 1; again
        v2 x1 | 0 g0 v1 running healthy, record 0 g1             | replica 0: create generation 2; again
        # It is all that runs: it goes when another one serves.
        v1 x1 | 0 g0 v1 running healthy, doomed 0 g0             | replica 0: create generation 1; again
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v1 running well, doomed 0 g0 | web-0-g1: healthy; wait 1s
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v1 running soaking well, doomed 0 g0 | wait 1s
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v1 running healthy well, doomed 0 g0 | replica 0: remove generation 0; again
        # It does not serve: it goes at once.
        v1 x1 | 0 g0 v1 unfinished healthy, doomed 0 g0          | replica 0: remove generation 0; again
        v1 x1 | 0 g0 v1 running sick, doomed 0 g0                | replica 0: remove generation 0; again
        ",
    );
}

/// HF-34, cases 34: what should run is started, and what was served by hand or by a killed apply is not judged by it.
#[test]
fn what_should_run_is_started() {
    check(
        "
        v1 x1 | 0 g0 v1 unfinished healthy | web-0-g0: not healthy; replica 0: start generation 0; again
        v1 x2 | 0 g0 v1 running healthy | replica 1: create generation 0; again
        # Created and not yet started; started by somebody who was killed.
        v1 x1 | 0 g0 v1 never           | replica 0: start generation 0; again
        v1 x1 | 0 g0 v1 unfinished      | replica 0: start generation 0; again
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 unfinished | replica 0: start generation 1; again
        # Its health counts anew.
        v1 x1 | 0 g0 v1 unfinished soaking | web-0-g0: not healthy; replica 0: start generation 0; again
        # Evacuated: Incus puts it back itself. One that is on trial has not proven anything by being moved.
        v1 x1 | 0 g0 v1 evacuated healthy | converged
        v1 x1 | 0 g0 v1 evacuated         | wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 evacuated healthy | wait 1s
        v2 x1 | 0 g0 v1 evacuated healthy | replica 0: create generation 1; again
        ",
    );
}

/// HO-APP-30, design 7: one replica at a time, in this order.
#[test]
fn one_replica_is_acted_upon_at_a_time() {
    check(
        "
        # The lowest place is upgraded first, and nothing that serves is touched while another one is on trial.
        v2 x2 | 0 g0 v1 running healthy, 1 g0 v1 running healthy | replica 0: create generation 1; again
        v2 x2 | 0 g1 v2 running healthy, 1 g0 v1 running healthy | replica 1: create generation 1; again
        v2 x2 | 0 g0 v1 running healthy, 0 g1 v2 running soaking well, 1 g0 v1 running healthy | wait 1s
        v2 x2 | 0 g0 v1 running healthy, 1 g0 v1 running healthy, 1 g1 v2 running soaking well | wait 1s
        v2 x2 | 0 g0 v1 running healthy, 1 g1 v2 running well    | web-1-g1: healthy; wait 1s
        # Missing ones do not wait for the trial of others; their health is written down all the same.
        v1 x2 | 0 g0 v1 running well                             | web-0-g0: healthy; replica 1: create generation 0; again
        v1 x2 | 0 g0 v1 running soaking well                     | replica 1: create generation 0; again
        v2 x2 | 0 g0 v1 running healthy, 0 g1 v2 running soaking well | replica 1: create generation 0; again
        # Failed candidates first, then what is not wanted, promotions, starts, what is missing, whatever their ordinals.
        v2 x3 | 1 g0 v1 running healthy, 1 g1 v2 stopped, 2 g0 v1 running, 2 g1 v3 running | web-1-g1: keep the last output; again
        v2 x3 | 1 g0 v1 running healthy, 1 g1 v2 running healthy well, 2 g0 v1 running, 2 g1 v3 running | replica 2: remove candidate generation 1; again
        v2 x3 | 1 g0 v2 unfinished healthy, 2 g0 v1 running healthy, 2 g1 v2 running healthy well | replica 2: promote generation 1, remove generation 0; again
        v2 x3 | 1 g0 v1 running healthy, 2 g0 v2 unfinished healthy | web-2-g0: not healthy; replica 2: start generation 0; again
        v2 x3 | 0 g0 v1 running healthy, 1 g0 v1 running healthy | replica 2: create generation 0; again
        ",
    );
}

/// Fewer are declared: the highest place goes first, all of its generations, and after everything else.
#[test]
fn surplus_replicas_go_last() {
    check(
        "
        v1 x1 | 0 g0 v1 running healthy, 1 g0 v1 running healthy, 2 g5 v1 running healthy | replica 2: remove generation 5; again
        v1 x1 | 0 g0 v1 running healthy, 1 g0 v1 running healthy, 1 g1 v2 stopped | replica 1: remove generation 0; replica 1: remove generation 1; again
        v2 x1 | 0 g0 v1 running healthy, 1 g0 v1 running healthy | replica 0: create generation 1; again
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running soaking well, 1 g0 v1 running healthy | wait 1s
        # More: lowest first.
        v1 x3 | 0 g0 v1 running healthy | replica 1: create generation 0; again
        ",
    );
}

/// AP-38, HO-APP-62: an Offline member's workloads are replaced, those of a silent one are waited for, and what cannot
/// be seen is never deleted.
#[test]
fn members_that_do_not_answer() {
    check(
        "
        v1 x1 | 0 g4 - lost              | replica 0: create generation 5; again
        v1 x1 | 0 g4 - unknown           | wait 1s
        v1 x1 | 0 g3 - lost, 0 g4 - unknown | wait 1s
        # It may have the declared generation, so no other one is begun.
        v1 x1 | 0 g0 - unknown, 0 g1 v2 running healthy | wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 - unknown | wait 1s
        v1 x1 | 0 g0 - lost, 0 g1 v2 running healthy | replica 0: create generation 2; again
        v1 x1 | 0 g0 v1 running healthy, 0 g1 - unknown | converged
        v2 x1 | 0 g0 - unknown, 0 g1 v2 running soaking well | wait 1s
        # Nothing that serves is touched while it is silent; what is missing comes up.
        v2 x2 | 0 g0 v1 running healthy, 1 g0 - unknown | wait 1s
        v1 x3 | 0 g0 v1 running healthy, 1 g0 - unknown | replica 2: create generation 0; again
        # It is back: the older one goes once the newer one is asked.
        v1 x1 | 0 g4 v1 running healthy, 0 g5 v1 running healthy well | replica 0: promote generation 5, remove generation 4; again
        v1 x1 | 0 g4 v1 running healthy, 0 g5 v1 running healthy | wait 1s
        # A surplus one that cannot be reached does not hold anything up.
        v1 x1 | 0 g0 v1 running healthy, 1 g0 - lost | converged
        v1 x1 | 0 g0 v1 running healthy, 1 g0 - unknown | converged
        ",
    );
}

/// Design 7 and the invariant that a generation never goes down, with whatever is left to tell of it.
#[test]
fn generations_and_names_that_are_taken() {
    check(
        "
        v1 x1 | record 0 g7                      | replica 0: create generation 8; again
        v1 x1 | record 0 g7, 0 g9 - lost         | replica 0: create generation 10; again
        v1 x2 | 0 g3 v1 running healthy          | replica 1: create generation 0; again
        # A name is somebody else's: a conflict, and nothing is touched.
        v1 x1 | foreign web-g0 of other          | web-g0 is other's
        v1 x1 | foreign web-g0                   | web-g0 is somebody's
        v1 x1 | foreign web-g1, foreign other-g0 | replica 0: create generation 0; again
        # Nobody can tell whose it is: it is passed over, and told the generation if the record was lost.
        v1 x1 | unclear web-g0                   | replica 0: create generation 1; again
        v1 x1 | unclear web-g7                   | replica 0: create generation 8; again
        v1 x1 | unclear web-0-g7                 | replica 0: create generation 8; again
        v1 x1 | unclear web-1-g7, unclear web-gx | replica 0: create generation 0; again
        v1 x2 | 0 g0 v1 running healthy, unclear web-1-g7 | replica 1: create generation 8; again
        ",
    );
}

/// HO-APP-27: an app of one has no place in its names, and the change in between is a matter of keys.
#[test]
fn names_follow_the_count_and_keys_decide() {
    let created = |declared: &str, is_there: &str| {
        let decision = decide_on(declared, &there(is_there));
        decision.steps.iter().find_map(|step| match step {
            Step::Create { name, .. } => Some(name.clone()),
            _ => None,
        })
    };
    for (declared, is_there, expected) in [
        ("v1 x1", "", "web-g0"),
        ("v1 x2", "", "web-0-g0"),
        ("v1 x2", "0 g0 v1 running healthy", "web-1-g0"),
        (
            "v2 x2",
            "0 g0 v1 running healthy, 1 g0 v2 running healthy",
            "web-0-g1",
        ),
        ("v2 x1", "0 g5 v1 running healthy", "web-g6"),
    ] {
        let created = created(declared, is_there);
        assert_eq!(created.as_deref(), Some(expected), "{declared}: {is_there}");
    }
    // One of ours can hold the next name under other keys.
    let mut renamed = there("0 g0 v1 running healthy");
    renamed.observation.workloads[0].name = "web-g1".to_owned();
    assert_eq!(
        told(&decide_on("v2 x1", &renamed)),
        "replica 0: create generation 2; again"
    );
}

/// HO-APP-27: the longest app, the highest place and a generation that nobody will live to see fit into a name.
#[test]
fn names_of_workloads_fit_into_a_label() {
    let mut spec = spec("v1 x999");
    spec.name = "a".repeat(crate::name::NAME_LENGTH);
    let name = spec.workload_name(&Place::Ordinal(998), 999_999_999);
    assert!(crate::name::check_label(&name).is_ok(), "{name}");
}
