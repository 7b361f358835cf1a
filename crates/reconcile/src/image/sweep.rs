//! Images that we have pulled go with their last user.
//!
//! Before: an app has converged, or is gone. After: nothing; what cannot be deleted now is deleted by whoever comes
//! next. Images without our mark are never touched.

use std::collections::BTreeSet;

use domain::app::key;
use incus::{image, instance};

use super::mark::Mark;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::store::{self, Fleet};

/// The key in which Incus keeps what an instance was made from.
const MADE_FROM: &str = "volatile.base_image";

/// Deletes the images of ours that no app of the fleet declares and no instance was made from. The instances of an app
/// that is on its way out, `leaving`, do not count: they need no image any more.
///
/// # Errors
/// If Incus does not answer, or does not delete one.
pub(crate) async fn sweep(cluster: &Cluster, leaving: Option<&str>) -> Result<(), Error> {
    let _sweeping = cluster.pulls.sweeping.lock().await;
    // Whoever is pulling sweeps when it has come to its end.
    let Ok(_turn) = cluster.pulls.turn.try_lock() else {
        return Ok(());
    };
    // In this order: whoever publishes an app does so before its image is pulled, so that an image of this list has its
    // app in that snapshot.
    let images = cluster.client.send(image::list(&cluster.project)).await?;
    let ours: Vec<(String, String)> = images
        .iter()
        // One that somebody has given a name is wanted.
        .filter(|image| image.aliases.is_empty())
        .filter_map(|image| Some((image.fingerprint.clone(), Mark::digest_on(image)?)))
        .collect();
    if ours.is_empty() {
        return Ok(());
    }
    let fleet = store::snapshot(cluster).await?;
    let instances = cluster
        .client
        .send(instance::list(&cluster.project))
        .await?;
    let made_from = instances.iter().map(|instance| {
        let config = instance.config.as_ref()?;
        let app = config.get(key::APP).map(String::as_str);
        let base = config.get(MADE_FROM).map_or("", String::as_str);
        Some(if app.is_some() && app == leaving {
            ""
        } else {
            base
        })
    });
    let (Some(declared), Some(running)) = (declared(&fleet), made_from.collect()) else {
        return Ok(());
    };
    for fingerprint in unused(&ours, &declared, &running) {
        let Some(_going) = cluster.pulls.let_go(fingerprint) else {
            continue;
        };
        let request = image::delete(&cluster.project, fingerprint);
        match cluster.client.finish(request).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// The digests that apps declare; `None` if there is one whose declaration cannot be read.
fn declared(fleet: &Fleet) -> Option<BTreeSet<&str>> {
    let entries = fleet.apps.values().filter_map(|app| app.entry.as_ref());
    let standing = entries.filter(|entry| entry.deleted.is_none());
    let digests: Option<Vec<Option<&str>>> = standing
        .map(|entry| Some(entry.spec.as_ref()?.image.digest.as_deref()))
        .collect();
    Some(digests?.into_iter().flatten().collect())
}

/// Those of `ours`, fingerprints and digests, that are neither declared nor what an instance was made from. What a member that does not answer runs
/// is not known, and then nothing is unused: `running` would be none.
fn unused<'a>(
    ours: &'a [(String, String)],
    declared: &BTreeSet<&str>,
    running: &BTreeSet<&str>,
) -> Vec<&'a str> {
    ours.iter()
        .filter(|(fingerprint, digest)| {
            // An app may name an image of ours as one of the cluster's own, by its fingerprint.
            let names = [digest, fingerprint].map(String::as_str);
            names.iter().all(|name| !declared.contains(name))
                && !running.contains(fingerprint.as_str())
        })
        .map(|(fingerprint, _)| fingerprint.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_declares_or_runs_goes() {
        let ours = [("f1", "d1"), ("f2", "d2"), ("f3", "d3")]
            .map(|(fingerprint, digest)| (fingerprint.to_owned(), digest.to_owned()));
        let gone = |declared: &[&'static str], running: &[&'static str]| {
            let (declared, running) = (declared.iter().copied(), running.iter().copied());
            unused(&ours, &declared.collect(), &running.collect()).join(" ")
        };
        assert_eq!(gone(&[], &[]), "f1 f2 f3");
        assert_eq!(gone(&["d1"], &["f2", "other"]), "f3");
        assert_eq!(gone(&["f1", "d3"], &[]), "f2");
        assert_eq!(gone(&["d1", "d2", "d3"], &[]), "");
    }
}
