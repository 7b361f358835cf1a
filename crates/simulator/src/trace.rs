//! Stories from seeds, and those that fail made short, so that a person can read and replay them.
//!
//! Before: `main.rs` and tests have seeds. After: a [`Failure`] that prints as what happened.

use core::fmt;

use crate::event::{Event, story};
use crate::fault::Fault;
use crate::invariants::{Judged, Violation};
use crate::world::World;

/// How many lines of a story are printed at its begin, and at its end.
const TOLD: usize = 40;

/// A story that fails.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed that it came from.
    pub seed: u64,
    /// What does not hold.
    pub violation: Violation,
    /// The events that are needed for it.
    pub events: Vec<Event>,
    /// What happened, request by request.
    pub told: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "seed {}: {} does not hold: {}",
            self.seed, self.violation.invariant, self.violation.told
        )?;
        let (begin, rest) = self.told.split_at(self.told.len().min(TOLD));
        let left_out = rest.len().saturating_sub(TOLD);
        writeln!(formatter, "{}", begin.join("\n"))?;
        if left_out > 0 {
            writeln!(formatter, "  … {left_out} lines …")?;
        }
        writeln!(formatter, "{}", rest[left_out..].join("\n"))?;
        write!(
            formatter,
            "replay: cargo run -p simulator -- --seeds {}..{}",
            self.seed,
            self.seed + 1
        )
    }
}

/// Runs the story of a seed, and says how many events it had; one that fails is told by as few as it needs.
///
/// # Errors
/// The failure, made short.
pub fn run(seed: u64, fault: Option<Fault>) -> Result<usize, Box<Failure>> {
    let events = story(seed);
    let Err(violation) = replay(&events, fault).0 else {
        return Ok(events.len());
    };
    let events = shrink(events, fault, violation.invariant);
    let (judged, told) = replay(&events, fault);
    Err(Box::new(Failure {
        seed,
        violation: judged.err().unwrap_or(violation),
        events,
        told,
    }))
}

/// Runs events to their end.
pub fn replay(events: &[Event], fault: Option<Fault>) -> (Judged, Vec<String>) {
    let mut world = World::default();
    world.fault = fault;
    let judged = events
        .iter()
        .try_for_each(|event| world.happen(event))
        .and_then(|()| world.settle());
    (judged, world.told)
}

/// Drops events, in ever smaller groups, as long as the same invariant still fails.
fn shrink(mut events: Vec<Event>, fault: Option<Fault>, invariant: &str) -> Vec<Event> {
    let mut group = events.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        let mut dropped = false;
        while start < events.len() {
            let mut fewer = events.clone();
            fewer.drain(start..(start + group).min(events.len()));
            match replay(&fewer, fault).0 {
                Err(violation) if violation.invariant == invariant => {
                    events = fewer;
                    dropped = true;
                }
                _ => start += group,
            }
        }
        match (group, dropped) {
            (1, false) => return events,
            (1, true) => {}
            _ => group = group.div_ceil(2),
        }
    }
}
