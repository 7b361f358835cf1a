//! Places: where among the workloads of its app one stands.
//!
//! Before: `replicas` says how many places there are, or that every machine is one. After: the state machine runs per
//! place (HO-APP-29), and each place has generations of its own.

use core::fmt;
use core::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::app::Replicas;

/// What a machine's name stands behind where places are written down: names and ordinals are told apart by it, since a
/// machine may be called `0`.
const MACHINE: char = '@';

/// One place of an app.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The how many-th of a counted app, from 0.
    Ordinal(u32),
    /// The only one on this machine, of an app that runs once per machine.
    Machine(String),
}

impl Place {
    /// The lone place of an app of one workload.
    pub const FIRST: Place = Place::Ordinal(0);

    /// How the state names it: the ordinal or the machine.
    pub fn key(&self) -> String {
        match self {
            Place::Ordinal(ordinal) => ordinal.to_string(),
            Place::Machine(machine) => machine.clone(),
        }
    }

    /// The machine that it is tied to.
    pub fn machine(&self) -> Option<&str> {
        match self {
            Place::Ordinal(_) => None,
            Place::Machine(machine) => Some(machine),
        }
    }

    /// Whether an app of so many workloads has it. A machine that is none of the cluster's any more is judged by who
    /// knows the members.
    pub fn is_of(&self, replicas: Replicas) -> bool {
        match (self, replicas) {
            (Place::Ordinal(ordinal), Replicas::Count(count)) => *ordinal < count,
            (Place::Machine(_), Replicas::PerNode) => true,
            (Place::Ordinal(_), Replicas::PerNode) | (Place::Machine(_), Replicas::Count(_)) => {
                false
            }
        }
    }
}

/// As steps and errors name it.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Ordinal(ordinal) => write!(formatter, "replica {ordinal}"),
            Place::Machine(machine) => write!(formatter, "machine {machine}"),
        }
    }
}

/// A text that is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an ordinal nor a machine behind an {MACHINE}")]
pub struct NoPlace(String);

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        match text.strip_prefix(MACHINE) {
            Some(machine) if !machine.is_empty() => Ok(Place::Machine(machine.to_owned())),
            Some(_) => Err(NoPlace(text.to_owned())),
            None => text
                .parse()
                .map(Place::Ordinal)
                .map_err(|_| NoPlace(text.to_owned())),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Place::Ordinal(ordinal) => serializer.collect_str(ordinal),
            Place::Machine(machine) => serializer.collect_str(&format_args!("{MACHINE}{machine}")),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a text, and a number too: records of before there were machines hold numbers.
struct Reader;

impl Visitor<'_> for Reader {
    type Value = Place;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an ordinal, or a machine behind an {MACHINE}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Place, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Place, E> {
        u32::try_from(number).map(Place::Ordinal).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// HO-APP-29: a record of before machines is read, and a machine called like a number is no ordinal.
    #[test]
    fn places_are_written_and_read_alike() {
        for (place, written) in [
            (Place::Ordinal(7), "\"7\""),
            (Place::Machine("m1".to_owned()), "\"@m1\""),
            (Place::Machine("7".to_owned()), "\"@7\""),
        ] {
            assert_eq!(serde_json::to_string(&place).expect("text"), written);
            assert_eq!(
                serde_json::from_str::<Place>(written).expect("a place"),
                place
            );
        }
        assert_eq!(
            serde_json::from_str::<Place>("3").expect("a place"),
            Place::Ordinal(3)
        );
        let record: BTreeMap<Place, u64> =
            serde_json::from_str(r#"{"0": 4, "@a": 1}"#).expect("a record");
        assert_eq!(record[&Place::FIRST], 4);
        for wrong in ["\"\"", "\"@\"", "\"x\"", "-1", "4294967296", "null"] {
            assert!(serde_json::from_str::<Place>(wrong).is_err(), "{wrong}");
        }
    }
}
