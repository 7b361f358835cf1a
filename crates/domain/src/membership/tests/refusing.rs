//! Machines that do not join: they would lose something, or are not the ones that are meant.

use core::time::Duration;

use crate::membership::fixtures::*;
use crate::membership::history::History;
use crate::membership::observation::*;

/// HO-JOIN-02, HO-JOIN-04, HO-JOIN-20, HO-JOIN-23.
#[test]
fn a_machine_that_would_lose_something_or_is_another_one_is_refused() {
    let pinned = |pin: &str| with(|spec| spec.server_fingerprint = Some(pin.to_owned()));
    check_joins(vec![
        ("empty", spec(), before(), "joining: join b"),
        ("the pinned one", pinned(OWN), before(), "joining: join b"),
        (
            "not the pinned one",
            pinned("ff"),
            before(),
            "refused: the machine shows certificate b2, and server_fingerprint is ff",
        ),
        (
            "not the pinned one, and unknown to it",
            pinned("ff"),
            seen(untrusting(OWN)),
            "refused: the machine shows",
        ),
        (
            "instances",
            spec(),
            machine(|server| server.instances = set(&["web"])),
            "refused: the machine is not empty, and would lose instance web:",
        ),
        (
            "volumes in a pool of an earlier attempt",
            spec(),
            machine(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.pools = set(&["local"]);
                server.volumes = set(&["local/data"]);
            }),
            "refused: the machine is not empty, and would lose custom volume local/data:",
        ),
        (
            "a pool although nothing was ever tried",
            spec(),
            machine(|server| server.pools = set(&["local"])),
            "refused: the machine is not empty, and would lose storage pool local:",
        ),
        (
            "a pool that the cluster has not, after an attempt",
            spec(),
            machine(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.pools = set(&["local", "tank"]);
            }),
            "refused: the machine is not empty, and would lose storage pool tank:",
        ),
        (
            "a network of its own",
            spec(),
            machine(|server| server.networks = set(&["mybr0"])),
            "refused: the machine is not empty, and would lose network mybr0:",
        ),
        (
            "another major version",
            spec(),
            machine(|server| server.version = server_version("6.0.6", 529)),
            "refused: the machine has Incus 6.0.6, and member a has 7.0.1: another major",
        ),
        (
            "another major version while it applies its seed",
            spec(),
            machine(|server| {
                server.system = System::IncusOs { initialized: false };
                server.version = server_version("6.0.6", 529);
            }),
            "refused: the machine has Incus 6.0.6",
        ),
        (
            "another seed",
            spec(),
            machine(|server| server.name = "x".to_owned()),
            "refused: the machine calls itself \"x\"",
        ),
        (
            "another hostname on a system that was there",
            spec(),
            machine(|server| {
                server.name = "x".to_owned();
                server.system = System::Other;
            }),
            "joining: join b",
        ),
        (
            "in a cluster of its own",
            spec(),
            machine(|server| server.clustered = true),
            "refused: the machine is in a cluster already, as \"b\"",
        ),
        (
            "removed by force, and alive",
            spec(),
            seen(open(joined())),
            "refused: the machine shows this cluster's certificate, and the cluster does not list it",
        ),
        (
            "about to join, or removed by force a moment ago",
            spec(),
            seen(stranded(CLUSTER)),
            "joining: the machine is about to make or join a cluster",
        ),
        (
            "in a cluster of its own that has no majority",
            pinned("ff"),
            seen(stranded("c2")),
            "waiting-for-host: the machine does not answer: no database",
        ),
        (
            "the other member",
            spec(),
            seen(open(Server {
                name: "a".to_owned(),
                ..joined()
            })),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "the other member, installed anew",
            spec(),
            machine(|server| server.fingerprint = "server-a".to_owned()),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "just joined",
            spec(),
            seen(open(Server {
                busy: true,
                ..joined()
            })),
            "joining:",
        ),
    ]);
}

/// HO-JOIN-20: a member that was removed by force while it was cut off has no database any more, and yet acts.
#[test]
fn a_machine_that_stays_in_the_cluster_by_its_certificate_alone_is_refused() {
    let after = |seconds| History {
        outside_for: Duration::from_secs(seconds),
        ..History::default()
    };
    for spec in [spec(), bootstrap()] {
        for (seconds, expected) in [
            (0, "joining: the machine is about to"),
            (29, "joining: the machine is about to"),
            (30, "refused: the machine shows this cluster's certificate"),
        ] {
            let said = said_after(&spec, &seen(stranded(CLUSTER)), &after(seconds));
            assert!(said.starts_with(expected), "{seconds} s: {said}");
        }
    }
}

/// HO-JOIN-12: seen of a machine whose join was cut off by the death of the member that led the database.
#[test]
fn a_machine_that_got_stuck_in_its_join_is_not_waited_for() {
    let after = |asked_to_join, seconds| History {
        asked_to_join,
        outside_for: Duration::from_secs(seconds),
        ..History::default()
    };
    for (history, expected) in [
        (
            after(true, 29),
            "waiting-for-host: the machine does not answer",
        ),
        (
            after(true, 30),
            "refused: the machine got stuck in its join",
        ),
        // It may be starting for the first time.
        (
            after(false, 600),
            "waiting-for-host: the machine does not answer",
        ),
    ] {
        let said = said_after(&spec(), &seen(stranded(OWN)), &history);
        assert!(said.starts_with(expected), "{history:?}: {said}");
    }
}
