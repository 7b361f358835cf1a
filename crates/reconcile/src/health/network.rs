//! What a workload serves, asked for at its own address, from where this runs.
//!
//! Before: `health.rs`. After: `incus::service`, one connection. Why not from inside of the workload, or from its member,
//! is in `docs/decisions/0019-from-where-health-is-asked.md`.

use core::time::Duration;
use std::error::Error as _;
use std::io::ErrorKind;
use std::net::SocketAddr;

use domain::observation::Probe;
use incus::error::TransportError;
use incus::service;

use super::{quoted, running};
use crate::cluster::Cluster;

/// Asks a web server. Success and redirects are healthy; redirects are not followed, for they may lead to somebody else.
pub(super) async fn http(
    cluster: &Cluster,
    name: &str,
    port: u16,
    path: &str,
    limit: Duration,
) -> Option<Probe> {
    let address = match address(cluster, name, port).await? {
        Ok(address) => address,
        Err(why) => return Some(Probe::Unhealthy(why)),
    };
    let asked = format!("GET http://{address}{path} of {name}");
    let answer = match service::get(address, path, limit).await {
        Ok(answer) => answer,
        Err(error) => return Some(Probe::Unhealthy(told(&asked, &error))),
    };
    if answer.status.is_success() || answer.status.is_redirection() {
        return Some(Probe::Healthy);
    }
    // Error pages are laid out for browsers; here they stand in a line.
    let words: Vec<&str> = answer.body.split_whitespace().collect();
    Some(Probe::Unhealthy(format!(
        "{asked} answered {}{}",
        answer.status,
        quoted(&words.join(" "))
    )))
}

/// Asks for a connection, and for nothing on it.
pub(super) async fn tcp(
    cluster: &Cluster,
    name: &str,
    port: u16,
    limit: Duration,
) -> Option<Probe> {
    let address = match address(cluster, name, port).await? {
        Ok(address) => address,
        Err(why) => return Some(Probe::Unhealthy(why)),
    };
    Some(match service::connect(address, limit).await {
        Ok(()) => Probe::Healthy,
        Err(error) => {
            let asked = format!("connecting to {address} of {name}");
            Probe::Unhealthy(told(&asked, &error))
        }
    })
}

/// Where to ask, or why nobody can be asked; `None` if Incus could not say.
async fn address(cluster: &Cluster, name: &str, port: u16) -> Option<Result<SocketAddr, String>> {
    let state = match running(cluster, name).await? {
        Ok(state) => state,
        Err(why) => return Some(Err(why)),
    };
    let address = state
        .service_address()
        .map(|address| SocketAddr::new(address, port));
    Some(address.ok_or_else(|| format!("{name} has no address yet")))
}

fn told(asked: &str, error: &TransportError) -> String {
    let mut told = format!("{asked}: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    if leads_nowhere(error) {
        told.push_str(
            "; it is asked from this machine, which may have no way to the workload's network",
        );
    }
    told
}

/// Whether nobody was met, who could have refused the connection.
fn leads_nowhere(error: &TransportError) -> bool {
    match error {
        TransportError::ConnectTimeout(_) => true,
        TransportError::Connect(cause) => matches!(
            cause.kind(),
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable
        ),
        _ => false,
    }
}
