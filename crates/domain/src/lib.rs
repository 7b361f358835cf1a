//! What is decided, and nothing that happens: the second half of the walk.
//!
//! Before this crate: `provider/src/resources/*.rs` turns what OpenTofu sends into the inputs below,
//! `crates/reconcile` turns what Incus shows into observations. After it: the provider prints what was
//! decided as a plan, `reconcile/src/execute.rs` performs it.
//!
//! Deliberately not here: async, clocks, randomness, files, sockets, JSON of Incus, the plugin protocol.
//! Time, ids and key material come in as arguments (`tests/tidy.rs` holds this crate to it).

pub mod hex;
pub mod issue;

pub mod certificate;
pub mod duration;
pub mod mac;
pub mod name;
pub mod token;

pub mod network;

pub mod given;
pub mod moment;

pub mod machine;
pub mod membership;
pub mod seed;

pub mod adoption;
pub mod app;
pub mod entry;
pub mod fleet;
pub mod heartbeat;
pub mod observation;
pub mod place;
pub mod placement;
pub mod preflight;
pub mod rollout;
pub mod secret;
pub mod status;
pub mod work;
pub mod workload;
