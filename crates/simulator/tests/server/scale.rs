//! Many instances, and what no lab has: virtual machines, shared pools, images that do not last.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use simulator::server::Options;

use crate::asking::{Served, serve};

fn make(served: &Served, name: &str, more: &Value) -> Value {
    let root = json!({ "root": { "type": "disk", "path": "/", "pool": "local" } });
    let mut post = json!({ "name": name, "devices": root, "start": true });
    if let (Some(post), Some(more)) = (post.as_object_mut(), more.as_object()) {
        post.extend(more.clone());
    }
    served.end_of(&served.json("POST /1.0/instances", &post))
}

#[test]
fn ten_thousand_instances_are_listed_in_well_below_a_second() {
    let served = serve(&Options {
        members: 5,
        instances_of_others: 10_000,
        ..Options::default()
    });
    let since = Instant::now();
    let answer = served.ask("GET /1.0/instances?recursion=1", &[], b"");
    let took = since.elapsed();
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    let listed = answer.document();
    let listed = listed["metadata"].as_array().expect("a list");
    assert_eq!(listed.len(), 10_000);
    let on = |member: &str| {
        listed
            .iter()
            .filter(|one| one["location"] == member)
            .count()
    };
    assert_eq!((on("m1"), on("m5")), (2_000, 2_000));
    assert_eq!(listed[0]["status"], "Running");
}

#[test]
fn an_image_with_a_disk_makes_virtual_machines_which_move_while_they_run() {
    let served = serve(&Options::default());
    let fingerprint = served.image("vm/v1", &[], "rootfs.img");
    let source = json!({ "type": "image", "fingerprint": fingerprint });
    let container = make(&served, "none", &json!({ "source": source }));
    assert_eq!(container["type"], "error", "{container}");
    for (name, stateful, status) in [("live", "true", 202), ("stiff", "false", 400)] {
        let vm = json!({
            "source": source, "type": "virtual-machine", "config": { "migration.stateful": stateful },
        });
        assert_eq!(make(&served, name, &vm)["metadata"]["status"], "Success");
        let home = served.get(&format!("/1.0/instances/{name}"))["location"].clone();
        let other = if home == "m1" { "m2" } else { "m1" };
        let body = json!({ "migration": true, "live": true });
        let line = format!("POST /1.0/instances/{name}?target={other}");
        let moved = served.json(&line, &body);
        assert_eq!(moved.status, status, "{name}: {}", moved.content);
        if status == 202 {
            served.end_of(&moved);
            let vm = served.get(&format!("/1.0/instances/{name}"));
            assert_eq!(
                (&vm["location"], &vm["status"]),
                (&json!(other), &json!("Running"))
            );
        }
    }
}

#[test]
fn a_volume_in_a_shared_pool_is_on_no_member() {
    let served = serve(&Options {
        shared_pool: Some("shared".to_owned()),
        ..Options::default()
    });
    assert_eq!(served.get("/1.0/storage-pools/shared")["driver"], "ceph");
    let path = "/1.0/storage-pools/shared/volumes/custom";
    let body = json!({ "name": "data" });
    let create = |member: &str| {
        served
            .json(&format!("POST {path}?target={member}"), &body)
            .status
    };
    assert_eq!((create("m1"), create("m2")), (200, 409));
    assert_eq!(served.get(&format!("{path}/data"))["location"], "");
}

/// As an init that exits at once: the start succeeds, and the instance is stopped soon after.
#[test]
fn an_image_may_end_by_itself() {
    let served = serve(&Options::default());
    let says = [("simulator.ends", "no configuration")];
    let fingerprint = served.image("app/broken", &says, "rootfs/");
    let source = json!({ "source": { "type": "image", "fingerprint": fingerprint } });
    assert_eq!(
        make(&served, "web", &source)["metadata"]["status"],
        "Success"
    );
    let since = Instant::now();
    while served.get("/1.0/instances/web")["status"] != "Stopped" {
        assert!(since.elapsed() < Duration::from_secs(5), "it still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
    let console = served.ask("GET /1.0/instances/web/console", &[], b"");
    assert_eq!(console.content, "no configuration\n");
}

/// One member alone is no cluster, and says so as Incus does.
#[test]
fn a_single_server_has_no_members() {
    let served = serve(&Options {
        members: 1,
        ..Options::default()
    });
    assert_eq!(served.get("/1.0")["environment"]["server_clustered"], false);
    let members = served.ask("GET /1.0/cluster/members", &[], b"");
    assert_eq!(members.status, 500);
    assert_eq!(members.document()["error"], "Server is not clustered");
    let groups = served.ask("GET /1.0/cluster/groups", &[], b"");
    assert_eq!(groups.document()["error"], "This server is not clustered");
    make(&served, "web", &json!({ "source": { "type": "none" } }));
    assert_eq!(served.get("/1.0/instances/web")["location"], "none");
    let post = json!({ "name": "other", "source": { "type": "none" } });
    let aimed = served.json("POST /1.0/instances?target=m1", &post);
    assert_eq!(
        aimed.document()["error"],
        "Target only allowed when clustered"
    );
}

#[test]
fn what_is_asked_for_and_not_known_is_not_answered() {
    let served = serve(&Options::default());
    for line in [
        "GET /1.0/instances?recursion=2",
        "GET /1.0/instances?recursion=1&filter=name%20eq%20web",
        "GET /1.0/warnings",
        "PUT /1.0/cluster",
    ] {
        assert_eq!(served.ask(line, &[], b"").status, 404, "{line}");
    }
}
