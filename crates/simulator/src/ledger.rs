//! The ledger: what has really happened, for the invariants; no executor ever reads it.
//!
//! Before: `executor.rs` enters what it did. After: `invariants.rs` compares.

use std::collections::BTreeMap;

use domain::moment::Moment;
use domain::place::Place;
use domain::rollout::step::Step;

/// What has happened.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Work records that were confirmed: number, revision of the app, by whom.
    pub(crate) confirmed: Vec<(u64, u64, char)>,
    /// What each executor has on record as decided.
    decided: BTreeMap<char, Vec<String>>,
    /// The highest generation that was ever begun, by place.
    highest: BTreeMap<Place, u64>,
    health: BTreeMap<String, Health>,
    /// Whether the record was lost: then less can be known about what served.
    pub lost_record: bool,
    /// Whether clocks differ or have jumped: then nobody can measure how long something was healthy.
    pub clocks_differ: bool,
}

/// When a workload was last told to be sick, and first told to be well after that.
#[derive(Debug, Clone, Copy, Default)]
struct Health {
    sick_at: Option<Moment>,
    well_since: Option<Moment>,
}

impl Ledger {
    pub(crate) fn confirm(&mut self, number: u64, revision: u64, who: char, decided: &[String]) {
        self.confirmed.push((number, revision, who));
        self.decided.insert(who, decided.to_vec());
    }

    /// Whether an executor has a step on record.
    pub(crate) fn has_decided(&self, who: char, step: &Step) -> bool {
        let decided = self.decided.get(&who);
        decided.is_some_and(|steps| steps.contains(&step.to_string()))
    }

    /// The highest generation that was ever begun in a place.
    pub(crate) fn highest(&self, place: &Place) -> Option<u64> {
        self.highest.get(place).copied()
    }

    /// Steps are begun.
    pub(crate) fn made(&mut self, steps: &[Step]) {
        for step in steps {
            if let Step::Create {
                place, generation, ..
            } = step
            {
                let highest = self.highest.entry(place.clone()).or_default();
                *highest = (*highest).max(*generation);
            }
        }
    }

    /// A step that concerns health was done, for what was answered then.
    pub(crate) fn did(&mut self, step: &Step, asked_at: Moment) {
        match step {
            Step::StampHealthy { name, .. } => {
                let health = self.health.entry(name.clone()).or_default();
                if health.sick_at.is_none_or(|sick_at| asked_at > sick_at) {
                    let since = health.well_since.get_or_insert(asked_at);
                    *since = (*since).min(asked_at);
                }
            }
            Step::ClearHealthy { name, .. } => self.unhealthy(name, asked_at),
            _ => {}
        }
    }

    /// A workload was told to be sick.
    pub(crate) fn unhealthy(&mut self, name: &str, asked_at: Moment) {
        let health = self.health.entry(name.to_owned()).or_default();
        health.sick_at = health.sick_at.max(Some(asked_at));
        if health.well_since.is_some_and(|since| since <= asked_at) {
            health.well_since = None;
        }
    }

    /// Since when a workload was told to be well, without a break.
    pub(crate) fn well_since(&self, name: &str) -> Option<Moment> {
        self.health.get(name)?.well_since
    }

    /// The app is gone: its next one begins anew.
    pub(crate) fn forget(&mut self) {
        self.highest.clear();
        self.confirmed.clear();
        self.health.clear();
    }

    /// The record is lost, and numbers begin anew.
    pub(crate) fn lose_record(&mut self) {
        self.lost_record = true;
        self.confirmed.clear();
    }
}
