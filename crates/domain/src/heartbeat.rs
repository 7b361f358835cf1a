//! Heartbeats: whether a file that is to be written again and again still is (HO-APP-46).
//!
//! Before: `reconcile/src/health.rs` reads when it was written, and what time it is there. After: a healthy workload, or
//! the reason why it is none.

use core::time::Duration;

use crate::duration;
use crate::moment::Moment;

/// How often a heartbeat is written.
pub const TICK: Duration = Duration::from_secs(30);

/// A heartbeat is fresh for three ticks: one may be late, and one lost.
pub const FRESH: Duration = Duration::from_secs(90);

/// How far ahead of the clock a heartbeat may be. Two clocks seldom agree; but one from a distant future would be fresh
/// until then, whatever has become of its writer.
pub const AHEAD: Duration = TICK;

/// Why a heartbeat does not count. The message continues "the file …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lapse {
    /// Its writer has stopped.
    #[error(
        "was written {} ago, which is longer than {}",
        duration::format(*_0),
        duration::format(FRESH)
    )]
    Stale(Duration),
    /// Nobody knows when it was written.
    #[error(
        "is from {} in the future: compare the clocks of the workload and its member",
        duration::format(*_0)
    )]
    Ahead(Duration),
}

/// Judges a heartbeat that was written at one moment, at another.
///
/// # Errors
/// If it is too old, or from a future that no two clocks disagree about.
pub fn judge(written_at: Moment, now: Moment) -> Result<(), Lapse> {
    let age = now.since(written_at);
    let ahead = written_at.since(now);
    if age > FRESH {
        return Err(Lapse::Stale(age));
    }
    if ahead > AHEAD {
        return Err(Lapse::Ahead(ahead));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-APP-46: three ticks, to the second; and the clocks of two machines may differ by one.
    #[test]
    fn a_heartbeat_is_fresh_for_three_ticks() {
        let now = Moment(1_000_000_000);
        for (seconds, told) in [
            (0, ""),
            (-90, ""),
            (30, ""),
            (-91, "was written 1m31s ago, which is longer than 1m30s"),
            (
                31,
                "is from 31s in the future: compare the clocks of the workload and its member",
            ),
        ] {
            let judged = judge(Moment(now.0 + seconds * 1000), now);
            let text = judged.err().map(|lapse| lapse.to_string());
            assert_eq!(text.unwrap_or_default(), told, "{seconds}");
        }
        assert_eq!(FRESH, TICK * 3);
    }
}
