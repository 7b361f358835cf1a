//! Which endpoint gets a request, and what happens to a request whose connection fails.

use std::error::Error as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use incus::profile::{self, ProfilePut};
use incus::{Error, cluster, instance};
use serde_json::json;
use tokio::net::UnixListener;

use crate::server::{Answer, C1, C2, Server, client, error, nobody, sync};

const NAMES: &str = "GET /1.0/profiles?project=p";

fn profiles(line: &str) -> Option<Answer> {
    (line == NAMES).then(|| sync(json!(["/1.0/profiles/web?project=p"])))?
}

#[tokio::test]
async fn a_dead_endpoint_is_left_for_the_next_and_not_asked_again() {
    let alive = Server::start(C1, profiles);
    let client = client(&[&nobody(), &alive.endpoint]);
    for _ in 0..3 {
        let names = client.send(profile::names("p")).await.expect("names");
        assert_eq!(names, ["web"]);
    }
    assert_eq!(
        alive.everything(),
        ["GET /1.0", "GET /1.0/cluster/members", NAMES, NAMES, NAMES]
    );
    assert_eq!(alive.connections(), 1, "connections are reused");
}

#[tokio::test]
async fn an_endpoint_is_judged_by_its_database_and_not_by_what_it_says_of_itself() {
    let without_database = Server::start(C1, |line| match line {
        "GET /1.0/cluster/members" => error(503, "Database is not yet available"),
        _ => profiles(line),
    });
    let hanging = Server::start(C1, |line| match line {
        "GET /1.0/cluster/members" => Some(Answer::Hang),
        _ => profiles(line),
    });
    let good = Server::start(C1, profiles);
    let client = client(&[
        &without_database.endpoint,
        &hanging.endpoint,
        &good.endpoint,
    ]);
    client.send(profile::names("p")).await.expect("names");
    assert!(without_database.requests().is_empty());
    assert!(hanging.requests().is_empty());
    assert_eq!(good.requests(), [NAMES]);
}

#[tokio::test]
async fn a_server_that_has_lost_its_clusters_database_still_says_whose_it_is() {
    let without_database = Server::start(C1, |line| match line {
        "GET /1.0/cluster/members" => error(500, "context deadline exceeded"),
        _ => profiles(line),
    });
    let lost = client(&[&without_database.endpoint]);
    let looked = lost.send(profile::names("p")).await;
    let error = looked.expect_err("nobody can answer");
    let cluster = error.stranded().map(|fingerprint| fingerprint.to_string());
    assert_eq!(cluster.as_deref(), Some(C1));
    let told = error.to_string();
    assert!(
        told.contains("cannot reach the database of its cluster") && told.contains("deadline"),
        "{told}"
    );
    let nowhere = client(&[&nobody()]).send(profile::names("p")).await;
    assert_eq!(nowhere.expect_err("nobody is there").stranded(), None);
}

#[tokio::test]
async fn a_server_without_cluster_is_judged_by_its_instances() {
    let single = Server::start(C1, |line| match line {
        "GET /1.0" => sync(
            json!({ "auth": "trusted", "environment": { "server_clustered": false, "certificate_fingerprint": C1 } }),
        ),
        "GET /1.0/instances?project=default" => sync(json!(null)),
        _ => profiles(line),
    });
    let client = client(&[&single.endpoint]);
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(
        single.everything(),
        ["GET /1.0", "GET /1.0/instances?project=default", NAMES]
    );
}

#[tokio::test]
async fn a_look_goes_on_where_there_is_a_database_and_a_change_does_not() {
    let failing = |line: &str| match line {
        "GET /1.0" | "GET /1.0/cluster/members" => None,
        _ => error(503, "Database is not available"),
    };
    let without = Server::start(C1, failing);
    let with = Server::start(C1, profiles);
    let looking = client(&[&without.endpoint, &with.endpoint]);
    let names = looking.send(profile::names("p")).await.expect("names");
    assert_eq!(names, ["web"]);
    assert_eq!(without.requests(), [NAMES]);

    // What it did before it said so is not known, so the change is not sent to another.
    let without = Server::start(C1, failing);
    let with = Server::start(C1, profiles);
    let error = client(&[&without.endpoint, &with.endpoint])
        .send(profile::delete("p", "web"))
        .await
        .expect_err("refused");
    assert_eq!(error.status(), Some(503));
    assert!(error.is_unreachable(), "{error}");
    assert!(with.requests().is_empty());
}

