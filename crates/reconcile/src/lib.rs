//! Observe, let `domain` decide, record, execute: the middle of the walk, shared by everything that reconciles.
//!
//! ```text
//! provider/src/resources/app.rs ──> rollout.rs ──┬─> observe.rs, health.rs   what is
//!                                                ├─> domain::rollout         what to do (pure)
//!                                                ├─> store.rs                recorded, before it is done
//!                                                └─> execute.rs              done: one arm per step
//! ```
//!
//! After this crate: `incus`, one request each. Deliberately not here: any choice between steps (`domain`), any
//! knowledge of OpenTofu (`provider`), any wire format (`incus`).

pub mod cluster;
pub mod error;
pub mod member;
pub mod rollout;

pub mod adoption;
pub mod image;
pub mod observe;
pub mod preflight;
pub mod store;

pub mod clock;
mod execute;
mod health;
mod wake;
