//! Entries: what the fleet store holds about one app or member, and who may write the next revision of it.
//!
//! Before: `reconcile/src/store.rs` reads the profiles of the fleet project. After: it publishes what is admitted
//! here, as one immutable profile per revision, `app.<name>.r<N>` or `member.<name>.r<N>`. Creating the next number is
//! the only compare-and-swap that Incus has, so numbers are the whole protocol (`docs/architecture.md`). Not here: who may
//! write the entry of a member, whose membership is seen elsewhere too (`membership/claim.rs`).

use core::fmt;
use core::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::app::AppSpec;
use crate::moment::Moment;
use crate::work::Work;

/// The digest that the last revision has looked up for the image that is declared (docs/decisions/0007).
///
/// None after a rollout of that image failed: it may have been made anew under its name since.
pub fn looked_up(published: Option<&AppSpec>, work: &Work, declared: &AppSpec) -> Option<String> {
    let written = declared.image.reference.written();
    let failed = work
        .failure
        .as_ref()
        .is_some_and(|failure| failure.image == written);
    published?.digest_for(declared).filter(|_| !failed)
}

/// What kind of profile a name of the fleet store stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// What is wanted of an app.
    App,
    /// What is wanted of a member.
    Member,
    /// What the executor of an app has decided.
    Work,
    /// The secrets of an app.
    Secret,
}

/// What an entry can hold: a document, and the kind of profile that it is in.
pub trait Document: Serialize + DeserializeOwned {
    /// The kind.
    const KIND: Kind;
}

impl Document for AppSpec {
    const KIND: Kind = Kind::App;
}

/// The name of one revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RevisionName {
    /// App, member, work or secret.
    pub kind: Kind,
    /// Of which app or member.
    pub name: String,
    /// The revision, counted from 1.
    pub revision: u64,
}

impl RevisionName {
    /// Reads a profile's name; `None` for every name that is not exactly one of ours.
    pub fn parse(profile: &str) -> Option<Self> {
        let mut parts = profile.split('.');
        let kind = match parts.next()? {
            "app" => Kind::App,
            "member" => Kind::Member,
            "work" => Kind::Work,
            "secret" => Kind::Secret,
            _ => return None,
        };
        let name = parts.next()?.to_owned();
        let digits = parts.next()?.strip_prefix('r')?;
        let revision: u64 = digits.parse().ok()?;
        // Only the canonical spelling: "r07" beside "r7" would be two names for one number.
        let canonical = revision > 0 && revision.to_string() == digits;
        (canonical && parts.next().is_none() && !name.is_empty()).then_some(Self {
            kind,
            name,
            revision,
        })
    }

    /// Whose it is, as a part of a sentence.
    pub fn subject(&self) -> String {
        match self.kind {
            Kind::App | Kind::Work | Kind::Secret => format!("app {}", self.name),
            Kind::Member => format!("member {}", self.name),
        }
    }
}

impl fmt::Display for RevisionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::App => "app",
            Kind::Member => "member",
            Kind::Work => "work",
            Kind::Secret => "secret",
        };
        write!(formatter, "{kind}.{}.r{}", self.name, self.revision)
    }
}

/// One revision of what is wanted: of an app, or with another document of something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<D = AppSpec> {
    /// Its number.
    pub revision: u64,
    /// What is wanted; `None` if the document cannot be read (of a later version, or damaged).
    pub spec: Option<D>,
    /// The random id of the configuration that it belongs to.
    pub owner: String,
    /// When its create was finished; `None` while it is going on, or if it was cut off.
    pub created: Option<Moment>,
    /// The last converged declaration; each revision starts with its predecessor's.
    pub applied: Option<Applied>,
    /// Who takes the steps.
    pub executor: Executor,
    /// When it was destroyed: the entry is a tombstone.
    pub deleted: Option<Moment>,
}

