//! The Incus REST API, as far as the fleet needs it.
//!
//! Above this crate stands whoever wants something of Incus; below it is a socket. A walk through
//! it goes in one direction:
//!
//! ```text
//! instance.rs, profile.rs, …   a plain function builds a Request<T>: a value that can be printed
//!   └─ client.rs               chooses an endpoint, sends, follows operations to their end
//!        └─ transport.rs       connects, and moves the bytes
//!             └─ tls.rs        over https: shows who we are (identity.rs), and has whoever answers
//!                              judged (trust.rs) by his certificate's fingerprint (certificate.rs)
//! envelope.rs, operation.rs    what came back, read by total functions
//! event.rs                     the stream of events, over the same transport
//! exec.rs                      one effect made of several requests
//! remote.rs                    a server as the user's own Incus client knows it
//! service.rs                   what runs in an instance, asked at its own address
//! image_server.rs              what an image's name stands for on a server of images
//! ```
//!
//! Only `client.rs` and `transport.rs` perform I/O, and `service.rs` and `image_server/fetch.rs`, which
//! ask no server of ours; `async` marks every effect. This crate imports nothing else of this workspace: it knows no apps,
//! no members of ours and no plans.

pub mod request;

pub mod certificate_store;
pub mod cluster;
pub mod file;
pub mod image;
pub mod image_server;
pub mod instance;
pub mod network;
pub mod os;
pub mod profile;
pub mod project;
pub mod server;
pub mod storage;

pub mod certificate;
pub mod client;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod exec;
pub mod identity;
pub mod operation;
pub mod remote;
pub mod service;
pub mod trust;

mod envelope;
mod lenient;
mod tls;
mod transport;

pub use certificate::{Fingerprint, Lapse};
pub use client::{Client, Limits, Outcome};
pub use endpoint::{Endpoint, EndpointError};
pub use error::Error;
pub use event::{Event, EventFilter, EventStream};
pub use identity::{Identity, IdentityError};
pub use lenient::Devices;
pub use operation::Operation;
pub use remote::{Folders, Remote, RemoteError};
pub use request::Request;
pub use trust::{Distrust, Notice, Trust};
