//! Documents: the profiles of the fleet project, read and written.
//!
//! Before: `store.rs` has a list of profiles. After: `domain::entry` and `domain::work`. Every text from outside is
//! read by total functions; one unreadable document concerns its own app or member alone.

use std::collections::BTreeMap;

use domain::entry::{Applied, Document, Entry, Executor, Kind, RevisionName};
use domain::membership::document::MemberEntry;
use domain::moment::Moment;
use domain::secret::Secrets;
use domain::work::Work;
use incus::profile::Profile;

use crate::clock;
use crate::error::Error;

const SPEC: &str = "user.homelab-ops.spec";
const OWNER: &str = "user.homelab-ops.owner";
const CREATED: &str = "user.homelab-ops.created";
const APPLIED: &str = "user.homelab-ops.applied";
const EXECUTOR: &str = "user.homelab-ops.executor";
const DELETED: &str = "user.homelab-ops.deleted";
const WORK: &str = "user.homelab-ops.work";
const SECRET: &str = "user.homelab-ops.secret";

/// The keys of one profile.
pub(super) type Keys = BTreeMap<String, String>;

/// What the fleet store holds about one app.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppRecord {
    /// The highest revision.
    pub entry: Option<Entry>,
    /// The highest work record, and its number.
    pub work: Work,
    /// The number of the work record; 0 if there is none.
    pub work_revision: u64,
    /// Its secrets that are stored, by number; `None` if they cannot be read.
    pub secrets: BTreeMap<u64, Option<Secrets>>,
}

impl AppRecord {
    /// The secrets that the highest revision refers to.
    pub fn secrets(&self) -> Option<&Secrets> {
        let revision = self.entry.as_ref()?.spec.as_ref()?.secrets_revision?;
        self.secrets.get(&revision)?.as_ref()
    }
}

/// What the fleet store holds, by name; only the highest revision of each kind counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    /// The apps.
    pub apps: BTreeMap<String, AppRecord>,
    /// The members.
    pub members: BTreeMap<String, MemberEntry>,
}

/// Sorts a list of profiles by what they are about.
pub(super) fn fleet(profiles: &[Profile]) -> Fleet {
    let mut named: Vec<(RevisionName, &Profile)> = profiles
        .iter()
        .filter_map(|profile| Some((RevisionName::parse(&profile.name)?, profile)))
        .collect();
    named.sort_by(|left, right| left.0.cmp(&right.0));
    let mut fleet = Fleet::default();
    for (name, profile) in named {
        let keys = &profile.config;
        match name.kind {
            Kind::App => {
                let record = fleet.apps.entry(name.name).or_default();
                record.entry = Some(read_entry(name.revision, keys));
            }
            Kind::Member => {
                let entry = read_entry(name.revision, keys);
                fleet.members.insert(name.name, entry);
            }
            Kind::Work => {
                let record = fleet.apps.entry(name.name).or_default();
                // A record that cannot be read is as good as lost, and is rebuilt from the workloads.
                record.work = read_work(keys).unwrap_or_default();
                record.work_revision = name.revision;
            }
            Kind::Secret => {
                let record = fleet.apps.entry(name.name).or_default();
                let secrets = keys.get(SECRET).and_then(|text| Secrets::from_stored(text));
                record.secrets.insert(name.revision, secrets);
            }
        }
    }
    fleet
}

fn read_entry<D: Document>(revision: u64, keys: &Keys) -> Entry<D> {
    let text = |key: &str| keys.get(key).map(String::as_str);
    // A mark that is there but cannot be read still is there.
    let moment = |key: &str| text(key).map(|text| clock::parse(text).unwrap_or(Moment(0)));
    Entry {
        revision,
        spec: text(SPEC).and_then(|text| serde_json::from_str(text).ok()),
        owner: text(OWNER).unwrap_or_default().to_owned(),
        created: moment(CREATED),
        applied: text(APPLIED).and_then(|text| serde_json::from_str(text).ok()),
        executor: match text(EXECUTOR) {
            Some("agent") => Executor::Agent,
            _ => Executor::Provider,
        },
        deleted: moment(DELETED),
    }
}

/// The keys of an entry.
///
/// # Errors
/// If it cannot be written as JSON, which no user can bring about.
pub(super) fn write_entry<D: Document>(entry: &Entry<D>) -> Result<Keys, Error> {
    let name = || format!("revision {}", entry.revision);
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|cause| Error::Unreadable {
            profile: name(),
            cause,
        })
    };
    let mut keys = Keys::from([
        (OWNER.to_owned(), entry.owner.clone()),
        (EXECUTOR.to_owned(), entry.executor.word().to_owned()),
    ]);
    if let Some(spec) = &entry.spec {
        keys.insert(SPEC.to_owned(), json(serde_json::to_string(spec))?);
    }
    keys.extend(marks(entry.applied.as_ref(), entry.created)?);
    if let Some(deleted) = entry.deleted {
        keys.insert(DELETED.to_owned(), clock::rfc3339(deleted));
    }
    Ok(keys)
}

/// The keys that its own writer adds to a revision at the end.
pub(super) fn marks(applied: Option<&Applied>, created: Option<Moment>) -> Result<Keys, Error> {
    let mut keys = Keys::new();
    if let Some(applied) = applied {
        let text = serde_json::to_string(applied).map_err(|cause| Error::Unreadable {
            profile: format!("revision {}", applied.revision),
            cause,
        })?;
        keys.insert(APPLIED.to_owned(), text);
    }
    if let Some(created) = created {
        keys.insert(CREATED.to_owned(), clock::rfc3339(created));
    }
    Ok(keys)
}

fn read_work(keys: &Keys) -> Option<Work> {
    serde_json::from_str(keys.get(WORK)?).ok()
}

/// The keys of secrets.
pub(super) fn write_secrets(secrets: &Secrets) -> Keys {
    Keys::from([(SECRET.to_owned(), secrets.to_stored())])
}

/// The keys of a work record.
pub(super) fn write_work(work: &Work) -> Result<Keys, Error> {
    let text = serde_json::to_string(work).map_err(|cause| Error::Unreadable {
        profile: format!("the work record of revision {}", work.revision),
        cause,
    })?;
    Ok(Keys::from([(WORK.to_owned(), text)]))
}

#[cfg(test)]
mod tests;
