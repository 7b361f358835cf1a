//! Running a command, from its start to the removal of what the server recorded.

use incus::Error;
use incus::exec::{ExecOutcome, exec_recorded};
use incus::instance::Command;
use serde_json::{Value, json};

use crate::server::{Answer, C1, Server, client, error, error_body, sync};

const EXEC: &str = "POST /1.0/instances/web/exec?project=p";
const WAIT: &str = "GET /1.0/operations/u/wait?timeout=1";
const LOOK: &str = "GET /1.0/operations/u";
const STDOUT: &str = "/1.0/instances/web/logs/exec-output/exec_u.stdout?project=p";
const STDERR: &str = "/1.0/instances/web/logs/exec-output/exec_u.stderr?project=p";

fn ended(code: u16, metadata: Value) -> Option<Answer> {
    sync(
        json!({ "id": "u", "status_code": code, "err": "Command not found", "metadata": metadata }),
    )
}

/// A server on which the command ends as told by a wait and by a look.
fn server(wait: fn() -> Option<Answer>, look: fn() -> Option<Answer>) -> Server {
    Server::start(C1, move |line| match line {
        EXEC => Some(Answer::Json(
            202,
            json!({ "type": "async", "operation": "/1.0/operations/u", "metadata": null }),
        )),
        WAIT => wait(),
        LOOK => look(),
        _ if line == format!("GET {STDOUT}") => Some(Answer::Text(200, "hello\n")),
        _ if line.starts_with("DELETE /1.0/instances/web/logs/") => sync(json!(null)),
        _ => None,
    })
}

async fn run(server: &Server) -> Result<ExecOutcome, Error> {
    let command = Command {
        command: vec!["sh".to_owned()],
        ..Command::default()
    };
    let outcome = exec_recorded(&client(&[&server.endpoint]), "p", "web", &command).await;
    let requests = server.requests();
    for record in [STDOUT, STDERR] {
        let removal = format!("DELETE {record}");
        assert!(requests.contains(&removal), "{requests:?} lacks {removal}");
    }
    outcome
}

#[tokio::test]
async fn what_a_command_returned_and_wrote_is_read_and_removed() {
    let server = server(|| ended(200, json!({ "return": 3 })), || None);
    let outcome = run(&server).await.expect("an outcome");
    assert_eq!(outcome.return_code, 3);
    assert_eq!(outcome.stdout, "hello\n");
    assert_eq!(outcome.stderr, "", "an output that is missing is empty");
}

#[tokio::test]
async fn a_missing_program_is_an_outcome_though_only_the_operation_tells_it() {
    let server = server(
        || Some(Answer::Json(200, error_body(400, "Command not found"))),
        || ended(400, json!({ "return": 127 })),
    );
    assert_eq!(run(&server).await.expect("an outcome").return_code, 127);
}

#[tokio::test]
async fn a_command_of_which_nobody_knows_what_it_returned_did_not_succeed() {
    // The operation says nothing, or is forgotten: neither is a 0, and the instance is not missing.
    for look in [
        || ended(200, json!({})),
        || error(404, "Operation not found"),
    ] {
        let server = server(|| ended(200, json!(null)), look);
        let lost = run(&server).await.expect_err("nobody knows");
        assert!(lost.is_interrupted() && !lost.is_not_found(), "{lost}");
    }
}
