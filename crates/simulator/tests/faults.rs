//! Mistakes that are planted in the executor, each found by the invariant that is there for it.

use simulator::event::story;
use simulator::fault::Fault;
use simulator::trace;

/// How many stories may go well before one shows the mistake.
const STORIES: u64 = 400;

/// Most events that a story needs to show a mistake: a rollout to its middle, a request each.
const SHORT: usize = 80;

/// Checks that a story breaks this invariant, and is told by few events.
fn found(fault: Fault, invariant: &str) {
    let breaks = |seed: &u64| {
        let judged = trace::replay(&story(*seed), Some(fault)).0;
        judged.is_err_and(|violation| violation.invariant == invariant)
    };
    let Some(seed) = (0..STORIES).find(breaks) else {
        panic!("{fault:?} does not break {invariant} in {STORIES} stories");
    };
    let Err(failure) = trace::run(seed, Some(fault)) else {
        panic!("seed {seed} tells another story now");
    };
    assert_eq!(failure.violation.invariant, invariant, "{failure}");
    assert!(
        failure.events.len() <= SHORT,
        "{} events: {failure}",
        failure.events.len()
    );
}

#[test]
fn a_promotion_without_the_health_window_is_found() {
    found(
        Fault::PromotesAtOnce,
        "what_serves_goes_only_for_a_proven_successor",
    );
}

#[test]
fn a_check_that_is_not_heard_is_found() {
    found(
        Fault::DeafToProbes,
        "what_serves_goes_only_for_a_proven_successor",
    );
}

#[test]
fn two_replicas_in_one_pass_are_found() {
    found(Fault::UpgradesTwo, "one_replica_is_acted_upon_in_a_pass");
}

#[test]
fn freeing_a_name_of_somebody_else_is_found() {
    found(Fault::FreesTakenNames, "nothing_unmanaged_is_touched");
}

#[test]
fn taking_names_for_keys_is_found() {
    found(Fault::TrustsNames, "nothing_unmanaged_is_touched");
}

#[test]
fn deleting_on_a_partial_list_is_found() {
    found(Fault::PartialLists, "nothing_is_given_up_on_a_partial_read");
}

#[test]
fn using_a_generation_again_is_found() {
    found(Fault::ReusesGenerations, "a_generation_never_goes_down");
}

#[test]
fn a_guard_by_if_match_is_found() {
    found(Fault::GuardsByEtag, "two_executors_never_both_take_a_step");
}

#[test]
fn acting_before_recording_is_found() {
    found(
        Fault::RecordsAfterwards,
        "what_is_decided_is_recorded_first",
    );
}

#[test]
fn taking_the_silent_for_gone_is_found() {
    found(Fault::SilentIsGone, "a_silent_member_is_waited_for");
}

#[test]
fn believing_the_record_instead_of_the_lists_is_found() {
    found(
        Fault::BelievesItsRecord,
        "after_faults_stop_the_fleet_converges",
    );
}

#[test]
fn a_create_that_tries_another_name_is_found() {
    found(Fault::TriesAnotherName, "every_step_twice_is_once");
}

#[test]
fn running_beside_where_only_one_may_is_found() {
    found(Fault::RunsBeside, "only_one_runs_where_only_one_may");
}

#[test]
fn stopping_what_could_go_on_serving_is_found() {
    found(
        Fault::StopsFirst,
        "what_serves_stops_only_for_its_successor",
    );
}
