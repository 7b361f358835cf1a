//! A cluster that does not answer, and one that is not there: a machine by itself among the endpoints tells neither.

use incus::Fingerprint;
use reconcile::member::view;
use tokio::net::TcpListener;

use crate::fleet::Fleet;
use crate::world::System;

/// HO-CLUS-02: with the cluster taken for absent, a first machine would make a second one.
#[tokio::test]
async fn a_cluster_that_has_lost_its_database_is_not_taken_for_absent() {
    let fleet = Fleet::founded(&["attic", "basement", "garage"]).await;
    assert_eq!(fleet.told(&fleet.joiner("basement")).await, "joined");
    let before = fleet.writes().len();
    fleet.world(|world| {
        for name in ["attic", "basement"] {
            world.machine(name).lost = true;
        }
        world.machine("garage").system = System::Silent;
    });
    let error = view(&fleet.cluster()).await.expect_err("nobody can tell");
    let words = error.to_string();
    assert!(
        words.contains("cannot reach the database of its cluster"),
        "{words}"
    );
    let pass = fleet.pass(&fleet.bootstrap("garage")).await;
    assert!(pass.is_err(), "{pass:?}");
    assert_eq!(fleet.writes().len(), before, "nothing is made meanwhile");
}

/// HO-CLUS-02: whoever knows the cluster takes a silent endpoint for a member; whoever does not, for a machine that is
/// not installed yet.
#[tokio::test]
async fn a_silent_endpoint_of_a_known_cluster_is_not_taken_for_its_absence() {
    let fleet = Fleet::fresh(&["garage"]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = listener.local_addr().expect("an address").to_string();
    drop(listener);
    for (is_silent, is_known, is_absent) in [
        (true, true, false),
        (true, false, true),
        (false, true, true),
        (false, false, true),
    ] {
        let cluster = fleet.cluster_beside(is_silent.then_some(&silent));
        if is_known {
            // It may be asked by whoever knows the cluster because it shows the right certificate, as over a socket.
            let fingerprint = fleet.world(|world| world.certificate_of("garage"));
            let fingerprint = Fingerprint::parse(&fingerprint).expect("a fingerprint");
            cluster
                .client
                .expect_cluster(fingerprint)
                .expect("the first");
        }
        let absent = matches!(view(&cluster).await, Ok(None));
        assert_eq!(absent, is_absent, "silent {is_silent}, known {is_known}");
    }
}
