//! Health: asks a workload "healthy now?", and nothing else (HO-APP-41).
//!
//! Before: `domain::rollout::to_probe` names the workloads on trial. After: `domain::rollout::decide` keeps the time.
//! Each kind of question has a file in `health/`. Each is a fixed number of requests.

mod exec;
mod heartbeat;
mod network;

use domain::app::{CHECK_TIMEOUT, Check};
use domain::observation::Probe;
use domain::secret::Secrets;
use incus::instance::{self, InstanceState};

use crate::cluster::Cluster;

/// Longest part of a command's output, or of a web server's error, that a failure quotes.
const LONGEST_QUOTE: usize = 500;

/// Asks one running workload; `None` if Incus could not say, which is nothing against the workload. Of what it printed
/// no secret is told.
pub(crate) async fn probe(
    cluster: &Cluster,
    name: &str,
    check: &Check,
    secrets: &Secrets,
) -> Option<Probe> {
    match check {
        Check::Running {} => {
            let seen = running(cluster, name).await?;
            Some(seen.map_or_else(Probe::Unhealthy, |_| Probe::Healthy))
        }
        Check::Exec { command, timeout } => {
            Some(exec::command(cluster, name, command, *timeout, secrets).await)
        }
        Check::Http { port, path } => {
            network::http(cluster, name, *port, path, CHECK_TIMEOUT).await
        }
        Check::Tcp { port } => network::tcp(cluster, name, *port, CHECK_TIMEOUT).await,
        Check::HeartbeatFile { path } => heartbeat::file(cluster, name, path).await,
    }
}

/// What runs in a workload, or why nothing does; `None` if Incus could not say.
async fn running(cluster: &Cluster, name: &str) -> Option<Result<InstanceState, String>> {
    let state = instance::state(&cluster.project, name);
    match cluster.client.send(state).await {
        Ok(state) => Some(match alive(&state) {
            Probe::Healthy => Ok(state),
            Probe::Unhealthy(why) => Err(why),
        }),
        Err(error) if error.is_not_found() => Some(Err(error.to_string())),
        Err(_) => None,
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

/// What was said, to stand behind what happened; nothing if nothing was.
fn quoted(text: &str) -> String {
    let quote: String = text.chars().take(LONGEST_QUOTE).collect();
    if quote.is_empty() {
        return quote;
    }
    format!(": {quote}")
}

#[cfg(test)]
mod tests;
