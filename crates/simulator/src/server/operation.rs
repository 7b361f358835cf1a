//! Operations: what goes on after a request was answered, takes its time, and may fail.
//!
//! Before: a request about an instance or an image begins one. After: whoever waits for its end. As in Incus 6.0.4 a wait
//! tells a failure as an error, and an operation is forgotten some seconds after its end.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::Call;

/// So long an operation is remembered after its end.
const MEMORY: Duration = Duration::from_secs(5);

/// What an operation is about.
pub(super) struct Job {
    /// What it does, in Incus's words.
    pub(super) description: &'static str,
    /// The project of what it works on.
    pub(super) project: String,
    /// The member that does the work.
    pub(super) location: String,
    /// The addresses of what it works on, by kind.
    pub(super) resources: Value,
    /// Whether its address names the project, as those do that another member has begun.
    pub(super) names_project: bool,
}

/// All that are remembered.
#[derive(Default)]
pub(super) struct Operations {
    counted: u64,
    by_id: BTreeMap<String, Operation>,
}

struct Operation {
    shown: Shown,
    project: String,
    outcome: watch::Sender<Option<Result<(), Refusal>>>,
    ended_at: Option<Instant>,
}

#[derive(Clone, Serialize)]
struct Shown {
    id: String,
    class: &'static str,
    description: &'static str,
    created_at: String,
    updated_at: String,
    status: &'static str,
    status_code: u16,
    resources: Value,
    metadata: Value,
    may_cancel: bool,
    err: String,
    location: String,
}

/// The time as Incus writes it.
pub(super) fn now() -> String {
    Timestamp::now().to_string()
}

impl Operations {
    /// A number that was not given before, as a UUID.
    pub(super) fn uuid(&mut self) -> String {
        self.counted += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.counted)
    }

    fn find(&mut self, id: &str) -> Result<&mut Operation, Refusal> {
        let is_remembered =
            |one: &Operation| one.ended_at.is_none_or(|ended| ended.elapsed() < MEMORY);
        self.by_id.retain(|_, one| is_remembered(one));
        let found = self.by_id.get_mut(id);
        found.ok_or_else(|| Refusal::new(404, "Operation not found"))
    }
}

/// Begins an operation, answers with it, and does its work meanwhile. The work gets the operation's id.
pub(super) fn begin<F>(incus: &Arc<Incus>, job: Job, work: impl FnOnce(String) -> F) -> Answer
where
    F: Future<Output = Result<Value, Refusal>> + Send + 'static,
{
    let (id, shown) = note(incus, &job);
    let address = match job.names_project {
        true => format!("/1.0/operations/{id}?project={}", job.project),
        false => format!("/1.0/operations/{id}"),
    };
    let (incus, work) = (Arc::clone(incus), work(id.clone()));
    tokio::spawn(async move {
        let outcome = work.await;
        end(&incus, &id, outcome);
    });
    Answer::going_on(address, &shown)
}

fn note(incus: &Incus, job: &Job) -> (String, Value) {
    let mut state = incus.state();
    let id = state.operations.uuid();
    let shown = Shown {
        id: id.clone(),
        class: "task",
        description: job.description,
        created_at: now(),
        updated_at: now(),
        status: "Running",
        status_code: 103,
        resources: job.resources.clone(),
        metadata: Value::Null,
        may_cancel: false,
        err: String::new(),
        location: job.location.clone(),
    };
    let told = json!(shown);
    let operation = Operation {
        shown,
        project: job.project.clone(),
        outcome: watch::Sender::new(None),
        ended_at: None,
    };
    state.operations.by_id.insert(id.clone(), operation);
    drop(state);
    incus.events.operation(&job.project, &job.location, &told);
    (id, told)
}

/// Every operation ends here.
fn end(incus: &Incus, id: &str, outcome: Result<Value, Refusal>) {
    let mut state = incus.state();
    let Ok(operation) = state.operations.find(id) else {
        return;
    };
    let shown = &mut operation.shown;
    shown.updated_at = now();
    let outcome = match outcome {
        Ok(metadata) => {
            (shown.status, shown.status_code, shown.metadata) = ("Success", 200, metadata);
            Ok(())
        }
        Err(refusal) => {
            (shown.status, shown.status_code) = ("Failure", 400);
            shown.err.clone_from(&refusal.text);
            Err(refusal)
        }
    };
    operation.ended_at = Some(Instant::now());
    let (told, project) = (json!(shown), operation.project.clone());
    let location = shown.location.clone();
    operation.outcome.send_replace(Some(outcome));
    drop(state);
    incus.events.operation(&project, &location, &told);
}

/// Leaves a result on an operation that is going to fail: a command that does not exist has one.
pub(super) fn leave(incus: &Incus, id: &str, metadata: Value) {
    if let Ok(operation) = incus.state().operations.find(id) {
        operation.shown.metadata = metadata;
    }
}

pub(super) fn get(incus: &Incus, id: &str) -> Told {
    let mut state = incus.state();
    state
        .operations
        .find(id)
        .map(|one| Answer::sync(&one.shown))
}

/// Waits for the end, at most the seconds that were asked for.
pub(super) async fn wait(incus: &Incus, id: &str, call: &Call) -> Told {
    let mut outcome = {
        let mut state = incus.state();
        state.operations.find(id)?.outcome.subscribe()
    };
    let seconds = call.query.get("timeout").and_then(|text| text.parse().ok());
    let ended = outcome.wait_for(Option::is_some);
    let ended = match seconds {
        Some(seconds) => timeout(Duration::from_secs(seconds), ended).await.ok(),
        None => Some(ended.await),
    };
    match ended.map(|ended| ended.map(|outcome| outcome.clone())) {
        Some(Ok(Some(Ok(())))) => get(incus, id),
        Some(Ok(Some(Err(refusal)))) => Ok(refusal.answer_with(200)),
        // Its sender is gone, and the operation with it.
        Some(Ok(None) | Err(_)) => Err(Refusal::new(404, "Operation not found")),
        None => Ok(Refusal::new(500, "context deadline exceeded").answer_with(200)),
    }
}

/// Lists those of a project by their status.
pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let mut state = incus.state();
    // Those that are due to be forgotten are forgotten here, too.
    let _ = state.operations.find("");
    let mut by_status: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let ours = |one: &&Operation| call.all_projects() || one.project == call.project();
    for operation in state.operations.by_id.values().filter(ours) {
        let shown = match call.is_recursive() {
            true => json!(operation.shown),
            false => json!(format!("/1.0/operations/{}", operation.shown.id)),
        };
        let status = operation.shown.status.to_lowercase();
        by_status.entry(status).or_default().push(shown);
    }
    Ok(Answer::sync(&by_status))
}
