//! Why an instance is not taken over: what was seen, and what to do.
//!
//! Before: `adoption.rs` finds them, all at once. After: the diagnostics of an import, a plan or an apply.

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was named twice.
    #[error("instance {name} is named twice; name each instance once")]
    Twice {
        /// The instance.
        name: String,
    },
    /// There is none of this name.
    #[error(
        "there is no instance {name} in the provider's project; `incus list` shows what is there"
    )]
    Missing {
        /// The instance.
        name: String,
    },
    /// Nobody can tell whose it is.
    #[error("instance {name} is on {}, which does not answer, so whose it is cannot be seen; bring that member back first", member.as_deref().unwrap_or("a member"))]
    Silent {
        /// The instance.
        name: String,
        /// Where it is.
        member: Option<String>,
    },
    /// It is a workload already, or a copy of one.
    #[error(
        "instance {name} carries the keys of app {app}, generation {generation:?}: it is a workload of that app, or a copy of one; remove its keys `user.homelab-ops.*` if it is yours"
    )]
    HasKeys {
        /// The instance.
        name: String,
        /// The app in its keys.
        app: String,
        /// The generation in its keys.
        generation: String,
    },
    /// Another app is about to take it.
    #[error(
        "instance {name} is about to be taken over by app {app}, whose first apply has not finished"
    )]
    Promised {
        /// The instance.
        name: String,
        /// The other app.
        app: String,
    },
    /// It does not run, so nothing says that it is any good.
    #[error("instance {name} does not run; what is taken over has to serve, so start it first")]
    NotRunning {
        /// The instance.
        name: String,
    },
    /// There are fewer places than instances, and adoption is no way to delete any.
    #[error("`replicas` is {replicas}, which leaves no place for {}; raise it, or import without", surplus.join(" and "))]
    TooMany {
        /// As declared.
        replicas: u32,
        /// The ones beyond it.
        surplus: Vec<String>,
    },
    /// A fingerprint is declared, and it is not the one of its image.
    #[error(
        "instance {name} was made from the image {seen}, and the fingerprint {declared} is declared; declare the image that it has, change it in a later apply"
    )]
    OtherImage {
        /// The instance.
        name: String,
        /// The fingerprint of its image.
        seen: String,
        /// As declared.
        declared: String,
    },
    /// An app with one workload per machine has one place on each.
    #[error("instances {} and {} are both on {machine}, and the app runs once per machine", names[0], names[1])]
    SameMachine {
        /// The machine.
        machine: String,
        /// Both.
        names: [String; 2],
    },
}
