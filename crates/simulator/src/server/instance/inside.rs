//! What is in an instance: commands, their records, the console, logs and files.
//!
//! Before: `route.rs`. Nothing runs here. Every command succeeds, but for `false`; `echo` prints its words, and a command
//! that begins with `missing` does not exist. Of files there are those that were written through this API, and while an
//! instance runs the heartbeat that images of the lab write.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderName;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Incus;
use super::super::answer::{Answer, Refusal, Told};
use super::super::call::{Call, address};
use super::super::operation::{self, Job, leave};
use super::super::state::Key;
use super::{Instance, Power, not_found};

/// Where images of the lab write their heartbeat.
const HEARTBEAT: &str = "/run/heartbeat";

/// A file.
#[derive(Clone)]
pub(in super::super) struct File {
    content: Bytes,
    mode: String,
    written_at: Timestamp,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Exec {
    command: Vec<String>,
}

/// What comes of a command: its return code, and what it wrote.
fn outcome(command: &[String]) -> (u8, String) {
    // A bound is no command of its own.
    let command = match command {
        [first, _, rest @ ..] if first == "timeout" => rest,
        other => other,
    };
    match command.first().map(String::as_str) {
        Some("echo") => (0, format!("{}\n", command[1..].join(" "))),
        Some("false") => (1, String::new()),
        Some(name) if name.starts_with("missing") => (127, String::new()),
        _ => (0, String::new()),
    }
}

pub(in super::super) fn exec(incus: &Arc<Incus>, of: &Key, call: &Call) -> Told {
    let exec: Exec = call.json()?;
    let (location, is_elsewhere) = {
        let mut state = incus.state();
        let instance = state.instance(of)?;
        if instance.power != Power::Running {
            return Err(Refusal::new(400, "Instance is not running"));
        }
        let location = instance.location.clone();
        let is_elsewhere = state.is_elsewhere(&location);
        (location, is_elsewhere)
    };
    let instances = [address("instances", &of.1, &of.0)];
    let job = Job {
        description: "Executing command",
        project: of.0.clone(),
        location,
        resources: json!({ "containers": instances, "instances": instances }),
        names_project: is_elsewhere,
    };
    let (at, of) = (Arc::clone(incus), of.clone());
    let work = |id: String| async move {
        at.work().await;
        let (code, written) = outcome(&exec.command);
        let metadata = record(&at, &of, &id, code, written)?;
        if code == 127 {
            leave(&at, &id, metadata);
            return Err(Refusal::new(400, "Command not found"));
        }
        Ok(metadata)
    };
    Ok(operation::begin(incus, job, work))
}

/// Keeps what a command wrote, and says where.
fn record(incus: &Incus, of: &Key, id: &str, code: u8, written: String) -> Result<Value, Refusal> {
    let names = [format!("exec_{id}.stdout"), format!("exec_{id}.stderr")];
    let [out, err] = names.clone().map(|name| {
        let path = format!("{}/logs/exec-output/{name}", of.1);
        format!("/1.0/instances/{path}")
    });
    let mut state = incus.state();
    let outputs = &mut state.instance(of)?.outputs;
    for (name, content) in names.into_iter().zip([written, String::new()]) {
        outputs.insert(name, content.into());
    }
    Ok(json!({ "output": { "1": out, "2": err }, "return": code }))
}

pub(in super::super) fn output(incus: &Incus, of: &Key, name: &str) -> Told {
    let mut state = incus.state();
    let found = state.instance(of)?.outputs.get(name).cloned();
    found
        .map(Answer::raw)
        .ok_or_else(|| no_output("open", name))
}

pub(in super::super) fn delete_output(incus: &Incus, of: &Key, name: &str) -> Told {
    let mut state = incus.state();
    let found = state.instance(of)?.outputs.remove(name);
    found
        .map(|_| Answer::done())
        .ok_or_else(|| no_output("remove", name))
}

fn no_output(deed: &str, name: &str) -> Refusal {
    let text = format!("{deed} exec-output/{name}: no such file or directory");
    Refusal::new(404, text)
}

pub(in super::super) fn console(incus: &Incus, of: &Key) -> Told {
    let mut state = incus.state();
    let console = state.instance(of)?.console.clone();
    Ok(Answer::raw(console.into()))
}

/// One of the logs that Incus itself keeps.
pub(in super::super) fn log(incus: &Incus, of: &Key, file: &str) -> Told {
    let mut state = incus.state();
    let found = state.instance(of);
    found.map_err(|refusal| {
        let (project, name) = of;
        let text = format!("Failed to fetch instance \"{name}\" in project \"{project}\"");
        Refusal::new(refusal.code, format!("{text}: {}", refusal.text))
    })?;
    match file {
        "lxc.log" | "lxc.conf" | "qemu.log" | "qemu.conf" => Ok(Answer::raw(Bytes::new())),
        file => {
            let text = format!("Log file name \"{file}\" not valid");
            Err(Refusal::new(400, text))
        }
    }
}

pub(in super::super) fn file(incus: &Incus, of: &Key, call: &Call) -> Told {
    let mut state = incus.state();
    let instance = state.instance(of)?;
    let path = path(call)?;
    let file = instance.file(path);
    let file = file.ok_or_else(|| Refusal::new(404, "Not Found"))?;
    let mut answer = Answer::raw(file.content);
    let written_at = file.written_at.strftime("%Y-%m-%d %H:%M:%S +0000 UTC");
    for (name, value) in [
        ("x-incus-uid", "0".to_owned()),
        ("x-incus-gid", "0".to_owned()),
        ("x-incus-mode", file.mode),
        ("x-incus-modified", written_at.to_string()),
        ("x-incus-type", "file".to_owned()),
    ] {
        answer.headers.push((HeaderName::from_static(name), value));
    }
    Ok(answer)
}

pub(in super::super) fn write_file(incus: &Incus, of: &Key, call: &Call) -> Told {
    let path = path(call)?.to_owned();
    let mode = match call.header("x-incus-mode") {
        "" => "0644",
        mode => mode,
    };
    let file = File {
        content: call.body.clone(),
        mode: mode.to_owned(),
        written_at: Timestamp::now(),
    };
    incus.state().instance(of)?.files.insert(path, file);
    Ok(Answer::done())
}

pub(in super::super) fn delete_file(incus: &Incus, of: &Key, call: &Call) -> Told {
    let mut state = incus.state();
    let found = state.instance(of)?.files.remove(path(call)?);
    found
        .map(|_| Answer::done())
        .ok_or_else(|| Refusal::new(404, "Not Found"))
}

fn path(call: &Call) -> Result<&str, Refusal> {
    let path = call.query.get("path").map(String::as_str);
    path.ok_or_else(not_found)
}

impl Instance {
    fn file(&self, path: &str) -> Option<File> {
        let heartbeat = || File {
            content: Bytes::from_static(b"\n"),
            mode: "0644".to_owned(),
            written_at: Timestamp::now(),
        };
        let beats = path == HEARTBEAT && self.power == Power::Running;
        self.files
            .get(path)
            .cloned()
            .or_else(|| beats.then(heartbeat))
    }
}
