//! Steps: what is to be done next, spelled out so that doing it leaves no choice.
//!
//! Before: `rollout::decide` and `rollout::removal` return them. After: `reconcile/src/execute.rs` performs each
//! with one arm; `rollout::forecast` prints them for the plan. Every step may run twice.

use core::fmt;
use core::time::Duration;

use crate::app::Volume;
use crate::moment::Moment;
use crate::observation::Workload;
use crate::place::Place;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a workload and start it.
    Create {
        /// Its place.
        place: Place,
        /// Its generation.
        generation: u64,
        /// The name of its Incus instance.
        name: String,
        /// The member that it goes to; `None` where Incus is not clustered.
        member: Option<String>,
        /// The storage volumes that it gets.
        volumes: Vec<Attached>,
    },
    /// Make a storage volume, before the first workload that gets it.
    CreateVolume {
        /// The place whose data it holds.
        place: Place,
        /// Which of the app's volumes it is.
        volume: String,
        /// Its name in Incus.
        name: String,
        /// What it is like.
        declared: Volume,
        /// The member of its workload, which it is on too if it is local.
        member: Option<String>,
    },
    /// Make a storage volume as large as declared.
    ResizeVolume {
        /// The place whose data it holds.
        place: Place,
        /// Which of the app's volumes it is.
        volume: String,
        /// Its name in Incus.
        name: String,
        /// The storage pool that it is in.
        pool: String,
        /// The member that it is on.
        member: Option<String>,
        /// In bytes.
        size: u64,
    },
    /// Stop a workload, by force after the grace, and keep it.
    Stop {
        /// Its place.
        place: Place,
        /// Its generation.
        generation: u64,
        /// The name of its Incus instance.
        name: String,
        /// How long it may take to stop by itself.
        grace: Duration,
    },
    /// Start a workload that does not run.
    Start {
        /// Its place.
        place: Place,
        /// Its generation.
        generation: u64,
        /// The name of its Incus instance.
        name: String,
    },
    /// Write down when a workload was first seen healthy (HO-APP-38).
    StampHealthy {
        /// The name of its Incus instance.
        name: String,
        /// When.
        since: Moment,
        /// Which start of it that was.
        start: String,
        /// What is said about it: a change that does not say it again would empty it.
        description: String,
    },
    /// Forget that a workload was healthy: it is not any more, or it is about to be started again (HO-APP-38).
    ClearHealthy {
        /// The name of its Incus instance.
        name: String,
        /// What is said about it: a change that does not say it again would empty it.
        description: String,
    },
    /// Read what a failed workload printed last, before it is deleted with it.
    KeepOutput {
        /// The name of its Incus instance.
        name: String,
        /// Whether it never came to run: then Incus's own start log is what tells.
        never_ran: bool,
    },
    /// Stop a workload, by force after the grace, and delete it.
    Delete {
        /// Its place.
        place: Place,
        /// Its generation.
        generation: u64,
        /// The name of its Incus instance.
        name: String,
        /// How long it may take to stop by itself.
        grace: Duration,
        /// Why.
        reason: Reason,
    },
}

impl Step {
    /// The deletion of a workload.
    pub fn delete(workload: &Workload, reason: Reason, grace: Duration) -> Step {
        Step::Delete {
            place: workload.place.clone(),
            generation: workload.generation,
            name: workload.name.clone(),
            grace,
            reason,
        }
    }

    /// Whether it changes what runs, and so has to be on record first; the others are bookkeeping.
    pub fn is_act(&self) -> bool {
        match self {
            Step::Create { .. }
            | Step::CreateVolume { .. }
            | Step::ResizeVolume { .. }
            | Step::Stop { .. }
            | Step::Start { .. }
            | Step::Delete { .. } => true,
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => {
                false
            }
        }
    }
}

/// A storage volume that a workload gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Which of the app's volumes it is.
    pub volume: String,
    /// Its name in Incus.
    pub source: String,
    /// The storage pool that it is in.
    pub pool: String,
}

/// Why a workload is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A newer generation was promoted and takes over.
    Retired {
        /// The generation that takes over.
        by: u64,
    },
    /// It never became healthy; the previous generation, if there is one, goes on serving.
    Failed,
    /// It is a candidate for a declaration that is no longer wanted.
    Outdated,
    /// There are more than two generations, and it is an older one.
    Leftover,
    /// Fewer workloads are declared.
    ScaledDown,
    /// The app is destroyed.
    Destroyed,
}

/// As the plan and the work record name it: place and generation, never a member, an address or a time.
impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Create {
                place, generation, ..
            } => {
                write!(formatter, "{place}: create generation {generation}")
            }
            Step::Start {
                place, generation, ..
            } => {
                write!(formatter, "{place}: start generation {generation}")
            }
            Step::CreateVolume { place, volume, .. } => {
                write!(formatter, "{place}: create volume {volume}")
            }
            Step::ResizeVolume { place, volume, .. } => {
                write!(formatter, "{place}: resize volume {volume}")
            }
            Step::Stop {
                place, generation, ..
            } => write!(formatter, "{place}: stop generation {generation}"),
            Step::StampHealthy { name, .. } => write!(formatter, "{name}: healthy"),
            Step::ClearHealthy { name, .. } => write!(formatter, "{name}: not healthy"),
            Step::KeepOutput { name, .. } => write!(formatter, "{name}: keep the last output"),
            Step::Delete {
                place,
                generation,
                reason,
                ..
            } => match reason {
                Reason::Retired { by } => write!(
                    formatter,
                    "{place}: promote generation {by}, remove generation {generation}"
                ),
                Reason::Outdated => write!(
                    formatter,
                    "{place}: remove candidate generation {generation}"
                ),
                Reason::Failed => {
                    write!(formatter, "{place}: remove failed generation {generation}")
                }
                Reason::Leftover | Reason::ScaledDown | Reason::Destroyed => {
                    write!(formatter, "{place}: remove generation {generation}")
                }
            },
        }
    }
}
