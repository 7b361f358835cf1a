//! Which instances may be taken over, and what makes them ours.

use super::*;
use crate::app::{AppType, Image};
use crate::observation;
use crate::rollout::{Next, decide as roll, forecast};

/// "web-1 n1 image=abc app=db": name and member, then keys; "-" as the member: it is silent; "stopped": it does not run.
fn seen(words: &str) -> Seen {
    let mut words = words.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let member = words.next().unwrap_or_default();
    let mut config = BTreeMap::from([("volatile.base_image".to_owned(), "abc123".to_owned())]);
    let mut power = Power::Running;
    for word in words {
        match word.split_once('=') {
            Some(("image", image)) => {
                config.insert("volatile.base_image".to_owned(), image.to_owned())
            }
            Some((key, value)) => {
                config.insert(format!("user.homelab-ops.{key}"), value.to_owned())
            }
            None => {
                power = Power::Stopped;
                None
            }
        };
    }
    Seen {
        name,
        member: Some(member.trim_start_matches('-').to_owned()),
        power,
        config: (!member.starts_with('-')).then_some(config),
        healthy_since: None,
        started_at: String::new(),
        ever_started: true,
        description: String::new(),
    }
}

fn spec(replicas: Replicas, reference: ImageReference) -> AppSpec {
    let image = Image {
        digest: Some("def".to_owned()),
        ..Image::own(reference)
    };
    AppSpec::new("web", AppType::GenericStateless, replicas, image)
}

fn alias() -> ImageReference {
    ImageReference::Alias("alpine/edge".to_owned())
}

fn names(names: &str) -> Vec<String> {
    names.split(' ').map(str::to_owned).collect()
}

/// Nothing that is somebody's, or that nobody can judge, is taken over; and every reason is told at once.
#[test]
fn what_cannot_be_taken_over_is_refused_with_what_was_seen() {
    let there = [
        seen("web-1 n1"),
        seen("db-g3 n1 app=db generation=3"),
        seen("web-g0 n1 app=web generation=0"),
        seen("copy n1 app=web generation=0 adopted=web-1"),
        seen("quiet -n2"),
        seen("halted n1 stopped"),
    ];
    for (named, parts) in [
        ("web-1 web-1", &["web-1 is named twice"][..]),
        ("web-7", &["no instance web-7"][..]),
        (
            "db-g3",
            &["db-g3 carries the keys of app db, generation \"3\""][..],
        ),
        ("web-g0", &["carries the keys of app web"][..]),
        ("copy", &["carries the keys of app web"][..]),
        ("quiet", &["on n2, which does not answer"][..]),
        ("halted", &["halted does not run"][..]),
        (
            "web-1 web-7 halted",
            &["no instance web-7", "halted does not run"][..],
        ),
    ] {
        let refused = look("web", &names(named), &there).expect_err(named);
        let told: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), parts.len(), "{named}: {told:?}");
        for (told, part) in told.iter().zip(parts) {
            assert!(told.contains(part), "{named}: {told}");
        }
    }
}

/// The declaration decides where they stand; what contradicts it is refused rather than deleted or replaced.
#[test]
fn the_declaration_needs_a_place_for_each() {
    let there = [seen("web-1 n1"), seen("web-2 n2"), seen("web-3 n1")];
    let found = look("web", &names("web-2 web-1 web-3"), &there).expect("all are free");
    let keys = |replicas, reference| {
        let places = places(&spec(replicas, reference), &found, None);
        places.map(|places| places.iter().map(Place::key).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(keys(Replicas::Count(5), alias()), Ok("0 1 2".to_owned()));
    let fingerprint = |text: &str| ImageReference::Fingerprint(text.to_owned());
    assert_eq!(
        keys(Replicas::Count(3), fingerprint("abc")),
        Ok("0 1 2".to_owned())
    );
    for (replicas, reference, part) in [
        (Replicas::Count(1), alias(), "no place for web-1 and web-3"),
        (Replicas::PerNode, alias(), "web-2"),
        (Replicas::Count(3), fingerprint("fed"), "image abc123"),
    ] {
        let told = match keys(replicas, reference) {
            Ok(places) => places,
            Err(refused) => refused.iter().map(|one| format!("{one}; ")).collect(),
        };
        assert!(told.contains(part) || told.contains("both on n1"), "{told}");
    }
}

/// They count as what is declared from the moment on in which they have their keys: nothing is left to do, and the
/// plan says what happens, no more.
#[test]
fn an_adoption_is_no_rollout() {
    let (spec, now) = (spec(Replicas::Count(2), alias()), Moment(10_000_000));
    let mut there = [seen("web-1 n1"), seen("web-2 n2")];
    let found = look("web", &names("web-1 web-2"), &there).expect("both are free");
    let nothing = observation::of_app("web", &there, &[], &Work::default());
    let (lines, after) = foresee(&spec, &found, &nothing, now).expect("a place for each");
    assert_eq!(lines, ["replica 0: adopt web-1", "replica 1: adopt web-2"]);
    assert_eq!(
        forecast::steps(&spec, &after, &Work::default(), now),
        [""; 0]
    );

    let adoption = decide(&spec, &found, None, &Work::default(), now).expect("a place for each");
    for (instance, stamp) in there.iter_mut().zip(&adoption.stamps) {
        instance.healthy_since = Some(stamp.healthy_since);
        if let Some(config) = &mut instance.config {
            config.extend(stamp.keys.clone());
        }
    }
    // Also when the record is lost at once.
    for work in [adoption.work, Work::default()] {
        let seen = observation::of_app("web", &there, &[], &work);
        assert_eq!(
            seen,
            Observation {
                load: seen.load.clone(),
                ..after.clone()
            }
        );
        let decision = roll(&spec, &seen, &work, now);
        assert_eq!((decision.steps.len(), decision.next), (0, Next::Converged));
    }
    // Cut off after the keys were written: the next apply finds them like the others.
    assert_eq!(look("web", &names("web-1 web-2"), &there), Ok(found));
}

/// A later change of the image rolls what was adopted as usual, to the names of every other app.
#[test]
fn what_was_adopted_rolls_like_any_other() {
    let (first, now) = (spec(Replicas::Count(1), alias()), Moment(10_000_000));
    let found = look("web", &names("web-1"), &[seen("web-1 n1")]).expect("it is free");
    let (_, after) = foresee(&first, &found, &Observation::default(), now).expect("a place");
    let work = decide(&first, &found, None, &Work::default(), now)
        .expect("a place")
        .work;
    let second = spec(
        Replicas::Count(1),
        ImageReference::Alias("alpine/3.22".to_owned()),
    );
    let steps = forecast::steps(&second, &after, &work, now);
    assert_eq!(
        steps,
        [
            "replica 0: create generation 1 from alpine/3.22",
            "replica 0: promote generation 1, remove generation 0",
        ]
    );
}
