//! Claims: who may write the next revision of a member's entry, what it says, and who may bury it.
//!
//! Before: `reconcile/src/member/entry.rs` has read the fleet store. After: it writes what is decided here. An app exists
//! because its entry does; a member exists because the cluster lists it, and that decides what an entry is worth.

use super::document::{MemberDocument, MemberEntry};
use crate::entry::{Entry, Executor};
use crate::moment::Moment;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimant<'a> {
    /// The random id of the configuration.
    pub owner: &'a str,
    /// Whether it has never owned the member so far: it creates it, or has imported one that had no entry.
    pub is_new: bool,
}

/// What to do about an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nothing yet: the cluster does not list the member, and nothing of it is left from before.
    Wait,
    /// The highest revision is the claimant's, says what is declared, and has converged. One that has not is published again:
    /// only whoever publishes a revision marks it.
    Stands(Box<MemberEntry>),
    /// Publish this.
    Publish(Box<MemberEntry>),
    /// It is another configuration's.
    Foreign,
}

/// Decides about the entry of a member that is to be as it is declared.
///
/// # Guarantees
/// A finished entry of a member that is listed goes to its owner only. One that never finished is nobody's, so that an apply
/// that was killed is simply repeated; so is, for a create, the entry of a member that is none any more, because it was
/// removed by other means. A tombstone is an absence, and numbering goes on.
pub fn claim(
    highest: Option<&MemberEntry>,
    is_listed: bool,
    declared: &MemberDocument,
    claimant: Claimant<'_>,
) -> Claim {
    let publish = |revision, before: Option<&MemberEntry>| {
        Claim::Publish(Box::new(Entry {
            revision,
            spec: Some(declared.clone()),
            owner: claimant.owner.to_owned(),
            created: before.and_then(|entry| entry.created),
            applied: before.and_then(|entry| entry.applied.clone()),
            executor: Executor::Provider,
            deleted: None,
        }))
    };
    match highest.filter(|entry| entry.deleted.is_none()) {
        None if is_listed => publish(highest.map_or(0, |entry| entry.revision) + 1, None),
        None => Claim::Wait,
        Some(entry) if entry.owner == claimant.owner => {
            let is_settled = entry.created.is_some() && !is_behind(entry);
            match is_settled && entry.spec.as_ref() == Some(declared) {
                true => Claim::Stands(Box::new(entry.clone())),
                false => publish(entry.revision + 1, Some(entry)),
            }
        }
        Some(entry)
            if is_anothers(entry, Some(claimant.owner)) && (is_listed || !claimant.is_new) =>
        {
            Claim::Foreign
        }
        Some(entry) => publish(entry.revision + 1, None),
    }
}

/// What a removal does to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Burial {
    /// There is none.
    Nothing,
    /// A tombstone stands there already; its number.
    Buried(u64),
    /// Publish this tombstone first.
    Bury(Box<MemberEntry>),
    /// It is another configuration's, and so is the member.
    Foreign,
}

/// Decides about the entry of a member that `owner` removes; one that was imported without an entry has none.
pub fn burial(highest: Option<&MemberEntry>, owner: Option<&str>, now: Moment) -> Burial {
    match highest {
        None => Burial::Nothing,
        Some(entry) if entry.deleted.is_some() => Burial::Buried(entry.revision),
        Some(entry) if is_anothers(entry, owner) => Burial::Foreign,
        Some(entry) => Burial::Bury(Box::new(Entry {
            revision: entry.revision + 1,
            deleted: Some(now),
            ..entry.clone()
        })),
    }
}

/// Whether `owner` has something to put right: its last change did not come to its end, or its removal did not.
pub fn is_unsettled(highest: Option<&MemberEntry>, owner: Option<&str>) -> bool {
    highest.is_some_and(|entry| {
        Some(entry.owner.as_str()) == owner && (entry.deleted.is_some() || is_behind(entry))
    })
}

/// Whether the member has not been as the revision says, so far.
fn is_behind(entry: &MemberEntry) -> bool {
    let applied = entry.applied.as_ref();
    applied.is_none_or(|applied| applied.revision < entry.revision)
}

/// Whether the member belongs to somebody else than `owner`. A tombstone belongs to nobody.
pub fn is_foreign(highest: Option<&MemberEntry>, owner: Option<&str>) -> bool {
    highest.is_some_and(|entry| is_anothers(entry, owner))
}

/// One that never finished has no state anywhere, so it keeps nobody out.
fn is_anothers(entry: &MemberEntry, owner: Option<&str>) -> bool {
    let counts = entry.deleted.is_none() && entry.created.is_some();
    counts && Some(entry.owner.as_str()) != owner
}
