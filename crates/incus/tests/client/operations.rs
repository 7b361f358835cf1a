//! Following operations to their end, as two generations of servers tell it.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use incus::instance::{self, Action, InstancePost, Source};
use incus::{Error, Operation, Outcome, Request};
use serde_json::{Value, json};

use crate::server::{Answer, C1, Server, client, error, error_body, sync};

const CREATE: &str = "POST /1.0/instances?project=p&target=m2";
const WAIT: &str = "GET /1.0/operations/u/wait?project=p&timeout=1";
const LOOK: &str = "GET /1.0/operations/u?project=p";

fn create() -> Request<Operation> {
    instance::create("p", &InstancePost::new("web", Source::Empty)).target("m2")
}

fn operation(status_code: u16, err: &str) -> Value {
    json!({ "id": "u", "status": "x", "status_code": status_code, "err": err })
}

/// Another member does the work, so the address carries the project.
fn started(line: &str) -> Option<Answer> {
    let body = json!({
        "type": "async",
        "operation": "/1.0/operations/u?project=p",
        "status_code": 100,
        "metadata": operation(103, ""),
    });
    (line == CREATE).then_some(Answer::Json(202, body))
}

#[tokio::test]
async fn an_operation_is_waited_for_in_slices() {
    // Old servers end a slice with an error, new ones with the operation as it is.
    for slice in [
        || {
            Some(Answer::Json(
                200,
                error_body(500, "context deadline exceeded"),
            ))
        },
        || sync(operation(103, "")),
    ] {
        let waits = AtomicUsize::new(0);
        let server = Server::start(C1, move |line| match line {
            WAIT if waits.fetch_add(1, Ordering::SeqCst) == 0 => slice(),
            WAIT => sync(operation(200, "")),
            LOOK => sync(operation(103, "")),
            _ => started(line),
        });
        let ended = client(&[&server.endpoint])
            .finish(create())
            .await
            .expect("an end");
        assert_eq!(ended.status_code, 200);
        let requests = server.requests();
        assert_eq!(
            requests.iter().filter(|line| *line == WAIT).count(),
            2,
            "{requests:?}"
        );
    }
}

#[tokio::test]
async fn a_failed_operation_is_an_error_however_it_is_told() {
    for told in [
        || Some(Answer::Json(200, error_body(400, "No root device"))),
        || sync(operation(400, "No root device")),
    ] {
        let server = Server::start(C1, move |line| match line {
            WAIT => told(),
            LOOK => sync(operation(400, "No root device")),
            _ => started(line),
        });
        let failed = client(&[&server.endpoint])
            .finish(create())
            .await
            .expect_err("a failure");
        assert_eq!(
            failed.to_string(),
            "creating instance web on member m2: the operation failed with code 400: No root device"
        );
        assert!(!failed.is_interrupted());
    }
}

#[tokio::test]
async fn the_outcome_of_a_forgotten_operation_is_not_known() {
    for wait in [
        || error(404, "Operation not found"),
        || Some(Answer::Json(200, error_body(404, "Operation not found"))),
        || {
            Some(Answer::Json(
                200,
                error_body(500, "context deadline exceeded"),
            ))
        },
    ] {
        let server = Server::start(C1, move |line| match line {
            WAIT => wait(),
            LOOK => error(404, "Operation not found"),
            _ => started(line),
        });
        let lost = client(&[&server.endpoint])
            .finish(create())
            .await
            .expect_err("nobody knows");
        assert!(
            matches!(&lost, Error::OperationLost { id, .. } if id == "u"),
            "{lost}"
        );
        assert!(lost.is_interrupted());
        assert!(!lost.is_not_found(), "the instance was not looked for");
    }
}

#[tokio::test]
async fn an_operation_that_cannot_be_read_is_not_a_refusal_of_the_request() {
    let server = Server::start(C1, |line| match line {
        WAIT => Some(Answer::Json(
            200,
            error_body(500, "context deadline exceeded"),
        )),
        LOOK => error(500, "the member is down"),
        _ => started(line),
    });
    let followed = client(&[&server.endpoint]).finish(create()).await;
    let lost = followed.expect_err("nobody knows");
    assert!(lost.is_interrupted(), "{lost}");
    assert_eq!(lost.status(), None, "the request itself was not refused");
}

#[tokio::test]
async fn what_a_wait_told_of_a_failure_counts_when_the_operation_is_forgotten_afterwards() {
    let server = Server::start(C1, |line| match line {
        WAIT => Some(Answer::Json(200, error_body(400, "No root device"))),
        LOOK => error(404, "Operation not found"),
        _ => started(line),
    });
    let failed = client(&[&server.endpoint])
        .finish(create())
        .await
        .expect_err("a failure");
    assert!(matches!(failed, Error::OperationFailed { .. }), "{failed}");
}

#[tokio::test]
async fn a_wait_goes_on_at_another_endpoint() {
    let first = Server::start(C1, |line| match line {
        WAIT => Some(Answer::CutOff),
        _ => started(line),
    });
    let second = Server::start(C1, |line| {
        (line == WAIT).then(|| sync(operation(200, "")))?
    });
    let client = client(&[&first.endpoint, &second.endpoint]);
    client.finish(create()).await.expect("an end");
    assert_eq!(first.requests(), [CREATE, WAIT]);
    assert_eq!(second.requests(), [WAIT]);
}

#[tokio::test]
async fn a_stop_hands_back_an_operation_that_goes_on() {
    let server = Server::start(C1, |line| match line {
        WAIT => Some(Answer::Hang),
        _ => started(line),
    });
    let client = client(&[&server.endpoint]);
    let stop = tokio::time::sleep(Duration::from_millis(100));
    let outcome = client
        .finish_until(create(), stop)
        .await
        .expect("an outcome");
    assert!(matches!(outcome, Outcome::Running(operation) if operation.id == "u"));

    let done = Server::start(C1, |line| match line.split(' ').next() {
        Some("PUT") => sync(json!(null)),
        _ => None,
    });
    let start = instance::set_state("p", "web", Action::Start, Duration::from_secs(30), false);
    let outcome = crate::server::client(&[&done.endpoint])
        .finish_until(start, pending())
        .await;
    assert!(matches!(outcome, Ok(Outcome::Finished(_))), "{outcome:?}");
}
