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

#[cfg(test)]
mod tests {
    use super::super::fixtures::{spec, with};
    use super::*;
    use crate::entry::Applied;

    const NOW: Moment = Moment(9);

    fn declared() -> MemberDocument {
        MemberDocument::from(&spec())
    }

    /// Revision 3 of "a", of another declaration: its marks are `f`inished, `u`nfinished, or `t`ombstone.
    fn entry(mark: char) -> MemberEntry {
        let applied = Applied {
            revision: 3,
            declaration: serde_json::Value::Null,
        };
        Entry {
            revision: 3,
            spec: Some(MemberDocument::from(&with(|spec| {
                spec.failure_domain = Some("rack-1".to_owned());
            }))),
            owner: "a".to_owned(),
            created: (mark != 'u').then_some(Moment(1)),
            applied: (mark != 'u').then_some(applied),
            executor: Executor::Provider,
            deleted: (mark == 't').then_some(Moment(2)),
        }
    }

    /// In short: what happens, with the number of what is published and `+` if it goes on from a finished one.
    fn said(claim: &Claim) -> String {
        match claim {
            Claim::Wait => "wait".to_owned(),
            Claim::Stands(_) => "stands".to_owned(),
            Claim::Foreign => "foreign".to_owned(),
            Claim::Publish(entry) => {
                assert_eq!(entry.spec, Some(declared()));
                let goes_on = entry.created.is_some() && entry.applied.is_some();
                let plus = if goes_on { "+" } else { "" };
                format!("{} r{}{plus}", entry.owner, entry.revision)
            }
        }
    }

    #[test]
    fn a_finished_entry_of_a_member_is_its_owners() {
        let (new, a, b) = (("b", true), ("a", false), ("b", false));
        let listed = true;
        for (highest, is_listed, (owner, is_new), expected) in [
            // What a create finds.
            (None, listed, new, "b r1"),
            (Some('u'), listed, new, "b r4"),
            (Some('t'), listed, new, "b r4"),
            (Some('f'), listed, new, "foreign"),
            // Before there is a member only what is left of an earlier one is taken over.
            (None, false, new, "wait"),
            (Some('t'), false, new, "wait"),
            (Some('u'), false, new, "b r4"),
            (Some('f'), false, new, "b r4"),
            // What a change finds; an entry that was lost is written again.
            (Some('f'), listed, a, "a r4+"),
            (Some('u'), listed, a, "a r4"),
            (Some('t'), listed, a, "a r4"),
            (None, listed, a, "a r1"),
            (Some('f'), listed, b, "foreign"),
            (Some('u'), listed, b, "b r4"),
            (Some('f'), false, b, "foreign"),
        ] {
            let highest = highest.map(entry);
            let claimant = Claimant { owner, is_new };
            let claim = claim(highest.as_ref(), is_listed, &declared(), claimant);
            assert_eq!(
                said(&claim),
                expected,
                "{highest:?} {is_listed} {claimant:?}"
            );
        }
    }

    #[test]
    fn what_has_converged_is_not_published_again() {
        let mut entry = entry('f');
        entry.spec = Some(declared());
        let claimant = Claimant {
            owner: "a",
            is_new: false,
        };
        let behind = Entry {
            revision: 4,
            ..entry.clone()
        };
        let again = claim(Some(&behind), true, &declared(), claimant);
        assert_eq!(said(&again), "a r5+");
        let once = claim(Some(&entry), true, &declared(), claimant);
        assert_eq!(once, Claim::Stands(Box::new(entry)));
    }

    #[test]
    fn a_removal_buries_only_what_is_its_own() {
        let tombstone = Entry {
            revision: 4,
            deleted: Some(NOW),
            ..entry('f')
        };
        for (highest, owner, expected) in [
            (None, Some("a"), Burial::Nothing),
            (Some('f'), Some("a"), Burial::Bury(Box::new(tombstone))),
            (Some('t'), Some("a"), Burial::Buried(3)),
            (Some('t'), Some("b"), Burial::Buried(3)),
            (Some('f'), Some("b"), Burial::Foreign),
            (Some('f'), None, Burial::Foreign),
        ] {
            let highest = highest.map(entry);
            assert_eq!(
                burial(highest.as_ref(), owner, NOW),
                expected,
                "{highest:?} {owner:?}"
            );
        }
        for owner in [Some("b"), None] {
            let buried = burial(Some(&entry('u')), owner, NOW);
            assert!(matches!(buried, Burial::Bury(_)), "{owner:?}: {buried:?}");
        }
    }

    #[test]
    fn a_change_or_a_removal_that_was_cut_off_is_something_to_do_for_its_owner() {
        let behind = Entry {
            revision: 4,
            ..entry('f')
        };
        for (highest, unsettled) in [
            (entry('f'), false),
            (entry('u'), true),
            (entry('t'), true),
            (behind, true),
        ] {
            assert_eq!(
                is_unsettled(Some(&highest), Some("a")),
                unsettled,
                "{highest:?}"
            );
            assert!(!is_unsettled(Some(&highest), Some("b")), "{highest:?}");
        }
        assert!(!is_unsettled(None, Some("a")));
    }

    #[test]
    fn a_member_is_foreign_while_somebody_else_has_an_entry_of_it() {
        for (highest, owner, expected) in [
            (None, Some("a"), false),
            (None, None, false),
            (Some('f'), Some("a"), false),
            (Some('f'), Some("b"), true),
            (Some('f'), None, true),
            // A first change of a member that was imported without an entry, and failed.
            (Some('u'), None, false),
            (Some('u'), Some("b"), false),
            (Some('t'), Some("b"), false),
        ] {
            let highest = highest.map(entry);
            assert_eq!(
                is_foreign(highest.as_ref(), owner),
                expected,
                "{highest:?} {owner:?}"
            );
        }
    }
}
