//! Operations: the work that a server goes on doing after it has answered.
//!
//! Before this a request was answered with an operation (`envelope.rs`); `client.rs` follows it to
//! its end with the requests built here. The traps are these: a wait sends its HTTP status before
//! it knows the outcome; older servers report a failed operation and an expired wait alike, as an
//! error; and a finished operation is forgotten after five seconds.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::envelope::{self, Reply, Unusable};
use crate::lenient::{null_as_empty, text_lists};
use crate::request::{Read, Request, path, unescape};

/// The code of an operation that has done its work.
const SUCCESS: u16 = 200;

/// The code of an operation that was cancelled.
const CANCELLED: u16 = 401;

/// A background job of a server. `Debug` leaves the metadata out: join tokens are kept there.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Operation {
    /// The identifier.
    pub id: String,
    /// `task`, `websocket` or `token`.
    pub class: String,
    /// What it does, in the server's words.
    pub description: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// The status in words.
    pub status: String,
    /// The status; everything from 200 on is final.
    pub status_code: u16,
    /// The addresses of the objects that it works on, by kind.
    #[serde(deserialize_with = "text_lists")]
    pub resources: BTreeMap<String, Vec<String>>,
    /// What it has to tell beside the status.
    #[serde(deserialize_with = "null_as_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// Whether it can be cancelled.
    pub may_cancel: bool,
    /// Why it failed.
    pub err: String,
    /// The member that does the work.
    pub location: String,
    /// The project that its address carried.
    #[serde(skip)]
    pub(crate) project: Option<String>,
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It has not ended.
    Running,
    /// It has done its work.
    Succeeded,
    /// It has failed; `Operation::err` says why.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Operation {
    /// Stands for work that was done before the answer came.
    pub(crate) fn already_done() -> Self {
        Self {
            status: "Success".to_owned(),
            status_code: SUCCESS,
            ..Self::default()
        }
    }

    /// Takes identifier and project from an address such as `/1.0/operations/ID?project=P`. The
    /// query is there when another member does the work.
    pub(crate) fn at_address(mut self, address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let id = path.strip_prefix("/1.0/operations/")?;
        if id.is_empty() || id.contains('/') {
            return None;
        }
        self.id = unescape(id);
        self.project = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("project="))
            .map(unescape);
        Some(self)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        match self.status_code {
            0..SUCCESS => Progress::Running,
            SUCCESS => Progress::Succeeded,
            CANCELLED => Progress::Cancelled,
            _ => Progress::Failed,
        }
    }

    fn request<T>(&self, request: Request<T>) -> Request<T> {
        match &self.project {
            Some(project) => request.project(project),
            None => request,
        }
    }
}

/// Reads an operation.
pub fn get(operation: &Operation) -> Request<Operation> {
    get_as(operation, envelope::metadata)
}

/// Reads something that an operation tells.
pub(crate) fn get_as<T>(operation: &Operation, read: Read<T>) -> Request<T> {
    let doing = format!("reading operation {}", operation.id);
    let path = path(&["operations", &operation.id]);
    operation.request(Request::get(path, doing, read))
}

/// Waits for an operation's end, at most so many whole seconds. The answer may be an operation
/// that still runs.
pub fn wait(operation: &Operation, limit: Duration) -> Request<Operation> {
    let doing = format!("waiting for operation {}", operation.id);
    let path = path(&["operations", &operation.id, "wait"]);
    let request = Request::get(path, doing, envelope::metadata);
    let patience = request.answer_limit + limit;
    operation
        .request(request)
        .query("timeout", limit.as_secs().max(1).to_string())
        .answer_within(patience)
}

/// Lists a project's operations, those of all members.
pub fn list(project: &str) -> Request<Vec<Operation>> {
    list_as(project, "listing the operations", lists)
}

/// Reads something that the operations of a project tell.
pub(crate) fn list_as<T>(project: &str, doing: &str, read: Read<T>) -> Request<T> {
    Request::get(path(&["operations"]), doing, read)
        .project(project)
        .recursive()
}

/// Reads lists of operations by their status, those of all members.
pub(crate) fn lists(reply: &Reply) -> Result<Vec<Operation>, Unusable> {
    let by_status: Option<BTreeMap<String, Option<Vec<Operation>>>> = envelope::metadata(reply)?;
    let lists = by_status.unwrap_or_default().into_values().flatten();
    Ok(lists.flatten().collect())
}

/// Cancels an operation; only some can be cancelled (`Operation::may_cancel`).
pub fn cancel(operation: &Operation) -> Request<()> {
    let doing = format!("cancelling operation {}", operation.id);
    let path = path(&["operations", &operation.id]);
    operation.request(Request::delete(path, doing, envelope::nothing))
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("id", &self.id)
            .field("description", &self.description)
            .field("status", &self.status)
            .field("err", &self.err)
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;

    fn started(address: &str) -> Operation {
        let body = format!(
            r#"{{"type":"async","operation":"{address}","metadata":{{"id":"u","status_code":103,"resources":null,"metadata":null}}}}"#
        );
        envelope::operation(&reply(202, &body)).expect("an operation")
    }

    #[test]
    fn the_project_of_a_forwarded_operation_travels_along() {
        for (address, printed) in [
            ("/1.0/operations/u", "GET /1.0/operations/u/wait?timeout=30"),
            (
                "/1.0/operations/u?project=a%20b",
                "GET /1.0/operations/u/wait?project=a%20b&timeout=30",
            ),
            (
                "/1.0/operations/u?x=1&project=p",
                "GET /1.0/operations/u/wait?project=p&timeout=30",
            ),
        ] {
            let request = wait(&started(address), Duration::from_secs(30));
            assert_eq!(request.to_string(), printed);
        }
        let operation = started("/1.0/operations/u?project=p");
        assert_eq!(
            cancel(&operation).to_string(),
            "DELETE /1.0/operations/u?project=p"
        );
    }

    #[test]
    fn an_address_that_names_no_operation_is_refused() {
        for address in ["", "/1.0/operations/", "/1.0/operations/u/wait", "/2.0/u"] {
            assert_eq!(Operation::default().at_address(address), None, "{address}");
        }
    }

    #[test]
    fn operations_are_listed_by_their_status() {
        let request = list("default");
        let printed = "GET /1.0/operations?project=default&recursion=1";
        assert_eq!(request.to_string(), printed);
        let body = r#"{"type":"sync","metadata":{"running":[{"id":"a","status_code":103}],
            "success":[{"id":"b","status_code":200}],"failure":null}}"#;
        let operations = (request.read)(&reply(200, body)).expect("operations");
        let ids: Vec<&str> = operations.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn progress_is_read_from_the_code() {
        for (code, progress) in [
            (0, Progress::Running),
            (103, Progress::Running),
            (105, Progress::Running),
            (200, Progress::Succeeded),
            (400, Progress::Failed),
            (401, Progress::Cancelled),
            (999, Progress::Failed),
        ] {
            let operation = Operation {
                status_code: code,
                ..Operation::default()
            };
            assert_eq!(operation.progress(), progress, "{code}");
        }
    }

    #[test]
    fn work_done_at_once_is_an_operation_that_succeeded() {
        let operation = envelope::operation(&reply(200, r#"{"type":"sync"}"#)).expect("done");
        assert_eq!(operation.progress(), Progress::Succeeded);
    }

    #[test]
    fn metadata_is_not_printed() {
        let mut operation = Operation::default();
        let secret = Value::String("hunter2".to_owned());
        operation.metadata.insert("secret".to_owned(), secret);
        assert!(!format!("{operation:?}").contains("hunter2"));
    }
}
