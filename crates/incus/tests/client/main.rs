//! The client against servers that misbehave in every way that was seen of real ones.
//!
//! `server.rs` is a server inside of the test: a function decides what it does with a request, and
//! every request that reached it is written down. Nothing here needs Incus.

mod endpoints;
mod events;
mod exec;
mod operations;
mod server;
