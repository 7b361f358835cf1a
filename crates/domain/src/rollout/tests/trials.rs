//! Trials: when a candidate has passed, when it has failed, and what is on record by then.

use super::*;

/// HO-APP-32, 35, 38…41: the stamp is written at the first healthy answer, taken away by the first other one, and
/// counts only together with the answer of this pass.
#[test]
fn health_must_last_without_a_break() {
    check(
        "
        v1 x1 | 0 g0 v1 running                     | wait 1s
        v1 x1 | 0 g0 v1 running sick                | wait 1s
        v1 x1 | 0 g0 v1 running well                | web-0-g0: healthy; wait 1s
        v1 x1 | 0 g0 v1 running soaking well        | wait 1s
        v1 x1 | 0 g0 v1 running soaking sick        | web-0-g0: not healthy; wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy sick | web-0-g1: not healthy; wait 1s
        # The stamp is of a clock that has been set back since: its time begins now.
        v1 x1 | 0 g0 v1 running ahead well          | web-0-g0: healthy; wait 1s
        # Nobody could be asked: that is no answer.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy | wait 1s
        v1 x1 | 0 g0 v1 moving                      | wait 1s
        # Its machine was started again in between: nobody has watched it without a break. What serves alone still does.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy restarted well | web-0-g1: healthy; wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy restarted | wait 1s
        v1 x1 | 0 g0 v1 running healthy restarted   | converged
        ",
    );
}

/// HO-APP-36: it ended by itself, or could not be started; its output is read before it is deleted.
#[test]
fn a_candidate_that_ends_has_failed() {
    check(
        "
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped      | web-0-g1: keep the last output; again
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped kept | replica 0: remove failed generation 1; again
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 never refused kept | replica 0: remove failed generation 1; again
        v1 x1 | 0 g0 v1 stopped kept                          | replica 0: remove failed generation 0; again
        # What does not run does not serve.
        v2 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 stopped kept | replica 0: remove failed generation 1; again
        # It was healthy for a moment, ended, and is listed as running once more: it has failed all the same.
        v1 x1 | 0 g0 v1 running well ended                    | web-0-g0: keep the last output; again
        v1 x1 | 0 g0 v1 running soaking well ended            | web-0-g0: keep the last output; again
        # One that was proven gets one more start, and has to prove itself anew; a dying one may be listed as running.
        v1 x1 | 0 g0 v1 running healthy ended                 | wait 1s
        v1 x1 | 0 g0 v1 running healthy sick ended            | web-0-g0: not healthy; wait 1s
        v1 x1 | 0 g0 v1 running healthy well ended            | converged
        v1 x1 | 0 g0 v1 stopped healthy                       | web-0-g0: not healthy; replica 0: start generation 0; again
        v1 x1 | 0 g0 v1 stopped soaking                       | web-0-g0: keep the last output; again
        # It runs after all, whatever an attempt before was told.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running refused well | web-0-g1: healthy; wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped refused | web-0-g1: keep the last output; again
        v1 x1 | 0 g0 v1 running refused well                  | web-0-g0: healthy; wait 1s
        v1 x1 | 0 g0 v1 running healthy refused               | converged
        ",
    );
}

/// HO-APP-36: what has failed is on record before it is deleted, whatever disturbs that; it is not tried again for this
/// revision, what served before serves again, and then the failure is told. A later revision tries anew.
#[test]
fn a_failure_is_not_forgotten() {
    check(
        "
        v2 x1 | 0 g0 v1 running healthy, failed 0 g1            | failed, web-0-g0 serves
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running, doomed 0 g1, failed 0 g1 | replica 0: remove generation 1; again
        v2 x1 | 0 g0 v1 unfinished healthy, failed 0 g1         | web-0-g0: not healthy; replica 0: start generation 0; again
        v2 x1 | 0 g0 v1 unfinished, failed 0 g1                 | replica 0: start generation 0; again
        v2 x1 | 0 g0 v1 unfinished refused, failed 0 g1         | failed
        v2 x1 | 0 g0 v1 stopped, failed 0 g1                    | failed
        v1 x1 | failed 0 g0                                     | failed
        v1 x2 | 1 g0 v1 running healthy, failed 0 g0            | failed
        v2 x2 | 0 g0 v1 running healthy, 1 g0 v1 running healthy, failed 1 g1 | failed, web-1-g0 serves
        # Of a revision before: another try.
        v2 x1 | 0 g0 v1 running healthy, old failed 0 g1, record 0 g1 | replica 0: create generation 2; again
        v1 x1 | old failed 0 g0, record 0 g0                    | replica 0: create generation 1; again
        ",
    );
}

