//! A whole provider to begin from: it keeps boxes, and a box is a file in a folder.
//!
//! `main` is one call; the provider is `provider.rs`, its resource `boxes.rs`, its data source `count.rs`. The crate's
//! own tests run it over a real socket (`tests/socket.rs`), and some of its oddities are there for them.

mod boxes;
mod count;
mod provider;

use std::process::ExitCode;

fn main() -> ExitCode {
    tfplugin::serve(provider::Toy::default())
}
