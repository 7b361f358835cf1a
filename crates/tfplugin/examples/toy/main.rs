//! A whole provider to begin from: it keeps boxes, and a box is a file in a folder.
//!
//! # How to read it
//!
//! `main` is one call. What follows is one file for each thing that a provider can register, in the order in which an
//! author usually comes to need them:
//!
//! 1. `provider.rs`: the provider block, and how what it configures reaches the others.
//! 2. `boxes.rs`: a resource. Its schema has an attribute of each kind and nesting; then come validation, the plan, the
//!    four operations (slow ones, which can be stopped), import by name and by identity, the upgrade of an older state,
//!    and the move of a state from `toy_crate`, as boxes were called once.
//! 3. `count.rs`: a data source.
//! 4. `keys.rs`: an ephemeral resource. Its value fits the box's write-only `key`, and the two together are how a secret
//!    gets from one system into another without lying in a state on the way.
//! 5. `label.rs`: a function.
//!
//! # How to try it
//!
//! Build it (`cargo build -p tfplugin --bin tfplugin-toy --features testing`), copy `target/debug/tfplugin-toy` as
//! `terraform-provider-toy` into a folder, and name that folder in `dev_overrides` for
//! `registry.opentofu.org/example/toy` (the crate's first page shows how). Make the folder of the boxes: `mkdir /tmp/boxes`.
//! Then this is a configuration, and no `tofu init` is needed:
//!
//! ```hcl
//! terraform {
//!   required_providers {
//!     toy = { source = "registry.opentofu.org/example/toy" }
//!   }
//! }
//! provider "toy" { folder = "/tmp/boxes" }
//! ephemeral "toy_key" "front" {}
//! resource "toy_box" "cups" {
//!   name        = "cups"
//!   note        = provider::toy::label("kitchen", null, "cups", "plates")
//!   key         = ephemeral.toy_key.front.value
//!   key_version = 1
//! }
//! ```
//!
//! Started with `--debug` it prints a line that makes OpenTofu use the running process. The crate's own tests run it over
//! a real socket (`tests/socket.rs`), and some of its oddities are for them; the scenarios in `acceptance` run it under
//! OpenTofu itself.

mod boxes;
mod count;
mod keys;
mod label;
mod provider;

use std::process::ExitCode;

use tfplugin::ServeOptions;

fn main() -> ExitCode {
    let options = ServeOptions {
        address: "registry.opentofu.org/example/toy",
    };
    tfplugin::serve_with(provider::Toy::default(), options)
}
