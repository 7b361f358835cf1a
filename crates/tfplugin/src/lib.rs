//! The OpenTofu plugin protocol, version 6: write a provider in Rust.
//!
//! A provider is a value that implements [`Provider`]; the kinds of things it manages implement [`Resource`], what it
//! only looks up implements [`DataSource`], what exists only while it is used [`EphemeralResource`], what expressions can
//! compute [`Function`]. [`serve`] makes a process of it that OpenTofu starts, talks to and ends.
//!
//! # The parts, in the order in which one meets them
//!
//! - **Schemas.** [`Schema`] and [`Attribute`] describe what a configuration may hold, and everything else is derived
//!   from them: the wire schema, validation, the plan's rules, documentation. `Schema::check` finds faults; call it
//!   for every schema in a test.
//! - **Values.** [`Value`] is null, unknown or known. Numbers ([`Number`]) are exact, since OpenTofu's are. There is no
//!   mapping onto structs: most of a provider's work is to tell null from unknown from known, and a struct hides that.
//! - **Plans.** The schema's rules come first: defaults, old spellings of the same meaning, unknown values for what will
//!   be computed, replacements. Then [`Resource::plan`] may change the [`Plan`].
//! - **Work.** `create`, `read`, `update` and `delete` are given a [`Call`], which says when to stop. They run in tasks
//!   of their own and are never dropped, so they decide themselves where it is safe to stop.
//! - **Names.** With [`Resource::identity`] an object has a name of its own beside its state, by which it can be imported;
//!   [`Resource::move_state`] takes objects of other kinds over.
//! - **Secrets.** A write-only attribute is in the `config` of create and update and nowhere else. What changes with it has
//!   to be told otherwise: by an ordinary attribute such as `key_version`.
//! - **Diagnostics.** [`Diagnostics`] is how anything is told to the user, with the [`Path`] of the attribute concerned.
//! - **Logs.** [`log`] writes lines that the host shows under `TF_LOG`. A provider never prints.
//!
//! The binary `tfplugin-toy` (in `examples/toy`) is a whole provider to begin from.
//!
//! # The files, in the order of a call
//!
//! ```text
//! serve.rs ── handshake.rs, tls.rs, socket.rs, host.rs      the process
//!    │
//! server.rs ── wire/, kinds.rs, calls.rs, panics.rs         a call: decode, run, encode
//!    │
//! validate.rs  planning.rs  apply.rs  upgrade.rs            the host's rules for an answer
//!    │             │
//!    │         plan_rules.rs
//!    │
//! resource.rs  data_source.rs  ephemeral.rs  function.rs  identity.rs  provider.rs       what an author writes
//! ```
//!
//! Only `server.rs` (with the folder of its name) and `wire/` know the protocol's messages. Nested blocks are deliberately
//! not here. Lists, actions and state stores are not served yet; their messages are in `proto/`.

mod apply;
mod call;
mod calls;
mod conform;
mod data_source;
mod debug;
mod decode;
mod diagnostic;
mod ephemeral;
mod function;
mod handshake;
mod host;
mod identity;
mod json;
mod kinds;
pub mod log;
mod msgpack;
mod number;
mod order;
mod panics;
mod path;
mod plan;
mod plan_rules;
mod planning;
mod provider;
mod reattach;
mod resource;
mod schema;
mod schema_check;
mod serve;
mod server;
mod socket;
#[cfg(feature = "testing")]
pub mod testing;
mod timeouts;
mod tls;
mod types;
mod upgrade;
mod validate;
mod value;
mod wire;

pub use call::Call;
pub use conform::ConformError;
pub use data_source::DataSource;
pub use decode::DecodeError;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use ephemeral::{EphemeralResource, Opened, Renewed};
pub use function::{Function, FunctionError, Parameter, Signature};
pub use identity::{IdentityAttribute, IdentitySchema};
pub use number::{Number, ParseNumberError};
pub use path::{Path, PathStep};
pub use plan::Plan;
pub use provider::Provider;
pub use resource::{
    Applied, CreateRequest, DeleteRequest, ImportRequest, Imported, MoveRequest, Moved,
    ReadRequest, ReadState, Resource, UpdateRequest,
};
pub use schema::{Attribute, Kind, Nesting, Replace, SameMeaning, Schema, Validator};
pub use serve::{ServeOptions, serve, serve_with};
pub use timeouts::{
    GoDuration, ParseDurationError, Timeouts, parse_duration, same_duration, timeouts_attribute,
    validate_duration,
};
pub use types::{ParseTypeError, Type};
pub use value::Value;
