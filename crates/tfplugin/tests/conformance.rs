//! The toy provider keeps to the host's rules, and one that breaks any of them is found.
//!
//! The rules and the cases are in `src/testing/conformance.rs`; the provider that breaks one at a time is
//! `examples/faulty`, a man in the middle that damages the toy's answers.

#![allow(
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

#[path = "conformance/faults.rs"]
mod faults;

use tfplugin::Value;
use tfplugin::testing::{Conformance, Launch};

/// A run against a toy whose boxes are in this folder.
fn conformance(launch: Launch, folder: &tempfile::TempDir) -> Conformance {
    let durations = ["0s", "10ms", "0.01s", "1h30m", "90m"];
    Conformance::new(launch)
        .configured(Value::object([("folder", folder.path().to_str().into())]))
        .hint("toy_box", "name", ["a", "b", "Box C"])
        .hint("toy_box", "work_time", ["0s", "5ms", "0.005s"])
        .hint("toy_box", "lid.period", durations)
        .hint("toy_box", "timeouts.create", ["1m", "60s"])
        .hint("toy_box", "timeouts.update", ["1m", "60s"])
        .hint("toy_key", "lasts", durations)
        .hint("label", "room", ["kitchen", ""])
}

#[tokio::test]
async fn the_toy_keeps_to_every_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Launch::new(env!("CARGO_BIN_EXE_tfplugin-toy"));
    let run = conformance(launch, &folder).minimum_share(0.6).run();
    let report = run.await.expect("a running toy");
    assert!(report.is_sound(), "{report}");
    let boxes = report.tally("toy_box").expect("boxes");
    assert_eq!(boxes.cases, 256);
    assert!(boxes.updated > 50 && boxes.replaced > 20, "{report}");
    let all = ["toy_box", "toy_count", "toy_key", "label", "provider"];
    for name in all {
        let tally = report.tally(name).expect(name);
        assert!(tally.planned > 60, "{report}");
    }
    assert_eq!(report.tallies.len(), all.len());
    eprintln!("{report}");
}
