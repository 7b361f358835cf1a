//! The pass over an app that runs once on each machine: every machine is an app of its own.
//!
//! Before: `pass.rs`, which has the acts themselves. After: one decision for all machines.

use super::{Pass, recorded};
use crate::place::Place;
use crate::rollout::slot::Slot;
use crate::rollout::{Decision, Next};

impl<'a> Pass<'a> {
    /// Machines do not (HO-APP-25, 30): all that is to be done on any of them is done in one pass (HO-APP-48). What ends
    /// a rollout, a failure or a name that is taken, is told when no other machine is on its way any more.
    pub(super) fn each_by_itself(&self) -> Decision {
        let (acts, held_up): (Vec<_>, Vec<_>) = self
            .slots
            .iter()
            .filter_map(|(place, slot)| Some((place, self.act(place, slot)?)))
            .partition(|(_, act)| act.next == Next::Again);
        let held_up = || held_up.into_iter().next().map(|(_, act)| act);
        // What serves is stopped for a candidate that has failed: that waits for nobody.
        let urgent = || self.replaces().then(|| self.failed()).flatten();
        self.in_the_way()
            .or_else(urgent)
            .or_else(|| self.together(acts))
            .or_else(|| self.waiting())
            .or_else(|| self.failed())
            .or_else(held_up)
            .or_else(|| self.out_of_reach())
            .or_else(|| self.surplus())
            .unwrap_or_else(|| self.converged())
    }

    /// What is to be done at one place that neither waits nor has failed.
    fn act(&self, place: &Place, slot: &Slot<'a>) -> Option<Decision> {
        self.rival(place, slot)
            .or_else(|| self.unwanted(place, slot))
            .or_else(|| self.promotion(place, slot))
            .or_else(|| self.stopped(place, slot))
            .or_else(|| self.not_made(place, slot))
            .or_else(|| self.given_up(place, slot))
            .or_else(|| self.missing(place, slot))
            .or_else(|| self.upgrade(place, slot))
    }

    /// One decision for what is to be done at several places, each with its own part of the record.
    fn together(&self, acts: Vec<(&Place, Decision)>) -> Option<Decision> {
        if acts.is_empty() {
            return None;
        }
        let mut work = recorded(self.work, self.observation);
        let mut steps = Vec::new();
        for (place, mut act) in acts {
            if let Some(failure) = act.work.failed_at(place) {
                work.fail(failure.clone());
            }
            work.slots.extend(act.work.slots.remove_entry(place));
            steps.append(&mut act.steps);
        }
        work.decided = steps.iter().map(ToString::to_string).collect();
        Some(Decision {
            work,
            steps,
            next: Next::Again,
        })
    }
}
