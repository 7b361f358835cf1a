//! The fleet store: profiles of the fleet project as documents, one immutable profile per revision.
//!
//! Before: `rollout.rs`, `member/entry.rs` and the provider's Reads. After: `incus::profile`. `domain::entry` and
//! `domain::membership::claim` decide who may write; here is how a number is won: by creating its profile, and by seeing
//! afterwards that none is higher. `If-Match` guards nothing (two writers within milliseconds both succeed), so it is not
//! used.

mod document;
pub(crate) mod status;

use std::collections::BTreeMap;

use domain::app::AppSpec;
use domain::entry::{self, Applied, Document, Entry, Kind, RevisionName};
use domain::membership::document::MemberDocument;
use domain::moment::Moment;
use domain::secret::Secrets;
use domain::work::Work;
use incus::profile::{self, ProfilePut};
use incus::project;

use crate::clock;
use crate::cluster::Cluster;
use crate::error::Error;

use document::Keys;
pub use document::{AppRecord, Fleet};

/// Who has written a revision: two applies of one declaration at once would else write the same, and each would take the
/// other's revision for its own.
const WRITER: &str = "user.homelab-ops.writer";

/// How often a write whose outcome is unclear is looked up and tried again.
const TRIES: usize = 3;

/// One complete snapshot of the fleet, in one request; a fleet project that does not exist holds nothing.
///
/// # Errors
/// If no endpoint answers.
pub async fn snapshot(cluster: &Cluster) -> Result<Fleet, Error> {
    match cluster
        .client
        .send(profile::list(&cluster.fleet_project))
        .await
    {
        Ok(profiles) => Ok(document::fleet(&profiles)),
        Err(error) if error.is_not_found() => Ok(Fleet::default()),
        Err(error) => Err(error.into()),
    }
}

/// Publishes a revision of what is wanted of an app or a member.
///
/// # Expected flow
/// Create the profile of the next number (and the fleet project, if this is its first), list the names, delete what
/// is older than the predecessor.
///
/// # Guarantees
/// `Ok` means that it was the highest revision after it was there, and that this call has written it.
///
/// # Errors
/// [`Error::Overtaken`] if another writer won this number or a higher one.
pub async fn publish<D: Document>(
    cluster: &Cluster,
    name: &str,
    entry: &Entry<D>,
) -> Result<(), Error> {
    let name = RevisionName {
        kind: D::KIND,
        name: name.to_owned(),
        revision: entry.revision,
    };
    let mut keys = document::write_entry(entry)?;
    keys.insert(WRITER.to_owned(), clock::writer());
    let names = win(cluster, &name, keys).await?;
    prune(cluster, &names, &name).await
}

/// Records what was decided for an app, before it is done.
///
/// # Errors
/// [`Error::Overtaken`] if another writer published a newer revision; [`Error::RecordTaken`] if another executor won the
/// number of this record.
pub async fn record(
    cluster: &Cluster,
    app: &str,
    work_revision: u64,
    work: &Work,
) -> Result<(), Error> {
    let name = RevisionName {
        kind: Kind::Work,
        name: app.to_owned(),
        revision: work_revision,
    };
    let mut keys = document::write_work(work)?;
    keys.insert(WRITER.to_owned(), clock::writer());
    let names = match win(cluster, &name, keys).await {
        // The number of a record says nothing to anybody: whether there is a newer revision does.
        Err(Error::Overtaken { .. }) => {
            still_highest_app(cluster, app, work.revision).await?;
            return Err(Error::RecordTaken {
                app: app.to_owned(),
            });
        }
        won => won?,
    };
    let newest = highest(&names, Kind::App, app);
    if newest != work.revision {
        return Err(Error::Overtaken {
            of: name.subject(),
            ours: work.revision,
            newest,
        });
    }
    prune(cluster, &names, &name).await
}

/// Stores secrets, before the revision is published that refers to them.
///
/// Whoever writes them writes a number that was not there: two writers of one number cannot both go on.
///
/// # Errors
/// [`Error::Overtaken`] if another writer stored secrets under this number.
pub async fn store_secrets(
    cluster: &Cluster,
    app: &str,
    number: u64,
    secrets: &Secrets,
) -> Result<(), Error> {
    let mut keys = document::write_secrets(secrets);
    keys.insert(WRITER.to_owned(), clock::writer());
    create(cluster, &secrets_name(app, number), keys).await
}

