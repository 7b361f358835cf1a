//! Hiding: what a workload printed, without the secrets that it was given.
//!
//! Before: an output or an error of a workload. After: the work record, the state and diagnostics. A program may print a
//! secret in other letters than it got it, encoded or in parts, and nothing here would know.

use super::{HIDDEN, Secrets};

/// A shorter value is no secret to speak of, and would make holes into every text.
const SHORTEST: usize = 4;

/// Lines of a longer value are looked for one by one, if they are so long that they stand nowhere by chance.
const SHORTEST_LINE: usize = 16;

/// Replaces every value of at least four characters, wherever it stands.
pub fn hide(text: &str, secrets: &Secrets) -> String {
    let values = || secrets.values().map(super::Secret::expose);
    let lines = values()
        .filter(|value| value.contains('\n'))
        .flat_map(str::lines)
        .filter(|line| line.chars().count() >= SHORTEST_LINE && !line.starts_with("-----"));
    let mut hidden: Vec<&str> = values()
        .filter(|value| value.chars().count() >= SHORTEST)
        .chain(lines)
        .collect();
    // The longest first: one value may be a part of another.
    hidden.sort_by_key(|value| core::cmp::Reverse(value.len()));
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        match hidden.iter().find(|value| rest.starts_with(**value)) {
            Some(value) => {
                told.push_str(HIDDEN);
                rest = &rest[value.len()..];
            }
            None => {
                told.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    told
}
