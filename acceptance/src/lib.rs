//! The proof that the product works: real OpenTofu, real Incus, and an observer that shares no code with either.
//!
//! ```text
//! main.rs          one binary: lab, scenarios, demo, soak, bench, test
//!   lab.rs         real Incus daemons, each in a network namespace (lab/*: members, cluster, images, teardown)
//!   tofu.rs        which OpenTofu runs; workspace.rs: the directory of one scenario, and its plan, apply, destroy
//!   proxy.rs       stands before an Incus socket: records, and kills the process under test at a chosen request
//!   observer.rs    asks Incus what is true, in plain HTTP and JSON (http.rs)
//!   scenario.rs    what a scenario declares about itself, and the runner; scenarios/*: the scenarios
//! ```
//!
//! The product's crates are deliberately not used here: a wrong type of ours must not be able to agree with itself.

pub mod http;
pub mod interrupt;
pub mod lab;
pub mod observer;
pub mod process;
pub mod proxy;
pub mod scenario;
pub mod scenarios;
pub mod tofu;
pub mod workspace;
