//! From a machine with IncusOS to a member: what is waited for, what is sent, and what a failed try has left.

use reconcile::error::Error;
use reconcile::member::{Attempts, Passed};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::world::System;

/// What a join asks of the cluster and of the machine, in its order, until it is a member.
const JOIN: [&str; 2] = ["a: POST /1.0/cluster/members", "b: PUT /1.0/cluster"];

/// HO-JOIN-07, HO-JOIN-09, HO-JOIN-31: trust alone is not readiness.
#[tokio::test]
async fn a_machine_that_is_still_applying_its_seed_is_waited_for() {
    for application in ["incus", "incus-lts-7.0"] {
        let fleet = Fleet::founded(&["a", "b"]).await;
        let initialized = false;
        fleet.world(|world| {
            world.machine("b").system = System::IncusOs {
                application,
                initialized,
            };
        });
        for _ in 0..2 {
            let told = fleet.told(&fleet.joiner("b")).await;
            assert_eq!(
                told, "initializing: the machine is still applying its seed",
                "{application}"
            );
        }
        assert_eq!(fleet.writes(), [""; 0], "{application}");
        fleet.world(|world| world.machine("b").initialized(true));
        assert_eq!(
            fleet.told(&fleet.joiner("b")).await,
            "joined",
            "{application}"
        );
    }
}

/// HO-JOIN-07: an Incus that says it is on IncusOS, and whose application cannot be seen yet, is no plain Linux.
#[tokio::test]
async fn a_machine_whose_application_is_not_listed_yet_is_waited_for() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    fleet.world(|world| {
        world.machine("b").system = System::IncusOs {
            application: "not there yet",
            initialized: true,
        };
    });
    let told = fleet.told(&fleet.joiner("b")).await;
    assert_eq!(told, "initializing: the machine is still applying its seed");
    assert_eq!(fleet.writes(), [""; 0]);
}

/// HO-JOIN-13, HO-JOIN-14, HO-JOIN-15, HO-JOIN-16, HO-JOIN-17, HO-JOIN-18: nothing is made on the machine beforehand, and
/// of all keys that the cluster asks for only the source is given.
#[tokio::test]
async fn a_join_names_the_source_of_the_pool_and_then_makes_what_is_the_daemons() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
    let volume = "a: POST /1.0/storage-pools/local/volumes/custom?target=b";
    let keys = "a: PATCH /1.0?target=b";
    assert_eq!(
        fleet.writes(),
        [JOIN[0], JOIN[1], volume, volume, volume, keys]
    );

    let mut join = fleet.body(JOIN[1]);
    assert_ne!(join["cluster_token"].take(), Value::Null);
    let expected = fleet.world(|world| {
        json!({
            "server_name": "b",
            "enabled": true,
            "server_address": world.machines["b"].address,
            "cluster_address": world.machines["a"].address,
            "cluster_certificate": world.cluster.certificate.pem,
            "cluster_token": null,
            "member_config": [
                { "entity": "storage-pool", "name": "local", "key": "source", "value": "local/incus" },
            ],
        })
    });
    assert_eq!(join, expected);
    let expected = json!({ "config": {
        "storage.backups_volume": "local/backups",
        "storage.images_volume": "local/images",
        "storage.logs_volume": "local/logs",
    } });
    assert_eq!(fleet.body(keys), expected);
}

/// HO-JOIN-14: a machine without IncusOS has no dataset to name, and nothing is expected on it.
#[tokio::test]
async fn a_plain_incus_is_no_incusos_however_it_says_so() {
    for system in [|| System::Refusing, || System::Silent] {
        let fleet = Fleet::founded(&["a", "b"]).await;
        for name in ["a", "b"] {
            fleet.world(|world| world.machine(name).system = system());
        }
        assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
        assert_eq!(fleet.writes(), JOIN);
        assert_eq!(fleet.body(JOIN[1])["member_config"], json!([]));
    }
}

