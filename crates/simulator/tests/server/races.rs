//! What concurrent writers do to each other, as measured on a real cluster.

use std::thread;
use std::time::Duration;

use serde_json::json;
use simulator::server::Options;

use crate::asking::{Served, serve};

const WRITERS: usize = 12;

fn slow() -> Served {
    serve(&Options {
        latency: Duration::from_millis(30),
        ..Options::default()
    })
}

/// The answers to what `WRITERS` send at once.
fn at_once(send: impl Fn(usize) -> u16 + Sync) -> Vec<u16> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let send = &send;
                scope.spawn(move || send(writer))
            })
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join());
        answers.map(|status| status.expect("no panic")).collect()
    })
}

/// Creation is the only compare-and-swap that there is.
#[test]
fn of_many_creations_of_a_profile_one_succeeds() {
    let served = slow();
    let statuses = at_once(|writer| {
        let body = json!({ "name": "app.web.r1", "config": { "user.writer": writer.to_string() } });
        served.json("POST /1.0/profiles", &body).status
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(201), count(500)), (1, WRITERS - 1), "{statuses:?}");
}

/// A change is read before and written after its time: the last writer takes back what the others added.
#[test]
fn concurrent_patches_of_a_profile_lose_updates_and_later_ones_do_not() {
    let served = slow();
    served.json("POST /1.0/profiles", &json!({ "name": "shared" }));
    let patch = |key: String| {
        let body = json!({ "config": { key: "1" } });
        served.json("PATCH /1.0/profiles/shared", &body).status
    };
    let statuses = at_once(|writer| patch(format!("user.{writer}")));
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    let kept = |served: &Served| {
        let config = &served.get("/1.0/profiles/shared")["config"];
        config.as_object().expect("a map").len()
    };
    let survived = kept(&served);
    assert!(survived < WRITERS, "{survived} of {WRITERS} survived");
    assert_eq!(patch("user.later".to_owned()), 200);
    assert_eq!(kept(&served), survived + 1);
}

/// Instances are locked: nothing is lost, and whoever meets another is told so.
#[test]
fn an_instance_does_one_thing_at_a_time() {
    let served = slow();
    let root = json!({ "root": { "type": "disk", "path": "/", "pool": "local" } });
    let post = json!({ "name": "web", "source": { "type": "none" }, "devices": root });
    served.end_of(&served.json("POST /1.0/instances", &post));
    let start = json!({ "action": "start" });
    let begun = served.json("PUT /1.0/instances/web/state", &start);
    thread::sleep(Duration::from_millis(5));
    let patch = json!({ "config": { "user.k": "1" } });
    let busy = served.json("PATCH /1.0/instances/web", &patch);
    assert_eq!(busy.status, 500);
    assert_eq!(
        busy.document()["error"],
        "Failed to create instance update operation: Instance is busy running a \"start\" operation"
    );
    assert_eq!(served.end_of(&begun)["metadata"]["status"], "Success");
    assert_eq!(served.json("PATCH /1.0/instances/web", &patch).status, 200);
}
