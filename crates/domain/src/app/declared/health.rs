//! The health of a declaration: exactly one check, and times that can be met.
//!
//! Before: `declared.rs` reads every part. After: [`Health`], with the defaults of `app` where the user is silent.

use core::time::Duration;

use super::workload::read_list;
use super::{DeclaredCheck, DeclaredExec, DeclaredHealth};
use crate::app::{CHECK_TIMEOUT, Check, HEALTHY_DEADLINE, Health, MIN_HEALTHY_TIME};
use crate::duration;
use crate::given::Given;
use crate::issue::{Issue, Step};

pub(super) fn read(given: &Given<DeclaredHealth>, issues: &mut Vec<Issue>) -> Option<Health> {
    let absent = DeclaredHealth::default();
    let health = match given {
        Given::Absent => &absent,
        Given::Unknown => return None,
        Given::Known(health) => health,
    };
    let check = read_check(&health.check, issues);
    let min_healthy_time = read_duration(
        &health.min_healthy_time,
        MIN_HEALTHY_TIME,
        &["health", "min_healthy_time"],
        issues,
    );
    let healthy_deadline = read_duration(
        &health.healthy_deadline,
        HEALTHY_DEADLINE,
        &["health", "healthy_deadline"],
        issues,
    );
    if let (Some(min), Some(deadline)) = (min_healthy_time, healthy_deadline)
        && min >= deadline
    {
        issues.push(Issue::new(
            vec![Step::Attribute("health"), Step::Attribute("min_healthy_time")],
            "A candidate could never be promoted",
            format!(
                "`min_healthy_time` is {}, `healthy_deadline` is {}. A candidate must have been healthy for the first within \
                 the second, so the deadline must be longer: raise it, or lower `min_healthy_time`.",
                duration::format(min),
                duration::format(deadline)
            ),
        ));
    }
    Some(Health {
        check: check?,
        min_healthy_time: min_healthy_time?,
        healthy_deadline: healthy_deadline?,
    })
}

fn read_check(given: &Given<DeclaredCheck>, issues: &mut Vec<Issue>) -> Option<Check> {
    let check = match given {
        Given::Absent => return Some(Check::Running {}),
        Given::Unknown => return None,
        Given::Known(check) => check,
    };
    match (&check.running, &check.exec) {
        (Given::Unknown, _) | (_, Given::Unknown) => None,
        (Given::Known(()), Given::Absent) => Some(Check::Running {}),
        (Given::Absent, Given::Known(exec)) => read_exec(exec, issues),
        (running, _) => {
            let seen = if running.is_set() {
                "Both are set"
            } else {
                "None is set"
            };
            issues.push(Issue::new(
                vec![Step::Attribute("health"), Step::Attribute("check")],
                "A health check must be exactly one",
                format!(
                    "{seen} of `running` and `exec`. Expected one of them: `running = {{}}` (the instance runs), or \
                     `exec = {{ command = [\"…\"] }}` (a command inside it ends with 0)."
                ),
            ));
            None
        }
    }
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

fn read_duration(
    given: &Given<String>,
    default: Duration,
    path: &[&'static str],
    issues: &mut Vec<Issue>,
) -> Option<Duration> {
    match given {
        Given::Absent => Some(default),
        Given::Unknown => None,
        Given::Known(text) => match duration::parse_at(steps(path), text) {
            Ok(duration) => Some(duration),
            Err(issue) => {
                issues.push(issue);
                None
            }
        },
    }
}

fn steps(path: &[&'static str]) -> Vec<Step> {
    path.iter().map(|name| Step::Attribute(name)).collect()
}
