//! The server, asked over its socket: by hand, and by the product's own client.
//!
//! `asking.rs` starts one and speaks plain HTTP. `exchanges.rs` sends it what a real Incus is sent as well (the scenarios
//! of the acceptance suite do that); the others show what no list of single requests can.

mod asking;
mod client;
mod exchanges;
mod races;
mod scale;
