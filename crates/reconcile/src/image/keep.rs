//! The cluster has the image of a declaration, or pulls it.
//!
//! Before: `rollout.rs`, before its first pass, so that nothing is stopped for an image that cannot be had. After:
//! workloads are created from the fingerprint under which the cluster keeps it. One pull at a time and through one
//! member: Incus fails some of several at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::app::{Image, ImageServer, Kind, Protocol};
use incus::Outcome;
use incus::image::{self, Remote, kernel_name};
use tokio_util::sync::CancellationToken;

use super::mark::{self, Mark};
use super::turns::InUse;
use super::{check_oci, exact_name, no_image};
use crate::cluster::Cluster;
use crate::error::Error;

/// How often a pull is begun before it counts as failed: once more after an image of the same layers was in the way, and
/// once more after somebody else was faster.
const ATTEMPTS: usize = 3;

/// How long to wait until an image that is in the way is not needed any more.
const PAUSE: Duration = Duration::from_millis(500);

/// Where rollouts are, as messages say it.
const PHASE: &str = "pulling its image";

/// For which app an image is pulled, and until when.
pub(crate) struct Pulling<'a> {
    pub(crate) app: &'a str,
    /// Containers or virtual machines.
    pub(crate) kind: Kind,
    pub(crate) give_up_at: Instant,
    /// The whole time that the user gave, for messages.
    pub(crate) limit: Duration,
    pub(crate) stop: &'a CancellationToken,
}

/// The kernel's name of the architecture that the image of a declaration is made for; `None` if the cluster does not
/// have it.
pub(crate) async fn architecture_of(
    cluster: &Cluster,
    image: &Image,
) -> Result<Option<String>, Error> {
    let digest = image.digest.as_deref().unwrap_or_default();
    let found = find(cluster, image, digest).await?;
    Ok(found.map(|found| kernel_name(&found.architecture).to_owned()))
}

async fn find(
    cluster: &Cluster,
    image: &Image,
    digest: &str,
) -> Result<Option<image::Image>, Error> {
    if is_oci(image) {
        let images = cluster.client.send(image::list(&cluster.project)).await?;
        let is_it = |image: &image::Image| mark::oci_digest(image) == Some(digest);
        return Ok(images.into_iter().find(is_it));
    }
    let found = cluster
        .client
        .send(image::get(&cluster.project, digest))
        .await;
    match found {
        Ok(image) => Ok(Some(image)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_oci(image: &Image) -> bool {
    image.server.as_ref().map(|server| server.protocol) == Some(Protocol::Oci)
}

/// Makes sure that the cluster has what a declaration stands for.
///
/// # Expected flow
/// It is there; or a server of the cluster pulls it, and it is marked as ours.
///
/// # Guarantees
/// What comes back is exactly what the digest names. Images that nobody here has pulled are not deleted, unless Incus has
/// kept them for itself alone.
///
/// # Errors
/// If it is not there and cannot be pulled. Nothing is lost then, and the next apply tries again.
pub(crate) async fn ensure(
    cluster: &Cluster,
    image: &Image,
    pulling: &Pulling<'_>,
) -> Result<InUse, Error> {
    let Some(server) = &image.server else {
        let digest = image.digest.clone().unwrap_or_default();
        // Nothing is stopped for one that is gone.
        return match find(cluster, image, &digest).await? {
            Some(found) => Ok(InUse::unguarded(found.fingerprint)),
            None => Err(no_image(cluster, image.reference.written())),
        };
    };
    loop {
        if let Some(image) = at_hand(cluster, image).await? {
            return Ok(image);
        }
        let turn = pulling.or_end(cluster.pulls.turn.lock()).await?;
        if let Some(image) = ensure_alone(cluster, image, server, pulling).await? {
            return Ok(image);
        }
        drop(turn);
        pulling.or_end(tokio::time::sleep(PAUSE)).await?;
    }
}

/// The image, if the cluster has it: whoever needs none pulled waits for no pull.
async fn at_hand(cluster: &Cluster, image: &Image) -> Result<Option<InUse>, Error> {
    let digest = image.digest.as_deref().unwrap_or_default();
    let Some(found) = find(cluster, image, digest).await? else {
        return Ok(None);
    };
    let Some(held) = cluster.pulls.take(&found) else {
        return Ok(None);
    };
    // It may have been deleted before it was held; from here on it is not.
    let again = find(cluster, image, digest).await?;
    if again.as_ref().map(|image| &image.fingerprint) != Some(&found.fingerprint) {
        return Ok(None);
    }
    adopt(cluster, image, &found).await?;
    Ok(Some(held))
}

/// The same while nobody else in this process pulls or deletes images. `None`: another rollout makes workloads from the
/// one that is in the way, and comes first.
async fn ensure_alone(
    cluster: &Cluster,
    image: &Image,
    server: &ImageServer,
    pulling: &Pulling<'_>,
) -> Result<Option<InUse>, Error> {
    let digest = image.digest.as_deref().unwrap_or_default();
    let mut failed = None;
    for attempt in 0..=ATTEMPTS {
        if let Some(found) = find(cluster, image, digest).await? {
            adopt(cluster, image, &found).await?;
            return Ok(cluster.pulls.take(&found));
        }
        if attempt == ATTEMPTS {
            break;
        }
        let there = match pull(cluster, image, server, pulling).await {
            Ok(there) => there,
            Err(Error::Pull { cause, .. }) if cause.is_conflict() => {
                let there = in_the_way(cluster, &cause).await?;
                failed = Some(pull_error(image, server, *cause));
                there
            }
            Err(error) => return Err(error),
        };
        let Some(there) = there else { continue };
        let Some(going) = cluster.pulls.let_go(&there.fingerprint) else {
            return Ok(None);
        };
        make_way(cluster, image, &there).await?;
        drop(going);
    }
    Err(failed.unwrap_or_else(|| no_image(cluster, image.reference.written())))
}

impl Pulling<'_> {
    /// Waits, but not for longer than the user wants.
    async fn or_end<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            done = waiting => Ok(done),
            () = self.ended() => Err(self.end()),
        }
    }

    async fn ended(&self) {
        let left = self.give_up_at.saturating_duration_since(Instant::now());
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(left) => {}
        }
    }

    fn end(&self) -> Error {
        let app = self.app.to_owned();
        match self.stop.is_cancelled() {
            true => Error::Stopped { app, phase: PHASE },
            false => Error::TimedOut {
                app,
                phase: PHASE,
                limit: self.limit,
            },
        }
    }
}

