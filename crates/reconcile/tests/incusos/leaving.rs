//! A member that is removed, as far as the fleet store is concerned: who is stopped, or overtaken, removes nobody.

use domain::membership::spec::{MemberSpec, OnDestroy};
use reconcile::error::Error;
use reconcile::member::{self, Attempts, Changes, Grave, Removed};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fleet::{Fleet, OWNER};

async fn remove(
    fleet: &Fleet,
    spec: &MemberSpec,
    stop: &CancellationToken,
) -> Result<Removed, Error> {
    let (changes, mut attempts) = (Changes::new(), Attempts::default());
    let mut grave = Grave::new(spec, Some(OWNER.to_owned()));
    let applied = OnDestroy::default();
    let cluster = fleet.cluster();
    member::remove(
        &cluster,
        spec,
        &mut grave,
        applied,
        &changes,
        &mut attempts,
        stop,
    )
    .await
}

fn entries(fleet: &Fleet) -> Vec<String> {
    fleet.world(|world| world.cluster.entries.keys().cloned().collect())
}

/// A destroy of everything that is stopped leaves those alone whose turn had not come.
#[tokio::test]
async fn a_removal_that_is_stopped_before_its_first_step_leaves_no_tombstone() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    let joiner = fleet.joiner("b");
    assert_eq!(fleet.told(&joiner).await, "joined");
    let (before, writes) = (entries(&fleet), fleet.writes());
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = remove(&fleet, &joiner, &stop).await;
    assert!(
        matches!(stopped, Err(Error::MemberStopped { .. })),
        "{stopped:?}"
    );
    assert_eq!(entries(&fleet), before);
    assert_eq!(fleet.writes(), writes);
}

/// Whoever has made it a member again meanwhile keeps it.
#[tokio::test]
async fn a_removal_that_was_overtaken_takes_no_further_step() {
    let fleet = Fleet::founded(&["a", "b"]).await;
    let joiner = fleet.joiner("b");
    assert_eq!(fleet.told(&joiner).await, "joined");
    let before = fleet.writes().len();
    fleet.after("a: PATCH /1.0?target=b", |world| {
        let newer = json!({ "name": "member.b.r3", "config": {} });
        world
            .cluster
            .entries
            .insert("member.b.r3".to_owned(), newer);
    });
    let overtaken = remove(&fleet, &joiner, &CancellationToken::new()).await;
    assert!(
        matches!(overtaken, Err(Error::Overtaken { .. })),
        "{overtaken:?}"
    );
    assert_eq!(fleet.writes()[before..], ["a: PATCH /1.0?target=b"]);
}
