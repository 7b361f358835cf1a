//! The cluster that is reconciled: how to reach it, and which of its projects and pools are ours to use.
//!
//! Before: the provider's configuration. After: every other file of this crate.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::app::{Volume, VolumeClass};
use incus::server::{self, Server};
use incus::{Client, Fingerprint, storage};
use tokio::sync::{Mutex, Semaphore};

use crate::error::Error;
use crate::image::Pulls;

/// How many apps change workloads at the same time; waiting does not count.
const APPS_AT_A_TIME: usize = 4;

/// The versions of Incus that this code knows. Features within one are told apart by API extensions.
const MAJOR_VERSIONS: core::ops::RangeInclusive<u32> = 6..=7;

/// The storage drivers whose volumes are the same on every member.
const SHARED_DRIVERS: [&str; 2] = ["ceph", "lvmcluster"];

/// Which of the cluster's projects and pools are ours to use.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where workloads live.
    pub project: String,
    /// Where the desired state lives.
    pub fleet_project: String,
    /// Root disks.
    pub storage_pool: String,
    /// Replicated volumes.
    pub shared_pool: Option<String>,
}

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
    /// Replicated volumes.
    pub shared_pool: Option<String>,
    /// The same client for what concerns members: it uses no server that is in no cluster.
    of_members: Client,
    /// Taken by whoever executes steps.
    pub(crate) steps: Arc<Semaphore>,
    /// How many workloads are about to be made on each member, and are in nobody's list yet: apps that are applied side by
    /// side would else all choose the same one.
    pub(crate) coming: Arc<std::sync::Mutex<BTreeMap<String, usize>>>,
    /// Taken by whoever pulls an image.
    pub(crate) pulls: Arc<Pulls>,
    known: Arc<Mutex<Known>>,
}

/// What a server of the cluster with this certificate said about itself.
type Known = Option<(Option<Fingerprint>, Arc<Server>)>;

impl Cluster {
    /// The storage pool of a volume; `None` for one that is shared if no such pool is known.
    pub(crate) fn pool_of<'a>(&'a self, volume: &'a Volume) -> Option<&'a str> {
        let default = match volume.class {
            VolumeClass::Local => Some(self.storage_pool.as_str()),
            VolumeClass::Replicated => self.shared_pool.as_deref(),
        };
        volume.pool.as_deref().or(default)
    }

    /// A cluster; nothing is sent yet.
    pub fn new(client: Client, settings: Settings) -> Self {
        Self {
            of_members: client.only_clusters(),
            client,
            project: settings.project,
            fleet_project: settings.fleet_project,
            storage_pool: settings.storage_pool,
            shared_pool: settings.shared_pool,
            coming: Arc::default(),
            steps: Arc::new(Semaphore::new(APPS_AT_A_TIME)),
            pulls: Arc::default(),
            known: Arc::default(),
        }
    }

    /// The same, as changes to members see it: a machine that is yet to join is no cluster.
    pub(crate) fn of_members(&self) -> Self {
        Self {
            client: self.of_members.clone(),
            ..self.clone()
        }
    }

    /// What the server says about itself, asked once of a cluster and judged: every use of one begins here.
    ///
    /// # Errors
    /// If nobody answers, or if it is nothing that this code can work with (HO-CI-09).
    pub async fn server(&self) -> Result<Arc<Server>, Error> {
        let mut known = self.known.lock().await;
        if let Some((of, server)) = &*known
            && *of == self.client.cluster()
        {
            return Ok(Arc::clone(server));
        }
        let server = Arc::new(self.ask().await?);
        *known = Some((self.client.cluster(), Arc::clone(&server)));
        Ok(server)
    }

    async fn ask(&self) -> Result<Server, Error> {
        let server = self.client.send(server::get()).await?;
        let known = server
            .major()
            .filter(|major| MAJOR_VERSIONS.contains(major));
        if known.is_none() {
            return Err(Error::Version {
                seen: server.environment.server_version,
            });
        }
        if let Some(name) = &self.shared_pool {
            let pool = self.client.send(storage::pool(name)).await?;
            if !SHARED_DRIVERS.contains(&pool.driver.as_str()) {
                return Err(Error::NotShared {
                    pool: name.clone(),
                    driver: pool.driver,
                });
            }
        }
        Ok(server)
    }
}
