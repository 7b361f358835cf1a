//! Whose an Incus instance is, told by its keys, by the record, and last by its name.

use super::*;
use crate::work::Slot;

/// "web-g0 web 0 g0": the name, then the app, place and generation of its keys; only a name: its member is silent.
fn seen(words: &str) -> Seen {
    let words: Vec<&str> = words.split(' ').collect();
    let config = match words.as_slice() {
        [_] => None,
        [_, app, place, generation] => Some(BTreeMap::from([
            (key::APP.to_owned(), (*app).to_owned()),
            (key::MEMBER.to_owned(), (*place).to_owned()),
            (key::GENERATION.to_owned(), generation[1..].to_owned()),
        ])),
        other => panic!("{other:?}"),
    };
    Seen {
        name: words[0].to_owned(),
        member: Some("m1".to_owned()),
        power: Power::Running,
        config,
        healthy_since: None,
        started_at: String::new(),
        ever_started: true,
        description: String::new(),
    }
}

/// What is on record as made for place 0: its name, in generation 0.
fn recorded(name: &str) -> Work {
    let made = Made {
        name: name.to_owned(),
        member: Some("m1".to_owned()),
        generation: 0,
        trial: None,
        doomed: false,
    };
    let slot = Slot {
        workloads: vec![made],
        ..Slot::default()
    };
    Work {
        slots: BTreeMap::from([(Place::FIRST, slot)]),
        ..Work::default()
    }
}

fn workloads(there: &[&str], work: &Work) -> (Vec<String>, Vec<String>) {
    let seen: Vec<Seen> = there.iter().map(|words| seen(words)).collect();
    let observation = of_app("web", &seen, &[], work);
    let name = |workload: &Workload| workload.name.clone();
    let ours = observation.workloads.iter().map(name).collect();
    (ours, observation.foreign.into_keys().collect())
}

/// Keys decide, whatever the name; a copy that somebody made by hand carries them, too, and is theirs.
#[test]
fn of_two_with_the_same_keys_one_is_a_copy() {
    for (there, record, ours, foreign) in [
        (
            &["web-g0 web 0 g0", "web-0-g1 web 0 g1"][..],
            "",
            &["web-g0", "web-0-g1"][..],
            &[][..],
        ),
        (
            &["web-g0 web 0 g0", "web-g1 db 0 g0"][..],
            "",
            &["web-g0"][..],
            &["web-g1"][..],
        ),
        // What could never be called like one of ours concerns nobody.
        (
            &["web-g0 web 0 g0", "db-g0 db 0 g0", "webs-g0 webs 0 g0"][..],
            "",
            &["web-g0"][..],
            &[][..],
        ),
        // The one that has the name which we would give it, wherever it stands in the list.
        (
            &["a web 0 g0", "web-g0 web 0 g0", "z web 0 g0"][..],
            "",
            &["web-g0"][..],
            &["a", "z"][..],
        ),
        (
            &["a web 0 g0", "web-0-g0 web 0 g0"][..],
            "",
            &["web-0-g0"][..],
            &["a"][..],
        ),
        // The record knows better: ours was renamed.
        (
            &["a web 0 g0", "web-g0 web 0 g0"][..],
            "a",
            &["a"][..],
            &["web-g0"][..],
        ),
        // A copy outlives what it was made of, and the record as well: it is theirs all the same.
        (&["a web 0 g0"][..], "", &[][..], &["a"][..]),
        (&["a web 0 g0"][..], "web-g0", &[][..], &["a"][..]),
        (
            &["a web 0 g0", "b web 0 g0"][..],
            "",
            &[][..],
            &["a", "b"][..],
        ),
        // So is one whose name is of another generation than its keys.
        (&["web-g1 web 0 g0"][..], "", &[][..], &["web-g1"][..]),
    ] {
        let told = workloads(there, &recorded(record));
        let expected = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(told, (expected(ours), expected(foreign)), "{there:?}");
    }
}

/// HO-APP-62: without its keys an instance is unknown if the record has its name, and nobody's otherwise.
#[test]
fn what_a_silent_member_has_is_known_by_the_record_alone() {
    let there = [seen("web-g0"), seen("web-g1")];
    let observation = of_app("web", &there, &[], &recorded("web-g0"));
    let [workload] = observation.workloads.as_slice() else {
        panic!("{:?}", observation.workloads);
    };
    assert_eq!(
        (workload.name.as_str(), workload.status),
        ("web-g0", Status::Unknown)
    );
    assert_eq!(observation.unclear, BTreeSet::from(["web-g1".to_owned()]));
    assert!(observation.foreign.is_empty());
}

/// What was taken over has a name of its own, and says so itself: the record may be lost. Its copy says another's name.
#[test]
fn what_was_adopted_is_ours_under_the_name_that_it_had() {
    for (name, is_ours) in [("web-1", true), ("mine", false)] {
        let mut there = seen(&format!("{name} web 0 g0"));
        if let Some(config) = &mut there.config {
            config.insert(key::ADOPTED.to_owned(), "web-1".to_owned());
        }
        let observation = of_app("web", &[there], &[], &Work::default());
        assert_eq!(observation.workloads.len(), usize::from(is_ours), "{name}");
        assert_eq!(observation.foreign.contains_key(name), !is_ours, "{name}");
    }
}
