//! Adoption: the keys of instances that were made by hand, before their app's rollout begins.
//!
//! Before: the provider has published the app with their names. After: `rollout/pass.rs` finds them as workloads.
//! `domain::adoption` decides; here it is recorded, and then written. A cut-off is taken up by the next apply, since the
//! names stay published until the app's create is finished (docs/decisions/0022).

use domain::adoption::{self, Adoption, Stamp};
use domain::app::{AppSpec, key};
use domain::work::Work;
use incus::instance;

use crate::clock;
use crate::error::Error;
use crate::observe::{self, World};
use crate::rollout::Rollout;

/// Takes over what the declaration names.
///
/// # Guarantees
/// The record names the instances before they get their keys, and only their keys are written: none is started, stopped
/// or changed otherwise. It may run again after any interruption.
///
/// # Errors
/// [`Error::Adoption`] if one cannot be taken over any more; [`Error::Overtaken`] if another executor was faster.
pub(crate) async fn run(rollout: &mut Rollout<'_>) -> Result<(), Error> {
    let Rollout { cluster, spec, .. } = *rollout;
    if spec.adopts.is_empty() {
        return Ok(());
    }
    let world = observe::world(cluster).await?;
    let Adoption { work, stamps } = decide(spec, &world, &rollout.work)?;
    match rollout.record(work).await {
        // An executor of an older revision was faster, and stops there.
        Err(Error::RecordTaken { .. }) => {
            rollout.catch_up().await?;
            let again = decide(spec, &world, &rollout.work)?;
            rollout.record(again.work).await?;
        }
        recorded => recorded?,
    }
    for stamp in &stamps {
        let keys = keys(stamp);
        let request =
            instance::patch_config(&cluster.project, &stamp.name, &keys, &stamp.description);
        cluster.client.send(request).await?;
    }
    Ok(())
}

fn decide(spec: &AppSpec, world: &World, work: &Work) -> Result<Adoption, Error> {
    let machine = world.standalone.as_deref();
    let found = adoption::look(&spec.name, &spec.adopts, &world.seen);
    let decided =
        found.and_then(|found| adoption::decide(spec, &found, machine, work, clock::now()));
    decided.map_err(|refused| Error::Adoption {
        app: spec.name.clone(),
        refused,
    })
}

fn keys(stamp: &Stamp) -> std::collections::BTreeMap<String, String> {
    let mut keys = stamp.keys.clone();
    let since = clock::rfc3339(stamp.healthy_since);
    keys.insert(key::HEALTHY_SINCE.to_owned(), since);
    keys
}