impl<D> Entry<D> {
    /// Whether its last change has come to its end, and the provider takes its steps: then nobody is at it.
    pub fn is_at_rest(&self) -> bool {
        let applied = self.applied.as_ref().map(|applied| applied.revision);
        applied == Some(self.revision)
            && self.deleted.is_none()
            && self.executor == Executor::Provider
    }
}

/// The last converged declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The revision that converged.
    pub revision: u64,
    /// Every attribute of the resource as the user spelled it, but the write-only ones: what an import needs.
    pub declaration: serde_json::Value,
}

/// Who takes the steps of an entry; exactly one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Executor {
    /// The provider, in its apply.
    Provider,
    /// The agent of the fleet.
    Agent,
}

impl Executor {
    /// The word that the state shows.
    pub fn word(self) -> &'static str {
        match self {
            Executor::Provider => "provider",
            Executor::Agent => "agent",
        }
    }
}

/// Why a write is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A finished app of this name belongs to another configuration.
    #[error("an app of this name exists already and belongs to another configuration")]
    OtherOwner,
    /// Nothing of this name exists.
    #[error("no app of this name exists any more")]
    Gone,
}

/// How long a tombstone stays: long enough for every executor to have seen it.
pub const TOMBSTONE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The number for a create. A create that never finished may be taken over by any later one, so that an apply that
/// was killed is simply repeated; a tombstone is an absence, and numbering goes on.
///
/// # Errors
/// If a finished entry is there.
pub fn admit_create(highest: Option<&Entry>) -> Result<u64, Refusal> {
    match highest {
        None => Ok(1),
        Some(entry) if entry.deleted.is_some() || entry.created.is_none() => Ok(entry.revision + 1),
        Some(_) => Err(Refusal::OtherOwner),
    }
}

/// The number for the first apply after instances were taken over by an import: a create whose owner is known already,
/// so that it goes on with what it has published before it was cut off.
///
/// # Errors
/// If a finished entry of somebody else is there.
pub fn admit_adoption(highest: Option<&Entry>, owner: &str) -> Result<u64, Refusal> {
    match highest {
        Some(entry) if entry.owner == owner => Ok(entry.revision + 1),
        other => admit_create(other),
    }
}

/// The number for a change by `owner`. Their own tombstone is a destroy that was cut off, and is taken back.
///
/// # Errors
/// If the entry is another's, or gone.
pub fn admit_change(highest: Option<&Entry>, owner: &str) -> Result<u64, Refusal> {
    match highest {
        Some(entry) if entry.owner != owner => Err(Refusal::OtherOwner),
        Some(entry) => Ok(entry.revision + 1),
        None => Err(Refusal::Gone),
    }
}

/// The revisions that the winner of `revision` deletes: everything below its predecessor, lowest first, so that a
/// cut-off clean-up never leaves a gap below the highest.
pub fn to_prune(mut revisions: Vec<u64>, revision: u64) -> Vec<u64> {
    revisions.retain(|older| older.saturating_add(1) < revision);
    revisions.sort_unstable();
    revisions
}

