//! Execution: one arm per step, and no choices. Behaviour belongs into `domain::rollout`, where it can be tested
//! without a cluster.
//!
//! Before: `rollout.rs` has recorded the decision. After: `incus`, a request or two for each step. Every step may run
//! twice: what is gone already is a success, and what the next look finds made or started is no failure.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use domain::app::render::{Files, Surroundings, render};
use domain::app::{AppSpec, Kind, Volume, VolumeClass, key};
use domain::place::Place;
use domain::rollout::step::{Attached, Step};
use domain::secret::hide;
use incus::Request;
use incus::file::{self, Content, File, Owner};
use incus::instance::{self, Action, InstancePost, Source};
use incus::storage::volume;

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;

/// How much of an output is kept: its end tells most.
const LONGEST_OUTPUT: usize = 2000;

/// What the workloads of one app are made with.
pub(crate) struct Template<'a> {
    /// Where.
    pub(crate) cluster: &'a Cluster,
    /// From what.
    pub(crate) spec: &'a AppSpec,
    /// The fingerprint of the cluster's image that they start from.
    pub(crate) fingerprint: &'a str,
    /// With what beside.
    pub(crate) around: &'a Surroundings,
}

/// Performs one step; returns what it brought to light and the next observation does not show.
pub(crate) async fn execute(template: &Template<'_>, step: &Step) -> Result<Option<String>, Error> {
    let Cluster {
        client, project, ..
    } = template.cluster;
    match step {
        Step::Create {
            place,
            generation,
            name,
            member,
            volumes,
        } => {
            let (post, files) = template.post(place, *generation, name, volumes);
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
        Step::CreateVolume {
            place,
            volume,
            name,
            declared,
            member,
        } => {
            template
                .create_volume(place, volume, name, declared, member.as_deref())
                .await?
        }
        Step::ResizeVolume {
            name,
            pool,
            member,
            size,
            ..
        } => {
            let size = BTreeMap::from([("size".to_owned(), size.to_string())]);
            let request = volume::patch_config(project, pool, name, &size);
            client.send(on(request, member.as_deref())).await?;
        }
        Step::Stop { name, grace, .. } => stop(template.cluster, name, *grace).await?,
        Step::Start {
            place,
            generation,
            name,
        } => {
            let (_, files) = template.post(place, *generation, name, &[]);
            // One of another declaration was whole before it ever ran: these are not its files.
            if !files.folders().is_empty() && template.has_made(name).await? {
                write_files(template.cluster, name, &files).await?;
            }
            start(template.cluster, name).await?;
        }
        Step::StampHealthy {
            name,
            since,
            start,
            description,
        } => {
            let stamp = BTreeMap::from([
                (key::HEALTHY_SINCE.to_owned(), clock::rfc3339(*since)),
                (key::HEALTHY_START.to_owned(), start.clone()),
            ]);
            client
                .send(instance::patch_config(project, name, &stamp, description))
                .await?;
        }
        Step::ClearHealthy { name, description } => {
            let stamp = BTreeMap::from([(key::HEALTHY_SINCE.to_owned(), String::new())]);
            client
                .send(instance::patch_config(project, name, &stamp, description))
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
            return Ok(Some(end_of(&output)));
        }
        Step::Delete { name, grace, .. } => delete(template.cluster, name, *grace).await?,
    }
    Ok(None)
}

/// Stops a workload, by force after `grace`; one that is down already is as good as stopped.
async fn stop(cluster: &Cluster, name: &str, grace: Duration) -> Result<(), Error> {
    let Cluster {
        client, project, ..
    } = cluster;
    let stop = |force| instance::set_state(project, name, Action::Stop, grace, force);
    match client.finish(stop(false)).await {
        Ok(_) => return Ok(()),
        // It may be on its way down: the step is taken again, and nothing is forced before the grace is over.
        Err(error) if error.is_interrupted() => return Err(error.into()),
        Err(_) => {}
    }
    let Err(error) = client.finish(stop(true)).await else {
        return Ok(());
    };
    let state = client.send(instance::state(project, name)).await;
    match state {
        Ok(state) if state.status == "Stopped" => Ok(()),
        _ => Err(error.into()),
    }
}

/// Deletes a storage volume; one that is gone is as good as deleted.
pub(crate) async fn delete_volume(
    cluster: &Cluster,
    pool: &str,
    name: &str,
    member: Option<&str>,
) -> Result<(), Error> {
    let request = volume::delete(pool, name).project(&cluster.project);
    match cluster.client.send(on(request, member)).await {
        Ok(()) => Ok(()),
        Err(error) if error.is_not_found() || error.is_interrupted() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Aims a request at a member, if there is one to aim at.
fn on<T>(request: Request<T>, member: Option<&str>) -> Request<T> {
    match member {
        Some(member) => request.target(member),
        None => request,
    }
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
    // No other answer matters: the delete below tells whether it has stopped.
    let by_force = match grace.is_zero() {
        true => true,
        false => match client.finish(stop(false)).await {
            Err(error) if error.is_interrupted() => return Err(error.into()),
            answer => answer.is_err(),
        },
    };
    if by_force {
        let _ = client.finish(stop(true)).await;
    }
    match client.finish(instance::delete(project, name)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() || error.is_interrupted() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Template<'_> {
    /// Makes a storage volume; one that is there already, by a step of before, is what is wanted.
    async fn create_volume(
        &self,
        place: &Place,
        volume: &str,
        name: &str,
        declared: &Volume,
        member: Option<&str>,
    ) -> Result<(), Error> {
        let pool = self.cluster.pool_of(declared).unwrap_or_default();
        let mut config = self.spec.volume_keys(place, volume);
        config.extend(
            declared
                .size
                .map(|size| ("size".to_owned(), size.to_string())),
        );
        let request = volume::create(pool, name, &config).project(&self.cluster.project);
        // A shared pool has its volumes on no member, and takes no target.
        let member = member.filter(|_| declared.class == VolumeClass::Local);
        self.cluster.client.send(on(request, member)).await?;
        Ok(())
    }

    /// Whether a workload was made from this very declaration.
    async fn has_made(&self, name: &str) -> Result<bool, Error> {
        let request = instance::get(&self.cluster.project, name);
        let config = self.cluster.client.send(request).await?.config;
        let made_from = config.and_then(|mut config| config.remove(key::SPEC));
        Ok(made_from == Some(self.spec.hash()))
    }

    /// The Incus instance of one generation, and its files; one with files is not started before it has them.
    fn post(
        &self,
        place: &Place,
        generation: u64,
        name: &str,
        volumes: &[Attached],
    ) -> (InstancePost, Files) {
        let fingerprint = self.fingerprint.to_owned();
        let mut post = InstancePost::new(name, Source::Fingerprint(fingerprint));
        post.r#type = match self.spec.workload.kind {
            Kind::Container => "container",
            Kind::Vm => "virtual-machine",
        }
        .to_owned();
        let rendered = render(self.spec, place, generation, volumes, self.around);
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