/// HO-JOIN-12, HO-JOIN-19: the next try finds the machine as the first one did, dataset included.
#[tokio::test]
async fn what_a_failed_join_has_left_is_deleted_before_the_next() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    fleet.world(|world| world.cluster.rejects = Some("Address is in use".to_owned()));
    let told = fleet.told(&fleet.joiner("b")).await;
    assert!(
        told.starts_with("refused: joining has failed 3 times")
            && told.ends_with("Address is in use"),
        "{told}"
    );
    let certificate = fleet.world(|world| world.certificate_of("b"));
    let distrust = format!("a: DELETE /1.0/certificates/{certificate}");
    let clean = [
        &distrust,
        "b: DELETE /1.0/networks/incusbr0?project=default",
        "b: DELETE /1.0/storage-pools/local",
    ];
    let once = [&JOIN[..], &clean].concat();
    assert_eq!(fleet.writes(), once.repeat(3));

    // Another process finds nothing but what the machine says, which is the address of the try.
    fleet.world(|world| world.cluster.rejects = None);
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
    assert_eq!(fleet.world(|world| world.source("b")), "local/incus");
    assert!(fleet.world(|world| world.cluster.tokens.is_empty()));
}

/// HO-JOIN-12: the same, of a process that was killed before it could clean up.
#[tokio::test]
async fn leftovers_of_another_process_are_deleted_before_the_join() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    fleet.world(|world| {
        let machine = world.machine("b");
        machine.set("cluster.https_address", &machine.address.clone());
        machine.store.pool("local", "zfs", "none", "local/incus");
        machine.datasets.insert("local/incus".to_owned());
    });
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
    assert_eq!(
        fleet.writes()[..3],
        ["b: DELETE /1.0/storage-pools/local", JOIN[0], JOIN[1]]
    );
}

/// HO-JOIN-23: whoever has taken the machine's address after the look gets nothing, no token either, pinned or not.
#[tokio::test]
async fn a_machine_that_was_exchanged_after_the_look_gets_no_token() {
    for is_pinned in [true, false] {
        let fleet = Fleet::founded(&["a", "b"]).await;
        let certificate = fleet.world(|world| world.certificate_of("b"));
        let mut joiner = fleet.joiner("b");
        joiner.server_fingerprint = Some(certificate).filter(|_| is_pinned);
        // The machine is looked at before the cluster, whose certificates are among the last that is.
        fleet.after("a: GET /1.0/certificates", |world| {
            world.replace("b");
            let stranger = world.machine("b");
            stranger.store.pool("local", "zfs", "none", "local/incus");
        });
        let seen = fleet.pass(&joiner).await;
        assert!(matches!(seen, Err(Error::JoinNotBegun { .. })), "{seen:?}");
        let told = fleet.told(&joiner).await;
        match is_pinned {
            true => assert!(
                told.starts_with("refused: the machine shows certificate"),
                "{told}"
            ),
            // Without a pin the one that is there now is looked at anew, and its pool is nothing that a try has left.
            false => assert!(
                told.contains("is not empty, and would lose storage pool local"),
                "{told}"
            ),
        }
        assert_eq!(fleet.writes(), [""; 0]);
    }
}

/// HO-JOIN-12: a cluster that makes no token is an error and no failed join, however often it happens.
#[tokio::test]
async fn a_join_that_was_never_asked_for_is_no_try() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    fleet.world(|world| world.cluster.mints = false);
    let (joiner, mut attempts) = (fleet.joiner("b"), Attempts::default());
    for _ in 0..4 {
        let pass = fleet.pass_after(&joiner, &mut attempts).await;
        assert!(matches!(pass, Err(Error::JoinNotBegun { .. })), "{pass:?}");
    }
    assert_eq!(fleet.writes(), [JOIN[0]; 4]);
    fleet.world(|world| world.cluster.mints = true);
    let pass = fleet.pass_after(&joiner, &mut attempts).await;
    assert!(matches!(pass, Ok(Passed::Settled { .. })), "{pass:?}");
}