/// Whether a tombstone has stood for long enough to be removed by the next write of anybody.
pub fn is_expired<D>(entry: &Entry<D>, now: Moment) -> bool {
    entry
        .deleted
        .is_some_and(|deleted| now.since(deleted) > TOMBSTONE_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(revision: u64, owner: &str, created: bool, deleted: bool) -> Entry {
        Entry {
            revision,
            spec: None,
            owner: owner.to_owned(),
            created: created.then_some(Moment(1)),
            applied: None,
            executor: Executor::Provider,
            deleted: deleted.then_some(Moment(2)),
        }
    }

    #[test]
    fn names_of_revisions_are_read_only_in_their_canonical_spelling() {
        let name = RevisionName {
            kind: Kind::App,
            name: "web".to_owned(),
            revision: 7,
        };
        assert_eq!(RevisionName::parse("app.web.r7"), Some(name.clone()));
        assert_eq!(name.to_string(), "app.web.r7");
        for foreign in [
            "default",
            "app.web",
            "app.web.7",
            "app.web.r07",
            "app.web.r0",
            "app.web.r-1",
            "app..r1",
            "app.web.r1.x",
            "status.web.r1",
            "app.web.r99999999999999999999",
        ] {
            assert_eq!(RevisionName::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn an_app_and_a_member_of_one_name_are_two_things() {
        let app = RevisionName::parse("app.m2.r1").expect("a name");
        let member = RevisionName::parse("member.m2.r1").expect("a name");
        assert_ne!(app, member);
        assert_eq!(member.to_string(), "member.m2.r1");
        assert_eq!([app.subject(), member.subject()], ["app m2", "member m2"]);
    }

    #[test]
    fn a_create_takes_over_only_what_never_finished() {
        for (highest, expected) in [
            (None, Ok(1)),
            (Some(entry(3, "a", false, false)), Ok(4)),
            (Some(entry(3, "a", true, true)), Ok(4)),
            (Some(entry(3, "a", false, true)), Ok(4)),
            (Some(entry(3, "a", true, false)), Err(Refusal::OtherOwner)),
        ] {
            assert_eq!(admit_create(highest.as_ref()), expected, "{highest:?}");
        }
    }

    #[test]
    fn a_change_needs_the_owner() {
        for (highest, expected) in [
            (None, Err(Refusal::Gone)),
            (Some(entry(3, "a", true, false)), Ok(4)),
            (Some(entry(3, "a", false, false)), Ok(4)),
            // A destroy that was cut off, or its last write: nothing is lost by going on.
            (Some(entry(3, "a", true, true)), Ok(4)),
            (Some(entry(3, "b", true, true)), Err(Refusal::OtherOwner)),
            (Some(entry(3, "b", true, false)), Err(Refusal::OtherOwner)),
        ] {
            assert_eq!(admit_change(highest.as_ref(), "a"), expected, "{highest:?}");
        }
    }

    #[test]
    fn an_entry_is_at_rest_when_its_last_change_has_ended() {
        let at = |applied: Option<u64>, deleted, executor| Entry {
            applied: applied.map(|revision| Applied {
                revision,
                declaration: serde_json::Value::Null,
            }),
            executor,
            ..entry(3, "a", true, deleted)
        };
        for (entry, expected) in [
            (at(Some(3), false, Executor::Provider), true),
            (at(Some(2), false, Executor::Provider), false),
            (at(None, false, Executor::Provider), false),
            (at(Some(3), true, Executor::Provider), false),
            (at(Some(3), false, Executor::Agent), false),
        ] {
            assert_eq!(entry.is_at_rest(), expected, "{entry:?}");
        }
    }

    #[test]
    fn an_adoption_goes_on_with_its_own_entry_and_takes_over_what_never_finished() {
        for (highest, expected) in [
            (None, Ok(1)),
            (Some(entry(3, "a", false, false)), Ok(4)),
            (Some(entry(3, "b", false, false)), Ok(4)),
            (Some(entry(3, "b", true, true)), Ok(4)),
            (Some(entry(3, "a", true, false)), Ok(4)),
            (Some(entry(3, "b", true, false)), Err(Refusal::OtherOwner)),
        ] {
            assert_eq!(
                admit_adoption(highest.as_ref(), "a"),
                expected,
                "{highest:?}"
            );
        }
    }

    #[test]
    fn the_winner_removes_all_but_its_predecessor_lowest_first() {
        assert_eq!(to_prune(vec![5, 1, 3, 4, 2], 5), [1, 2, 3]);
        assert_eq!(to_prune(vec![1], 1), [0_u64; 0]);
        // A revision above is another's, and none of the winner's business.
        assert_eq!(to_prune(vec![6, 5, 3], 5), [3]);
    }
}
