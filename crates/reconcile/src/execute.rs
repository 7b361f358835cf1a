//! Execution: one arm per step, and no choices. Behaviour belongs into `domain::rollout`, where it can be tested
//! without a cluster.
//!
//! Before: `rollout.rs` has recorded the decision. After: `incus`, a request or two for each step. Every step may run
//! twice: what is gone already is a success, and what the next look finds made or started is no failure.

use core::time::Duration;
use std::collections::BTreeMap;

use domain::app::{AppSpec, Kind, key};
use domain::rollout::step::Step;
use incus::instance::{self, Action, InstancePost, Source};

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::rollout::Means;

/// How much of an output is kept: its end tells most.
const LONGEST_OUTPUT: usize = 2000;

/// What a step brought to light.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing that the next observation does not show.
    Seen,
    /// The last output of a workload.
    Output(String),
}

/// What the workloads of one app are made with.
pub(crate) struct Template<'a> {
    /// Where.
    pub(crate) cluster: &'a Cluster,
    /// From what.
    pub(crate) spec: &'a AppSpec,
    /// And with what else.
    pub(crate) means: &'a Means,
}

/// Performs one step.
pub(crate) async fn execute(template: &Template<'_>, step: &Step) -> Result<Done, Error> {
    let Cluster {
        client, project, ..
    } = template.cluster;
    match step {
        Step::Create {
            ordinal,
            generation,
            name,
            member,
        } => {
            let post = template.post(*ordinal, *generation, name);
            let request = instance::create(project, &post);
            let request = member
                .iter()
                .fold(request, |request, member| request.target(member));
            client.finish(request).await?;
        }
        Step::Start { name, .. } => {
            let no_limit = Duration::ZERO;
            client
                .finish(instance::set_state(
                    project,
                    name,
                    Action::Start,
                    no_limit,
                    false,
                ))
                .await?;
        }
        Step::StampHealthy { name, since } => {
            let stamp = BTreeMap::from([(key::HEALTHY_SINCE.to_owned(), clock::rfc3339(*since))]);
            client
                .send(instance::patch_config(project, name, &stamp))
                .await?;
        }
        Step::ClearHealthy { name } => {
            let stamp = BTreeMap::from([(key::HEALTHY_SINCE.to_owned(), String::new())]);
            client
                .send(instance::patch_config(project, name, &stamp))
                .await?;
        }
        Step::KeepOutput { name, never_ran } => {
            let request = match never_ran {
                true => instance::log_file(project, name, "lxc.log"),
                false => instance::console_log(project, name),
            };
            let output = client.send(request).await?;
            return Ok(Done::Output(end_of(&output)));
        }
        Step::Delete { name, grace, .. } => delete(template.cluster, name, *grace).await?,
    }
    Ok(Done::Seen)
}

/// Stops a workload, by force after `grace`, and deletes it.
pub(crate) async fn delete(cluster: &Cluster, name: &str, grace: Duration) -> Result<(), Error> {
    let Cluster {
        client, project, ..
    } = cluster;
    let stop = |force| instance::set_state(project, name, Action::Stop, grace, force);
    // Neither answer matters: the delete below tells whether it has stopped.
    if grace.is_zero() || client.finish(stop(false)).await.is_err() {
        let _ = client.finish(stop(true)).await;
    }
    match client.finish(instance::delete(project, name)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() || error.is_interrupted() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Template<'_> {
    /// The Incus instance of one generation.
    fn post(&self, ordinal: u32, generation: u64, name: &str) -> InstancePost {
        let workload = &self.spec.workload;
        let fingerprint = self.means.fingerprint.clone();
        let mut post = InstancePost::new(name, Source::Fingerprint(fingerprint));
        post.description = format!(
            "Generation {generation} of app {}, kept by homelab.",
            self.spec.name
        );
        post.r#type = match workload.kind {
            Kind::Container => "container",
            Kind::Vm => "virtual-machine",
        }
        .to_owned();
        post.config = workload.config.clone();
        let variable =
            |(name, value): (&String, &String)| (format!("environment.{name}"), value.clone());
        post.config
            .extend(workload.environment.iter().map(variable));
        post.config
            .extend(self.spec.workload_keys(ordinal, generation));
        post.devices = workload.devices.clone();
        if self.means.needs_root_disk {
            post.devices
                .insert("root".to_owned(), root_disk(&self.cluster.storage_pool));
        }
        post.profiles = workload.profiles.clone();
        post.start = true;
        post
    }
}

fn root_disk(pool: &str) -> BTreeMap<String, String> {
    [("type", "disk"), ("path", "/"), ("pool", pool)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The end of an output, from the start of a line where possible.
fn end_of(output: &str) -> String {
    let output = output.replace('\r', "");
    let output = output.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let mut start = output.len().saturating_sub(LONGEST_OUTPUT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    if start > 0
        && let Some(line_end) = output[start..].find('\n')
    {
        start += line_end + 1;
    }
    output[start..].to_owned()
}
