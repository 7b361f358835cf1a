//! Members on IncusOS, which no lab here has: real passes against servers inside of the test that answer as it does.
//!
//! ```text
//! absence.rs, seeding.rs, joining.rs, repairing.rs, leaving.rs   what is shown
//!   └─> fleet.rs       machines with an https server each, and passes against them
//!         ├─> listener.rs     TLS and HTTP, nothing of Incus
//!         ├─> answers.rs, documents.rs   which request is which; whatever is not known fails the test
//!         └─> world.rs, joins.rs, entries.rs   what the machines and their cluster are, and become
//! ```
//!
//! Plain Incus is shown on real servers, in `acceptance/`.

mod absence;
mod answers;
mod documents;
mod entries;
mod fleet;
mod joining;
mod joins;
mod leaving;
mod listener;
mod repairing;
mod seeding;
mod world;
