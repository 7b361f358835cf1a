//! Members: one pass at a time towards what is declared of a machine, or until it is a member no more.
//!
//! ```text
//! provider/src/resources/cluster_member.rs ──> member.rs ──┬─> member/turns.rs    who may change the cluster now
//!                                                          ├─> member/observe.rs  what is, the machine first
//!                                                          ├─> domain::membership the next step (pure)
//!                                                          ├─> member/entry.rs    what the fleet store says of it
//!                                                          └─> member/execute.rs  done: one arm per step
//! ```
//!
//! A pass ends where something has to be waited for; whoever calls it decides how long, tells the user, and comes again.
//! Stopping happens between two steps, never inside one.

mod attempts;
mod entry;
mod execute;
mod join;
mod observe;
mod turns;

use core::time::Duration;

use domain::membership::answer::{Decision, Refusal, Waiting};
use domain::membership::decide::decide;
use domain::membership::observation::{Candidate, Cluster as Seen, Observation};
use domain::membership::order::{Change, Kind};
use domain::membership::parity;
use domain::membership::removal::{self, Removal, removal};
use domain::membership::spec::{MemberSpec, OnDestroy, Role};
use domain::membership::step::Step;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::error::Error;

pub use attempts::Attempts;
pub use entry::{Grave, Publication};
pub use observe::{Survey, View, survey, view};
pub use turns::Changes;

/// How often what is awaited is looked at: a machine takes minutes to be installed, and a second to be asked.
pub const PAUSE: Duration = Duration::from_secs(2);

/// Each try of a machine that the cluster has refused costs a token, and an update takes minutes.
const LONG_PAUSE: Duration = Duration::from_secs(10);

/// Nearly always enough for what another change in this cluster takes.
const SHORT_PAUSE: Duration = Duration::from_millis(250);

/// How far a pass came.
#[derive(Debug, Clone)]
pub enum Passed {
    /// It is a member, and nothing more can be done for it.
    Settled {
        /// What it still lacks, in the user's words.
        missing: Vec<String>,
        /// What was seen last.
        view: Box<View>,
    },
    /// Something has to happen elsewhere first.
    Waiting(Waiting),
    /// Nothing will help until somebody else acts.
    Refused(Refusal),
}

/// How far a removal came.
#[derive(Debug, Clone)]
pub enum Removed {
    /// It is no member any more, or not ours to ask for.
    Gone {
        /// What a careful operator has to know.
        warnings: Vec<removal::Warning>,
    },
    /// Something has to happen elsewhere first.
    Waiting(removal::Waiting),
    /// It stays.
    Refused(removal::Refusal),
    /// It belongs to another configuration, and nothing was touched.
    Foreign,
}

/// Goes as far towards the declaration as it can without waiting.
///
/// # Expected flow
/// Look without a turn, so that a machine that is silent holds up nobody; then, in a turn: observe, decide, execute, and
/// again. As soon as the cluster lists the member, what is declared of it is published.
///
/// # Guarantees
/// In one process one change of a cluster's members runs at a time, the bootstrap first. A token is made last, and is in
/// memory only.
///
/// # Errors
/// A step that failed; the next pass takes it up. [`Error::MemberStopped`] between two steps. [`Error::OtherOwner`] before
/// any step towards a member that is another configuration's.
pub async fn pass(
    cluster: &Cluster,
    spec: &MemberSpec,
    publication: &mut Publication,
    changes: &Changes,
    attempts: &mut Attempts,
    stop: &CancellationToken,
) -> Result<Passed, Error> {
    let cluster = &cluster.of_members();
    attempts.begin();
    let looked = observe::all(cluster, spec, attempts).await?;
    attempts.saw(spec, &looked.0);
    let decision = decided(cluster, spec, publication, attempts, &looked, stop).await?;
    if !matches!(decision, Decision::Do(_)) {
        return passed(spec, decision, looked.1, changes);
    }
    let kind = match spec.role {
        Role::Bootstrap => Kind::Bootstrap,
        Role::Join => Kind::Join,
    };
    let turn = changes.turn(change(kind, spec)).await;
    // Nobody has changed anything since the look if nobody was before us.
    let mut looked = Some(looked).filter(|_| !turn.has_waited());
    loop {
        let looked = match looked.take() {
            Some(looked) => looked,
            None => observe::all(cluster, spec, attempts).await?,
        };
        match decided(cluster, spec, publication, attempts, &looked, stop).await? {
            Decision::Do(step) => {
                perform(cluster, spec, &looked.0.candidate, &step, attempts, stop).await?;
            }
            decision => return passed(spec, decision, looked.1, changes),
        }
    }
}