/// HO-APP-36, 40: the deadline counts from the recorded start, and flapping does not stretch it. A later apply does:
/// nobody has watched since the last one ended.
#[test]
fn a_candidate_has_until_its_deadline() {
    check(
        "
        v1 x1 | 0 g0 v1 running sick, trial 0 g0 9m59s         | wait 1s
        v1 x1 | 0 g0 v1 running soaking well, trial 0 g0 599500ms | wait 500ms
        v1 x1 | 0 g0 v1 running soaking well, trial 0 g0 10m   | web-0-g0: keep the last output; again
        v1 x1 | 0 g0 v1 evacuated, trial 0 g0 10m              | web-0-g0: keep the last output; again
        v1 x1 | 0 g0 v1 running sick, old trial 0 g0 10h       | wait 1s
        # Passed is passed, however late it is looked at.
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well, trial 0 g1 10h | replica 0: promote generation 1, remove generation 0; again
        v1 x1 | 0 g0 v1 running healthy, trial 0 g0 10h        | converged
        ",
    );
}

/// A trial of which the record was lost, or which a later revision takes up, gets its clock with the first look: else it
/// would begin anew with every pass, and never end.
#[test]
fn a_trial_without_a_record_is_recorded_at_the_first_look() {
    for is_there in [
        "0 g3 v1 running sick",
        "0 g3 v1 running sick, old trial 0 g3 10h",
    ] {
        let before = there(is_there);
        let decision = decide_on("v1 x1", &before);
        assert_eq!(told(&decision), "wait 1s");
        assert_eq!(
            decision.work.trial_since(&Place::FIRST, 3),
            Some(NOW),
            "{is_there}"
        );
        assert_eq!(decision.work.slots[&Place::FIRST].generation, 3);
        assert_eq!(decision.work.slots[&Place::FIRST].workloads.len(), 1);
        // From then on there is nothing to be recorded.
        let again = decide(&spec("v1 x1"), &before.observation, &decision.work, NOW);
        assert_eq!(again.work, decision.work);
    }
}

/// The deadline is that of the workload: a create or a start that takes an hour costs it nothing.
#[test]
fn the_clock_of_a_trial_begins_when_its_start_is_done() {
    let mut seen = there("0 g0 v1 unfinished");
    for is_there in ["", "0 g0 v1 unfinished"] {
        let decision = decide_on("v1 x1", &there(is_there));
        assert_eq!(
            decision.work.made(&Place::FIRST, 0).map(|made| made.trial),
            Some(None)
        );
        seen.work = decision.work;
    }
    let started = there("0 g0 v1 running sick").observation;
    let later = NOW.plus(Duration::from_secs(3600));
    let decision = decide(&spec("v1 x1"), &started, &seen.work, later);
    assert_eq!(told(&decision), "wait 1s");
    assert_eq!(decision.work.trial_since(&Place::FIRST, 0), Some(later));
}

/// HO-APP-36: the failure names candidate and output, and is on record before the delete.
#[test]
fn a_failure_says_what_was_seen() {
    for (is_there, expected) in [
        (
            "0 g0 v1 running healthy, 0 g1 v2 stopped kept",
            "it ended by itself; its last output:\nkept",
        ),
        (
            "0 g0 v1 running healthy, 0 g1 v2 never refused kept",
            "it could not be started: refused; its last output:\nkept",
        ),
        (
            "0 g0 v1 running healthy, 0 g1 v2 running sick kept, trial 0 g1 10m",
            "it was not healthy for 30s without a break within 10m; the last check said: sick; its last output:\nkept",
        ),
        (
            "0 g0 v1 running healthy, 0 g1 v2 running well kept, trial 0 g1 10m",
            "it was not healthy for 30s without a break within 10m; it is healthy at the moment; its last output:\nkept",
        ),
    ] {
        let decision = decide_on("v2 x1", &there(is_there));
        let record = decision.work.failure.expect("it is recorded");
        assert_eq!(record.candidate, "web-0-g1");
        assert_eq!(record.revision, REVISION);
        assert_eq!((record.generation, record.image.as_str()), (1, "v2"));
        assert_eq!(record.error, expected, "{is_there}");
    }
    let mut silent = there("0 g0 v1 running healthy, 0 g1 v2 stopped kept");
    silent
        .observation
        .outputs
        .insert("web-0-g1".to_owned(), " \n".to_owned());
    let failure = decide_on("v2 x1", &silent).work.failure;
    let error = failure.expect("it failed").error;
    assert_eq!(
        error,
        "it ended by itself; it printed nothing on its console"
    );
}

/// Which log is read depends on whether it ever ran.
#[test]
fn the_output_of_a_start_that_failed_is_incus_own_log() {
    for (status, expected) in [("never refused", true), ("stopped", false)] {
        let decision = decide_on("v1 x1", &there(&format!("0 g0 v1 {status}")));
        let [Step::KeepOutput { never_ran, .. }] = decision.steps.as_slice() else {
            panic!("{:?}", decision.steps);
        };
        assert_eq!(*never_ran, expected, "{status}");
    }
}

