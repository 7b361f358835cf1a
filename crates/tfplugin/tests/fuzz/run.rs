//! The run: makes inputs from a seed, tries them, and keeps those that led to something new as material for others.
//!
//! What is new is judged by what came of it: the decoders have a message for each way to refuse, so a message not seen
//! before is a branch not taken before, and a value of a new shape is one too. That is what guides the run where there
//! is no instrumentation. Nothing depends on the clock, so that a seed and a number of inputs say it all.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use tfplugin::Type;

use crate::generate;
use crate::input::{Input, Target};
use crate::mutate::{LONGEST, mutate};
use crate::properties::{Outcome, check};
use crate::rng::Rng;
use crate::stored::SHAPE;

/// How many inputs are kept at most; later ones take the place of earlier ones.
const KEPT: usize = 4_096;

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// By target: accepted and refused.
    pub(crate) counts: [(u64, u64); Target::ALL.len()],
    /// Outcomes that were unlike all before.
    pub(crate) novel: usize,
    /// The most memory that a decoder asked for.
    pub(crate) memory: usize,
    /// The longest time that one input took.
    pub(crate) slowest: Duration,
    /// Which one that was.
    pub(crate) slowest_input: String,
    /// The time of the whole.
    pub(crate) time: Duration,
}

/// Tries so many inputs. The one being tried is in the file, so that one which ends the process is there afterwards.
///
/// # Errors
///
/// At the first input for which something does not hold; the text says what, and has the smallest input found.
pub(crate) fn run(seed: u64, inputs: u64, current: &File) -> Result<Report, String> {
    let begun = Instant::now();
    let (mut rng, mut report) = (Rng::new(seed), Report::default());
    let (mut kept, mut seen): (Vec<Input>, _) = (Vec::new(), HashSet::new());
    for _ in 0..inputs {
        let input = next(&mut rng, &kept);
        let line = format!("{}\n", input.to_line());
        current
            .write_all_at(line.as_bytes(), 0)
            .map_err(|error| error.to_string())?;
        let outcome = attempt(&input).map_err(|problem| {
            let (input, problem) = smaller(input.clone(), problem);
            format!("{problem}\nseed {seed}, input: {}", input.to_line())
        })?;
        let (accepted, refused) = &mut report.counts[input.target as usize];
        *(if outcome.refused.is_some() {
            refused
        } else {
            accepted
        }) += 1;
        report.memory = report.memory.max(outcome.memory);
        if outcome.time > report.slowest {
            (report.slowest, report.slowest_input) = (outcome.time, input.to_line());
        }
        if seen.len() < 1 << 20 && seen.insert(signature(&input, &outcome)) {
            report.novel += 1;
            // Large ones cost time, and say little that a small one does not.
            if input.bytes.len() > 256 && !rng.one_in(16) {
                continue;
            }
            if kept.len() < KEPT {
                kept.push(input);
            } else {
                kept[rng.below(KEPT)] = input;
            }
        }
    }
    report.time = begun.elapsed();
    Ok(report)
}

/// Tries one input; a panic is a failure like any other.
pub(crate) fn attempt(input: &Input) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| check(input))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("it panicked: {}", text.unwrap_or_default()))
    })
}

fn signature(input: &Input, outcome: &Outcome) -> (Target, u64, String) {
    let message = outcome.refused.as_deref().unwrap_or_default();
    // Where it was is nothing new, and neither is how many there were.
    let (before, behind) = match (message.find('`'), message.rfind('`')) {
        (Some(begin), Some(end)) => (&message[..begin], &message[end..]),
        _ => (message, ""),
    };
    let mut message = format!("{before}{behind}");
    message.retain(|character| !character.is_ascii_digit());
    (input.target, outcome.shape, message)
}

fn next(rng: &mut Rng, kept: &[Input]) -> Input {
    let mut input = match kept.get(rng.below(kept.len() * 2)) {
        Some(input) => input.clone(),
        None => fresh(rng),
    };
    // A value of another type than the one that is expected.
    if input.target.takes_type() && rng.one_in(20) {
        input.of = generate::a_type(rng, 3);
    }
    let times = rng.small(6);
    for _ in 0..times {
        let other = kept
            .get(rng.below(kept.len()))
            .map(|other| &other.bytes[..]);
        mutate(rng, &mut input.bytes, other.unwrap_or_default());
    }
    input
}

/// A new input, whole and well-formed but for a few that are noise.
fn fresh(rng: &mut Rng) -> Input {
    let target = match rng.below(12) {
        0..4 => Target::Msgpack,
        4..7 => Target::Json,
        7 => Target::Stored,
        8 => Target::Older,
        9 => Target::Type,
        10 => Target::Number,
        _ => Target::Duration,
    };
    let of = match target {
        Target::Msgpack | Target::Json => {
            let depth = rng.below(4);
            generate::a_type(rng, depth)
        }
        // Nothing else is told a type.
        _ => Type::Dynamic,
    };
    let mut bytes = Vec::new();
    if target.takes_type() && rng.one_in(100) {
        let (of, packed, text) = generate::deep(rng);
        let bytes = if target == Target::Msgpack {
            packed
        } else {
            text
        };
        return Input { target, of, bytes };
    }
    if target == Target::Msgpack && rng.one_in(1_000) {
        let levels = 1 + rng.below(10);
        let of = generate::bushy(rng, levels, &mut bytes);
        return Input { target, of, bytes };
    }
    match target {
        _ if rng.one_in(30) => bytes.extend((0..rng.small(200)).map(|_| rng.byte())),
        Target::Msgpack => generate::msgpack(rng, &of, 4, &mut bytes),
        Target::Json | Target::Stored | Target::Older => {
            let of = if target == Target::Json {
                &of
            } else {
                &SHAPE.1
            };
            let mut text = String::new();
            generate::json(rng, of, 4, &mut text);
            bytes = text.into_bytes();
        }
        Target::Type => bytes = generate::a_type(rng, 5).to_json().to_string().into_bytes(),
        Target::Number => bytes = generate::number(rng).into_bytes(),
        Target::Duration => bytes = generate::duration(rng).into_bytes(),
    }
    bytes.truncate(LONGEST);
    Input { target, of, bytes }
}

/// Leaves out whatever can be left out while the input still fails.
fn smaller(mut input: Input, mut problem: String) -> (Input, String) {
    let mut part = input.bytes.len().next_power_of_two();
    while part > 0 {
        let mut at = 0;
        while at < input.bytes.len() {
            let mut without = input.clone();
            without.bytes.drain(at..(at + part).min(input.bytes.len()));
            match attempt(&without) {
                Err(still) => (input, problem) = (without, still),
                Ok(_) => at += part,
            }
        }
        part /= 2;
    }
    (input, problem)
}
