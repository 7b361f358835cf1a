//! What can go wrong while reconciling, named after the step that failed.
//!
//! After: `provider/src/diagnose.rs` prints message and causes, once.

use core::fmt;
use core::time::Duration;

use domain::adoption::Refusal as Refused;
use domain::app::Protocol;
use domain::entry::Refusal;
use domain::placement::NoMember;
use domain::rollout::learned::Unmade;
use domain::rollout::{Conflict, Failure};

/// Why an app or a member is not as declared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request failed; the message says what it was for.
    #[error(transparent)]
    Incus(#[from] incus::Error),
    /// The server is of a version that is not known.
    #[error("the server runs Incus {seen:?}")]
    Version {
        /// What it says.
        seen: String,
    },
    /// The pool for replicated volumes is not shared by the members.
    #[error("the storage pool {pool} has the driver {driver}, whose volumes stay on one member")]
    NotShared {
        /// The pool.
        pool: String,
        /// Its driver.
        driver: String,
    },
    /// The address of a machine is none.
    #[error("looking at the machine at {address}")]
    Address {
        /// What was declared.
        address: String,
        /// Why it is none.
        #[source]
        cause: incus::EndpointError,
    },
    /// A step towards a member failed.
    #[error("could not {doing}")]
    MemberStep {
        /// The step.
        doing: String,
        /// Why.
        #[source]
        cause: Box<incus::Error>,
    },
    /// A machine was not asked to join, because what comes before that failed.
    #[error("could not prepare to {doing}")]
    JoinNotBegun {
        /// The step.
        doing: String,
        /// Why.
        #[source]
        cause: Box<incus::Error>,
    },
    /// Whoever answers for the cluster is not the one that the join was decided for.
    #[error(
        "the cluster's certificate is {seen}, and that of the join token {token}; expected {expected} for both"
    )]
    OtherCertificate {
        /// What the cluster says.
        seen: String,
        /// What the token says.
        token: String,
        /// What was seen before.
        expected: String,
    },
    /// The bootstrap member of this apply could not be made.
    #[error("the bootstrap member could not be made, so there is no cluster for {member} to join")]
    BootstrapFailed {
        /// Who waited.
        member: String,
    },
    /// The user had enough, or time was over, before a step.
    #[error("stopped before the step: {before}")]
    MemberStopped {
        /// The member.
        member: String,
        /// The step that was not taken.
        before: String,
    },
    /// The member is another configuration's.
    #[error(
        "the fleet store has an entry of member {member} that belongs to another configuration"
    )]
    OtherOwner {
        /// The member.
        member: String,
    },
    /// Another apply or another executor wrote a newer revision.
    #[error("{}", overtaken(of, *ours, *newest))]
    Overtaken {
        /// The app or member.
        of: String,
        /// What we were at.
        ours: u64,
        /// What is the highest now.
        newest: u64,
    },
    /// Another executor is at the very revision that this one is at.
    #[error("another executor takes the steps of app {app} at the same time")]
    RecordTaken {
        /// The app.
        app: String,
    },
    /// The fleet store does not take the change.
    #[error("publishing app {app}")]
    Refused {
        /// The app.
        app: String,
        /// Why.
        #[source]
        refusal: Refusal,
    },
    /// A document in the fleet store cannot be read.
    #[error("reading {profile} of the fleet store")]
    Unreadable {
        /// The profile.
        profile: String,
        /// What is wrong with it.
        #[source]
        cause: serde_json::Error,
    },
    /// The cluster has no such image.
    #[error("the cluster's project {project} has no image {written:?}")]
    NoImage {
        /// As the user wrote it.
        written: String,
        /// Where it was looked for.
        project: String,
    },
    /// What an image's name stands for could not be looked up.
    #[error("looking up image {written:?} at {server}")]
    ImageServer {
        /// As the user wrote it.
        written: String,
        /// Where it was looked for.
        server: String,
        /// Why it was not found.
        #[source]
        cause: Box<incus::image_server::Error>,
    },
    /// This Incus has no OCI images.
    #[error("the server runs Incus {version}, which cannot run OCI images")]
    NoOci {
        /// Its version.
        version: String,
    },
    /// The cluster could not get an image.
    #[error("the cluster could not pull image {written:?} from {server}")]
    Pull {
        /// As the user wrote it.
        written: String,
        /// From where.
        server: String,
        /// How that was spoken to.
        protocol: Protocol,
        /// What Incus says.
        #[source]
        cause: Box<incus::Error>,
    },
    /// Incus would take another image of somebody else's for the one that is wanted.
    #[error(
        "the cluster has another image with the layers of {written:?}: {fingerprint}{}",
        Named(aliases)
    )]
    SameLayers {
        /// As the user wrote it.
        written: String,
        /// The one that is there.
        fingerprint: String,
        /// What that one is called.
        aliases: Vec<String>,
    },
    /// A rollout failed; what served before goes on serving.
    #[error("generation {} of app {app} failed", failure.record.generation)]
    RolloutFailed {
        /// The app.
        app: String,
        /// What failed, and what serves.
        failure: Box<Failure>,
    },
    /// A name that is needed belongs to something else.
    #[error("the instance name {} that app {app} needs is taken", conflict.name)]
    Conflict {
        /// The app.
        app: String,
        /// Which, and whose.
        conflict: Conflict,
    },
    /// Instances that were made by hand cannot be taken over; nothing was changed.
    #[error("taking over instances for app {app}")]
    Adoption {
        /// The app.
        app: String,
        /// Why, for each of them.
        refused: Vec<Refused>,
    },
    /// No member can take a workload.
    #[error("placing a workload of app {app}")]
    NoMember {
        /// The app.
        app: String,
        /// Why.
        #[source]
        cause: NoMember,
    },
    /// The user stopped the apply.
    #[error("the apply was stopped while app {app} was {phase}")]
    Stopped {
        /// The app.
        app: String,
        /// Where its rollout was.
        phase: &'static str,
    },
    /// The time that the user gave is over.
    #[error("app {app} was still {phase} after {}", domain::duration::format(*limit))]
    TimedOut {
        /// The app.
        app: String,
        /// Where its rollout was.
        phase: &'static str,
        /// The time.
        limit: Duration,
    },
    /// Workloads may be running on members that do not answer, and nothing may run beside them.
    #[error("app {app} cannot be changed while workloads may be running on members that do not answer: {}", workloads.join(", "))]
    Irreplaceable {
        /// The app.
        app: String,
        /// Each as "name on member".
        workloads: Vec<String>,
    },
    /// The secrets of an app are not in the fleet store.
    #[error("the secrets of app {app} are not in the fleet store")]
    LostSecrets {
        /// The app.
        app: String,
    },
    /// A workload could not be made.
    #[error("a workload could not be made")]
    Unmade(#[source] Unmade),
    /// Workloads that are to be deleted are on members that do not answer.
    #[error("workloads of app {app} are on members that do not answer: {}", workloads.join(", "))]
    OutOfReach {
        /// The app.
        app: String,
        /// Each as "name on member".
        workloads: Vec<String>,
    },
}