/// Has one server of the cluster pull an image. `None`: the next look finds it. Otherwise what is there in its place.
async fn pull(
    cluster: &Cluster,
    image: &Image,
    server: &ImageServer,
    pulling: &Pulling<'_>,
) -> Result<Option<image::Image>, Error> {
    if server.protocol == Protocol::Oci {
        check_oci(cluster).await?;
    }
    let digest = image.digest.as_deref().unwrap_or_default();
    let name = exact_name(image, digest);
    let remote = Remote {
        server: &server.url,
        protocol: server.protocol.word(),
        name: &name,
        r#type: match pulling.kind {
            Kind::Container => "container",
            Kind::Vm => "virtual-machine",
        },
    };
    // Only content that is known by its fingerprint is marked at once: an OCI image may turn out to be another one.
    let properties = match is_oci(image) {
        true => BTreeMap::new(),
        false => Mark::of(image)
            .map(|mark| mark.properties())
            .unwrap_or_default(),
    };
    let request = image::pull(&cluster.project, &remote, &properties);
    // Whoever has had enough leaves it going on: the next apply finds what came of it.
    let operation = match cluster.client.finish_until(request, pulling.ended()).await {
        Ok(Outcome::Finished(operation)) => operation,
        Ok(Outcome::Running(_)) => return Err(pulling.end()),
        Err(cause) => return Err(pull_error(image, server, cause)),
    };
    let fingerprint = operation.metadata.get("fingerprint");
    let Some(fingerprint) = fingerprint.and_then(|value| value.as_str()) else {
        return Ok(None);
    };
    let there = cluster
        .client
        .send(image::get(&cluster.project, fingerprint))
        .await?;
    let is_it = !is_oci(image) || mark::oci_digest(&there) == Some(digest);
    Ok((!is_it).then_some(there))
}

fn pull_error(image: &Image, server: &ImageServer, cause: incus::Error) -> Error {
    Error::Pull {
        written: image.reference.written().to_owned(),
        server: server.url.clone(),
        protocol: server.protocol,
        cause: Box::new(cause),
    }
}

/// The image that a pull has met, if it failed for that: Incus gives what it pulls the names of an image of the same
/// layers, which are taken. Otherwise somebody else was faster, and the next look finds it.
async fn in_the_way(
    cluster: &Cluster,
    cause: &incus::Error,
) -> Result<Option<image::Image>, Error> {
    let told = cause.to_string();
    let images = cluster.client.send(image::list(&cluster.project)).await?;
    let is_met = |image: &image::Image| {
        let mut names = image.aliases.iter().map(|alias| alias.name.as_str());
        mark::is_oci(image) && names.any(|name| told.ends_with(name))
    };
    Ok(images.into_iter().find(is_met))
}

/// Marks an image as ours that only an interrupted pull of ours can have left: nobody has named it, and Incus does not
/// keep it for itself.
async fn adopt(cluster: &Cluster, image: &Image, found: &image::Image) -> Result<(), Error> {
    let ours = is_oci(image) && !found.cached && found.aliases.is_empty();
    let Some(mark) = Mark::of(image).filter(|_| ours && Mark::on(found).is_none()) else {
        return Ok(());
    };
    let properties = mark.properties();
    let request = image::patch_properties(&cluster.project, &found.fingerprint, &properties);
    Ok(cluster.client.send(request).await?)
}

/// Deletes an image with the same layers, which Incus takes for the one that is wanted. What runs does not need it.
async fn make_way(cluster: &Cluster, image: &Image, there: &image::Image) -> Result<(), Error> {
    if Mark::on(there).is_none() && mark::is_wanted(there) {
        let aliases = there.aliases.iter().map(|alias| alias.name.clone());
        return Err(Error::SameLayers {
            written: image.reference.written().to_owned(),
            fingerprint: there.fingerprint.clone(),
            aliases: aliases.collect(),
        });
    }
    let request = image::delete(&cluster.project, &there.fingerprint);
    match cluster.client.finish(request).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}
