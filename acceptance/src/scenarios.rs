//! All scenarios, and the HCL that they share. Each file below proves one part of the product's promises.
//!
//! A scenario writes what a user would write, types what a user would type, and asks the observer what came of it.

mod adoption;
mod app;
mod collector;
mod docs;
mod drift;
mod exclusive;
mod functions;
mod health;
mod https;
mod images;
pub(crate) mod joins;
mod kills;
mod lab;
mod machines;
pub(crate) mod media;
mod members;
mod network;
mod ownership;
mod packaging;
mod per_node;
mod preflight;
mod preseed;
mod program;
mod pulls;
mod refusals;
mod replicas;
mod rollout;

mod secrets;
mod seeds;
mod simulated;
mod simulator;
mod toy;
mod tunnel;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::observer::{Observer, Workload};
use crate::scenario::Scenario;

pub use kills::{Act, Step, sweep};

/// Every scenario, in the order of its group.
pub fn all() -> Vec<Scenario> {
    let groups: &[&[Scenario]] = &[
        network::SCENARIOS,
        machines::SCENARIOS,
        seeds::SCENARIOS,
        media::SCENARIOS,
        functions::SCENARIOS,
        refusals::SCENARIOS,
        app::SCENARIOS,
        adoption::SCENARIOS,
        rollout::SCENARIOS,
        secrets::SCENARIOS,
        replicas::SCENARIOS,
        per_node::SCENARIOS,
        collector::SCENARIOS,
        exclusive::SCENARIOS,
        program::SCENARIOS,
        health::SCENARIOS,
        drift::SCENARIOS,
        ownership::SCENARIOS,
        preflight::SCENARIOS,
        kills::SCENARIOS,
        members::SCENARIOS,
        https::SCENARIOS,
        joins::SCENARIOS,
        lab::SCENARIOS,
        images::SCENARIOS,
        pulls::SCENARIOS,
        preseed::SCENARIOS,
        tunnel::SCENARIOS,
        simulator::SCENARIOS,
        simulated::SCENARIOS,
        toy::SCENARIOS,
        docs::SCENARIOS,
        packaging::SCENARIOS,
    ];
    groups.concat()
}

/// A provider block with these endpoints and a fleet project.
pub fn provider(endpoints: &[String], fleet: &str) -> String {
    format!(
        "provider \"homelab\" {{\n  endpoints     = {endpoints:?}\n  fleet_project = \"{fleet}\"\n}}\n"
    )
}

/// The endpoint of a unix socket.
pub fn endpoint(socket: &Path) -> String {
    format!("unix://{}", socket.display())
}

/// An app as a user declares it.
#[derive(Clone, Debug)]
pub struct App {
    /// Name, and label of the resource.
    pub name: String,
    /// Number of replicas, as it is written.
    pub replicas: String,
    /// Alias of the image.
    pub image: &'static str,
    /// The health check.
    pub check: &'static str,
    /// How long a candidate must be well.
    pub min_healthy_time: &'static str,
    /// Further attributes.
    pub more: String,
}

impl App {
    /// An app with the usual values of a scenario.
    pub fn new(name: &str, replicas: u32, image: &'static str) -> App {
        App {
            name: name.to_owned(),
            replicas: replicas.to_string(),
            image,
            check: "running = {}",
            min_healthy_time: "2s",
            more: String::new(),
        }
    }

    /// The same once on every machine.
    pub fn per_node(name: &str, image: &'static str) -> App {
        App {
            replicas: "\"per-node\"".to_owned(),
            ..App::new(name, 1, image)
        }
    }

    /// The address of the resource.
    pub fn address(&self) -> String {
        format!("homelab_app.{}", self.name)
    }

    /// The resource.
    pub fn hcl(&self) -> String {
        let App {
            name,
            replicas,
            image,
            check,
            min_healthy_time,
            more,
        } = self;
        let mut text = format!("resource \"homelab_app\" \"{name}\" {{\n  name     = \"{name}\"\n");
        let _ = write!(
            text,
            "  type     = \"generic-stateless\"\n  replicas = {replicas}\n  image    = {{ alias = \"{image}\" }}\n  health = {{\n    \
             check            = {{ {check} }}\n    min_healthy_time = \"{min_healthy_time}\"\n    \
             healthy_deadline = \"30s\"\n  }}\n{more}}}\n"
        );
        text
    }
}

/// The workloads of an app, all of which must run, one per replica and all with this image.
fn expect_serving(
    observer: &Observer,
    app: &str,
    replicas: usize,
    image: &str,
) -> Result<Vec<Workload>> {
    let workloads = observer.workloads(app)?;
    ensure!(
        workloads.len() == replicas,
        "{app} should have {replicas} workloads: {workloads:#?}"
    );
    for workload in &workloads {
        ensure!(
            workload.is_running(),
            "{} should run: {workload:#?}",
            workload.name
        );
        ensure!(
            workload.image.contains(image),
            "{} should have {image}: {workload:#?}",
            workload.name
        );
        let version = image.rsplit('/').next().unwrap_or(image);
        let answer = observer.answer(&workload.name, "/version")?;
        ensure!(
            answer == version,
            "{} answers {answer}, not {version}",
            workload.name
        );
    }
    let mut ordinals: Vec<&str> = workloads
        .iter()
        .map(|workload| workload.ordinal.as_str())
        .collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    ensure!(
        ordinals.len() == replicas,
        "{app} should have one workload per ordinal: {workloads:#?}"
    );
    Ok(workloads)
}