/// The names of an image, where it has some.
struct Named<'a>(&'a [String]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(formatter, " ({})", names.join(", ")),
        }
    }
}

/// Two writers of one number, of which the other was faster, are told apart from a newer number.
fn overtaken(of: &str, ours: u64, newest: u64) -> String {
    match newest {
        // Only a tombstone's last trace goes; then nothing is left to be newer.
        0 => format!("{of} was removed meanwhile; revision {ours} stops here"),
        newest if newest == ours => {
            format!("another change of {of} was published first, as revision {ours}")
        }
        newest => format!(
            "another change of {of} was published meanwhile, as revision {newest}; revision {ours} stops here"
        ),
    }
}

impl Error {
    /// The message and its causes in one line, to be searched and quoted.
    pub(crate) fn told(&self) -> String {
        let mut told = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            told = format!("{told}: {error}");
            cause = error.source();
        }
        told
    }

    fn cause(&self) -> Option<&incus::Error> {
        match self {
            Self::MemberStep { cause, .. } | Self::JoinNotBegun { cause, .. } => Some(cause),
            Self::Incus(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether the outcome is not known.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cause().is_some_and(incus::Error::is_interrupted)
    }

    /// Whether it may go away by itself: a server that is busy with itself, or an answer that was lost.
    pub fn may_pass(&self) -> bool {
        let Some(cause) = self.cause() else {
            return false;
        };
        let busy = cause.status().is_some_and(|code| code >= 500);
        busy || cause.is_interrupted() || cause.is_unreachable()
    }
}
