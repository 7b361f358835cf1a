//! Times and private bytes of ephemeral objects on the wire. `server/ephemeral.rs` calls these.

use jiff::Timestamp;

/// Encodes a moment.
pub(crate) fn timestamp_to_wire(moment: Timestamp) -> prost_types::Timestamp {
    // Before 1970 the two count fractions differently; nothing is renewed then, but a wrong clock may say so.
    let nanoseconds = moment.as_nanosecond();
    let second = nanoseconds.div_euclid(1_000_000_000);
    prost_types::Timestamp {
        seconds: i64::try_from(second).unwrap_or_default(),
        nanos: i32::try_from(nanoseconds - second * 1_000_000_000).unwrap_or_default(),
    }
}

/// Encodes what was noted: nothing when there is nothing.
pub(crate) fn private_to_wire(private: Vec<u8>) -> Option<Vec<u8>> {
    (!private.is_empty()).then_some(private)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_count_forward_from_their_second() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:02.5Z", 2, 500_000_000),
            ("1969-12-31T23:59:58.5Z", -2, 500_000_000),
        ] {
            let moment: Timestamp = text.parse().expect("a moment");
            assert_eq!(
                timestamp_to_wire(moment),
                prost_types::Timestamp { seconds, nanos }
            );
        }
    }
}
