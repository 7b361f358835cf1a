//! The fleet store: profiles of which one creation wins a name, and of which two writers within moments both succeed.
//!
//! Before: `executor.rs` publishes and records, by the rules of `domain::entry`. After: the next snapshot.

use std::collections::BTreeMap;

use domain::entry::{Entry, Kind, RevisionName};
use domain::moment::Moment;
use domain::work::Work;

use super::{APP, Fleet};
use crate::random::Luck;

/// How close two writers must be for both to succeed with the same ETag, as measured.
const LOST_UPDATE: i64 = 20;

/// The profiles of the fleet project, by name.
#[derive(Debug, Clone, Default)]
pub struct Store {
    profiles: BTreeMap<String, Profile>,
}

/// One profile.
#[derive(Debug, Clone, PartialEq)]
struct Profile {
    content: Content,
    changed_at: Moment,
}

/// What a profile holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A revision of the app, and who has written it.
    App(Box<Entry>, String),
    /// A work record, as text: what cannot be read back is as good as lost.
    Work(String),
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is there.
    Done,
    /// The name was taken, by something else.
    Taken,
    /// Nobody knows: the answer was lost.
    Unclear,
}

/// The name of a revision.
pub fn name(kind: Kind, revision: u64) -> RevisionName {
    RevisionName {
        kind,
        name: APP.to_owned(),
        revision,
    }
}

impl Store {
    /// The highest revision of the app, the highest work record and its number.
    pub fn snapshot(&self) -> (Option<Entry>, Work, u64) {
        let entry = match self.content(Kind::App, self.highest(Kind::App)) {
            Some(Content::App(entry, _)) => Some((**entry).clone()),
            Some(Content::Work(_)) | None => None,
        };
        let work_revision = self.highest(Kind::Work);
        let work = match self.content(Kind::Work, work_revision) {
            Some(Content::Work(text)) => serde_json::from_str(text).unwrap_or_default(),
            Some(Content::App(..)) | None => Work::default(),
        };
        (entry, work, work_revision)
    }

    /// Every name.
    pub fn names(&self) -> Vec<RevisionName> {
        let names = self.profiles.keys();
        names.filter_map(|name| RevisionName::parse(name)).collect()
    }

    /// The highest number of a kind; 0 if there is none.
    pub fn highest(&self, kind: Kind) -> u64 {
        let names = self.names().into_iter().filter(|name| name.kind == kind);
        names.map(|name| name.revision).max().unwrap_or(0)
    }

    fn content(&self, kind: Kind, revision: u64) -> Option<&Content> {
        let profile = self.profiles.get(&name(kind, revision).to_string())?;
        Some(&profile.content)
    }

    /// Somebody deletes every work record.
    pub fn lose_record(&mut self) {
        let is_work =
            |name: &str| RevisionName::parse(name).is_some_and(|name| name.kind == Kind::Work);
        self.profiles.retain(|name, _| !is_work(name));
    }
}

impl Fleet {
    /// Creates a profile; a name that is taken is lost, unless what is there is just what was to be written.
    pub fn post(&mut self, name: &RevisionName, content: &Content, luck: Luck) -> Written {
        self.request(luck);
        let there = self.store.profiles.get(&name.to_string());
        if let Some(there) = there {
            return match there.content == *content {
                true => Written::Done,
                false => Written::Taken,
            };
        }
        // An answer can be lost on the way back, or the request on the way there.
        let lost = luck.strikes(6, 40);
        if !(lost && luck.strikes(7, 2)) {
            self.put(name, content.clone());
        }
        if lost {
            Written::Unclear
        } else {
            Written::Done
        }
    }

    /// Overwrites a profile if it is as it was at `seen_at`, the way If-Match pretends to.
    pub fn put_if_unchanged(
        &mut self,
        name: &RevisionName,
        content: &Content,
        seen_at: Moment,
        luck: Luck,
    ) -> Written {
        self.request(luck);
        let there = self.store.profiles.get(&name.to_string());
        let changed_at = there.map_or(seen_at, |there| there.changed_at);
        if changed_at > seen_at && self.now.0 - changed_at.0 > LOST_UPDATE {
            return Written::Taken;
        }
        self.put(name, content.clone());
        Written::Done
    }

    fn put(&mut self, name: &RevisionName, content: Content) {
        let changed_at = self.now;
        let profile = Profile {
            content,
            changed_at,
        };
        self.store.profiles.insert(name.to_string(), profile);
    }

    /// Adds the marks of a finished rollout to a revision.
    pub fn finish(&mut self, revision: u64, luck: Luck) {
        self.request(luck);
        let now = self.now;
        let profile = self
            .store
            .profiles
            .get_mut(&name(Kind::App, revision).to_string());
        if let Some(Content::App(entry, _)) = profile.map(|profile| &mut profile.content) {
            entry.created.get_or_insert(now);
        }
    }

    /// Deletes a profile, whether it is there or not.
    pub fn delete_profile(&mut self, name: &RevisionName, luck: Luck) {
        self.request(luck);
        self.store.profiles.remove(&name.to_string());
    }
}
