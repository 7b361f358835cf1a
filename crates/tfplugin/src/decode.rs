//! What the two decoders (`msgpack.rs`, `json.rs`) have in common: their error and their limit.
//!
//! Both are total: whatever the bytes are, they answer with a value or an error, without a panic, without memory that
//! the bytes do not pay for, and without a recursion that the bytes could drive.

use std::fmt;

use crate::{Path, PathStep};

/// How deep values may be nested. Real schemas stay below ten.
pub(crate) const MAXIMUM_DEPTH: usize = 100;

/// Bytes that are no value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// Where in the value it is.
    pub path: Path,
    /// What was expected and what was there. It never shows the value.
    pub problem: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.steps.is_empty() {
            return write!(formatter, "decoding a value: {}", self.problem);
        }
        write!(
            formatter,
            "decoding the value of `{}`: {}",
            self.path, self.problem
        )
    }
}

impl DecodeError {
    pub(crate) fn new(problem: impl Into<String>) -> DecodeError {
        DecodeError {
            path: Path::root(),
            problem: problem.into(),
        }
    }

    /// Puts a step in front: called on the way out, so that successes build no paths.
    pub(crate) fn inside(mut self, step: impl FnOnce() -> PathStep) -> DecodeError {
        self.path.steps.insert(0, step());
        self
    }
}

/// Goes one level down, if that is still allowed.
pub(crate) fn deeper(depth: usize) -> Result<usize, DecodeError> {
    if depth >= MAXIMUM_DEPTH {
        return Err(DecodeError::new(format!(
            "it is nested deeper than {MAXIMUM_DEPTH} levels"
        )));
    }
    Ok(depth + 1)
}
