//! Whether a command inside of a workload says that it is healthy.
//!
//! Before: `health.rs`. After: `incus::exec`. Not here: what the command is; that is the user's affair.

use core::time::Duration;

use domain::observation::Probe;
use domain::secret::{Secrets, hide};
use incus::exec::{ExecOutcome, exec_recorded};
use incus::instance::Command;

use super::quoted;
use crate::cluster::Cluster;

/// What `timeout` ends with when the time is over.
const TIMED_OUT: i64 = 124;

/// Runs a command and judges its end.
pub(super) async fn command(
    cluster: &Cluster,
    name: &str,
    command: &[String],
    timeout: Duration,
    secrets: &Secrets,
) -> Probe {
    let bounded = Command {
        command: bound(command, timeout),
        ..Command::default()
    };
    match exec_recorded(&cluster.client, &cluster.project, name, &bounded).await {
        Ok(outcome) => answer(&outcome, timeout, secrets),
        Err(error) => Probe::Unhealthy(error.to_string()),
    }
}

/// An exec cannot be cancelled from outside, so the command is bounded inside.
fn bound(command: &[String], timeout: Duration) -> Vec<String> {
    let mut bounded = vec!["timeout".to_owned(), timeout.as_secs().max(1).to_string()];
    bounded.extend_from_slice(command);
    bounded
}

fn answer(outcome: &ExecOutcome, timeout: Duration, secrets: &Secrets) -> Probe {
    let output = match outcome.stderr.trim() {
        "" => outcome.stdout.trim(),
        stderr => stderr,
    };
    // Hidden before it is cut: nobody recognises half a secret.
    let quoted = quoted(&hide(output, secrets));
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
    use domain::secret::Secret;

    use super::*;

    #[test]
    fn a_health_command_answers_by_its_end_and_quotes_what_it_printed() {
        let outcome = |return_code, stdout: &str, stderr: &str| ExecOutcome {
            return_code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        let second = Duration::from_secs(1);
        let secrets = Secrets {
            shared: [("K".to_owned(), Secret::new("hunter2"))].into(),
            ..Secrets::default()
        };
        assert_eq!(
            answer(&outcome(0, "x", "y"), second, &secrets),
            Probe::Healthy
        );
        for (outcome, why) in [
            (
                outcome(1, "out", ""),
                "the health command ended with 1: out",
            ),
            (
                outcome(2, "out", "err"),
                "the health command ended with 2: err",
            ),
            (
                outcome(1, &format!("{}hunter2", "x".repeat(495)), ""),
                &format!("the health command ended with 1: {}(secr", "x".repeat(495)),
            ),
            (outcome(1, "", ""), "the health command ended with 1"),
            (
                outcome(124, "", ""),
                "the health command did not end within 1s",
            ),
        ] {
            assert_eq!(
                answer(&outcome, second, &secrets),
                Probe::Unhealthy(why.to_owned())
            );
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
