//! Work: what the executor of an app has decided, recorded in the fleet store before it is done.
//!
//! Before: `rollout::decide` returns the next record. After: `reconcile/src/store.rs` writes it as
//! `work.<app>.r<N>`, and only then the steps are executed. If it is lost it is rebuilt from the workloads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::observation::Workload;
use crate::place::Place;

/// Bound on a recorded error: enough for the last lines of an output, small beside the rest of the store.
pub const LONGEST_ERROR: usize = 4096;

/// The record of one app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The revision of the app that it was decided for.
    pub revision: u64,
    /// By place.
    #[serde(default)]
    pub slots: BTreeMap<Place, Slot>,
    /// What was decided last, as text.
    #[serde(default)]
    pub decided: Vec<String>,
    /// The last rollout that failed, until one succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
}

/// One place for a workload of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The highest generation ever used here; it never goes down.
    pub generation: u64,
    /// The generation that serves while a newer one is on trial; from its promotion on, the newer one. Whoever
    /// takes over in the middle knows by it which of two running workloads must stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<u64>,
    /// The workloads that were made here and may still exist: the instances of a dead member are listed without
    /// their keys, so this is how they are known.
    #[serde(default)]
    pub workloads: Vec<Made>,
    /// What failed here last, until a rollout succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailureRecord>,
}

/// A workload that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The name of the Incus instance.
    pub name: String,
    /// The member that it was placed on; `None` where Incus is not clustered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Its generation.
    pub generation: u64,
    /// The clock of its trial; none until somebody has looked at it after its start was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Clock>,
    /// Whether its deletion was decided. Whoever decided that may be at it still, or come back to it, so nobody counts on
    /// it any more: it neither serves nor takes over.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub doomed: bool,
}

/// The clock of a trial: the health deadline counts from here.
///
/// It begins with the first look at the workload after its start, so that a create or a start which takes long costs it
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// When that was.
    pub began_at: Moment,
    /// The revision for which it runs. A later revision starts it anew: between two applies nobody watched, and a trial
    /// is not lost for that.
    pub revision: u64,
}

/// A rollout that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Where it stood.
    #[serde(alias = "ordinal")]
    pub place: Place,
    /// The generation that failed.
    pub generation: u64,
    /// The revision that wanted it. It is not tried again for that one; a later revision tries anew.
    #[serde(default)]
    pub revision: u64,
    /// The name of its Incus instance.
    #[serde(default)]
    pub candidate: String,
    /// Its image, as the user wrote it.
    pub image: String,
    /// What went wrong, with the last output; at most [`LONGEST_ERROR`] bytes.
    pub error: String,
    /// When.
    pub at: Moment,
}

impl Work {
    /// Whether the executor of `revision` may go on from this record, which was written where its own should have been. One
    /// of an older revision sees at once that it is overtaken, and does nothing more; one of the same or a newer revision
    /// goes on itself.
    pub fn is_behind(&self, revision: u64) -> bool {
        self.revision < revision
    }

    /// When the trial of a workload began, if this revision has begun it.
    pub fn trial_since(&self, place: &Place, generation: u64) -> Option<Moment> {
        let clock = self.made(place, generation)?.trial?;
        (clock.revision == self.revision).then_some(clock.began_at)
    }

    /// The record of one workload.
    pub fn made(&self, place: &Place, generation: u64) -> Option<&Made> {
        self.slots
            .get(place)?
            .workloads
            .iter()
            .find(|made| made.generation == generation)
    }

    /// Begins the trial of a workload for this revision.
    pub(crate) fn begin(&mut self, workload: &Workload, now: Moment) {
        let revision = self.revision;
        self.note(workload).trial = Some(Clock {
            began_at: now,
            revision,
        });
    }

    /// Writes down that a workload is there, as it is seen; its trial begins with the next look at it.
    pub(crate) fn note(&mut self, workload: &Workload) -> &mut Made {
        let slot = self.slots.entry(workload.place.clone()).or_default();
        slot.generation = slot.generation.max(workload.generation);
        slot.workloads
            .retain(|made| made.generation != workload.generation);
        slot.workloads.push_mut(Made {
            name: workload.name.clone(),
            member: workload.member.clone(),
            generation: workload.generation,
            trial: None,
            doomed: false,
        })
    }

    /// Decides the deletion of a workload.
    pub(crate) fn doom(&mut self, workload: &Workload) {
        let known = self.made(&workload.place, workload.generation);
        let trial = known.and_then(|made| made.trial);
        let made = self.note(workload);
        (made.trial, made.doomed) = (trial, true);
    }

    /// Whether the deletion of a workload was decided.
    pub fn is_doomed(&self, workload: &Workload) -> bool {
        self.made(&workload.place, workload.generation)
            .is_some_and(|made| made.doomed && made.name == workload.name)
    }

    /// The failure at a place, if it was this revision that failed there.
    pub fn failed_at(&self, place: &Place) -> Option<&FailureRecord> {
        let failure = self.slots.get(place)?.failed.as_ref()?;
        (failure.revision == self.revision).then_some(failure)
    }

    /// Writes a failure down: at its place, and for the whole app the first one of this revision, with the names of others.
    pub(crate) fn fail(&mut self, record: FailureRecord) {
        match &mut self.failure {
            Some(told) if told.revision == self.revision && told.place != record.place => {
                told.error = bounded(&format!("{}\n{} failed, too", told.error, record.candidate));
            }
            told => *told = Some(record.clone()),
        }
        let slot = self.slots.entry(record.place.clone()).or_default();
        slot.failed = Some(record);
    }

    /// Nobody has watched since: whoever goes on with the same revision begins every trial anew.
    pub fn forget_trials(&mut self) {
        for made in self.slots.values_mut().flat_map(|slot| &mut slot.workloads) {
            made.trial = None;
        }
    }

    /// A rollout has succeeded: failures of before are history.
    pub(crate) fn forget_failures(&mut self) {
        self.failure = None;
        for slot in self.slots.values_mut() {
            slot.failed = None;
        }
    }

    /// All workloads, by the names of their Incus instances.
    pub(crate) fn by_names(&self) -> BTreeMap<&str, (&Place, &Made)> {
        let mut names = BTreeMap::new();
        for (place, slot) in &self.slots {
            for made in &slot.workloads {
                // As `by_name` does: the first one of a name counts.
                names.entry(made.name.as_str()).or_insert((place, made));
            }
        }
        names
    }

    /// The place and record of a workload, by the name of its Incus instance; a look at each, so not for all of them.
    pub fn by_name(&self, name: &str) -> Option<(Place, &Made)> {
        self.slots.iter().find_map(|(place, slot)| {
            let made = slot.workloads.iter().find(|made| made.name == name)?;
            Some((place.clone(), made))
        })
    }
}

/// The first [`LONGEST_ERROR`] bytes of an error, cut between characters.
pub fn bounded(error: &str) -> String {
    let mut end = error.len().min(LONGEST_ERROR);
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two executors whose records meet, the one with the newer revision goes on, so they never stop each other.
    #[test]
    fn of_two_executors_exactly_one_goes_on() {
        for (ours, theirs, goes_on) in [(6, 5, true), (5, 6, false), (5, 5, false), (1, 0, true)] {
            let record = Work {
                revision: theirs,
                ..Work::default()
            };
            assert_eq!(record.is_behind(ours), goes_on, "{ours} and {theirs}");
        }
    }
}
