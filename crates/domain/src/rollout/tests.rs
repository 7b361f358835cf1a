//! The state machine as a table: what is there, what is declared, what is done next.

use std::collections::BTreeMap;

use super::*;
use crate::app::{AppType, Check, Health, Image, ImageReference, Template};
use crate::observation::Probe;

mod shown;

const NOW: Moment = Moment(100_000);

fn spec(image: &str, replicas: u32) -> AppSpec {
    AppSpec {
        name: "web".to_owned(),
        r#type: AppType::GenericStateless,
        replicas,
        image: Image {
            reference: ImageReference::Alias(image.to_owned()),
            digest: None,
        },
        workload: Template::default(),
        health: Health {
            check: Check::Running {},
            min_healthy_time: Duration::from_secs(30),
            healthy_deadline: Duration::from_secs(600),
        },
    }
}

/// A workload, as words: "1 g2 v1 running healthy", with a member in "@m2" if it is on one.
fn workload(words: &str) -> Workload {
    let words: Vec<&str> = words.split(' ').collect();
    let [ordinal, generation, image, status, rest @ ..] = words.as_slice() else {
        panic!("too few words: {words:?}");
    };
    let since = |word: &&str| match *word {
        "healthy" => Some(Moment(0)),
        "soaking" => Some(Moment(NOW.0 - 10_000)),
        _ => None,
    };
    Workload {
        name: format!("web-{ordinal}-{generation}"),
        ordinal: ordinal.parse().expect("an ordinal"),
        generation: generation[1..].parse().expect("a generation"),
        member: rest
            .iter()
            .find_map(|word| word.strip_prefix('@'))
            .map(str::to_owned),
        image: (*image).to_owned(),
        spec: spec(image, 1).hash(),
        status: match *status {
            "running" => Status::Running,
            "stopped" | "never" => Status::Stopped,
            "unknown" => Status::Unknown,
            "lost" => Status::Lost,
            "evacuated" => Status::Evacuated,
            other => panic!("{other}"),
        },
        healthy_since: rest.iter().find_map(since),
        ever_started: *status != "never",
    }
}

/// What is there; "sick" and "well" answer the check of this pass.
fn observation(workloads: &[&str]) -> Observation {
    let mut observation = Observation {
        workloads: workloads.iter().map(|words| workload(words)).collect(),
        ..Observation::default()
    };
    // What is found stopped and was healthy before was not started by this rollout.
    let found = |words: &&&str| words.contains("stopped healthy");
    observation.unfinished = workloads
        .iter()
        .filter(found)
        .map(|words| workload(words).name)
        .collect();
    for words in workloads {
        let answer = match words.split(' ').next_back() {
            Some("well") => Probe::Healthy,
            Some("sick") => Probe::Unhealthy("it says no".to_owned()),
            _ => continue,
        };
        observation.probes.insert(workload(words).name, answer);
    }
    observation
}

/// The steps and what follows, as words.
fn told(spec: &AppSpec, observation: &Observation, work: &Work) -> String {
    let decision = decide(spec, observation, work, NOW);
    let mut words: Vec<String> = decision.steps.iter().map(ToString::to_string).collect();
    words.push(match decision.next {
        Next::Again => "again".to_owned(),
        Next::Wait(time) => format!("wait {}", crate::duration::format(time)),
        Next::Converged => "converged".to_owned(),
        Next::Failed(failure) => {
            format!("failed, {:?} serves", failure.serving.unwrap_or_default())
        }
        Next::Conflict(conflict) => format!("{} is taken", conflict.name),
        Next::NoMember(_) => "no member".to_owned(),
    });
    words.join("; ")
}

