//! What has gone wrong elsewhere, with providers and systems that do a part of this job: each test is named for what is
//! right. What the rollout itself cannot show (imports, joins, certificates) is where that is.

use super::placements::members;
use super::*;
use crate::app::key;
use crate::observation::{self, MemberStatus, Power, Seen};
use crate::work::bounded;

/// An instance of `web` as the list shows it: its keys as they were made, and these.
fn seen(declared: &AppSpec, generation: u64, keys: &[(&str, &str)]) -> Seen {
    let mut config = declared.workload_keys(&Place::FIRST, generation);
    let keys = keys.iter();
    config.extend(keys.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    Seen {
        name: declared.workload_name(&Place::FIRST, generation),
        member: None,
        power: Power::Running,
        config: Some(config),
        healthy_since: Some(Moment(0)),
        started_at: String::new(),
        ever_started: true,
        description: String::new(),
    }
}

fn decide_on_seen(declared: &AppSpec, seen: &[Seen]) -> String {
    let work = Work::default();
    let observation = observation::of_app("web", seen, &[], &work);
    told(&decide(declared, &observation, &work, NOW))
}

/// HO-APP-38: whoever writes a stamp says again what is said about the workload, which would be empty otherwise.
#[test]
fn what_is_said_about_a_workload_is_said_again_with_its_stamp() {
    let spec = spec("v1 x1");
    for (since, probe) in [
        (None, Probe::Healthy),
        (Some(NOW), Probe::Unhealthy("it is down".to_owned())),
    ] {
        let one = Seen {
            healthy_since: since,
            description: "ours".to_owned(),
            ..seen(&spec, 0, &[])
        };
        let work = Work::default();
        let mut observation = observation::of_app("web", &[one], &[], &work);
        observation.probes.insert("web-g0".to_owned(), probe);
        let steps = decide(&spec, &observation, &work, NOW).steps;
        let [Step::StampHealthy { description, .. } | Step::ClearHealthy { description, .. }] =
            steps.as_slice()
        else {
            panic!("{steps:?}");
        };
        assert_eq!(description, "ours");
    }
}

/// A server adds keys of its own after a create, and people set others by hand: only what is declared is compared.
#[test]
fn keys_that_the_server_adds_or_rewrites_are_no_change() {
    let spec = spec("v1 x1");
    for keys in [
        &[][..],
        &[
            ("image.os", "busybox"),
            ("volatile.eth0.hwaddr", "00:16:3e:00:00:01"),
        ],
        &[("limits.memory", "1073741824"), ("user.note", "by hand")],
    ] {
        let told = decide_on_seen(&spec, &[seen(&spec, 0, keys)]);
        assert_eq!(told, "converged", "{keys:?}");
    }
}

/// Null and empty say the same, in a document of an earlier version too, so neither rolls anything.
#[test]
fn nothing_and_an_empty_map_are_one_declaration() {
    let nothing = spec("v1 x1");
    let mut document = serde_json::to_value(&nothing).expect("a document");
    for name in ["volumes", "params", "destinations"] {
        assert_eq!(document[name], serde_json::Value::Null);
        document[name] = serde_json::json!({});
    }
    let empty: AppSpec = serde_json::from_value(document).expect("a declaration");
    assert_eq!(nothing.hash(), empty.hash());
    assert!(nothing.declares_same(&empty));
}

/// An alias may move to other content at any time. What it stood for stays until the declaration changes.
#[test]
fn an_alias_that_moves_replaces_nothing() {
    let mut published = spec("v1 x1");
    published.image.digest = Some("aa".repeat(32));
    let running = [seen(&published, 0, &[])];
    let again = AppSpec {
        image: Image {
            digest: published.digest_for(&spec("v1 x1")),
            ..published.image.clone()
        },
        ..spec("v1 x1")
    };
    assert_eq!(decide_on_seen(&again, &running), "converged");
    // Other content under the same name is another image, once it is looked up anew.
    let mut moved = published.clone();
    moved.image.digest = Some("bb".repeat(32));
    assert_eq!(
        decide_on_seen(&moved, &running),
        "replica 0: create generation 1; again"
    );
}

/// Another image, another variable: the next generation is made from nothing, and nothing is rebuilt in place, where the
/// variables of the old image would live on.
#[test]
fn a_change_makes_a_new_generation_and_rebuilds_nothing() {
    let before = spec("v1 x1");
    let mut variable = before.clone();
    variable
        .workload
        .environment
        .insert("A".to_owned(), "1".to_owned());
    let mut secret = before.clone();
    secret.secrets = Some(2);
    for changed in [spec("v2 x1"), variable, secret] {
        let told = decide_on_seen(&changed, &[seen(&before, 3, &[])]);
        assert_eq!(told, "replica 0: create generation 4; again");
    }
}

/// Names of volumes and places of an app do not depend on the generation: what belongs to a replica survives it.
#[test]
fn what_belongs_to_a_place_survives_its_generations() {
    let spec = spec("v1 x3");
    let place = Place::Ordinal(1);
    assert_eq!(spec.volume_name(&place, "data"), "web-1-data");
    assert_ne!(spec.workload_name(&place, 0), spec.workload_name(&place, 1));
}

/// A create was done and then cut off, in the wait, in a lookup, or before anything was recorded: what carries our keys is
/// taken up, and nothing is made twice.
#[test]
fn what_a_killed_apply_has_made_is_taken_up() {
    check(
        "
        v1 x1 | 0 g0 v1 never                            | replica 0: start generation 0; again
        v1 x1 | 0 g0 v1 unfinished                       | replica 0: start generation 0; again
        v1 x1 | 0 g0 v1 running                          | wait 1s
        v1 x1 | 0 g0 v1 running healthy                  | converged
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 never   | replica 0: start generation 1; again
        # Nobody wants its candidate any more: it is not left in progress for ever.
        v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running | replica 0: remove candidate generation 1; again
        v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 never   | replica 0: remove candidate generation 1; again
        ",
    );
}

/// A rollout that failed is never recorded as a success: what served serves, the failure is on record, and the phase says
/// so until another declaration succeeds.
#[test]
fn a_failed_rollout_is_a_failure_until_another_one_succeeds() {
    let failed = decide_on(
        "v2 x1",
        &there("0 g0 v1 running healthy, 0 g1 v2 stopped kept"),
    );
    assert_eq!(
        told(&failed),
        "replica 0: remove failed generation 1; again"
    );
    let mut after = there("0 g0 v1 running healthy");
    after.work = failed.work;
    for (declared, word) in [("v2 x1", "reverted"), ("v1 x1", "serving")] {
        let phase = phase::of(&spec(declared), &after.observation, &after.work, NOW);
        assert_eq!(phase.word(), word);
    }
    assert_eq!(told(&decide_on("v2 x1", &after)), "failed, web-0-g0 serves");
    // The next apply of the same tries again, under the next generation.
    after.work.revision += 1;
    assert_eq!(
        told(&decide_on("v2 x1", &after)),
        "replica 0: create generation 2; again"
    );
    assert!(decide_on("v1 x1", &after).work.failure.is_none());
}

/// An evacuation, a restore and a move go on: whoever would act in between would break them, or read from a member that
/// does not have it yet.
#[test]
fn what_is_on_the_move_is_left_alone() {
    check(
        "
        v1 x1 | 0 g0 v1 evacuated healthy                       | converged
        v1 x1 | 0 g0 v1 moving healthy                          | converged
        v1 x2 | 0 g0 v1 evacuated healthy, 1 g0 v1 running healthy | converged
        v1 x1 | 0 g0 v1 moving                                  | wait 1s
        v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 moving         | wait 1s
        ",
    );
}

/// What was made elsewhere meanwhile stays, and what comes back with its member goes, before anything else is done: two of
/// one place must not go on side by side.
#[test]
fn what_comes_back_from_a_dead_member_goes_first() {
    check(
        "
        v1 x2 | 0 g0 v1 running healthy, 0 g1 v1 running healthy well, record 0 g1 | replica 0: promote generation 1, remove generation 0; again
        v2 x2 | 0 g0 v1 running healthy, 0 g1 v1 running healthy, 1 g0 v1 running healthy, record 0 serving g1 | replica 0: remove generation 0; again
        ",
    );
}

/// A glitch is no death: nothing is made elsewhere before Incus itself says that the member is Offline.
#[test]
fn a_member_that_is_silent_for_a_moment_is_waited_for() {
    let is_there = "0 g0 - unknown @m1";
    for (who, expected) in [
        ("m1 online, m2 online", "wait 1s"),
        ("m1 other, m2 online", "wait 1s"),
    ] {
        let mut there = there(is_there);
        members(&mut there, who);
        assert_eq!(told(&decide_on("v1 x1", &there)), expected, "{who}");
    }
    let spec = spec("v1 x1");
    let made = decide_on("v1 x1", &there(""));
    let silent = Seen {
        config: None,
        member: Some("m1".to_owned()),
        ..seen(&spec, 0, &[])
    };
    for (status, expected) in [
        (MemberStatus::Online, "wait 1s"),
        (MemberStatus::Other, "wait 1s"),
        (
            MemberStatus::Offline,
            "replica 0: create generation 1; again",
        ),
    ] {
        let member = |name: &str, status| observation::Member {
            name: name.to_owned(),
            status,
            architecture: "x86_64".to_owned(),
            schedulable: true,
            groups: Vec::new(),
        };
        let members = [member("m1", status), member("m2", MemberStatus::Online)];
        let seen = [silent.clone()];
        let observation = observation::of_app("web", &seen, &members, &made.work);
        let decision = decide(&spec, &observation, &made.work, NOW);
        assert_eq!(told(&decision), expected, "{status:?}");
    }
}

/// A loop that never says that it is stuck helps nobody: every trial has an end, and the end is an error.
#[test]
fn a_trial_that_never_passes_has_an_end() {
    for status in ["running sick", "moving", "evacuated"] {
        let mut there = there(&format!("0 g0 v1 {status} kept"));
        let (mut now, mut failed) = (NOW, false);
        for _ in 0..10_000 {
            let decision = decide(&spec("v1 x1"), &there.observation, &there.work, now);
            there.work = decision.work;
            match decision.next {
                Next::Wait(time) => now = now.plus(time),
                Next::Again => there.observation.workloads.clear(),
                Next::Failed(_) => {
                    failed = true;
                    break;
                }
                other => panic!("{status}: {other:?}"),
            }
        }
        assert!(failed, "{status}");
        let waited = now.since(NOW);
        let deadline = spec("v1 x1").health.healthy_deadline;
        let patience = deadline..=deadline + PROBE_INTERVAL;
        assert!(patience.contains(&waited), "{status}: {waited:?}");
    }
}

/// HF-17…39, as far as a rollout decides them: by its id, what is declared, what is there, and what is done.
#[test]
fn edge_cases_of_a_reconciler() {
    let table = "
        # What needs a name comes after what is to be cleaned up under it, and gets the next one.
        HF-19 | v1 x1 | 0 g0 v1 running healthy, 0 g1 v2 running, record 0 serving g0 | replica 0: remove candidate generation 1; again
        HF-19 | v1 x1 | 1 g0 v1 running healthy | replica 0: create generation 0; again
        # Whose a name is shows before anything stops.
        HF-22 | v2 x1 | 0 g0 v1 running healthy, foreign web-g1 of other | web-g1 is other's
        HF-22 | v2 x1 alone | 0 g0 v1 running healthy, foreign web-g1 of other | web-g1 is other's
        # Where only one may run: stop, make and start, look, and only then remove, since the old one is the way back.
        HF-24 | v2 x1 alone | 0 g0 v1 running healthy | replica 0: stop generation 0; again
        HF-24 | v2 x1 alone | 0 g0 v1 unfinished healthy | replica 0: create generation 1; again
        HF-24 | v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running well | web-0-g1: healthy; wait 1s
        HF-24 | v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy well | replica 0: promote generation 1, remove generation 0; again
        # Replicas that were changed stay changed, whatever becomes of a later one; the next pass goes on from what is there.
        HF-25 | v2 x2 | 0 g1 v2 running healthy, 1 g0 v1 running healthy, 1 g1 v2 stopped kept | replica 1: remove failed generation 1; again
        HF-25 | v2 x2 | 0 g1 v2 running healthy, 1 g0 v1 running healthy, failed 1 g1 | failed, web-1-g0 serves
        HF-25 | v2 x2 | 0 g1 v2 running healthy, 1 g0 v1 running healthy, record 1 g1 | replica 1: create generation 2; again
        # What has not changed is left alone, what is missing is made, what is stopped is started.
        HF-26 | v1 x2 | 0 g0 v1 running healthy, 1 g0 v1 running healthy | converged
        HF-26 | v1 x2 | 0 g0 v1 running healthy | replica 1: create generation 0; again
        HF-26 | v1 x2 | 0 g0 v1 running healthy, 1 g0 v1 unfinished healthy | web-1-g0: not healthy; replica 1: start generation 0; again
        # What is not declared any more goes.
        HF-27 | v1 x1 | 0 g0 v1 running healthy, 1 g0 v1 running healthy | replica 1: remove generation 0; again
        # What was wanted when it began is not wanted any more: its outcome counts for nothing.
        HF-29 | v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 stopped kept | replica 0: remove candidate generation 1; again
        HF-29 | v3 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well, record 0 serving g0 | replica 0: remove candidate generation 1; again
        # Exited is failed, at once and with what it printed.
        HF-31 | v1 x1 | 0 g0 v1 stopped | web-0-g0: keep the last output; again
        HF-31 | v1 x1 | 0 g0 v1 stopped kept | replica 0: remove failed generation 0; again
        HF-31 | v1 x1 | failed 0 g0 | failed
        # A power cut: before the create, after it, after the start, before the old one stops, after that, after it is gone.
        HF-33 | v2 x1 | 0 g0 v1 running healthy, record 0 g1 | replica 0: create generation 2; again
        HF-33 | v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 never | replica 0: start generation 1; again
        HF-33 | v2 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 unfinished | replica 0: start generation 1; again
        HF-33 | v2 x1 | 0 g0 v1 running healthy, 0 g1 v2 running healthy well, record 0 serving g1 | replica 0: promote generation 1, remove generation 0; again
        HF-33 | v2 x1 | 0 g0 v1 unfinished healthy, 0 g1 v2 running healthy, doomed 0 g0 | replica 0: remove generation 0; again
        HF-33 | v2 x1 | 0 g1 v2 running healthy, record 0 serving g1 | converged
        HF-33 | v2 x1 alone | 0 g0 v1 unfinished healthy, record 0 g1 | replica 0: create generation 2; again
        HF-33 | v2 x1 alone | 0 g0 v1 unfinished healthy, 0 g1 v2 never | replica 0: start generation 1; again
        # By hand: stopped, deleted, and the record lost.
        HF-34 | v1 x1 | 0 g0 v1 unfinished healthy | web-0-g0: not healthy; replica 0: start generation 0; again
        HF-34 | v1 x1 | record 0 g0 | replica 0: create generation 1; again
        HF-34 | v1 x1 | 0 g4 v1 running healthy | converged
        # What stands in the way of the new one leaves the old one alone.
        HF-39 | v2 x2 | 0 g0 v1 running healthy, 1 g0 v1 running healthy, foreign web-0-g1 | web-0-g1 is somebody's
    ";
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [id, declared, is_there, expected] = columns.as_slice() else {
            panic!("four columns: {line}");
        };
        let beside = declared.splitn(3, ' ').nth(2).unwrap_or_default();
        let decision = decide_on(declared, &there_with(beside, is_there));
        assert_eq!(told(&decision), *expected, "{id}: {line}");
    }
}

