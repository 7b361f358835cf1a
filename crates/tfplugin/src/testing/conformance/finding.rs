//! What was found: a broken rule, where, and how it shows.

use std::fmt;

use super::Rule;
use crate::{Path, Value};

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which one.
    pub rule: Rule,
    /// Where in the configuration or the state.
    pub at: Path,
    /// What was seen, and what had been expected.
    pub seen: String,
    /// The call after which it showed.
    pub step: &'static str,
}

impl Finding {
    pub(super) fn new(rule: Rule, seen: impl Into<String>) -> Finding {
        Finding {
            rule,
            at: Path::root(),
            seen: seen.into(),
            step: "",
        }
    }

    pub(super) fn at(mut self, path: &Path) -> Finding {
        self.at = path.clone();
        self
    }

    /// The call, unless a call further in has named itself.
    pub(super) fn after(mut self, step: &'static str) -> Finding {
        if self.step.is_empty() {
            self.step = step;
        }
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.rule.name())?;
        if self.rule.trap() != 0 {
            write!(formatter, " (trap {})", self.rule.trap())?;
        }
        if !self.at.steps.is_empty() {
            write!(formatter, " at {}", self.at)?;
        }
        if !self.step.is_empty() {
            write!(formatter, ", after {}", self.step)?;
        }
        write!(formatter, ": {} {}", self.rule.sentence(), self.seen)
    }
}

/// A value with what says something: nulls in objects are left out, long texts are cut.
pub(super) fn short(value: &Value) -> String {
    const LONGEST: usize = 700;
    let text = format!("{:?}", without_nulls(value));
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, member)| !member.is_null());
            Value::Object(
                kept.map(|(name, member)| (name.clone(), without_nulls(member)))
                    .collect(),
            )
        }
        Value::Map(members) => {
            let members = members.iter();
            Value::Map(
                members
                    .map(|(key, member)| (key.clone(), without_nulls(member)))
                    .collect(),
            )
        }
        Value::List(elements) => Value::List(elements.iter().map(without_nulls).collect()),
        Value::Set(elements) => Value::Set(elements.iter().map(without_nulls).collect()),
        value => value.clone(),
    }
}
