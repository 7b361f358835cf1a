//! Slots: what the workloads of one ordinal amount to.
//!
//! Before: an observation. After: `rollout::decide` chooses among the slots which one to act on. The state machine
//! runs per slot (HO-APP-29), and is recoverable from what Incus holds alone (HO-APP-37).

use crate::app::AppSpec;
use crate::moment::Moment;
use crate::observation::{Observation, Probe, Status, Workload};
use crate::work::Work;

/// The situation of one ordinal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot<'a> {
    /// The declared generation serves, alone.
    Converged,
    /// Incus is about to put it back where it was (evacuation, restore); acting on it now would break that.
    LeftAlone,
    /// Only a member that does not answer could tell.
    Unknown(&'a Workload),
    /// Nothing runs here (HO-APP-31), or only on a member that is Offline (AP-38).
    Missing,
    /// More than two generations: these are too many.
    Leftovers(Vec<&'a Workload>),
    /// It should run and does not.
    Stopped {
        /// The workload.
        workload: &'a Workload,
        /// Whether it has served before; then its health counts anew.
        served: bool,
    },
    /// The declared generation is on trial (HO-APP-35).
    OnTrial {
        /// The candidate.
        candidate: &'a Workload,
        /// What serves meanwhile.
        serving: Option<&'a Workload>,
        /// Where the trial stands.
        trial: Trial,
    },
    /// The candidate is for a declaration that is no longer wanted.
    StaleCandidate(&'a Workload),
    /// Something else than declared serves, alone (HO-APP-34).
    Outdated(&'a Workload),
}

/// Where the trial of a candidate stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// Not healthy yet, or not for long enough.
    Running {
        /// When the health deadline ends.
        healthy_by: Moment,
    },
    /// Healthy without a break for long enough (HO-APP-35).
    Passed,
    /// It ended, could not be started, or its deadline has passed (HO-APP-36).
    Failed(String),
}

/// What the workloads of `ordinal` amount to.
pub fn of<'a>(
    ordinal: u32,
    spec: &AppSpec,
    observation: &'a Observation,
    work: &Work,
    now: Moment,
) -> Slot<'a> {
    let here = || {
        observation
            .workloads
            .iter()
            .filter(move |workload| workload.ordinal == ordinal)
    };
    let live: Vec<&Workload> = here()
        .filter(|workload| workload.status.is_live())
        .collect();
    let Some((newest, older)) = live.split_last() else {
        return match here().find(|workload| workload.status == Status::Unknown) {
            Some(workload) => Slot::Unknown(workload),
            None => Slot::Missing,
        };
    };
    let serving = serving(older);
    if older.len() > 1 {
        let kept = serving.map(|workload| workload.generation);
        let is_kept = |workload: &&&Workload| Some(workload.generation) == kept;
        return Slot::Leftovers(older.iter().filter(|one| !is_kept(one)).copied().collect());
    }
    if newest.spec != spec.hash() {
        return match serving {
            None => Slot::Outdated(newest),
            // What is declared serves here already, or would if it ran; the candidate has its place until then.
            Some(serving) if serving.spec == spec.hash() && is_down(serving) => Slot::Stopped {
                workload: serving,
                served: true,
            },
            Some(serving) if serving.spec == spec.hash() => Slot::StaleCandidate(newest),
            // It was promoted, or it is all that runs: only its predecessor is left to be deleted.
            Some(serving)
                if !is_down(newest) && (is_sustained(newest, spec, now) || is_down(serving)) =>
            {
                Slot::Leftovers(vec![serving])
            }
            Some(_) => Slot::StaleCandidate(newest),
        };
    }
    of_declared(newest, serving, spec, observation, work, now)
}

/// Of the generations before the newest, the one that serves: one that runs before one that does not, then one that
/// was healthy before one that was not, then the newest.
fn serving<'a>(older: &[&'a Workload]) -> Option<&'a Workload> {
    older
        .iter()
        .max_by_key(|workload| {
            (
                !is_down(workload),
                workload.healthy_since.is_some(),
                workload.generation,
            )
        })
        .copied()
}

/// Whether it cannot serve.
fn is_down(workload: &Workload) -> bool {
    workload.status == Status::Stopped
}

/// The newest generation is the declared one.
fn of_declared<'a>(
    candidate: &'a Workload,
    serving: Option<&'a Workload>,
    spec: &AppSpec,
    observation: &Observation,
    work: &Work,
    now: Moment,
) -> Slot<'a> {
    let failed = |why: String| Slot::OnTrial {
        candidate,
        serving,
        trial: Trial::Failed(why),
    };
    // What runs has started, whatever an attempt was told: Incus can say "already running" of a create.
    if candidate.status != Status::Running
        && let Some(error) = observation.start_errors.get(&candidate.name)
    {
        return failed(format!("it could not be started: {error}"));
    }
    // Nothing starts it again by itself, so waiting for the deadline would only cost the user time.
    if observation.ended.contains(&candidate.name) {
        return failed("it ended by itself".to_owned());
    }
    match candidate.status {
        Status::Evacuated => Slot::LeftAlone,
        // It was never started, or nobody knows whether its start has come to an end.
        Status::Stopped
            if !candidate.ever_started || observation.unfinished.contains(&candidate.name) =>
        {
            Slot::Stopped {
                workload: candidate,
                served: candidate.healthy_since.is_some(),
            }
        }
        Status::Stopped => failed("it ended by itself".to_owned()),
        Status::Running | Status::Other => {
            if serving.is_none() && is_sustained(candidate, spec, now) {
                return Slot::Converged;
            }
            Slot::OnTrial {
                candidate,
                serving,
                trial: trial(candidate, spec, observation, work, now),
            }
        }
        Status::Unknown | Status::Lost => Slot::Unknown(candidate),
    }
}

fn trial(
    candidate: &Workload,
    spec: &AppSpec,
    observation: &Observation,
    work: &Work,
    now: Moment,
) -> Trial {
    let probe = observation.probes.get(&candidate.name);
    if is_sustained(candidate, spec, now) && probe == Some(&Probe::Healthy) {
        return Trial::Passed;
    }
    // Without a record its clock starts now: a trial is rather too long than cut off.
    let started_at = work
        .made(candidate.ordinal, candidate.generation)
        .map_or(now, |made| made.started_at);
    let healthy_by = started_at.plus(spec.health.healthy_deadline);
    if now < healthy_by {
        return Trial::Running { healthy_by };
    }
    let seen = match probe {
        Some(Probe::Unhealthy(why)) => format!("; the last check said: {why}"),
        Some(Probe::Healthy) => "; it is healthy at the moment".to_owned(),
        None => String::new(),
    };
    Trial::Failed(format!(
        "it was not healthy for {} without a break within {}{seen}",
        crate::duration::format(spec.health.min_healthy_time),
        crate::duration::format(spec.health.healthy_deadline),
    ))
}

/// Whether it has been healthy for long enough, by its own key (HO-APP-38, HO-APP-41).
pub(super) fn is_sustained(workload: &Workload, spec: &AppSpec, now: Moment) -> bool {
    workload
        .healthy_since
        .is_some_and(|since| now.since(since) >= spec.health.min_healthy_time)
}
