//! Work: what the executor of an app has decided, recorded in the fleet store before it is done.
//!
//! Before: `rollout::decide` returns the next record. After: `reconcile/src/store.rs` writes it as
//! `work.<app>.r<N>`, and only then the steps are executed. If it is lost it is rebuilt from the workloads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// Bound on a recorded error: enough for the last lines of an output, small beside the rest of the store.
pub const LONGEST_ERROR: usize = 4096;

/// The record of one app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The revision of the app that it was decided for.
    pub revision: u64,
    /// By ordinal.
    #[serde(default)]
    pub slots: BTreeMap<u32, Slot>,
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
    /// The workloads that were made here and may still exist: the instances of a dead member are listed without
    /// their keys, so this is how they are known.
    #[serde(default)]
    pub workloads: Vec<Made>,
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
    /// When it was last decided to start it; its health deadline counts from here.
    pub started_at: Moment,
}

/// A rollout that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The ordinal.
    pub ordinal: u32,
    /// The generation that failed.
    pub generation: u64,
    /// Its image, as the user wrote it.
    pub image: String,
    /// What went wrong, with the last output; at most [`LONGEST_ERROR`] bytes.
    pub error: String,
    /// When.
    pub at: Moment,
}

impl Work {
    /// The record of one workload.
    pub fn made(&self, ordinal: u32, generation: u64) -> Option<&Made> {
        self.slots
            .get(&ordinal)?
            .workloads
            .iter()
            .find(|made| made.generation == generation)
    }

    /// The place and record of a workload, by the name of its Incus instance.
    pub fn by_name(&self, name: &str) -> Option<(u32, &Made)> {
        self.slots.iter().find_map(|(ordinal, slot)| {
            let made = slot.workloads.iter().find(|made| made.name == name)?;
            Some((*ordinal, made))
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
