//! Execution: one arm per step, and no choices. Behaviour belongs into `domain::rollout`, where it can be tested
//! without a cluster.
//!
//! Before: `rollout.rs` has recorded the decision. After: `incus`, a request or two for each step. Every step may run
//! twice: what is gone already is a success, and what the next look finds made or started is no failure.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use domain::app::render::{Files, Surroundings, render};
use domain::app::{AppSpec, Kind, key};
use domain::place::Place;
use domain::rollout::step::Step;
use domain::secret::hide;
use incus::file::{self, Content, File, Owner};
use incus::instance::{self, Action, InstancePost, Source};

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;

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
    /// With what beside.
    pub(crate) around: &'a Surroundings,
}

/// Performs one step.
pub(crate) async fn execute(template: &Template<'_>, step: &Step) -> Result<Done, Error> {
    let Cluster {
        client, project, ..
    } = template.cluster;
    match step {
        Step::Create {
            place,
            generation,
            name,
            member,
        } => {
            let (post, files) = template.post(place, *generation, name);
            let starts = post.start;
            let request = instance::create(project, &post);
            let request = member
                .iter()
                .fold(request, |request, member| request.target(member));
            client.finish(request).await?;
            // What has files gets them first, and what has none is running already.
            if !starts {
                write_files(template.cluster, name, &files).await?;
                start(template.cluster, name).await?;
            }
        }
        Step::Start {
            place,
            generation,
            name,
        } => {
            let (_, files) = template.post(place, *generation, name);
            // One of another declaration was whole before it ever ran: these are not its files.
            if !files.folders().is_empty() && template.has_made(name).await? {
                write_files(template.cluster, name, &files).await?;
            }
            start(template.cluster, name).await?;
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
            // Hidden before it is cut: nobody recognises half a secret.
            let output = hide(&output, &template.around.secrets);
            return Ok(Done::Output(end_of(&output)));
        }
        Step::Delete { name, grace, .. } => delete(template.cluster, name, *grace).await?,
    }
    Ok(Done::Seen)
}

/// Starts a workload.
async fn start(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let (project, no_limit) = (&cluster.project, Duration::ZERO);
    let request = instance::set_state(project, name, Action::Start, no_limit, false);
    cluster.client.finish(request).await?;
    Ok(())
}

/// Writes what a workload finds when it starts; what is there already is written over.
async fn write_files(cluster: &Cluster, name: &str, files: &Files) -> Result<(), Error> {
    let put = |path: &str, content, mode| {
        let owner = Owner {
            mode: Some(mode),
            ..Owner::default()
        };
        file::put(&cluster.project, name, path, &File { content, owner })
    };
    for folder in files.folders() {
        let content = Content::Folder(Vec::new());
        cluster.client.send(put(folder, content, 0o755)).await?;
    }
    for one in &files.0 {
        let bytes = Bytes::copy_from_slice(one.content.expose().as_bytes());
        let content = Content::Regular(bytes);
        cluster
            .client
            .send(put(&one.path, content, one.mode))
            .await?;
    }
    Ok(())
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
    /// Whether a workload was made from this very declaration.
    async fn has_made(&self, name: &str) -> Result<bool, Error> {
        let request = instance::get(&self.cluster.project, name);
        let config = self.cluster.client.send(request).await?.config;
        let made_from = config.and_then(|mut config| config.remove(key::SPEC));
        Ok(made_from == Some(self.spec.hash()))
    }

    /// The Incus instance of one generation, and its files; one with files is not started before it has them.
    fn post(&self, place: &Place, generation: u64, name: &str) -> (InstancePost, Files) {
        let digest = self.spec.image.digest.clone().unwrap_or_default();
        let mut post = InstancePost::new(name, Source::Fingerprint(digest));
        post.r#type = match self.spec.workload.kind {
            Kind::Container => "container",
            Kind::Vm => "virtual-machine",
        }
        .to_owned();
        let rendered = render(self.spec, place, generation, self.around);
        post.description = rendered.description;
        post.config = rendered.config;
        post.devices = rendered.devices;
        post.profiles = rendered.profiles;
        post.start = rendered.files.0.is_empty();
        (post, rendered.files)
    }
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
