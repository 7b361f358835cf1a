//! Secrets: values that pass through to workloads and are shown to nobody.
//!
//! Before: write-only inputs of an app, or what the fleet store kept of them. After: `app/render.rs` puts them where the
//! workload finds them. No `Debug`, `Display` or `Serialize` of a value exists here: what has to write one down calls
//! [`Secret::expose`], and can be found by that.

use core::fmt;
use std::collections::BTreeMap;

use crate::place::Place;

/// A value that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `value` from being shown.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for whoever sends or stores it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Not the value, nor its length.
impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

/// What stands where a value would.
pub const HIDDEN: &str = "(secret)";

/// Secrets by name.
pub type Named = BTreeMap<String, Secret>;

/// The secrets of one app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// What every workload gets.
    pub shared: Named,
    /// What the workload on one machine gets for itself, by machine.
    pub machines: BTreeMap<String, Named>,
}

impl Secrets {
    /// What the workload at `place` gets, by name; what a machine has for itself outranks what all share.
    pub fn at(&self, place: &Place) -> Named {
        let mut named = self.shared.clone();
        named.extend(self.of_machine(place).cloned().unwrap_or_default());
        named
    }

    /// What the workload at `place` gets for itself.
    pub fn of_machine(&self, place: &Place) -> Option<&Named> {
        self.machines.get(place.machine()?)
    }
}
