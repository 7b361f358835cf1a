//! Running a command in an instance from start to end, with what it wrote.
//!
//! `instance::exec` builds the first request. This is an effect made of several: start, wait, read
//! both outputs, remove them.

use serde_json::Value;

use crate::client::Client;
use crate::envelope::{self, Unusable, malformed};
use crate::error::Error;
use crate::instance::{self, Command};
use crate::operation::{self, Operation};
use crate::request::{Request, path};

/// How much of each output is kept, from its beginning.
const OUTPUT_SIZE: usize = 64 << 10;

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutcome {
    /// What it returned; 127 means that the program does not exist, 126 that it cannot be run.
    pub return_code: i64,
    /// The first 64 KiB of what it wrote.
    pub stdout: String,
    /// The first 64 KiB of what it wrote as errors.
    pub stderr: String,
}

/// The two files in which the server keeps what a command writes.
const OUTPUTS: [&str; 2] = ["stdout", "stderr"];

/// Runs a command and waits for its end.
///
/// # Guarantees
///
/// The server's records of the output are removed, also after a failure.
///
/// # Caveats
///
/// A command cannot be cancelled: bound it inside, as with `timeout 10 …`. If the future is
/// dropped, the command goes on and the records stay.
///
/// # Errors
///
/// A command that returns something else than 0 is an outcome, not an error.
pub async fn exec_recorded(
    client: &Client,
    project: &str,
    name: &str,
    command: &Command,
) -> Result<ExecOutcome, Error> {
    let request = instance::exec(project, name, command);
    let doing = request.doing().to_owned();
    let operation = client.send(request).await?;
    let ended = client.follow(&doing, &operation).await;
    let outcome = outcome(client, project, name, &doing, &operation, ended).await;
    for output in OUTPUTS {
        let request = delete_output(project, name, &operation.id, output);
        // What cannot be removed is a small file too many, and no reason to hide the outcome.
        let _ = client.send(request).await;
    }
    outcome
}

async fn outcome(
    client: &Client,
    project: &str,
    name: &str,
    doing: &str,
    operation: &Operation,
    ended: Result<Operation, Error>,
) -> Result<ExecOutcome, Error> {
    let return_code = match ended {
        Ok(ended) => match return_code(&ended) {
            Some(code) => code,
            // Some answers to a wait lack it; the operation itself has it. If that is gone, nobody
            // knows what the command returned, and the instance is not what was not found.
            None => {
                let asked = client.send(ask_return_code(operation)).await;
                asked.map_err(|cause| Error::OperationLost {
                    doing: doing.to_owned(),
                    id: operation.id.clone(),
                    cause: Box::new(cause),
                })?
            }
        },
        // A program that does not exist makes the operation fail, but there is an outcome.
        Err(Error::OperationFailed {
            operation: failed, ..
        }) if return_code(&failed).is_some() => return_code(&failed).unwrap_or_default(),
        Err(error) => return Err(error),
    };
    let [stdout, stderr] = OUTPUTS;
    Ok(ExecOutcome {
        return_code,
        stdout: read(client, output(project, name, &operation.id, stdout)).await?,
        stderr: read(client, output(project, name, &operation.id, stderr)).await?,
    })
}

/// A missing output is an empty one: there is none if the program could not be started.
async fn read(client: &Client, request: Request<String>) -> Result<String, Error> {
    match client.send(request).await {
        Err(error) if error.is_not_found() => Ok(String::new()),
        answered => answered,
    }
}

fn return_code(operation: &Operation) -> Option<i64> {
    operation.metadata.get("return").and_then(Value::as_i64)
}

/// Reads what a command returned. An operation that does not say it says nothing: 0 would be a
/// success that nobody has seen.
fn ask_return_code(operation: &Operation) -> Request<i64> {
    operation::get_as(operation, |reply| {
        return_code(&envelope::metadata(reply)?).ok_or_else(|| {
            Unusable::Malformed(malformed("the operation does not say what was returned"))
        })
    })
}

fn output(project: &str, name: &str, id: &str, output: &str) -> Request<String> {
    let doing = format!("reading what a command wrote in instance {name}");
    Request::get(record(name, id, output), doing, envelope::text)
        .project(project)
        .at_most(OUTPUT_SIZE)
}

fn delete_output(project: &str, name: &str, id: &str, output: &str) -> Request<()> {
    let doing = format!("removing what a command wrote in instance {name}");
    Request::delete(record(name, id, output), doing, envelope::nothing).project(project)
}

fn record(name: &str, id: &str, output: &str) -> String {
    let file = format!("exec_{id}.{output}");
    path(&["instances", name, "logs", "exec-output", &file])
}
