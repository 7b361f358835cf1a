//! What the machines and their cluster are: plain data, and the few things that happen to it without a request.
//!
//! Before: a test says what is there. After: `answers.rs` shows it, and `joins.rs` changes who is in the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use incus::certificate::{Wanted, self_signed};
use jiff::Timestamp;
use rustls::sign::CertifiedKey;
use serde_json::Value;

use crate::listener::shown;

/// Everything.
pub(crate) struct World {
    pub(crate) machines: BTreeMap<String, Machine>,
    pub(crate) cluster: Cluster,
}

/// One machine with its Incus.
pub(crate) struct Machine {
    /// Where it answers, as `127.0.0.1:PORT`.
    pub(crate) address: String,
    pub(crate) system: System,
    /// What it shows until it is a member.
    pub(crate) certificate: Certificate,
    pub(crate) clustered: bool,
    /// It does not reach its database, or that of its cluster.
    pub(crate) lost: bool,
    pub(crate) config: BTreeMap<String, String>,
    /// What it has while it is no member.
    pub(crate) store: Store,
    /// The datasets of its disk that are not empty.
    pub(crate) datasets: BTreeSet<String>,
    /// The end of the last work that it was given; empty for success.
    pub(crate) outcome: String,
}

/// What a machine runs on.
pub(crate) enum System {
    IncusOs {
        /// What its Incus is called.
        application: &'static str,
        initialized: bool,
    },
    /// Another one, with an Incus that says so: 7.
    Refusing,
    /// Another one, with an Incus that knows nothing of it: 6.0.
    Silent,
}

/// The cluster; without members there is none yet.
pub(crate) struct Cluster {
    pub(crate) certificate: Certificate,
    pub(crate) members: Vec<String>,
    pub(crate) store: Store,
    /// The profiles of the fleet store, by name.
    pub(crate) entries: BTreeMap<String, Value>,
    /// Name, type and fingerprint each.
    pub(crate) trusted: Vec<(String, &'static str, String)>,
    /// The names that the tokens were made for, by the operations that stand for them.
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) minted: usize,
    /// Whether it makes tokens.
    pub(crate) mints: bool,
    /// Why it will not accept the next joiner.
    pub(crate) rejects: Option<String>,
}

/// Pools, volumes and networks, of a machine or of a cluster.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) pools: BTreeMap<String, Pool>,
    /// Member, pool and name each.
    pub(crate) volumes: BTreeSet<(String, String, String)>,
    pub(crate) networks: BTreeSet<String>,
}

#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) driver: String,
    pub(crate) created: bool,
    /// Where it is, by member.
    pub(crate) sources: BTreeMap<String, String>,
}

/// A certificate, to show and to tell.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    pub(crate) fingerprint: String,
    pub(crate) shown: Arc<CertifiedKey>,
}

/// The place of a server that is in no cluster, in Incus's word.
pub(crate) const NOWHERE: &str = "none";

impl World {
    pub(crate) fn new() -> Self {
        Self {
            machines: BTreeMap::new(),
            cluster: Cluster {
                certificate: Certificate::new("cluster"),
                members: Vec::new(),
                store: Store::default(),
                entries: BTreeMap::new(),
                trusted: Vec::new(),
                tokens: BTreeMap::new(),
                minted: 0,
                mints: true,
                rejects: None,
            },
        }
    }

    pub(crate) fn machine(&mut self, name: &str) -> &mut Machine {
        self.machines.get_mut(name).expect("a machine")
    }

    /// The seed of a bootstrap machine makes the cluster; its defaults come after that.
    pub(crate) fn found(&mut self, name: &str) {
        let machine = self.machines.get_mut(name).expect("a machine");
        machine.clustered = true;
        let address = machine.address.clone();
        machine
            .config
            .insert("cluster.https_address".to_owned(), address);
        machine.initialized(false);
        let fingerprint = machine.certificate.fingerprint.clone();
        self.cluster.members.push(name.to_owned());
        self.cluster
            .trusted
            .push((name.to_owned(), "server", fingerprint));
    }

    /// The defaults of IncusOS: it has them only if nobody else has made a pool meanwhile, and only in a cluster of one.
    pub(crate) fn apply_defaults(&mut self, name: &str) {
        assert_eq!(
            self.cluster.members,
            [name],
            "somebody has joined too early"
        );
        assert!(
            self.cluster.store.pools.is_empty(),
            "somebody has made a pool"
        );
        let machine = self.machines.get_mut(name).expect("a machine");
        let store = &mut self.cluster.store;
        store.pool("local", "zfs", name, "local/incus");
        machine.datasets.insert("local/incus".to_owned());
        for volume in ["backups", "images"] {
            let path = format!("local/{volume}");
            machine
                .config
                .insert(format!("storage.{volume}_volume"), path);
            store.volume(name, "local", volume);
        }
        store.networks.insert("incusbr0".to_owned());
        machine.initialized(true);
    }

    /// What a machine shows until it is a member.
    pub(crate) fn certificate_of(&self, name: &str) -> String {
        self.machines[name].certificate.fingerprint.clone()
    }

    /// Where the pool `local` is on a member.
    pub(crate) fn source(&self, member: &str) -> String {
        self.cluster.store.pools["local"].sources[member].clone()
    }

    /// Somebody deletes these of a member's volumes.
    pub(crate) fn delete_volumes(&mut self, member: &str, names: &[&str]) {
        let volumes = &mut self.cluster.store.volumes;
        volumes.retain(|(on, _, name)| on != member || !names.contains(&name.as_str()));
    }

    /// The machine shows another certificate from here on: another one has taken its address.
    pub(crate) fn replace(&mut self, name: &str) {
        self.machine(name).certificate = Certificate::new("stranger");
    }
}

impl Machine {
    /// Fresh from the seed of a joiner.
    pub(crate) fn new(address: &str) -> Self {
        let config = [("core.https_address".to_owned(), address.to_owned())];
        Self {
            address: address.to_owned(),
            system: System::IncusOs {
                application: "incus",
                initialized: true,
            },
            certificate: Certificate::new(address),
            clustered: false,
            lost: false,
            config: config.into(),
            store: Store::default(),
            datasets: BTreeSet::new(),
            outcome: String::new(),
        }
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.config.insert(key.to_owned(), value.to_owned());
    }

    pub(crate) fn initialized(&mut self, whether: bool) {
        if let System::IncusOs { initialized, .. } = &mut self.system {
            *initialized = whether;
        }
    }
}

impl Store {
    pub(crate) fn pool(&mut self, name: &str, driver: &str, member: &str, source: &str) {
        let pool = self.pools.entry(name.to_owned()).or_default();
        pool.driver = driver.to_owned();
        pool.created = true;
        pool.sources.insert(member.to_owned(), source.to_owned());
    }

    pub(crate) fn volume(&mut self, member: &str, pool: &str, name: &str) -> bool {
        let volume = (member.to_owned(), pool.to_owned(), name.to_owned());
        self.volumes.insert(volume)
    }
}

impl Certificate {
    pub(crate) fn new(name: &str) -> Self {
        let pair = self_signed(&Wanted {
            common_name: name.to_owned(),
            validity: Duration::from_secs(3600),
            now: Timestamp::now().into(),
        });
        let pair = pair.expect("a certificate");
        Self {
            shown: shown(&pair.certificate, &pair.private_key),
            fingerprint: pair.fingerprint.to_string(),
            pem: pair.certificate,
        }
    }
}
