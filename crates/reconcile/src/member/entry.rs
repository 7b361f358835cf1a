//! The entry of one member in the fleet store, while the member is changed or removed.
//!
//! Before: `member.rs` has observed the cluster. After: `store.rs`. What is written, and by whom, is decided by
//! `domain::membership::claim`. Before there is a cluster there is no store, so a join begins without an entry.

use domain::entry::{Applied, Document as _, RevisionName};
use domain::membership::claim::{Burial, Claim, Claimant, burial, claim};
use domain::membership::document::{MemberDocument, MemberEntry};
use domain::membership::spec::MemberSpec;
use serde_json::Value as Json;

use super::View;
use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::rollout::arrival;
use crate::store::{self, Fleet};

/// What is declared of a member, on its way into the fleet store.
#[derive(Debug, Clone)]
pub struct Publication {
    member: String,
    document: MemberDocument,
    owner: String,
    is_new: bool,
    /// The last attempt left nothing to write before the member is listed.
    waits_for_list: bool,
    entry: Option<MemberEntry>,
    awaited: bool,
}

impl Publication {
    /// Of a member that is to be as `spec` says. `is_new`: `owner` has never owned it so far.
    pub fn new(spec: &MemberSpec, owner: String, is_new: bool) -> Self {
        Self {
            member: spec.name.clone(),
            document: spec.into(),
            owner,
            is_new,
            waits_for_list: false,
            entry: None,
            awaited: false,
        }
    }

    /// Whether there are apps that want a workload on every machine, as the fleet store was seen last.
    pub fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// The random id of the configuration that it is published for.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Publishes the declaration as soon as the cluster lists the member; once is enough, and once it asks before that.
    ///
    /// # Errors
    /// [`Error::OtherOwner`] if it is not ours to publish. [`Error::Overtaken`] if another apply was faster.
    pub async fn keep_up(&mut self, cluster: &Cluster, view: Option<&View>) -> Result<(), Error> {
        let Some(view) = view else {
            return Ok(());
        };
        let is_listed = view.seen.member(&self.member).is_some();
        if self.entry.is_some() || self.waits_for_list && !is_listed {
            return Ok(());
        }
        let cluster = &cluster.of_members();
        let mut fleet = store::snapshot(cluster).await?;
        self.awaited = arrival::has_any(&fleet);
        let highest = fleet.members.remove(&self.member);
        let claimant = Claimant {
            owner: &self.owner,
            is_new: self.is_new,
        };
        match claim(highest.as_ref(), is_listed, &self.document, claimant) {
            Claim::Wait => self.waits_for_list = true,
            Claim::Stands(entry) => self.entry = Some(*entry),
            Claim::Publish(entry) => {
                publish(cluster, &self.member, &entry, &fleet).await?;
                self.entry = Some(*entry);
            }
            Claim::Foreign => {
                return Err(Error::OtherOwner {
                    member: self.member.clone(),
                });
            }
        }
        Ok(())
    }

    /// Marks the revision as made, and with a `declaration` as converged.
    ///
    /// # Errors
    /// [`Error::Overtaken`] if a newer revision was published meanwhile.
    pub async fn finish(&self, cluster: &Cluster, declaration: Option<Json>) -> Result<(), Error> {
        let Some(entry) = &self.entry else {
            return Ok(());
        };
        // One that stands has converged before.
        let applied = entry.applied.as_ref().map(|applied| applied.revision);
        if applied == Some(entry.revision) {
            return Ok(());
        }
        let cluster = &cluster.of_members();
        let applied = declaration.map(|declaration| Applied {
            revision: entry.revision,
            declaration,
        });
        let name = name(&self.member, entry.revision);
        let created = entry.created.unwrap_or_else(clock::now);
        store::still_highest(cluster, &name).await?;
        store::finish(cluster, &name, applied.as_ref(), created).await
    }
}

/// Where the entry of a member goes that is removed.
#[derive(Debug, Clone)]
pub struct Grave {
    member: String,
    owner: Option<String>,
    found: Option<Found>,
}

#[derive(Debug, Clone)]
struct Found {
    burial: Burial,
    others: Fleet,
}

impl Grave {
    /// Of a member that `owner` removes.
    pub fn new(spec: &MemberSpec, owner: Option<String>) -> Self {
        Self {
            member: spec.name.clone(),
            owner,
            found: None,
        }
    }

    /// Whether the member is another configuration's; looked up once.
    pub(super) async fn is_foreign(&mut self, cluster: &Cluster) -> Result<bool, Error> {
        Ok(self.found(cluster).await?.burial == Burial::Foreign)
    }

    /// Writes the tombstone, or makes sure that nobody has written anything over it.
    ///
    /// # Errors
    /// [`Error::Overtaken`] if the member is somebody's again.
    pub(super) async fn hold(&mut self, cluster: &Cluster) -> Result<(), Error> {
        let member = self.member.clone();
        let found = self.found(cluster).await?;
        match &found.burial {
            Burial::Bury(tombstone) => {
                publish(cluster, &member, tombstone, &found.others).await?;
                found.burial = Burial::Buried(tombstone.revision);
                Ok(())
            }
            Burial::Buried(tombstone) => {
                store::still_highest(cluster, &name(&member, *tombstone)).await
            }
            Burial::Nothing | Burial::Foreign => Ok(()),
        }
    }

    /// Deletes what is below the tombstone. The member is gone, so this is no reason for an error: what stays is deleted by
    /// the next write of its name.
    pub(super) async fn clear(&self, cluster: &Cluster) {
        let burial = self.found.as_ref().map(|found| &found.burial);
        if let Some(Burial::Buried(tombstone)) = burial {
            let _ = store::clear(cluster, MemberDocument::KIND, &self.member, *tombstone).await;
        }
    }

    async fn found(&mut self, cluster: &Cluster) -> Result<&mut Found, Error> {
        let found = match self.found.take() {
            Some(found) => found,
            None => {
                let mut others = store::snapshot(cluster).await?;
                let highest = others.members.remove(&self.member);
                let burial = burial(highest.as_ref(), self.owner.as_deref(), clock::now());
                Found { burial, others }
            }
        };
        Ok(self.found.insert(found))
    }
}

/// Publishes a revision. Tombstones of others are swept in passing; whoever writes next tries again.
async fn publish(
    cluster: &Cluster,
    member: &str,
    entry: &MemberEntry,
    others: &Fleet,
) -> Result<(), Error> {
    store::publish(cluster, member, entry).await?;
    let _ = store::sweep(cluster, others, clock::now()).await;
    Ok(())
}

fn name(member: &str, revision: u64) -> RevisionName {
    RevisionName {
        kind: MemberDocument::KIND,
        name: member.to_owned(),
        revision,
    }
}
