//! Health: asks a workload "healthy now?", and nothing else (HO-APP-41).
//!
//! Before: `domain::rollout::to_probe` names the workloads on trial. After: `domain::rollout::decide` keeps the time.

use core::time::Duration;

use domain::app::Check;
use domain::observation::Probe;
use incus::exec::{ExecOutcome, exec_recorded};
use incus::instance::{self, Command, InstanceState};

use crate::cluster::Cluster;

/// Longest part of a command's output that a failure quotes.
const LONGEST_QUOTE: usize = 500;
/// What `timeout` ends with when the time is over.
const TIMED_OUT: i64 = 124;

/// Asks one running workload; `None` if Incus could not say, which is nothing against the workload.
pub(crate) async fn probe(cluster: &Cluster, name: &str, check: &Check) -> Option<Probe> {
    match check {
        Check::Running {} => {
            let state = instance::state(&cluster.project, name);
            match cluster.client.send(state).await {
                Ok(state) => Some(alive(&state)),
                Err(error) if error.is_not_found() => Some(Probe::Unhealthy(error.to_string())),
                Err(_) => None,
            }
        }
        Check::Exec { command, timeout } => {
            let bounded = Command {
                command: bound(command, *timeout),
                ..Command::default()
            };
            let asked = exec_recorded(&cluster.client, &cluster.project, name, &bounded).await;
            Some(match asked {
                Ok(outcome) => answer(&outcome, *timeout),
                Err(error) => Probe::Unhealthy(error.to_string()),
            })
        }
    }
}

/// That it is listed as running is not enough: it is for a while after its first process has ended, until Incus has
/// cleared up behind it, which takes seconds on a busy machine.
fn alive(state: &InstanceState) -> Probe {
    match (state.status.as_str(), state.pid > 0) {
        ("Running" | "Ready", true) => Probe::Healthy,
        ("Running" | "Ready", false) => Probe::Unhealthy("its first process has ended".to_owned()),
        (status, _) => Probe::Unhealthy(format!("it is {status}")),
    }
}

/// An exec cannot be cancelled from outside, so the command is bounded inside.
fn bound(command: &[String], timeout: Duration) -> Vec<String> {
    let mut bounded = vec!["timeout".to_owned(), timeout.as_secs().max(1).to_string()];
    bounded.extend_from_slice(command);
    bounded
}

fn answer(outcome: &ExecOutcome, timeout: Duration) -> Probe {
    let output = match outcome.stderr.trim() {
        "" => outcome.stdout.trim(),
        stderr => stderr,
    };
    let quote: String = output.chars().take(LONGEST_QUOTE).collect();
    let quoted = if quote.is_empty() {
        String::new()
    } else {
        format!(": {quote}")
    };
    match outcome.return_code {
        0 => Probe::Healthy,
        TIMED_OUT => Probe::Unhealthy(format!(
            "the health command did not end within {}{quoted}",
            domain::duration::format(timeout)
        )),
        code => Probe::Unhealthy(format!("the health command ended with {code}{quoted}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_command_answers_by_its_end_and_quotes_what_it_printed() {
        let outcome = |return_code, stdout: &str, stderr: &str| ExecOutcome {
            return_code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        let second = Duration::from_secs(1);
        assert_eq!(answer(&outcome(0, "x", "y"), second), Probe::Healthy);
        for (outcome, why) in [
            (
                outcome(1, "out", ""),
                "the health command ended with 1: out",
            ),
            (
                outcome(2, "out", "err"),
                "the health command ended with 2: err",
            ),
            (outcome(1, "", ""), "the health command ended with 1"),
            (
                outcome(124, "", ""),
                "the health command did not end within 1s",
            ),
        ] {
            assert_eq!(answer(&outcome, second), Probe::Unhealthy(why.to_owned()));
        }
    }

    /// Measured: a container whose init has ended is listed as running until its stop hook is through, without a process.
    #[test]
    fn what_runs_has_a_process() {
        let state = |status: &str, pid| InstanceState {
            status: status.to_owned(),
            pid,
            ..InstanceState::default()
        };
        for (status, pid, why) in [
            ("Running", 4711, None),
            ("Ready", 4711, None),
            ("Running", -1, Some("its first process has ended")),
            ("Running", 0, Some("its first process has ended")),
            ("Stopped", 0, Some("it is Stopped")),
            ("Frozen", 4711, Some("it is Frozen")),
        ] {
            let expected = match why {
                None => Probe::Healthy,
                Some(why) => Probe::Unhealthy(why.to_owned()),
            };
            assert_eq!(alive(&state(status, pid)), expected, "{status} {pid}");
        }
    }

    #[test]
    fn a_health_command_is_bounded_inside_the_workload() {
        let command = ["check".to_owned(), "-v".to_owned()];
        assert_eq!(
            bound(&command, Duration::from_secs(3)),
            ["timeout", "3", "check", "-v"]
        );
    }
}
