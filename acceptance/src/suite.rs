//! `make test`: formatting, lints, unit tests and scenarios, quiet as long as all is well, and one count at the end.
//!
//! cargo does the first three as a child; the scenarios run here.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow};

use crate::interrupt;
use crate::lab;
use crate::process::said;
use crate::scenario::{self, Options, Tally};
use crate::scenarios;
use crate::tofu;

/// Skips that are no fault: a machine may well have no second host of providers.
const ALLOWED_SKIP: &str = "terraform";

const FORMAT: &[&str] = &["fmt", "--all", "--check"];

const LINTS: &[&str] = &[
    "clippy",
    "--workspace",
    "--all-targets",
    "--quiet",
    "--",
    "--deny",
    "warnings",
];

const TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast", "--quiet"];

/// Runs everything; the count of all tests is alone on the last line.
pub fn run() -> Result<u8> {
    interrupt::listen()?;
    // What is missing should show before minutes of work, not after.
    lab::check_machine()?;
    let mut tally = Tally::default();
    for arguments in [FORMAT, LINTS] {
        tally.add(&cargo(arguments)?);
    }
    // Some tests and the last step of a release build keep one processor busy for minutes.
    let tested = thread::scope(|scope| {
        let building = scope.spawn(tofu::prepare);
        let tested = cargo(TESTS);
        // What cannot be built fails here and not in each scenario.
        building.join().map_err(|_| anyhow!("a build panicked"))??;
        tested
    })?;
    tally.add(&tested);
    let options = Options::parse(&["--strict", "--allow-skip", ALLOWED_SKIP, "--quiet"])?;
    let held = scenario::run(&scenarios::all(), &options)?;
    tally.add(&held);
    println!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    );
    Ok(tally.exit_code(options.strict))
}

fn cargo(arguments: &[&str]) -> Result<Tally> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(tofu::repository())
        .env("CARGO_TERM_COLOR", "never")
        // While one works a quarter will do.
        .env("CONFORMANCE_CASES", "256")
        // A hundred stories are told on every change, more of them here.
        .env("SIM_SEEDS", "500")
        // What failed is told by its message; a backtrace through the test harness adds nothing.
        .env("RUST_BACKTRACE", "0");
    let output = command
        .output()
        .with_context(|| format!("running cargo {}", arguments[0]))?;
    let mut tally = count(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        println!("cargo {} failed:\n{}", arguments.join(" "), said(&output));
        // What did not even compile has no failing test that could be counted.
        tally.failed = tally.failed.max(1);
    }
    Ok(tally)
}

/// Adds up the lines with which test programs end.
fn count(output: &str) -> Tally {
    let mut tally = Tally::default();
    for line in output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
    {
        let number_of = |word: &str| -> u64 {
            let part = line
                .split([';', '.'])
                .find_map(|part| part.trim().strip_suffix(word));
            part.and_then(|number| number.trim().parse().ok())
                .unwrap_or(0)
        };
        tally.passed += number_of("passed");
        tally.failed += number_of("failed");
        tally.skipped += number_of("ignored");
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_test_programs_are_added_up() {
        let output = "running 3 tests\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let expected = Tally {
            passed: 15,
            failed: 2,
            skipped: 1,
            refused_skips: 0,
        };
        assert_eq!(count(output), expected);
    }
}
