//! Secrets: values that pass through to workloads and are shown to nobody.
//!
//! Before: write-only inputs of an app, or what the fleet store kept of them. After: `app/render.rs` puts them where the
//! workload finds them. No `Debug`, `Display` or `Serialize` of a value exists here: what has to write one down calls
//! [`Secret::expose`], and can be found by that.
//!
//! ```text
//! declared values ──> secret/settle.rs   which values a revision has, and where they are stored
//! printed text    ──> secret/hide.rs     what may be told of it
//! ```

mod hide;
mod settle;

use core::fmt;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::place::Place;

pub use hide::hide;
pub use settle::{Before, Settled, settle, to_prune};

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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    /// All of them, in no order that tells anything.
    pub fn values(&self) -> impl Iterator<Item = &Secret> {
        let of_machines = self.machines.values().flat_map(BTreeMap::values);
        self.shared.values().chain(of_machines)
    }

    /// With their values, as the fleet store keeps them.
    pub fn to_stored(&self) -> String {
        let named = |named: &Named| -> Value {
            let exposed =
                |(name, secret): (&String, &Secret)| (name.clone(), secret.expose().into());
            Value::Object(named.iter().map(exposed).collect())
        };
        let machines = self.machines.iter();
        let machines: Map<String, Value> = machines
            .map(|(machine, secrets)| (machine.clone(), named(secrets)))
            .collect();
        json!({ "shared": named(&self.shared), "machines": machines }).to_string()
    }

    /// What the fleet store kept; `None` if that cannot be read.
    pub fn from_stored(text: &str) -> Option<Self> {
        type Texts = BTreeMap<String, String>;
        #[derive(serde::Deserialize)]
        struct Stored {
            shared: Texts,
            machines: BTreeMap<String, Texts>,
        }
        let named = |texts: Texts| -> Named {
            let secret = |(name, value)| (name, Secret::new(value));
            texts.into_iter().map(secret).collect()
        };
        // An error of the reader may quote what it read, so it goes no further.
        let stored: Stored = serde_json::from_str(text).ok()?;
        Some(Self {
            shared: named(stored.shared),
            machines: stored
                .machines
                .into_iter()
                .map(|(machine, texts)| (machine, named(texts)))
                .collect(),
        })
    }

    /// What the workload at `place` gets for itself.
    pub fn of_machine(&self, place: &Place) -> Option<&Named> {
        self.machines.get(place.machine()?)
    }
}

#[cfg(test)]
mod tests;
