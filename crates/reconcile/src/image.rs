//! Images: what a user's reference stands for now, and how the cluster gets it.
//!
//! ```text
//! image.rs ──┬─> image/keep.rs   the cluster has it, or pulls it: once, before anything is changed
//!            ├─> image/mark.rs   which of the cluster's images we have pulled, and as what
//!            ├─> image/sweep.rs  those that nobody uses any more go
//!            └─> image/turns.rs  and nobody here deletes what another one is about to use
//! ```
//!
//! Before: an app is about to be published. After: its declaration carries the digest, so that a name that moves later
//! changes nothing by itself (docs/decisions/0007, 0020).

mod keep;
mod mark;
mod sweep;
mod turns;

use std::collections::BTreeMap;

use domain::app::image::{OciName, Version};
use domain::app::{AppSpec, Image, ImageReference, ImageServer, Kind, Protocol};
use domain::observation::MemberStatus;
use incus::image::{self, kernel_name};
use incus::image_server::{self, Name, Wanted};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::observe;

pub(crate) use keep::{Pulling, architecture_of, ensure};
pub(crate) use sweep::sweep;
pub(crate) use turns::{InUse, Pulls};

/// The feature of Incus that OCI images need.
const OCI_EXTENSION: &str = "instance_oci";

/// What a reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The full fingerprint, or of OCI images the digest of the manifest.
    pub digest: String,
    /// Incus's name for the architecture it is made for; of OCI images it is known when they are pulled.
    pub architecture: Option<String>,
}

/// Looks up what the image of a declaration stands for now; nothing is downloaded.
///
/// # Errors
/// If there is no such image, or if the server that has it does not answer.
pub async fn resolve(cluster: &Cluster, spec: &AppSpec) -> Result<Resolved, Error> {
    match &spec.image.server {
        None => resolve_own(cluster, &spec.image.reference).await,
        Some(server) => resolve_elsewhere(cluster, spec, server).await,
    }
}

async fn resolve_own(cluster: &Cluster, reference: &ImageReference) -> Result<Resolved, Error> {
    let missing = |error: incus::Error| match error.is_not_found() {
        true => no_image(cluster, reference.written()),
        false => error.into(),
    };
    let fingerprint = match reference {
        ImageReference::Alias(name) => {
            let alias = cluster
                .client
                .send(image::alias(&cluster.project, name))
                .await;
            alias.map_err(missing)?.target
        }
        ImageReference::Fingerprint(fingerprint) => fingerprint.clone(),
    };
    let image = cluster
        .client
        .send(image::get(&cluster.project, &fingerprint))
        .await;
    let image = image.map_err(missing)?;
    Ok(Resolved {
        digest: image.fingerprint,
        architecture: Some(kernel_name(&image.architecture).to_owned()),
    })
}

fn no_image(cluster: &Cluster, written: &str) -> Error {
    Error::NoImage {
        written: written.to_owned(),
        project: cluster.project.clone(),
    }
}

async fn resolve_elsewhere(
    cluster: &Cluster,
    spec: &AppSpec,
    server: &ImageServer,
) -> Result<Resolved, Error> {
    let written = spec.image.reference.written();
    let failed = |cause| Error::ImageServer {
        written: written.to_owned(),
        server: server.url.clone(),
        cause: Box::new(cause),
    };
    if server.protocol == Protocol::Oci {
        check_oci(cluster).await?;
        let digest = oci_digest(&server.url, written).await.map_err(failed)?;
        return Ok(Resolved {
            digest,
            architecture: None,
        });
    }
    let architecture = architecture(cluster).await?;
    let wanted = Wanted {
        name: match &spec.image.reference {
            ImageReference::Alias(alias) => Name::Alias(alias),
            ImageReference::Fingerprint(fingerprint) => Name::Fingerprint(fingerprint),
        },
        is_vm: spec.workload.kind == Kind::Vm,
        architecture: &architecture,
    };
    let found = match server.protocol {
        Protocol::Simplestreams => image_server::simplestreams::look_up(&server.url, &wanted).await,
        Protocol::Incus | Protocol::Oci => {
            image_server::public::look_up(&server.url, &wanted).await
        }
    };
    let found = found.map_err(failed)?;
    Ok(Resolved {
        digest: found.fingerprint,
        architecture: Some(found.architecture),
    })
}

async fn oci_digest(server: &str, written: &str) -> Result<String, image_server::Error> {
    match OciName::parse(written) {
        Some(OciName {
            version: Version::Digest(digest),
            ..
        }) => Ok(digest),
        Some(OciName {
            repository,
            version: Version::Tag(tag),
        }) => image_server::oci::look_up(server, &repository, &tag).await,
        // Declarations are checked, so that this is one of another version.
        None => Err(image_server::Error::NotFound {
            wanted: format!("{written:?}"),
        }),
    }
}

/// Whether this Incus can run OCI images; an older one would only say so when it is to pull one.
async fn check_oci(cluster: &Cluster) -> Result<(), Error> {
    let server = cluster.server().await?;
    let has = |name: &String| name == OCI_EXTENSION;
    match server.api_extensions.iter().any(has) {
        true => Ok(()),
        false => Err(Error::NoOci {
            version: server.environment.server_version.clone(),
        }),
    }
}

/// The architecture for which images are looked up: that of most members that are online.
async fn architecture(cluster: &Cluster) -> Result<String, Error> {
    let server = cluster.server().await?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for member in observe::members(cluster).await? {
        if member.status == MemberStatus::Online {
            *counts.entry(member.architecture).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let own = || server.environment.architectures.first().cloned();
    Ok(most.map(|(name, _)| name).or_else(own).unwrap_or_default())
}

/// The name under which a server of the cluster pulls exactly what was looked up.
fn exact_name(image: &Image, digest: &str) -> String {
    let is_oci = image.server.as_ref().map(|server| server.protocol) == Some(Protocol::Oci);
    match OciName::parse(image.reference.written()) {
        Some(name) if is_oci => format!("{}@{digest}", name.repository),
        _ => digest.to_owned(),
    }
}
