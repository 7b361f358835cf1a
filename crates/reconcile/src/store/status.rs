//! Status entries: one profile per app, changed in place, for display alone.
//!
//! Before: `rollout.rs` has come to an end, in whatever way. After: whoever wants to know how an app is. A status that
//! cannot be written is no error: nothing is decided by it.

use std::collections::BTreeMap;

use domain::status::{self, AppStatus};
use incus::profile::{self, ProfilePut};

use crate::cluster::Cluster;

const STATUS: &str = "user.homelab-ops.status";

/// Writes what is to be said about an app; the last write wins.
pub(crate) async fn tell(cluster: &Cluster, app: &str, status: &AppStatus) {
    let Ok(text) = serde_json::to_string(status) else {
        return;
    };
    let (project, name) = (&cluster.fleet_project, status::profile_name(app));
    let put = ProfilePut {
        description: "How an app of homelab is; for display.".to_owned(),
        config: BTreeMap::from([(STATUS.to_owned(), text)]),
        ..ProfilePut::default()
    };
    let replaced = cluster
        .client
        .send(profile::replace(project, &name, &put))
        .await;
    if replaced.is_err_and(|error| error.is_not_found()) {
        let _ = cluster
            .client
            .send(profile::create(project, &name, &put))
            .await;
    }
}

/// Removes what was said about an app that is gone.
pub(super) async fn forget(cluster: &Cluster, app: &str) {
    let name = status::profile_name(app);
    let _ = cluster
        .client
        .send(profile::delete(&cluster.fleet_project, &name))
        .await;
}
