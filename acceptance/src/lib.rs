//! The proof that the product works: real OpenTofu, real Incus, and an observer that shares no code with either.
//!
//! ```text
//! main.rs          one binary: lab, scenarios, demo, soak, bench, test
//!   lab.rs         real Incus daemons, each in a network namespace (lab/*: members, cluster, images, a registry,
//!                  teardown), and tunnels
//!   tofu.rs        which OpenTofu runs; workspace.rs: the directory of one scenario, and its plan, apply, destroy
//!   pair.rs        a client certificate and its key
//!   proxy.rs       stands before Incus: records, and kills the process under test at a chosen request
//!   observer.rs    asks Incus what is true, in plain HTTP and JSON (http.rs); listener.rs: hears what happens
//!   watch.rs       the same, all the time while something happens
//!   simulator.rs   an Incus in memory, for what the lab cannot show; alike.rs: whether it answers as a real one does
//!   scenario.rs    what a scenario declares about itself, and the runner; scenarios/*: the scenarios
//!   suite.rs       unit tests and scenarios in one count; demo.rs, soak.rs, bench.rs: what else there is to run
//! ```
//!
//! The product's crates are deliberately not used here: a wrong type of ours must not be able to agree with itself.

pub mod alike;
pub mod bench;
pub mod demo;
pub mod http;
pub mod interrupt;
pub mod lab;
pub mod listener;
pub mod observer;
pub mod pair;
pub mod process;
pub mod proxy;
pub mod scenario;
pub mod scenarios;
pub mod simulator;
pub mod soak;
pub mod suite;
pub mod tofu;
pub mod watch;
pub mod workspace;
