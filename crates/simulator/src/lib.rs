//! A fleet in memory with executors on it, deterministic from a seed, driven event by event, judged after each.
//!
//! ```text
//! seed ──> event.rs ──> world.rs ──┬─> executor.rs ──> domain::rollout    what `reconcile` does, a request at a time
//!                                  ├─> fleet.rs                           Incus and the fleet store, as measured
//!                                  └─> invariants.rs, ledger.rs           what must hold, and what has really happened
//!          trace.rs <── a story that fails, made short
//! ```
//!
//! Here is what no lab can show: two executors that meet between any two requests, records that get lost, clocks that
//! jump. Deliberately not here: anything that a real cluster was not seen to do.
//!
//! Beside it, in `server.rs`, stands an Incus in memory behind a socket, for the real provider under the real `tofu`: for
//! ten thousand workloads, and what else no lab has. It shares nothing with the fleet, whose requests are function calls.

pub mod event;
pub mod executor;
pub mod fault;
pub mod fleet;
pub mod invariants;
pub mod ledger;
pub mod random;
pub mod server;
pub mod trace;
pub mod world;
