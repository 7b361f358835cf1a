//! The OpenTofu plugin protocol, version 6: write a provider in Rust.
//!
//! A provider is a value that implements [`Provider`]; the kinds of things it manages implement [`Resource`], what it
//! only looks up implements [`DataSource`], what exists only while it is used [`EphemeralResource`], what expressions can
//! compute [`Function`]. [`serve`] makes a process of it that OpenTofu starts, talks to and ends.
//!
//! # The smallest provider
//!
//! It keeps greetings, and a greeting is a file. This is all of it; what it leaves out has a default. Beside this crate it
//! needs `async-trait`, and no runtime: [`serve`] brings one.
//!
//! ```no_run
//! use std::io::ErrorKind;
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use tfplugin::{
//!     Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, Provider, ReadRequest, ReadState,
//!     Resource, Schema, UpdateRequest, Value,
//! };
//!
//! struct Hello;
//!
//! #[async_trait]
//! impl Provider for Hello {
//!     fn schema(&self) -> Schema {
//!         Schema::new(0, "Keeps greetings.")
//!     }
//!     async fn configure(&self, _config: Value, _call: &Call) -> Diagnostics {
//!         Diagnostics::new()
//!     }
//!     fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
//!         vec![("hello_greeting", Arc::new(Greeting))]
//!     }
//! }
//!
//! struct Greeting;
//!
//! /// Both creating and updating write the file. Null says that there is no object, so nothing is stored of a failure.
//! fn write(planned: Value, prior: Value) -> Applied {
//!     let path = planned.attr("path").as_str().unwrap_or_default();
//!     match std::fs::write(path, planned.attr("text").as_str().unwrap_or_default()) {
//!         Ok(()) => Applied::new(planned),
//!         Err(error) => {
//!             let told = Diagnostic::error("The greeting could not be written").detail(error.to_string());
//!             Applied::failed(prior, told.at("path"))
//!         }
//!     }
//! }
//!
//! #[async_trait]
//! impl Resource for Greeting {
//!     fn schema(&self) -> Schema {
//!         Schema::new(0, "A greeting in a file.").attributes([
//!             // The host replaces the object when this changes, so `update` never sees two paths.
//!             Attribute::string("path").required().replace().describe("The file."),
//!             Attribute::string("text").optional_computed().default("Hello!").describe("What it says."),
//!         ])
//!     }
//!     async fn create(&self, request: CreateRequest, _call: &Call) -> Applied {
//!         write(request.planned, Value::Null)
//!     }
//!     async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
//!         let ReadRequest { current: mut state, private } = request;
//!         let mut diagnostics = Diagnostics::new();
//!         match std::fs::read_to_string(state.attr("path").as_str().unwrap_or_default()) {
//!             Ok(text) => state.set_attr("text", text),
//!             // Without the file there is no object any more, and the host plans to make it again.
//!             Err(error) if error.kind() == ErrorKind::NotFound => state = Value::Null,
//!             // One that cannot be read is still there, and the host keeps the state that it has.
//!             Err(error) => diagnostics.push(Diagnostic::error("The greeting is unreadable").detail(error.to_string())),
//!         }
//!         ReadState { state, private, diagnostics }
//!     }
//!     async fn update(&self, request: UpdateRequest, _call: &Call) -> Applied {
//!         write(request.planned, request.prior)
//!     }
//!     async fn delete(&self, request: DeleteRequest, _call: &Call) -> Applied {
//!         match std::fs::remove_file(request.prior.attr("path").as_str().unwrap_or_default()) {
//!             Err(error) if error.kind() != ErrorKind::NotFound => {
//!                 let told = Diagnostic::error("The greeting could not be removed").detail(error.to_string());
//!                 Applied::failed(request.prior, told)
//!             }
//!             _ => Applied::new(Value::Null),
//!         }
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     tfplugin::serve(Hello)
//! }
//! ```
//!
//! The binary `tfplugin-toy` (in `examples/toy`) is a grown-up one, with a file for each thing that can be registered; its
//! first page says how to read it.
//!
//! # Trying it
//!
//! Name the program `terraform-provider-hello`, and tell OpenTofu in a file, to which `TF_CLI_CONFIG_FILE` points, where
//! its folder is. No `tofu init` is needed then.
//!
//! ```hcl
//! provider_installation {
//!   dev_overrides {
//!     "example/hello" = "/the/folder/of/the/program"
//!   }
//!   direct {}
//! }
//! ```
//!
//! With [`serve_with`] the program also runs under a debugger. Without any OpenTofu, `testing` (a feature) starts and
//! calls it as a host does; `testing::Conformance` asks everything that it registers with generated cases and names each
//! rule of the host that is broken.
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
//! # What a host insists on
//!
//! A provider that breaks one of these is reported to its user as broken. The crate sees to most of it, and what it
//! cannot know is the author's:
//!
//! - What a plan says is known has to come out so: after `create` and `update` return the planned state with the unknown
//!   values filled in. What changes along with something, set in [`Resource::plan`], has to be made unknown there.
//! - The user's spelling stays. What the world writes otherwise and means the same goes through
//!   [`Attribute::same_meaning`].
//! - A plan is asked for twice, and has to be the same; it looks at nothing but its argument.
//! - Any value may be unknown in `validate`, in `plan` and in the provider's configuration, and known later.
//! - What was half made is returned with the error. What is returned as null is forgotten, and nobody will remove it.
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
