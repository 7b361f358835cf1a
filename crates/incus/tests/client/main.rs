//! The client against servers that misbehave in every way that was seen of real ones.
//!
//! `server.rs` is a server inside of the test: a function decides what it does with a request, and
//! every request that reached it is written down. Over https it shows certificates that are made on
//! the spot. Nothing here needs Incus.

mod certificates;
mod endpoints;
mod events;
mod exec;
mod https;
mod operations;
mod remotes;
mod server;
mod trust;
