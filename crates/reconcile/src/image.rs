//! Images: what a user's reference stands for now.
//!
//! Before: an app is about to be published. After: its declaration carries the full fingerprint, so an alias that
//! moves later changes nothing by itself.

use domain::app::ImageReference;
use incus::image;

use crate::cluster::Cluster;
use crate::error::Error;

/// What a reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The full fingerprint.
    pub digest: String,
    /// Incus's name for the architecture it is made for.
    pub architecture: String,
}

/// Looks a reference up in the cluster's own images.
///
/// # Errors
/// If there is no such image.
pub async fn resolve(cluster: &Cluster, reference: &ImageReference) -> Result<Resolved, Error> {
    let missing = |error: incus::Error| match error.is_not_found() {
        true => Error::NoImage {
            written: reference.written().to_owned(),
            project: cluster.project.clone(),
        },
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
        architecture: kernel_name(&image.architecture).to_owned(),
    })
}

/// Images made by hand often carry Debian's names; members always carry the kernel's.
fn kernel_name(architecture: &str) -> &str {
    match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        "i386" => "i686",
        other => other,
    }
}
