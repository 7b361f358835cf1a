//! The clock, and the spelling of moments in Incus: the only place of this crate that asks for the time.
//!
//! Before: `rollout.rs` and `store.rs` need to know what time it is. After: `domain`, which gets it as an argument.

use domain::moment::Moment;
use jiff::Timestamp;

/// Now.
pub fn now() -> Moment {
    Moment(Timestamp::now().as_millisecond())
}

/// A text that no other process writes, nor this one twice: the process and the nanosecond.
pub(crate) fn writer() -> String {
    let now = Timestamp::now().as_nanosecond();
    format!("{}-{now}", std::process::id())
}

/// A moment as RFC 3339, as keys on Incus objects hold it (HO-APP-38).
pub fn rfc3339(moment: Moment) -> String {
    Timestamp::from_millisecond(moment.0)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

/// Reads RFC 3339; `None` for anything else.
pub fn parse(text: &str) -> Option<Moment> {
    text.parse::<Timestamp>()
        .ok()
        .map(|timestamp| Moment(timestamp.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_back_as_written() {
        for text in ["2026-11-30T05:01:02.345Z", "1970-01-01T00:00:00Z"] {
            assert_eq!(rfc3339(parse(text).expect("a moment")), text);
        }
        assert_eq!(
            parse("2026-11-30T06:01:02.345678901+01:00"),
            parse("2026-11-30T05:01:02.345Z")
        );
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse(""), None);
    }
}