/// Deletes secrets of an app that nobody refers to any more, in this order.
///
/// # Errors
/// If Incus does not answer.
pub async fn delete_secrets(cluster: &Cluster, app: &str, numbers: &[u64]) -> Result<(), Error> {
    let names = numbers.iter().map(|number| secrets_name(app, *number));
    delete(cluster, names.collect()).await
}

fn secrets_name(app: &str, number: u64) -> RevisionName {
    RevisionName {
        kind: Kind::Secret,
        name: app.to_owned(),
        revision: number,
    }
}

/// The newest record of an app, for the executor of `revision` whose own record lost its number.
///
/// An executor of an older revision may still win a number: it sees at once that it is overtaken, and does nothing more.
/// Whoever has the newest revision reads what that one knew, and goes on; else two could stop each other.
///
/// # Errors
/// [`Error::Overtaken`] if there is a newer revision; [`Error::RecordTaken`] if the record is of somebody who is at the very
/// same revision.
pub(crate) async fn catch_up(
    cluster: &Cluster,
    app: &str,
    revision: u64,
) -> Result<(u64, Work), Error> {
    still_highest_app(cluster, app, revision).await?;
    let record = snapshot(cluster).await?.apps.remove(app);
    let record = record.unwrap_or_default();
    match record.work.is_behind(revision) {
        true => Ok((record.work_revision, record.work)),
        false => Err(Error::RecordTaken {
            app: app.to_owned(),
        }),
    }
}

async fn still_highest_app(cluster: &Cluster, app: &str, revision: u64) -> Result<(), Error> {
    let name = RevisionName {
        kind: Kind::App,
        name: app.to_owned(),
        revision,
    };
    still_highest(cluster, &name).await
}

/// Adds the marks of a finished change to a revision; only its own writer does this.
///
/// # Errors
/// [`Error::Overtaken`] if the revision is gone, because newer ones were published.
pub async fn finish(
    cluster: &Cluster,
    name: &RevisionName,
    applied: Option<&Applied>,
    created: Moment,
) -> Result<(), Error> {
    let marks = document::marks(applied, Some(created))?;
    let project = &cluster.fleet_project;
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = cluster
            .client
            .send(profile::patch(project, &name.to_string(), &marks))
            .await;
        match &result {
            Err(error) if error.is_interrupted() => {}
            _ => break,
        }
    }
    match result {
        Err(error) if error.is_not_found() => Err(overtaken(
            name,
            highest(&names(cluster).await?, name.kind, &name.name),
        )),
        other => Ok(other?),
    }
}

/// Makes sure that a revision still is the highest one: whoever records no steps has to ask before the end.
///
/// # Errors
/// [`Error::Overtaken`] if it is not.
pub(crate) async fn still_highest(cluster: &Cluster, name: &RevisionName) -> Result<(), Error> {
    match highest(&names(cluster).await?, name.kind, &name.name) {
        newest if newest == name.revision => Ok(()),
        newest => Err(overtaken(name, newest)),
    }
}

/// Deletes everything of an app or a member below its tombstone; of an app the work records, the secrets and its status
/// too, which have nothing to tell any more, unless a newer revision goes on from them.
///
/// # Errors
/// If Incus does not answer.
pub async fn clear(cluster: &Cluster, kind: Kind, of: &str, tombstone: u64) -> Result<(), Error> {
    let names = names(cluster).await?;
    let is_over = highest(&names, kind, of) == tombstone;
    let is_old = |name: &RevisionName| match name.kind {
        Kind::Work | Kind::Secret => kind == Kind::App && is_over,
        Kind::App | Kind::Member => name.kind == kind && name.revision < tombstone,
    };
    let mut old: Vec<RevisionName> = names
        .into_iter()
        .filter(|name| name.name == of && is_old(name))
        .collect();
    old.sort();
    delete(cluster, old).await?;
    if kind == Kind::App && is_over {
        status::forget(cluster, of).await;
    }
    Ok(())
}

/// Removes the tombstones of others that have stood for a day.
///
/// # Errors
/// If Incus does not answer.
pub async fn sweep(cluster: &Cluster, fleet: &Fleet, now: Moment) -> Result<(), Error> {
    for (app, record) in &fleet.apps {
        // A work record is left only while workloads are: then the tombstone still has its use.
        if record.work_revision == 0 {
            sweep_one::<AppSpec>(cluster, app, record.entry.as_ref(), now).await?;
        }
    }
    for (member, entry) in &fleet.members {
        sweep_one::<MemberDocument>(cluster, member, Some(entry), now).await?;
    }
    Ok(())
}

