//! The first machine, whose seed makes the cluster: what is left to IncusOS, and what is not.

use serde_json::json;

use crate::fleet::Fleet;

const MAKE_VOLUME: &str = "a: POST /1.0/storage-pools/local/volumes/custom?target=a";

/// HO-CLUS-02, HO-CLUS-05, HO-JOIN-07: the cluster is the seed's to make, and nobody else's.
#[tokio::test]
async fn a_bootstrap_waits_for_its_seed_and_makes_no_cluster_itself() {
    let fleet = Fleet::fresh(&["a"]).await;
    fleet.world(|world| world.machine("a").initialized(false));
    let told = fleet.told(&fleet.bootstrap("a")).await;
    assert_eq!(told, "initializing: the machine is still applying its seed");
    fleet.world(|world| world.machine("a").initialized(true));
    let told = fleet.told(&fleet.bootstrap("a")).await;
    assert!(
        told.starts_with("refused: the machine has applied its seed and made no cluster"),
        "{told}"
    );
    assert_eq!(fleet.writes(), [""; 0]);
}

/// HO-JOIN-07, HO-JOIN-09: IncusOS makes the cluster first and its pool after that, and stays without volumes, or fails
/// for good, if anybody makes one or joins in between.
#[tokio::test]
async fn nobody_touches_a_cluster_whose_first_machine_is_still_applying_its_seed() {
    let fleet = Fleet::fresh(&["a", "b"]).await;
    fleet.world(|world| world.found("a"));
    let told = fleet.told(&fleet.bootstrap("a")).await;
    assert_eq!(told, "initializing: the machine is still applying its seed");
    let told = fleet.told(&fleet.joiner("b")).await;
    assert!(told.starts_with("waiting-for-cluster:"), "{told}");
    assert_eq!(fleet.writes(), [""; 0]);
    assert!(fleet.world(|world| world.cluster.entries.is_empty()));

    fleet.world(|world| world.apply_defaults("a"));
    assert_eq!(fleet.told(&fleet.bootstrap("a")).await, "joined");
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
}

/// HO-CLUS-06, HO-JOIN-18: releases of IncusOS differ in whether they make a volume for logs.
#[tokio::test]
async fn what_the_defaults_have_made_is_kept_and_completed() {
    let fleet = Fleet::founded(&["a"]).await;
    assert_eq!(fleet.told(&fleet.bootstrap("a")).await, "joined");
    let keys = "a: PATCH /1.0?target=a";
    assert_eq!(fleet.writes(), [MAKE_VOLUME, keys]);
    let expected =
        json!({ "name": "logs", "type": "custom", "content_type": "filesystem", "config": {} });
    assert_eq!(fleet.body(MAKE_VOLUME), expected);
    let expected = json!({ "config": { "storage.logs_volume": "local/logs" } });
    assert_eq!(fleet.body(keys), expected);
}

/// HO-CLUS-06: a seed of somebody else may have left the defaults out.
#[tokio::test]
async fn a_first_machine_without_pool_gets_the_one_that_incusos_makes() {
    let fleet = Fleet::fresh(&["a"]).await;
    fleet.world(|world| world.found("a"));
    fleet.world(|world| world.machine("a").initialized(true));
    assert_eq!(fleet.told(&fleet.bootstrap("a")).await, "joined");
    let (note, make) = (
        "a: POST /1.0/storage-pools?target=a",
        "a: POST /1.0/storage-pools",
    );
    let writes = fleet.writes();
    assert_eq!(writes[..2], [note, make]);
    assert_eq!(
        writes[2..],
        [
            MAKE_VOLUME,
            MAKE_VOLUME,
            MAKE_VOLUME,
            "a: PATCH /1.0?target=a"
        ]
    );
    let pool =
        |config| json!({ "name": "local", "driver": "zfs", "description": "", "config": config });
    assert_eq!(fleet.body(note), pool(json!({ "source": "local/incus" })));
    assert_eq!(fleet.body(make), pool(json!({})));
}