/// HF-18, HF-20, HF-24, HF-27: secrets count by their version, errors have a bound, and whatever stops has its grace, unless
/// it has failed.
#[test]
fn versions_bounds_and_graces() {
    let (first, second) = (spec("v1 x1"), spec("v1 x1"));
    let with = |mut spec: AppSpec, version| {
        spec.secrets = Some(version);
        spec.hash()
    };
    assert_eq!(with(first.clone(), 1), with(second.clone(), 1));
    assert_ne!(with(first, 1), with(second, 2));
    assert!(bounded(&"é".repeat(5000)).len() <= crate::work::LONGEST_ERROR);
    for (declared, is_there, expected) in [
        ("v1 x1", "0 g0 v1 running healthy, 1 g0 v1 running", 30),
        (
            "v2 x1",
            "0 g0 v1 running healthy, 0 g1 v2 running healthy well",
            30,
        ),
        ("v2 x1", "0 g0 v1 running healthy, 0 g1 v2 stopped kept", 0),
    ] {
        let decision = decide_on(declared, &there(is_there));
        let [Step::Delete { grace, .. }] = decision.steps.as_slice() else {
            panic!("{:?}", decision.steps);
        };
        assert_eq!(*grace, Duration::from_secs(expected), "{is_there}");
    }
}

/// The keys of a workload say whose it is and of which image, as the user wrote it (HO-APP-12, HO-APP-28).
#[test]
fn an_orphan_of_ours_is_known_by_its_keys() {
    let spec = spec("v1 x1");
    let orphan = seen(&spec, 2, &[]);
    let keys = orphan.config.clone().unwrap_or_default();
    assert_eq!(keys[key::IMAGE], "v1");
    assert_eq!(decide_on_seen(&spec, &[orphan]), "converged");
    let mut others = seen(&spec, 0, &[(key::APP, "other")]);
    others.name = "web-g0".to_owned();
    assert_eq!(decide_on_seen(&spec, &[others]), "web-g0 is other's");
}
