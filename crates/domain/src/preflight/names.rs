//! Names: whether those of the workloads that come next are free.
//!
//! Before: `preflight::check`. After: the rollout looks again before each create, for a name may be taken meanwhile.

use crate::app::AppSpec;
use crate::issue::{Issue, attribute};
use crate::observation::Observation;
use crate::place::Place;
use crate::work::Work;

pub(super) fn check(
    spec: &AppSpec,
    observation: &Observation,
    work: &Work,
    issues: &mut Vec<Issue>,
) {
    let declared = spec.hash();
    for place in observation.places(spec.replicas) {
        let here = || {
            observation
                .workloads
                .iter()
                .filter(|one| one.place == place)
        };
        if here().any(|one| one.spec == declared) {
            continue;
        }
        let seen = here().map(|one| one.generation + 1).max().unwrap_or(0);
        let name = spec.workload_name(&place, seen.max(recorded(work, &place)));
        if let Some(owner) = observation.foreign.get(&name) {
            issues.push(taken(&name, owner.as_deref()));
        }
    }
}

fn recorded(work: &Work, place: &Place) -> u64 {
    work.slots
        .get(place)
        .map_or(0, |slot| slot.generation.saturating_add(1))
}

fn taken(name: &str, owner: Option<&str>) -> Issue {
    let owner = match owner {
        Some(app) => {
            format!("It carries the keys of app {app:?}, as a workload of it or as a copy of one")
        }
        None => "It was not made by this provider".to_owned(),
    };
    Issue::new(
        attribute("name"),
        format!("The instance name {name} is taken"),
        format!("{owner}. It was left alone. Rename it, or choose another name for the app."),
    )
}
