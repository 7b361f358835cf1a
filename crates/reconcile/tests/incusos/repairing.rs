//! Members on IncusOS that lack something: what a plan shows of it, and what an apply sends.

use domain::membership::spec::DAEMON_VOLUMES;
use reconcile::member::{missing, view};
use serde_json::{Value, json};

use crate::fleet::Fleet;

/// HO-CLUS-06, HO-JOIN-18, HO-JOIN-19: the volumes first, then the keys that point at them; and the address of a joiner,
/// which its seed made one, as wide as that of the first machine.
#[tokio::test]
async fn a_member_gets_what_it_lacks_and_a_plan_names_all_of_it() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    let joiner = fleet.joiner("b");
    assert_eq!(fleet.told(&joiner).await, "joined");
    fleet.world(|world| {
        world.delete_volumes("b", &DAEMON_VOLUMES);
        world
            .machine("b")
            .config
            .retain(|key, _| !key.starts_with("storage."));
        world.machine("a").set("core.https_address", ":8443");
    });
    let before = fleet.writes().len();

    let everywhere = format!(":{}", joiner.address.port);
    let seen = view(&fleet.cluster())
        .await
        .expect("a look")
        .expect("a cluster");
    let expected = [
        "custom volume local/backups",
        "custom volume local/images",
        "custom volume local/logs",
        "storage.backups_volume = local/backups",
        "storage.images_volume = local/images",
        "storage.logs_volume = local/logs",
        &format!("core.https_address = {everywhere}"),
    ];
    assert_eq!(missing(&joiner, &seen.seen), expected);
    assert_eq!(fleet.writes().len(), before, "a plan changes nothing");

    assert_eq!(fleet.told(&joiner).await, "joined");
    let volume = "a: POST /1.0/storage-pools/local/volumes/custom?target=b";
    let keys = "a: PATCH /1.0?target=b";
    assert_eq!(
        fleet.writes()[before..],
        [volume, volume, volume, keys, keys]
    );
    let made = fleet.bodies(volume).split_off(DAEMON_VOLUMES.len());
    let names: Vec<&Value> = made.iter().map(|body| &body["name"]).collect();
    assert_eq!(names, DAEMON_VOLUMES);
    let expected = [
        json!({ "config": {
            "storage.backups_volume": "local/backups",
            "storage.images_volume": "local/images",
            "storage.logs_volume": "local/logs",
        } }),
        json!({ "config": { "core.https_address": everywhere } }),
    ];
    assert_eq!(fleet.bodies(keys)[1..], expected);

    let seen = view(&fleet.cluster())
        .await
        .expect("a look")
        .expect("a cluster");
    assert_eq!(missing(&joiner, &seen.seen), [""; 0]);
}

/// HO-CLUS-06: a key that somebody has pointed somewhere else stays, and its volume is not missed.
#[tokio::test]
async fn a_key_that_points_elsewhere_is_left_alone() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
    let before = fleet.writes().len();
    fleet.world(|world| {
        world
            .machine("b")
            .set("storage.images_volume", "fast/images");
        world.delete_volumes("b", &["images"]);
    });
    assert_eq!(fleet.told(&fleet.joiner("b")).await, "joined");
    assert_eq!(fleet.writes().len(), before);
}
