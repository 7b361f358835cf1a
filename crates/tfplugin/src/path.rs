//! Where in a configuration or a state something is: `workloads["a"].addresses[0]`.
//!
//! Diagnostics and replacements name their place with it. Paths into sets do not exist: a set's elements have no names.

use std::fmt;

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep {
    /// Into an attribute of an object.
    Attribute(String),
    /// Into an element of a map.
    Key(String),
    /// Into an element of a list.
    Index(i64),
}

/// The way from the root of an object to a value in it.
///
/// ```
/// use tfplugin::Path;
/// let path = Path::new("claims").key("node-a");
/// assert_eq!(path.to_string(), r#"claims["node-a"]"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The steps, outermost first.
    pub steps: Vec<PathStep>,
}

impl Path {
    /// The whole object.
    pub fn root() -> Path {
        Path::default()
    }

    /// An attribute at the top: the same as `Path::root().attr(name)`.
    pub fn new(name: impl Into<String>) -> Path {
        Path::root().attr(name)
    }

    /// Goes on into an attribute.
    pub fn attr(self, name: impl Into<String>) -> Path {
        self.step(PathStep::Attribute(name.into()))
    }

    /// Goes on into a map's element.
    pub fn key(self, key: impl Into<String>) -> Path {
        self.step(PathStep::Key(key.into()))
    }

    /// Goes on into a list's element.
    pub fn index(self, index: i64) -> Path {
        self.step(PathStep::Index(index))
    }

    fn step(mut self, step: PathStep) -> Path {
        self.steps.push(step);
        self
    }
}

impl From<&str> for Path {
    fn from(name: &str) -> Path {
        Path::new(name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps.iter().enumerate() {
            match step {
                PathStep::Attribute(name) if position == 0 => formatter.write_str(name)?,
                PathStep::Attribute(name) => write!(formatter, ".{name}")?,
                PathStep::Key(key) => write!(formatter, "[{key:?}]")?,
                PathStep::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_in_the_configuration() {
        assert_eq!(Path::root().to_string(), "");
        assert_eq!(Path::new("image").attr("alias").to_string(), "image.alias");
        assert_eq!(
            Path::new("claims").key("a").index(0).attr("x").to_string(),
            r#"claims["a"][0].x"#
        );
    }
}
