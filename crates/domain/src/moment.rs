//! Moments: points in time that arrive as arguments.
//!
//! Before: `reconcile/src/clock.rs` reads the clock and the RFC 3339 texts in Incus. After: `rollout`, which
//! compares and adds. Not here: any clock.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// How long it is from `earlier` to this moment; zero if `earlier` is later (clocks of two machines differ).
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This moment, `duration` later.
    pub fn plus(self, duration: Duration) -> Moment {
        Moment(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}