async fn sweep_one<D: Document>(
    cluster: &Cluster,
    name: &str,
    entry: Option<&Entry<D>>,
    now: Moment,
) -> Result<(), Error> {
    let Some(entry) = entry.filter(|entry| entry::is_expired(entry, now)) else {
        return Ok(());
    };
    clear(cluster, D::KIND, name, entry.revision).await?;
    let tombstone = RevisionName {
        kind: D::KIND,
        name: name.to_owned(),
        revision: entry.revision,
    };
    delete(cluster, vec![tombstone]).await
}

/// Creates the profile and makes sure that it is the highest of its kind; returns all names that were there then.
async fn win(
    cluster: &Cluster,
    name: &RevisionName,
    keys: Keys,
) -> Result<Vec<RevisionName>, Error> {
    create(cluster, name, keys).await?;
    let names = names(cluster).await?;
    match highest(&names, name.kind, &name.name) {
        newest if newest == name.revision => Ok(names),
        newest => Err(overtaken(name, newest)),
    }
}

fn overtaken(name: &RevisionName, newest: u64) -> Error {
    Error::Overtaken {
        of: name.subject(),
        ours: name.revision,
        newest,
    }
}

async fn create(cluster: &Cluster, name: &RevisionName, keys: Keys) -> Result<(), Error> {
    let project = &cluster.fleet_project;
    let profile_name = name.to_string();
    let put = ProfilePut {
        description: "Fleet state of homelab; changed by the provider and the agent only."
            .to_owned(),
        config: keys.clone(),
        ..ProfilePut::default()
    };
    for _ in 0..TRIES {
        match cluster
            .client
            .send(profile::create(project, &profile_name, &put))
            .await
        {
            Ok(()) => return Ok(()),
            Err(error) if error.is_not_found() => create_project(cluster).await?,
            // Losers get 500 as well as 409, so any refusal is answered by what is there now.
            Err(error) => match cluster
                .client
                .send(profile::get(project, &profile_name))
                .await
            {
                Ok(there) if there.config == keys => return Ok(()),
                Ok(_) => return Err(overtaken(name, name.revision)),
                Err(absent) if absent.is_not_found() && error.is_interrupted() => {}
                Err(_) => return Err(error.into()),
            },
        }
    }
    Ok(cluster
        .client
        .send(profile::create(project, &profile_name, &put))
        .await?)
}

/// Profiles of its own and nothing else: everything but profiles is shared with the project `default`.
async fn create_project(cluster: &Cluster) -> Result<(), Error> {
    let off = [
        "images",
        "networks",
        "networks.zones",
        "storage.buckets",
        "storage.volumes",
    ]
    .map(|feature| (format!("features.{feature}"), "false".to_owned()));
    let mut config = BTreeMap::from(off);
    config.insert("features.profiles".to_owned(), "true".to_owned());
    let description = "Desired state of the fleet, kept by homelab.";
    let name = &cluster.fleet_project;
    match cluster
        .client
        .send(project::create(name, description, &config))
        .await
    {
        Ok(()) => Ok(()),
        // Somebody else was faster, or our own request was cut off.
        Err(error) => match cluster.client.send(project::get(name)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(error.into()),
        },
    }
}

async fn names(cluster: &Cluster) -> Result<Vec<RevisionName>, Error> {
    match cluster
        .client
        .send(profile::names(&cluster.fleet_project))
        .await
    {
        Ok(names) => Ok(names
            .iter()
            .filter_map(|name| RevisionName::parse(name))
            .collect()),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn highest(names: &[RevisionName], kind: Kind, of: &str) -> u64 {
    names
        .iter()
        .filter(|name| name.kind == kind && name.name == of)
        .map(|name| name.revision)
        .max()
        .unwrap_or(0)
}

async fn prune(cluster: &Cluster, names: &[RevisionName], won: &RevisionName) -> Result<(), Error> {
    let revisions = names
        .iter()
        .filter(|name| name.kind == won.kind && name.name == won.name)
        .map(|name| name.revision)
        .collect();
    let old = entry::to_prune(revisions, won.revision)
        .into_iter()
        .map(|revision| RevisionName {
            revision,
            ..won.clone()
        });
    delete(cluster, old.collect()).await
}

async fn delete(cluster: &Cluster, names: Vec<RevisionName>) -> Result<(), Error> {
    for name in names {
        let request = profile::delete(&cluster.fleet_project, &name.to_string());
        match cluster.client.send(request).await {
            Ok(()) => {}
            // Whether it went now or before, it is gone; one that stays is deleted by the next write.
            Err(error) if error.is_not_found() || error.is_interrupted() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
