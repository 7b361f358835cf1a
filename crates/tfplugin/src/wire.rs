//! The messages of the protocol, and how they become this crate's own words and back.
//!
//! Only this module and `server.rs` know them (and the tests' host in `testing/`, which stands on the other side).
//! The messages are generated from `proto/` by `build.rs`.

pub(crate) mod diagnostic;
pub(crate) mod dynamic;
pub(crate) mod ephemeral;
pub(crate) mod function;
pub(crate) mod resource;
pub(crate) mod schema;

#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code, and the part of the protocol that is not served yet"
)]
pub(crate) mod tfplugin6 {
    tonic::include_proto!("tfplugin6");
}

#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
pub(crate) mod go_plugin {
    tonic::include_proto!("plugin");
}
