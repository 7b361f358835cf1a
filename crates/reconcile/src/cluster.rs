//! The cluster that is reconciled: how to reach it, and which of its projects and pools are ours to use.
//!
//! Before: the provider's configuration. After: every other file of this crate.

use std::sync::Arc;

use incus::{Client, server};
use tokio::sync::{OnceCell, Semaphore};

use crate::error::Error;

/// How many apps change workloads at the same time; waiting does not count.
const APPS_AT_A_TIME: usize = 4;

/// A cluster, or a single server.
#[derive(Clone)]
pub struct Cluster {
    /// Sends the requests.
    pub client: Client,
    /// Where workloads live.
    pub project: String,
    /// Where the desired state lives.
    pub fleet_project: String,
    /// Root disks.
    pub storage_pool: String,
    /// Taken by whoever executes steps.
    pub(crate) steps: Arc<Semaphore>,
    clustered: Arc<OnceCell<bool>>,
}

impl Cluster {
    /// A cluster; nothing is sent yet.
    pub fn new(
        client: Client,
        project: String,
        fleet_project: String,
        storage_pool: String,
    ) -> Self {
        Self {
            client,
            project,
            fleet_project,
            storage_pool,
            steps: Arc::new(Semaphore::new(APPS_AT_A_TIME)),
            clustered: Arc::default(),
        }
    }

    /// Whether Incus is clustered; asked once.
    ///
    /// # Errors
    /// If nobody answers.
    pub async fn is_clustered(&self) -> Result<bool, Error> {
        let ask = || async {
            let server = self.client.send(server::get()).await?;
            Ok(server.environment.server_clustered)
        };
        self.clustered.get_or_try_init(ask).await.copied()
    }
}