#[tokio::test]
async fn a_change_that_was_cut_off_is_not_repeated() {
    for cut in [|| Answer::CutOff, || Answer::CutOffInside] {
        let cutting = Server::start(C1, move |line| line.starts_with("POST").then(cut));
        let other = Server::start(C1, |line| match line.split(' ').next() {
            Some("POST") => sync(json!(null)),
            _ => profiles(line),
        });
        let client = client(&[&cutting.endpoint, &other.endpoint]);
        let created = client
            .send(profile::create("p", "web", &ProfilePut::default()))
            .await;
        let error = created.expect_err("the outcome is not known");
        assert!(error.is_interrupted() && !error.is_unreachable(), "{error}");
        assert!(
            error.to_string().starts_with("creating profile web: "),
            "{error}"
        );
        assert_eq!(cutting.requests(), ["POST /1.0/profiles?project=p"]);
        assert!(other.requests().is_empty());

        client
            .send(profile::names("p"))
            .await
            .expect("the next endpoint");
        assert_eq!(other.requests(), [NAMES]);
    }
}

#[tokio::test]
async fn a_look_that_was_cut_off_is_repeated_elsewhere() {
    for cut in [|| Answer::CutOff, || Answer::CutOffInside] {
        let cutting = Server::start(C1, move |line| (line == NAMES).then(cut));
        let other = Server::start(C1, profiles);
        let client = client(&[&cutting.endpoint, &other.endpoint]);
        let names = client.send(profile::names("p")).await.expect("names");
        assert_eq!(names, ["web"]);
        assert_eq!(cutting.requests(), [NAMES]);
        assert_eq!(other.requests(), [NAMES]);
    }
}

#[tokio::test]
async fn a_look_has_a_second_chance_at_the_only_endpoint() {
    let times = AtomicUsize::new(0);
    let only = Server::start(C1, move |line| match line {
        NAMES if times.fetch_add(1, Ordering::SeqCst) == 0 => Some(Answer::CutOff),
        _ => profiles(line),
    });
    let client = client(&[&only.endpoint]);
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(only.requests(), [NAMES, NAMES]);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let slow = Server::start(C1, |line| {
        line.contains("instances").then_some(Answer::Hang)
    });
    let client = client(&[&slow.endpoint]);
    let limit = Duration::from_millis(200);
    let begun = Instant::now();
    let looked = client.send(instance::list("p").answer_within(limit)).await;
    let error = looked.expect_err("nobody answers");
    assert!(error.is_unreachable(), "{error}");
    assert!(
        error.to_string().contains("no answer came within 0.2 s"),
        "{error}"
    );
    assert_eq!(
        slow.requests().len(),
        1,
        "a second wait at the same place helps nobody"
    );

    let deleted = client
        .send(instance::delete("p", "web").answer_within(limit))
        .await;
    let error = deleted.expect_err("nobody answers");
    assert!(error.is_interrupted(), "{error}");
    assert_eq!(
        error.source().expect("a cause").to_string(),
        "no answer came within 0.2 s"
    );
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn the_server_of_another_cluster_is_not_taken_for_this_one() {
    let ours = Server::start(C1, |line| match line {
        NAMES => Some(Answer::CutOff),
        _ => None,
    });
    let foreign = Server::start(C2, profiles);
    let client = client(&[&ours.endpoint, &foreign.endpoint]);
    let looked = client.send(profile::names("p")).await;
    let error = looked.expect_err("nobody of this cluster answers");
    let told = error.to_string();
    assert!(told.contains(C2) && told.contains(C1), "{told}");
    assert!(foreign.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_takes_connections_but_no_requests_is_unreachable_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("unix.socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let alive = Server::start(C1, profiles);
    let begun = Instant::now();
    let closing = incus::Endpoint::Unix(path);

    let alone = client(&[&closing]).send(cluster::member_names()).await;
    assert!(alone.expect_err("nobody answers").is_unreachable());
    let client = client(&[&closing, &alive.endpoint]);
    client
        .send(profile::names("p"))
        .await
        .expect("the other one");
    assert!(
        begun.elapsed() < Duration::from_millis(400),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn an_error_of_the_server_makes_it_prove_itself_again() {
    let server = Server::start(C1, |line| match line {
        NAMES => error(500, "disk full"),
        _ => None,
    });
    let client = client(&[&server.endpoint]);
    for _ in 0..2 {
        let refused = client.send(profile::names("p")).await.expect_err("refused");
        assert_eq!(refused.status(), Some(500));
        assert!(
            refused.to_string().ends_with("error 500: disk full"),
            "{refused}"
        );
    }
    let judged = server.everything();
    let judged = judged
        .iter()
        .filter(|line| *line == "GET /1.0/cluster/members");
    assert_eq!(judged.count(), 2);
}

#[tokio::test]
async fn a_client_without_endpoints_says_so() {
    let error = client(&[])
        .send(cluster::members())
        .await
        .expect_err("nobody");
    assert!(matches!(&error, Error::Unreachable { attempts, .. } if attempts.is_empty()));
    assert!(error.to_string().ends_with("none is configured"), "{error}");
}
