//! Settling: which values a revision of an app has, and whether they have to be stored for it.
//!
//! Before: the declaration with its versions, the values at hand, and what the revision before has stored. After: the
//! provider stores what is new and publishes the revision that refers to it. A version is what tells a change: without
//! another one the stored values stay, whatever is at hand (docs/decisions/0021).

use super::Secrets;
use crate::app::AppSpec;

/// What the revision before had.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// What it declared.
    pub spec: &'a AppSpec,
    /// The values that it refers to, if they can still be read.
    pub secrets: Option<&'a Secrets>,
}

/// The secrets of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It has none.
    None,
    /// Those that are stored under this revision.
    Stored(u64, Secrets),
    /// These, which are to be stored before it is published.
    Anew(Secrets),
}

/// Settles the secrets of a revision of an app that declares `spec`, with the values `given` at hand.
///
/// A create has no revision before it: what a create that was cut off has stored may be another's.
pub fn settle(spec: &AppSpec, given: &Secrets, before: Option<Before<'_>>) -> Settled {
    let stored = before.and_then(|before| Some((before.spec, before.secrets?)));
    let mut settled = Secrets::default();
    if spec.secrets.is_some() {
        settled.shared = match stored {
            Some((before, stored)) if before.secrets == spec.secrets => stored.shared.clone(),
            _ => given.shared.clone(),
        };
    }
    if spec.node_secrets.is_some() {
        settled.machines.clone_from(&given.machines);
        if let Some((before, stored)) = stored
            && before.node_secrets == spec.node_secrets
        {
            // A machine that was added needs no new version: nobody else's values change with it.
            for (machine, named) in &mut settled.machines {
                if let Some(stored) = stored.machines.get(machine) {
                    named.clone_from(stored);
                }
            }
        }
    }
    let revision = stored
        .filter(|(_, stored)| **stored == settled)
        .and_then(|(before, _)| before.secrets_revision);
    match revision {
        _ if settled.is_empty() => Settled::None,
        Some(revision) => Settled::Stored(revision, settled),
        None => Settled::Anew(settled),
    }
}

/// Which stored secrets the winner of `revision` deletes, lowest first: those that neither it nor its predecessor refers
/// to. One with a higher number may be of a revision that is about to be published.
pub fn to_prune(
    stored: impl IntoIterator<Item = u64>,
    revision: u64,
    referred: [Option<u64>; 2],
) -> Vec<u64> {
    let mut old: Vec<u64> = stored
        .into_iter()
        .filter(|one| *one <= revision && !referred.contains(&Some(*one)))
        .collect();
    old.sort_unstable();
    old
}
