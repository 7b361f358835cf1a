//! Whose the entry of a member is, and who may write or bury it.

use crate::entry::{Applied, Entry, Executor};
use crate::membership::claim::*;
use crate::membership::document::{MemberDocument, MemberEntry};
use crate::membership::fixtures::{spec, with};
use crate::moment::Moment;

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
