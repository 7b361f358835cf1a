//! Health: asks a workload "healthy now?", and nothing else (HO-APP-41).
//!
//! Before: `domain::rollout::to_probe` names the workloads on trial. After: `domain::rollout::decide` keeps the time.
//! Each kind of question has a file in `health/`. Each is a fixed number of requests.

mod exec;
mod heartbeat;
mod network;

use domain::app::{CHECK_TIMEOUT, Check};
use domain::observation::Probe;

use crate::cluster::Cluster;

/// Longest part of a command's output, or of a web server's error, that a failure quotes.
const LONGEST_QUOTE: usize = 500;

/// Asks one running workload.
pub(crate) async fn probe(cluster: &Cluster, name: &str, check: &Check) -> Probe {
    match check {
        // That it runs was just seen in the list.
        Check::Running {} => Probe::Healthy,
        Check::Exec { command, timeout } => exec::command(cluster, name, command, *timeout).await,
        Check::Http { port, path } => {
            network::http(cluster, name, *port, path, CHECK_TIMEOUT).await
        }
        Check::Tcp { port } => network::tcp(cluster, name, *port, CHECK_TIMEOUT).await,
        Check::HeartbeatFile { path } => heartbeat::file(cluster, name, path).await,
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
