//! Data that is there already: a declaration that looks for it in another pool would find an empty volume.
//!
//! Before: `preflight::check`, with the volumes of all pools. Not here: whether the pools are there (`rooms.rs`).

use super::Facts;
use crate::app::{AppSpec, in_another_pool};
use crate::issue::{Issue, Step};
use crate::observation::{Observation, VolumeSeen};

/// Also where nobody named a pool: the class, or the provider's default, may be another one than it was.
pub(super) fn check(
    spec: &AppSpec,
    facts: &Facts,
    observation: &Observation,
    issues: &mut Vec<Issue>,
) {
    for (name, volume) in &spec.volumes {
        let Some(pool) = facts.pool_of(volume) else {
            continue;
        };
        let volumes = || {
            observation
                .volumes
                .iter()
                .filter(|seen| seen.volume == *name)
        };
        let is_elsewhere = |seen: &&VolumeSeen| {
            let mut of_place = volumes().filter(|other| other.place == seen.place);
            !of_place.any(|other| other.pool == *pool)
        };
        let Some(seen) = volumes().find(is_elsewhere) else {
            continue;
        };
        let attribute = match volume.pool {
            Some(_) => "pool",
            None => "class",
        };
        issues.push(Issue::new(
            vec![
                Step::Attribute("volumes"),
                Step::Key(name.clone()),
                Step::Attribute(attribute),
            ],
            "The data of a volume is elsewhere",
            in_another_pool(seen, pool),
        ));
    }
}