/// HO-APP-24…40 and design decisions: one line per situation.
#[test]
fn situations_and_what_is_done_about_them() {
    for (image, replicas, there, expected) in [
        // HO-APP-31, 27: nothing is there.
        ("v1", 1, &[][..], "replica 0: create generation 0; again"),
        // HO-APP-33.
        ("v1", 1, &["0 g0 v1 running healthy"][..], "converged"),
        // HO-APP-32, 38: the first generation is on trial too.
        (
            "v1",
            1,
            &["0 g0 v1 running well"][..],
            "web-0-g0: healthy; wait 1s",
        ),
        ("v1", 1, &["0 g0 v1 running soaking well"][..], "wait 1s"),
        // HO-APP-40: one unhealthy answer takes the time away.
        (
            "v1",
            1,
            &["0 g0 v1 running soaking sick"][..],
            "web-0-g0: not healthy; wait 1s",
        ),
        // HO-APP-34: another image is declared.
        (
            "v2",
            1,
            &["0 g3 v1 running healthy"][..],
            "replica 0: create generation 4; again",
        ),
        // HO-APP-35: the candidate is on trial, then takes over.
        (
            "v2",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running well"][..],
            "web-0-g1: healthy; wait 1s",
        ),
        (
            "v2",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running healthy well"][..],
            "replica 0: promote generation 1, remove generation 0; again",
        ),
        // A stamp alone is no proof for a promotion: the check of this pass must agree.
        (
            "v2",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running healthy sick"][..],
            "web-0-g1: not healthy; wait 1s",
        ),
        // HO-APP-36: it ended by itself; its output is read first.
        (
            "v2",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 stopped"][..],
            "web-0-g1: keep the last output; again",
        ),
        // Changed back, and changed again, while the candidate is on trial.
        (
            "v1",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running well"][..],
            "replica 0: remove candidate generation 1; again",
        ),
        (
            "v3",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running well"][..],
            "replica 0: remove candidate generation 1; again",
        ),
        // What was promoted before the declaration changed has only its predecessor to lose.
        (
            "v3",
            1,
            &["0 g0 v1 running healthy", "0 g1 v2 running healthy"][..],
            "replica 0: remove generation 0; again",
        ),
        // The candidate is all that runs.
        (
            "v3",
            1,
            &["0 g0 v1 stopped healthy", "0 g1 v2 running"][..],
            "replica 0: remove generation 0; again",
        ),
        (
            "v1",
            1,
            &["0 g0 v1 stopped healthy", "0 g1 v2 running"][..],
            "web-0-g0: not healthy; replica 0: start generation 0; again",
        ),
        // Three generations: the newest two are the pair.
        (
            "v3",
            1,
            &[
                "0 g0 v1 running healthy",
                "0 g1 v2 running healthy",
                "0 g2 v3 running well",
            ][..],
            "replica 0: remove generation 0; again",
        ),
        // HF-34: stopped by hand, deleted by hand; created and not yet started.
        (
            "v1",
            1,
            &["0 g0 v1 stopped healthy"][..],
            "web-0-g0: not healthy; replica 0: start generation 0; again",
        ),
        (
            "v1",
            2,
            &["0 g0 v1 running healthy"][..],
            "replica 1: create generation 0; again",
        ),
        (
            "v1",
            1,
            &["0 g0 v1 never"][..],
            "replica 0: start generation 0; again",
        ),
        // HO-APP-30: nothing that serves is touched while another is on trial; the lowest ordinal goes first.
        (
            "v2",
            2,
            &[
                "0 g0 v1 running healthy",
                "0 g1 v2 running soaking well",
                "1 g0 v1 running healthy",
            ][..],
            "wait 1s",
        ),
        (
            "v2",
            2,
            &["0 g0 v1 running healthy", "1 g0 v1 running healthy"][..],
            "replica 0: create generation 1; again",
        ),
        // Missing ones do not wait for the trial of others.
        (
            "v1",
            2,
            &["0 g0 v1 running soaking well"][..],
            "replica 1: create generation 0; again",
        ),
        // Fewer: the highest ordinal first, after everything else.
        (
            "v1",
            1,
            &[
                "0 g0 v1 running healthy",
                "1 g0 v1 running healthy",
                "2 g5 v1 running healthy",
            ][..],
            "replica 2: remove generation 5; again",
        ),
        // AP-38: a member is Offline: elsewhere, under the next generation. One that is only silent is waited for.
        (
            "v1",
            1,
            &["0 g4 - lost"][..],
            "replica 0: create generation 5; again",
        ),
        ("v1", 1, &["0 g4 - unknown"][..], "wait 1s"),
        // It is back: the older one goes.
        (
            "v1",
            1,
            &["0 g4 v1 running healthy", "0 g5 v1 running healthy well"][..],
            "replica 0: promote generation 5, remove generation 4; again",
        ),
        // Incus puts it back itself.
        ("v1", 1, &["0 g0 v1 evacuated healthy"][..], "converged"),
        // A surplus one that cannot be reached does not hold anything up.
        (
            "v1",
            1,
            &["0 g0 v1 running healthy", "1 g0 - lost"][..],
            "converged",
        ),
    ] {
        let seen = observation(there);
        assert_eq!(
            told(&spec(image, replicas), &seen, &Work::default()),
            expected,
            "{image} x {replicas}: {there:?}"
        );
    }
}

