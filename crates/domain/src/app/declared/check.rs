//! The check of a declaration: exactly one question, and one that can be asked.
//!
//! Before: `health.rs` reads what stands around it. After: [`Check`], which `reconcile/src/health.rs` asks.

use core::time::Duration;

use super::health::{read_duration, steps};
use super::workload::read_list;
use super::{DeclaredCheck, DeclaredExec, DeclaredHeartbeatFile, DeclaredHttp, DeclaredTcp};
use crate::app::{CHECK_TIMEOUT, Check};
use crate::given::Given;
use crate::issue::Issue;

/// What may stand in the path and the query of an address as it is; everything else is percent-encoded there.
const PLAIN_IN_ADDRESSES: &str = "/?-._~!$&'()*+,;=:@%";

pub(super) fn read(given: &Given<DeclaredCheck>, issues: &mut Vec<Issue>) -> Option<Check> {
    let check = match given {
        Given::Absent => return Some(Check::Running {}),
        Given::Unknown => return None,
        Given::Known(check) => check,
    };
    let ways = [
        ("running", state(&check.running)),
        ("exec", state(&check.exec)),
        ("http", state(&check.http)),
        ("tcp", state(&check.tcp)),
        ("heartbeat_file", state(&check.heartbeat_file)),
    ];
    let set: Vec<&str> = ways
        .iter()
        .filter(|(_, state)| state.known().is_some())
        .map(|(name, _)| *name)
        .collect();
    // What is not known yet may turn out to be absent.
    let is_unclear = ways.iter().any(|(_, state)| state.is_unknown());
    if set.len() > 1 || (set.is_empty() && !is_unclear) {
        issues.push(not_one(&set));
        return None;
    }
    let check = read_one(check, issues);
    check.filter(|_| !is_unclear)
}

fn state<T>(given: &Given<T>) -> Given<()> {
    match given {
        Given::Absent => Given::Absent,
        Given::Unknown => Given::Unknown,
        Given::Known(_) => Given::Known(()),
    }
}

fn not_one(set: &[&str]) -> Issue {
    let seen = match set {
        [] => "None is set".to_owned(),
        set => format!("Set are `{}`", set.join("` and `")),
    };
    Issue::new(
        steps(&["health", "check"]),
        "A health check must be exactly one",
        format!(
            "{seen}. Expected one of them: `running = {{}}` (the instance runs), `exec = {{ command = [\"…\"] }}` (a command \
             inside it ends with 0), `http = {{ port = 80 }}` (a web server answers), `tcp = {{ port = 22 }}` (something takes \
             connections), or `heartbeat_file = {{ path = \"/…\" }}` (a file is written again and again)."
        ),
    )
}

/// Reads the one that is known.
fn read_one(check: &DeclaredCheck, issues: &mut Vec<Issue>) -> Option<Check> {
    let DeclaredCheck {
        running,
        exec,
        http,
        tcp,
        heartbeat_file,
    } = check;
    if running.known().is_some() {
        return Some(Check::Running {});
    }
    if let Given::Known(exec) = exec {
        return read_exec(exec, issues);
    }
    if let Given::Known(http) = http {
        return read_http(http, issues);
    }
    if let Given::Known(DeclaredTcp { port }) = tcp {
        let port = read_port(port, &["health", "check", "tcp", "port"], issues)?;
        return Some(Check::Tcp { port });
    }
    let heartbeat_file = heartbeat_file.known()?;
    read_heartbeat_file(heartbeat_file, issues)
}

fn read_exec(exec: &DeclaredExec, issues: &mut Vec<Issue>) -> Option<Check> {
    let timeout = read_duration(
        &exec.timeout,
        CHECK_TIMEOUT,
        &["health", "check", "exec", "timeout"],
        issues,
    );
    let command = exec.command.known().and_then(|command| read_list(command));
    let is_empty = |command: &Vec<String>| command.first().is_none_or(String::is_empty);
    if command.as_ref().is_some_and(is_empty) {
        issues.push(Issue::new(
            steps(&["health", "check", "exec", "command"]),
            "A health command is empty",
            "Expected a program and its arguments, such as [\"/bin/check\", \"--fast\"].",
        ));
    }
    if timeout.is_some_and(|timeout| timeout < Duration::from_secs(1)) {
        issues.push(Issue::new(
            steps(&["health", "check", "exec", "timeout"]),
            "A health command has no time to run",
            "Expected at least 1s: the command is bounded inside the workload, in whole seconds.",
        ));
    }
    Some(Check::Exec {
        command: command?,
        timeout: timeout?,
    })
}

fn read_http(http: &DeclaredHttp, issues: &mut Vec<Issue>) -> Option<Check> {
    let port = read_port(&http.port, &["health", "check", "http", "port"], issues);
    let root = || Given::Known("/".to_owned());
    let path = http.path.clone().or(root).known().cloned();
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || PLAIN_IN_ADDRESSES.contains(letter);
    if let Some(path) = &path
        && !(path.starts_with('/') && path.chars().all(is_plain))
    {
        issues.push(Issue::new(
            steps(&["health", "check", "http", "path"]),
            "A path cannot be asked for",
            format!(
                "The path is {path:?}. Expected what follows the port in the address: a slash first, then whatever stands \
                 in an address as it is, such as \"/health?full=1\". Write other characters percent-encoded, and no #."
            ),
        ));
    }
    Some(Check::Http {
        port: port?,
        path: path?,
    })
}

fn read_port(given: &Given<u64>, path: &[&'static str], issues: &mut Vec<Issue>) -> Option<u16> {
    let port = u16::try_from(*given.known()?).ok().filter(|port| *port > 0);
    if port.is_none() {
        issues.push(Issue::new(
            steps(path),
            "A port does not exist",
            "Expected a whole number from 1 to 65535.",
        ));
    }
    port
}

fn read_heartbeat_file(file: &DeclaredHeartbeatFile, issues: &mut Vec<Issue>) -> Option<Check> {
    let path = file.path.known()?;
    if !path.starts_with('/') || path.ends_with('/') || path.contains(char::is_control) {
        issues.push(Issue::new(
            steps(&["health", "check", "heartbeat_file", "path"]),
            "A path names no file",
            format!(
                "The path is {path:?}. Expected that of a file inside of the workload, from its root, such as \"/run/heartbeat\"."
            ),
        ));
    }
    Some(Check::HeartbeatFile { path: path.clone() })
}
