//! Given: what a user wrote for one attribute, with OpenTofu's three answers kept apart.
//!
//! Before: `provider/src/resources/*.rs` fills these from the configuration. After: the checks of this crate,
//! which look at what is known and stay silent about the rest.

/// A value that may be absent, or decided only later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Given<T> {
    /// The user did not set it.
    #[default]
    Absent,
    /// It comes from something that does not exist yet; nothing can be said about it now.
    Unknown,
    /// This is it.
    Known(T),
}

impl<T> Given<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Given::Known(value) => Some(value),
            Given::Absent | Given::Unknown => None,
        }
    }

    /// Whether it will only be decided later.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Given::Unknown)
    }

    /// Whether the user set it, even if its value comes later.
    pub fn is_set(&self) -> bool {
        !matches!(self, Given::Absent)
    }

    /// This, or what `other` gives if the user did not set it.
    pub fn or(self, other: impl FnOnce() -> Given<T>) -> Given<T> {
        match self {
            Given::Absent => other(),
            set => set,
        }
    }

    /// The value changed by `change`, if it is known.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Given<U> {
        match self {
            Given::Absent => Given::Absent,
            Given::Unknown => Given::Unknown,
            Given::Known(value) => Given::Known(change(value)),
        }
    }
}