/// HO-APP-36: the failure names candidate and output, and what serves goes on.
#[test]
fn a_failed_candidate_is_deleted_after_its_output_was_kept() {
    let mut seen = observation(&["0 g0 v1 running healthy", "0 g1 v2 stopped"]);
    seen.outputs
        .insert("web-0-g1".to_owned(), "no such file\n".to_owned());
    let decision = decide(&spec("v2", 1), &seen, &Work::default(), NOW);
    assert_eq!(decision.steps.len(), 1);
    assert_eq!(
        decision.steps[0].to_string(),
        "replica 0: remove failed generation 1"
    );
    let failure = decision
        .work
        .failure
        .clone()
        .expect("the failure is on record before the delete");
    assert_eq!((failure.generation, failure.image.as_str()), (1, "v2"));
    assert_eq!(
        failure.error,
        "it ended by itself; its last output:\nno such file"
    );
    let Next::Failed(told) = decision.next else {
        panic!("{:?}", decision.next);
    };
    assert_eq!(told.serving.as_deref(), Some("web-0-g0"));
}

/// HO-APP-36, 40: the deadline counts from the recorded start, and flapping does not stretch it.
#[test]
fn a_candidate_has_until_its_deadline() {
    let seen = observation(&["0 g0 v1 running healthy", "0 g1 v2 running soaking well"]);
    let started = |at: i64| {
        let mut work = recorded(&Work::default(), &seen, Moment(at));
        work.slots.get_mut(&0).expect("a slot").generation = 1;
        work
    };
    assert_eq!(
        told(&spec("v2", 1), &seen, &started(NOW.0 - 599_500)),
        "wait 500ms"
    );
    assert_eq!(
        told(&spec("v2", 1), &seen, &started(NOW.0 - 600_000)),
        "web-0-g1: keep the last output; again"
    );
}

/// It was healthy for a moment, ended, and is listed as running once more: it has failed all the same.
#[test]
fn a_workload_that_was_seen_to_end_has_failed_whatever_is_listed() {
    for words in [
        "0 g0 v1 running soaking well",
        "0 g0 v1 running healthy well",
    ] {
        let mut seen = observation(&[words]);
        seen.ended.insert("web-0-g0".to_owned());
        assert_eq!(
            told(&spec("v1", 1), &seen, &Work::default()),
            "web-0-g0: keep the last output; again"
        );
    }
}

/// What is seen counts more than what an attempt was told.
#[test]
fn a_workload_that_runs_has_started_whatever_was_told() {
    let judged = |words: &str| {
        let mut seen = observation(&["0 g0 v1 running healthy", words]);
        let told_error = "The instance is already running".to_owned();
        seen.start_errors.insert("web-0-g1".to_owned(), told_error);
        told(&spec("v2", 1), &seen, &Work::default())
    };
    assert_eq!(judged("0 g1 v2 running well"), "web-0-g1: healthy; wait 1s");
    assert_eq!(
        judged("0 g1 v2 stopped"),
        "web-0-g1: keep the last output; again"
    );
}

/// Cases 34: a start that was cut off may still be going on, so a stopped candidate of before is started, not judged.
#[test]
fn a_stopped_candidate_of_a_killed_apply_is_started_and_not_judged() {
    let mut seen = observation(&["0 g0 v1 running healthy", "0 g1 v2 stopped"]);
    seen.unfinished.insert("web-0-g1".to_owned());
    assert_eq!(
        told(&spec("v2", 1), &seen, &Work::default()),
        "replica 0: start generation 1; again"
    );
}

/// The invariant that a generation never goes down, with nothing but the record left.
#[test]
fn generations_go_on_from_the_record() {
    let mut work = Work::default();
    work.slots.entry(0).or_default().generation = 7;
    assert_eq!(
        told(&spec("v1", 1), &Observation::default(), &work),
        "replica 0: create generation 8; again"
    );
}

/// Design 7: a name that is taken is a conflict if it is somebody's, and passed over if nobody can tell.
#[test]
fn taken_names_are_conflicts_or_passed_over() {
    let seen = Observation {
        foreign: BTreeMap::from([("web-g0".to_owned(), Some("other".to_owned()))]),
        ..Observation::default()
    };
    assert_eq!(
        told(&spec("v1", 1), &seen, &Work::default()),
        "web-g0 is taken"
    );
    let mut seen = Observation::default();
    seen.unclear.insert("web-g0".to_owned());
    assert_eq!(
        told(&spec("v1", 1), &seen, &Work::default()),
        "replica 0: create generation 1; again"
    );
}
