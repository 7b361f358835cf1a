//! Which secrets a revision has, and what is told of what was printed.

use super::*;
use crate::app::{AppSpec, AppType, Image, ImageReference, Replicas};

fn secrets(shared: &[(&str, &str)], machines: &[(&str, &str)]) -> Secrets {
    let secret = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
    let own = |(machine, value): &(&str, &str)| {
        let named = Named::from([("OWN".to_owned(), Secret::new(*value))]);
        ((*machine).to_owned(), named)
    };
    Secrets {
        shared: shared.iter().map(secret).collect(),
        machines: machines.iter().map(own).collect(),
    }
}

fn spec(version: Option<u64>, of_machines: Option<u64>, revision: Option<u64>) -> AppSpec {
    let image = Image {
        digest: None,
        ..Image::own(ImageReference::Alias("v1".to_owned()))
    };
    AppSpec {
        secrets: version,
        node_secrets: of_machines,
        secrets_revision: revision,
        ..AppSpec::new("app", AppType::GenericStateless, Replicas::PerNode, image)
    }
}

/// HCL 7: a version alone tells a change. The revision before has stored `K=old` under 7, as version 1.
#[test]
fn a_version_tells_whether_values_are_stored_anew() {
    let (old, new) = (secrets(&[("K", "old")], &[]), secrets(&[("K", "new")], &[]));
    let none = Secrets::default();
    let was = spec(Some(1), None, Some(7));
    let was_without = spec(None, None, None);
    let before = |spec, secrets| Some(Before { spec, secrets });
    for (case, version, given, before, expected) in [
        ("without secrets", None, &none, None, Settled::None),
        ("a create", Some(1), &new, None, Settled::Anew(new.clone())),
        (
            "from none to 1",
            Some(1),
            &new,
            before(&was_without, None),
            Settled::Anew(new.clone()),
        ),
        (
            "the same version, after a failure too",
            Some(1),
            &new,
            before(&was, Some(&old)),
            Settled::Stored(7, old.clone()),
        ),
        (
            "the same version, and what was stored is gone",
            Some(1),
            &new,
            before(&was, None),
            Settled::Anew(new.clone()),
        ),
        (
            "from 1 to 2",
            Some(2),
            &new,
            before(&was, Some(&old)),
            Settled::Anew(new.clone()),
        ),
        (
            "removed",
            None,
            &none,
            before(&was, Some(&old)),
            Settled::None,
        ),
    ] {
        let settled = settle(&spec(version, None, None), given, before);
        assert_eq!(settled, expected, "{case}");
    }
}

/// A fourth machine needs no new version, and changes nothing for the other three; one that is gone takes its own along.
#[test]
fn a_machine_is_added_without_a_new_version() {
    let was = spec(Some(1), Some(1), Some(7));
    let stored = secrets(&[("K", "old")], &[("a", "of a"), ("b", "of b")]);
    let before = || {
        Some(Before {
            spec: &was,
            secrets: Some(&stored),
        })
    };
    let given = |machines| secrets(&[("K", "new")], machines);
    for (case, of_machines, machines, expected) in [
        (
            "the same machines",
            1,
            &[("a", "x"), ("b", "y")][..],
            Settled::Stored(7, stored.clone()),
        ),
        (
            "one more",
            1,
            &[("a", "x"), ("b", "y"), ("c", "z")],
            Settled::Anew(secrets(
                &[("K", "old")],
                &[("a", "of a"), ("b", "of b"), ("c", "z")],
            )),
        ),
        (
            "one less",
            1,
            &[("a", "x")],
            Settled::Anew(secrets(&[("K", "old")], &[("a", "of a")])),
        ),
        (
            "another version",
            2,
            &[("a", "x")],
            Settled::Anew(secrets(&[("K", "old")], &[("a", "x")])),
        ),
    ] {
        let spec = spec(Some(1), Some(of_machines), None);
        assert_eq!(
            settle(&spec, &given(machines), before()),
            expected,
            "{case}"
        );
    }
}

/// Nothing that a revision at work needs is deleted, and nothing of a revision that is on its way.
#[test]
fn what_nobody_refers_to_is_pruned() {
    for (case, stored, revision, referred, expected) in [
        ("a first one", &[1][..], 1, [Some(1), None], &[][..]),
        ("the same still", &[1, 4], 4, [Some(4), Some(1)], &[]),
        ("replaced", &[4, 1, 6], 6, [Some(6), Some(4)], &[1]),
        ("removed", &[4], 7, [None, None], &[4]),
        (
            "left by a create that was cut off",
            &[1, 2],
            1,
            [Some(2), None],
            &[1],
        ),
        ("of the next revision", &[4, 8], 7, [Some(4), Some(4)], &[]),
    ] {
        let pruned = to_prune(stored.iter().copied(), revision, referred);
        assert_eq!(pruned, expected, "{case}");
    }
}

#[test]
fn what_is_stored_is_read_again() {
    let all = secrets(&[("K", "a \"quoted\"\nvalue")], &[("a", "of a")]);
    assert_eq!(Secrets::from_stored(&all.to_stored()), Some(all));
    for damaged in ["", "{", "[]", "{\"shared\":{\"K\":1},\"machines\":{}}"] {
        assert_eq!(Secrets::from_stored(damaged), None, "{damaged}");
    }
}

/// Design 9: no message repeats a secret, not even one that the workload itself has printed.
#[test]
fn printed_secrets_are_hidden() {
    let pem = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n";
    let all = secrets(
        &[
            ("A", "hunter2"),
            ("B", "hunter2-long"),
            ("C", "abc"),
            ("D", "secret"),
        ],
        &[("a", pem)],
    );
    for (printed, told) in [
        ("token hunter2 is refused", "token (secret) is refused"),
        ("hunter2hunter2", "(secret)(secret)"),
        ("hunter2-long", "(secret)"),
        ("half of a hunter is told", "half of a hunter is told"),
        ("secret is no secret", "(secret) is no (secret)"),
        ("abc is too short to hide", "abc is too short to hide"),
        ("line MIGHAgEAMBMGByqGSM49 of it", "line (secret) of it"),
        ("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"),
    ] {
        assert_eq!(hide(printed, &all), told);
    }
    assert_eq!(hide("hunter2", &Secrets::default()), "hunter2");
    assert!(!format!("{all:?}").contains("hunter2"));
}
