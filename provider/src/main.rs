//! The OpenTofu provider `homelab`: addresses, machines, clusters and apps on Incus.
//!
//! The walk of an apply begins here and goes in one direction:
//!
//! ```text
//! tfplugin (the wire) ──> provider.rs ──> resources/*.rs ──┬─> domain      decides
//!                                            │             └─> reconcile   observes, records, executes ──> incus
//!                                            └─> diagnose.rs               the only way out for errors
//! ```

mod provider;
mod session;

mod resources;

mod diagnose;

#[cfg(test)]
mod docs;

use std::process::ExitCode;

fn main() -> ExitCode {
    tfplugin::serve(provider::Homelab::default())
}
