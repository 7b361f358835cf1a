//! Issues: what is wrong with a configuration, said once and for every caller.
//!
//! Before: the checks of this crate (`network`, `app`, …) find them, all at once rather than the first only.
//! After: `provider/src/diagnose.rs` turns each into a diagnostic at its attribute.
//! Not here: severities and source positions. An issue is always a reason to refuse the whole configuration.

use core::fmt;

/// One reason to refuse a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where it is, from the resource's root; empty if it belongs to the resource as a whole.
    pub path: Vec<Step>,
    /// One sentence on what is wrong, without a full stop.
    pub summary: String,
    /// What was seen, what was expected, and what to change.
    pub detail: String,
}

/// One step from a value into a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into an attribute that the schema names.
    Attribute(&'static str),
    /// Into the element of a map, by the key that the user chose.
    Key(String),
    /// Into the element of a list, counted from 0.
    Index(usize),
}

impl Issue {
    /// An issue at `path`.
    pub fn new(
        path: impl Into<Vec<Step>>,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            summary: summary.into(),
            detail: detail.into(),
        }
    }
}

/// The path of a top-level attribute.
pub fn attribute(name: &'static str) -> Vec<Step> {
    vec![Step::Attribute(name)]
}

/// The path of one element of a top-level map.
pub fn element(name: &'static str, key: &str) -> Vec<Step> {
    vec![Step::Attribute(name), Step::Key(key.to_owned())]
}

/// The path of one element of a top-level list.
pub fn item(name: &'static str, index: usize) -> Vec<Step> {
    vec![Step::Attribute(name), Step::Index(index)]
}

/// Prints `claims["a"]: summary. detail`, for tests and for places that have no paths of their own.
impl fmt::Display for Issue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.path.iter().enumerate() {
            match step {
                Step::Attribute(name) if position == 0 => write!(formatter, "{name}")?,
                Step::Attribute(name) => write!(formatter, ".{name}")?,
                Step::Key(key) => write!(formatter, "[{key:?}]")?,
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(formatter, "{separator}{}. {}", self.summary, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_prints_its_path_as_the_user_would_write_it() {
        let nested = vec![
            Step::Attribute("health"),
            Step::Attribute("check"),
            Step::Index(1),
        ];
        for (path, expected) in [
            (element("claims", "a"), "claims[\"a\"]: No. Change it."),
            (item("dns", 0), "dns[0]: No. Change it."),
            (nested, "health.check[1]: No. Change it."),
            (vec![], "No. Change it."),
        ] {
            assert_eq!(Issue::new(path, "No", "Change it.").to_string(), expected);
        }
    }
}