/// The record names what serves before a candidate comes up, and the candidate before what served is stopped.
#[test]
fn who_serves_is_recorded_before_anything_stops() {
    let serving = |declared: &str, is_there: &str| {
        decide_on(declared, &there(is_there)).work.slots[&Place::FIRST].serving
    };
    assert_eq!(serving("v2 x1", "0 g3 v1 running healthy"), Some(3));
    let passed = "0 g3 v1 running healthy, 0 g4 v2 running healthy well";
    assert_eq!(serving("v2 x1", passed), Some(4));
    let failed = "0 g3 v1 running healthy, 0 g4 v2 stopped kept, record 0 serving g3";
    assert_eq!(serving("v2 x1", failed), Some(3));
}

/// A deletion is on record with its workload, whatever it is for, and stays there until the workload is gone.
#[test]
fn what_is_to_go_is_doomed_by_the_record() {
    for (declared, is_there) in [
        (
            "v2 x1",
            "0 g0 v1 running healthy, 0 g1 v2 running healthy well",
        ),
        ("v1 x2", "0 g1 v1 running healthy, 1 g0 v1 stopped kept"),
        ("v1 x1", "0 g0 v1 running healthy, 1 g0 v1 running healthy"),
        ("v1 x1", "0 g0 v1 running healthy, 0 g1 v2 running"),
    ] {
        let decision = decide_on(declared, &there(is_there));
        let deleted = decision.steps.iter().find_map(|step| match step {
            Step::Delete {
                place, generation, ..
            } => Some((place.clone(), *generation)),
            _ => None,
        });
        let doomed = decision.work.slots.iter().flat_map(|(place, slot)| {
            let doomed = slot.workloads.iter().filter(|made| made.doomed);
            doomed.map(|made| (place.clone(), made.generation))
        });
        assert_eq!(
            doomed.collect::<Vec<_>>(),
            [deleted.expect("a delete")],
            "{is_there}"
        );
    }
}

/// The record is completed by what is seen, forgets what is gone, and the failure once everything is as declared.
#[test]
fn the_record_is_rebuilt_and_tidied() {
    let seen =
        there("0 g3 v1 running healthy, 1 g0 v1 unfinished healthy, trial 0 g2 1h, record 1 g4");
    let work = decide_on("v1 x2", &seen).work;
    let made = |place: u32| -> Vec<u64> {
        let workloads = work.slots[&Place::Ordinal(place)].workloads.iter();
        workloads.map(|made| made.generation).collect()
    };
    assert_eq!((made(0), made(1)), (vec![3], vec![0]));
    assert_eq!(
        (
            work.slots[&Place::FIRST].generation,
            work.slots[&Place::Ordinal(1)].generation
        ),
        (3, 4)
    );
    assert_eq!(
        work.decided,
        ["web-1-g0: not healthy", "replica 1: start generation 0"]
    );

    let mut healed = there("0 g0 v1 running healthy");
    healed.work.failure = Some(FailureRecord {
        place: Place::FIRST,
        revision: 0,
        candidate: String::new(),
        generation: 1,
        image: "v2".to_owned(),
        error: String::new(),
        at: NOW,
    });
    assert_eq!(decide_on("v1 x1", &healed).work.failure, None);
    assert!(decide_on("v2 x1", &healed).work.failure.is_some());
}

/// Only what is on trial is asked, and only if it runs.
#[test]
fn workloads_on_trial_are_asked() {
    for (declared, is_there, expected) in [
        ("v1 x1", "0 g0 v1 running healthy", &[][..]),
        ("v1 x1", "0 g0 v1 running", &["web-0-g0"][..]),
        (
            "v1 x2",
            "0 g0 v1 running, 1 g0 v1 running soaking",
            &["web-0-g0", "web-1-g0"][..],
        ),
        (
            "v2 x1",
            "0 g0 v1 running healthy, 0 g1 v2 running",
            &["web-0-g1"][..],
        ),
        ("v2 x1", "0 g0 v1 running healthy, 0 g1 v2 moving", &[][..]),
        ("v2 x1", "0 g0 v1 running", &[][..]),
        ("v1 x1", "0 g0 v1 stopped", &[][..]),
    ] {
        let there = there(is_there);
        let asked = to_probe(&spec(declared), &there.observation, &there.work, NOW);
        let asked: Vec<&str> = asked
            .iter()
            .map(|workload| workload.name.as_str())
            .collect();
        assert_eq!(asked, expected, "{declared}: {is_there}");
    }
}

/// Numbers that only a hand can have written into keys or the record end in no overflow.
#[test]
fn absurd_generations_do_no_harm() {
    let there = there(&format!("record 0 g{}", u64::MAX));
    assert_eq!(decide_on("v1 x1", &there).next, Next::Again);
}
