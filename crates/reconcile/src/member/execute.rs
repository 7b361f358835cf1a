//! Executes steps of members: one arm each, no choices.
//!
//! Before: `domain::membership` has decided. After: `incus`, a request or a few. What is there already, or gone already,
//! is a success: every step may run twice.

use std::collections::BTreeMap;

use domain::app::STOP_GRACE;
use domain::membership::observation::Candidate;
use domain::membership::spec::{Address, MemberSpec};
use domain::membership::step::Step;
use incus::certificate_store::{self, Kind};
use incus::cluster::member::{self, MemberPut, Removal};
use incus::cluster::{group, token};
use incus::server::patch_config;
use incus::storage::{create_pool, delete_pool, volume};
use incus::{Client, Fingerprint, network};

use super::{join, observe};
use crate::cluster::Cluster;
use crate::error::Error;

type Done = Result<(), incus::Error>;

/// Performs one step.
pub(super) async fn execute(
    cluster: &Cluster,
    spec: &MemberSpec,
    candidate: &Candidate,
    step: &Step,
) -> Result<(), Error> {
    let incus = &cluster.client;
    // The machine that was looked at, and no other that has its address by now.
    let seen = candidate
        .fingerprint()
        .and_then(|text| Fingerprint::parse(text).ok());
    let machine = || observe::machine(cluster, &spec.address, seen);
    let done = match step {
        Step::SetAddress { key, address } => set_address(&machine()?, key.word(), address).await,
        Step::Bootstrap { name } => return join::bootstrap(cluster, spec, &machine()?, name).await,
        Step::Distrust { fingerprint } => distrust(incus, fingerprint).await,
        Step::RevokeToken { operation } => revoke(incus, operation).await,
        Step::DeleteLeftNetwork { network } => {
            gone(machine()?.send(network::delete("default", network)).await)
        }
        Step::DeleteLeftPool { pool } => gone(machine()?.send(delete_pool(pool)).await),
        Step::Join(step) => return join::join(cluster, step).await,
        Step::CreateGroup { group } => there(incus.send(group::create(group)).await),
        Step::ChangeMember {
            name,
            groups,
            failure_domain,
            config,
        } => {
            let change = |put: &mut MemberPut| {
                if let Some(groups) = groups {
                    put.groups = groups.iter().cloned().collect();
                }
                if let Some(domain) = failure_domain {
                    put.failure_domain.clone_from(domain);
                }
                merge(&mut put.config, config);
            };
            change_member(incus, name, change).await
        }
        Step::NotePool {
            name,
            pool,
            driver,
            source,
        } => {
            let source = source
                .iter()
                .map(|source| ("source".to_owned(), source.clone()));
            let request = create_pool(pool, driver, &source.collect());
            there(incus.send(request.target(name)).await)
        }
        Step::MakePool { pool, driver } => there(
            incus
                .send(create_pool(pool, driver, &BTreeMap::new()))
                .await,
        ),
        Step::CreateVolume { name, pool, volume } => {
            let request = volume::create(pool, volume, &BTreeMap::new());
            there(incus.send(request.target(name)).await)
        }
        Step::DeleteVolume { name, pool, volume } => {
            gone(incus.send(volume::delete(pool, volume).target(name)).await)
        }
        Step::DeleteWorkload { workload, .. } => {
            return crate::execute::delete(cluster, workload, STOP_GRACE).await;
        }
        Step::SetServer { name, config } => incus.send(patch_config(config).target(name)).await,
        Step::TrustMetrics { name, certificate } => trust(incus, name, &certificate.pem).await,
        Step::Evacuate { name } => incus.finish(member::evacuate(name)).await.map(drop),
        Step::Restore { name } => restored(incus.finish(member::restore(name)).await.map(drop)),
        Step::Remove { name, force } => {
            let removal = match force {
                true => Removal::Forced,
                false => Removal::Graceful,
            };
            gone(incus.send(member::remove(name, removal)).await)
        }
    };
    done.map_err(|cause| Error::MemberStep {
        doing: step.to_string(),
        cause: Box::new(cause),
    })
}

/// A change of where it listens may cut off the very connection that it comes over.
async fn set_address(machine: &Client, key: &str, address: &Address) -> Done {
    let config = BTreeMap::from([(key.to_owned(), address.to_string())]);
    match machine.send(patch_config(&config)).await {
        Err(error) if error.is_interrupted() => Ok(()),
        done => done,
    }
}

async fn distrust(incus: &Client, fingerprint: &str) -> Done {
    match Fingerprint::parse(fingerprint) {
        Ok(fingerprint) => gone(incus.send(certificate_store::delete(&fingerprint)).await),
        // Incus lists no others.
        Err(_) => Ok(()),
    }
}

async fn revoke(incus: &Client, operation: &str) -> Done {
    let pending = incus.send(token::pending()).await?;
    match pending.iter().find(|one| one.operation.id == operation) {
        Some(pending) => gone(incus.send(token::revoke(pending)).await),
        None => Ok(()),
    }
}

async fn change_member(incus: &Client, name: &str, change: impl FnOnce(&mut MemberPut)) -> Done {
    let mut put = MemberPut::from(incus.send(member::get(name)).await?);
    change(&mut put);
    incus.send(member::replace(name, &put)).await
}

/// An empty value removes a key.
fn merge(config: &mut BTreeMap<String, String>, changes: &BTreeMap<String, String>) {
    for (key, value) in changes {
        match value.as_str() {
            "" => drop(config.remove(key)),
            _ => drop(config.insert(key.clone(), value.clone())),
        }
    }
}

async fn trust(incus: &Client, name: &str, pem: &str) -> Done {
    match certificate_store::create(&format!("{name}-metrics"), Kind::Metrics, pem) {
        Ok(request) => there(incus.send(request).await),
        // `domain` has read it.
        Err(_) => Ok(()),
    }
}

/// Incus refuses to restore what is restored.
fn restored(done: Done) -> Done {
    match done {
        Err(error) if error.to_string().contains("already restored") => Ok(()),
        done => done,
    }
}

/// What is gone already is gone.
fn gone(done: Done) -> Done {
    match done {
        Err(error) if error.is_not_found() => Ok(()),
        done => done,
    }
}

/// What is there already is there.
fn there(done: Done) -> Done {
    match done {
        Err(error) if error.is_conflict() => Ok(()),
        done => done,
    }
}