/// Decides, and publishes what is declared, unless it is refused: whoever asks for what another machine has owns nothing.
/// Nothing is written that nobody would go on with, or while the first machine is still applying its seed.
async fn decided(
    cluster: &Cluster,
    spec: &MemberSpec,
    publication: &mut Publication,
    attempts: &Attempts,
    (observation, view): &(Observation, Option<View>),
    stop: &CancellationToken,
) -> Result<Decision, Error> {
    let decision = decide(spec, observation, &attempts.history);
    let seen = observation.cluster.as_ref();
    let publishes = match decision {
        Decision::Refuse(_) => false,
        Decision::Done { .. } => true,
        Decision::Do(_) | Decision::Wait(_) => !stop.is_cancelled(),
    };
    if publishes && !seen.is_some_and(Seen::is_initializing) {
        publication.keep_up(cluster, view.as_ref()).await?;
    }
    Ok(decision)
}

fn passed(
    spec: &MemberSpec,
    decision: Decision,
    seen: Option<View>,
    changes: &Changes,
) -> Result<Passed, Error> {
    match decision {
        Decision::Wait(Waiting::Cluster) if changes.has_failed() => Err(Error::BootstrapFailed {
            member: spec.name.clone(),
        }),
        Decision::Wait(waiting) => Ok(Passed::Waiting(waiting)),
        Decision::Refuse(refusal) => Ok(Passed::Refused(refusal)),
        Decision::Done { missing } => Ok(Passed::Settled {
            missing,
            view: Box::new(seen.unwrap_or_default()),
        }),
        // Only a pass in its turn comes here, and it performs steps.
        Decision::Do(_) => Ok(Passed::Waiting(Waiting::Joining)),
    }
}

/// Goes as far towards a removal as it can without waiting. `applied` is what was applied of `on_destroy`.
///
/// # Guarantees
/// Without `force` nothing of anybody else's is lost. The tombstone stands before the first step, and before each step it is
/// still the highest revision: who makes it a member again meanwhile keeps it. A removal that is refused or stopped at once
/// writes nothing.
///
/// # Errors
/// A step that failed; the next pass takes it up. [`Error::MemberStopped`] between two steps, [`Error::Overtaken`] there too.
pub async fn remove(
    cluster: &Cluster,
    spec: &MemberSpec,
    grave: &mut Grave,
    applied: OnDestroy,
    changes: &Changes,
    attempts: &mut Attempts,
    stop: &CancellationToken,
) -> Result<Removed, Error> {
    let cluster = &cluster.of_members();
    let _turn = changes.turn(change(Kind::Remove, spec)).await;
    loop {
        let (observation, _) = observe::all(cluster, spec, attempts).await?;
        attempts.saw(spec, &observation);
        // Without a cluster there is no store either, and the decision is to wait.
        if observation.cluster.is_some() && grave.is_foreign(cluster).await? {
            return Ok(Removed::Foreign);
        }
        match removal(spec, &observation, applied, &attempts.history) {
            Removal::Do(step) => {
                unless_stopped(spec, &step, stop)?;
                grave.hold(cluster).await?;
                perform(cluster, spec, &observation.candidate, &step, attempts, stop).await?;
            }
            Removal::Wait(waiting) => return Ok(Removed::Waiting(waiting)),
            Removal::Refuse(refusal) => return Ok(Removed::Refused(refusal)),
            Removal::Gone { warnings } => {
                grave.hold(cluster).await?;
                grave.clear(cluster).await;
                return Ok(Removed::Gone { warnings });
            }
        }
    }
}

/// What a member lacks, as the last look shows it; for Reads, which repair nothing.
pub fn missing(spec: &MemberSpec, seen: &Seen) -> Vec<String> {
    let observation = Observation {
        cluster: Some(seen.clone()),
        candidate: observe::not_looked_at(),
    };
    parity::missing(spec, &observation)
}

/// How long to wait before the next pass.
pub fn patience(waiting: &Waiting) -> Duration {
    match waiting {
        Waiting::Cluster | Waiting::Joining => SHORT_PAUSE,
        Waiting::Misfit(_) => LONG_PAUSE,
        _ => PAUSE,
    }
}

/// Performs a step; what it teaches is kept for the next decision.
async fn perform(
    cluster: &Cluster,
    spec: &MemberSpec,
    candidate: &Candidate,
    step: &Step,
    attempts: &mut Attempts,
    stop: &CancellationToken,
) -> Result<(), Error> {
    unless_stopped(spec, step, stop)?;
    attempts.note(step);
    match execute::execute(cluster, spec, candidate, step).await {
        Ok(()) => Ok(()),
        Err(error) => attempts.learn(step, error),
    }
}

fn unless_stopped(spec: &MemberSpec, step: &Step, stop: &CancellationToken) -> Result<(), Error> {
    match stop.is_cancelled() {
        true => Err(Error::MemberStopped {
            member: spec.name.clone(),
            before: step.to_string(),
        }),
        false => Ok(()),
    }
}

fn change(kind: Kind, spec: &MemberSpec) -> Change {
    Change {
        kind,
        name: spec.name.clone(),
    }
}
