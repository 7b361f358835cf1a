//! The command line of the simulator: runs the stories of seeds, and prints the first one that fails.
//!
//! Before: `make sim SEEDS=0..500`. After: `trace.rs`.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::ops::Range;
use std::process::ExitCode;

use simulator::trace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let seeds = match words.as_slice() {
        ["--seeds", seeds] => parse(seeds),
        _ => None,
    };
    let Some(seeds) = seeds else {
        eprintln!("usage: simulator --seeds FROM..TO");
        return ExitCode::from(64);
    };
    for seed in seeds.clone() {
        if let Err(failure) = trace::run(seed, None) {
            println!("{failure}");
            return ExitCode::FAILURE;
        }
    }
    println!(
        "{} stories, {}..{}, all invariants hold",
        seeds.end - seeds.start,
        seeds.start,
        seeds.end
    );
    ExitCode::SUCCESS
}

fn parse(seeds: &str) -> Option<Range<u64>> {
    let (from, to) = seeds.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to).then_some(from..to)
}
