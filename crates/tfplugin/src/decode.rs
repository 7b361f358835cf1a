//! What the two decoders (`msgpack.rs`, `json.rs`) have in common: their error and their limit.
//!
//! Both are total: whatever the bytes are, they answer with a value or an error, without a panic, without memory that
//! the bytes do not pay for, and without a recursion that the bytes could drive.

use std::cell::Cell;
use std::fmt;

use crate::{Path, PathStep};

/// How deep values may be nested. Real schemas stay below ten.
pub(crate) const MAXIMUM_DEPTH: usize = 100;

/// How many values there may be in one, all levels together. Real ones have thousands. A null is one byte on the wire and
/// many in memory, so a message that is full of them would be larger than the machine.
pub(crate) const MAXIMUM_VALUES: usize = 1 << 20;

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

/// Where a decoder is: how deep, and after how many values.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    depth: usize,
    values: &'a Cell<usize>,
}

impl Place<'_> {
    pub(crate) fn outermost(values: &Cell<usize>) -> Place<'_> {
        Place { depth: 0, values }
    }

    /// Goes one level down to the next value, if that is still allowed.
    pub(crate) fn next(self) -> Result<Self, DecodeError> {
        if self.depth >= MAXIMUM_DEPTH {
            let problem = format!("it is nested deeper than {MAXIMUM_DEPTH} levels");
            return Err(DecodeError::new(problem));
        }
        self.values.update(|values| values + 1);
        if self.values.get() > MAXIMUM_VALUES {
            let problem = format!("it holds more than {MAXIMUM_VALUES} values");
            return Err(DecodeError::new(problem));
        }
        Ok(Place {
            depth: self.depth + 1,
            ..self
        })
    }
}
