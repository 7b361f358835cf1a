//! The OpenTofu provider `homelab`: addresses, machines, clusters and apps on Incus.
//!
//! The walk of an apply begins here and goes in one direction:
//!
//! ```text
//! tfplugin (the wire) ──> provider.rs ──> resources/*.rs ──┬─> domain      decides
//!                           │                │             └─> reconcile   observes, records, executes ──> incus
//!                           │                └─> diagnose.rs               the only way out for errors
//!                           └─> connection.rs, session.rs                  which cluster, opened at first use
//! ```

mod connection;
mod provider;
mod session;

mod data_sources;
mod ephemeral;
mod functions;
mod resources;

mod given;
mod keys;
mod names;
mod owner;

mod diagnose;

#[cfg(test)]
mod docs;

use std::process::ExitCode;

use tfplugin::ServeOptions;

/// Where configurations find it: `source = "homelab-ops/homelab"`, with OpenTofu's own registry before it.
const ADDRESS: &str = "registry.opentofu.org/homelab-ops/homelab";

fn main() -> ExitCode {
    let options = ServeOptions { address: ADDRESS };
    tfplugin::serve_with(provider::Homelab::default(), options)
}
