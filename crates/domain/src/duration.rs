//! Durations as users write them: `30s`, `1h30m`, `1.5h`, `100ms`, the spelling of Go's tools.
//!
//! Before: an attribute such as `timeouts.create` or `health.min_healthy_time`, as text.
//! After: a [`Duration`] for the decisions, and the short spelling again for messages.
//! Not here: negative durations. Nothing here waits a negative time, so a sign is an error that says so.

use core::fmt::Write as _;
use core::time::Duration;

use crate::issue::{Issue, Step};

/// Why a text is no duration. The message continues "the duration "…"".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// It starts with a minus sign.
    #[error("is negative")]
    Negative,
    /// A number was expected, and something else stands there.
    #[error("has no number before {0:?}")]
    MissingNumber(String),
    /// A number has no unit behind it; only `0` may stand alone.
    #[error("has the number {0} without a unit")]
    MissingUnit(String),
    /// The unit is none of ours.
    #[error("has the unknown unit {0:?}")]
    UnknownUnit(String),
    /// It is longer than 64 bits of nanoseconds, about 292 years.
    #[error("is longer than 292 years")]
    TooLong,
}

/// Units by length in nanoseconds, longest first, which is also the order in which [`format`] writes them.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Digits of a fraction that are read; those behind are below a nanosecond for every unit (an hour has 3.6e12 of them).
const FRACTION_DIGITS: usize = 18;

/// The length that `text` spells, rounded down to nanoseconds.
///
/// # Errors
/// For every text that is not one or more of number and unit, and for what does not fit.
pub fn parse(text: &str) -> Result<Duration, Error> {
    let mut rest = match text.strip_prefix('-') {
        Some(_) => return Err(Error::Negative),
        None => text.strip_prefix('+').unwrap_or(text),
    };
    if rest.is_empty() {
        return Err(Error::Empty);
    }
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (nanoseconds, behind) = parse_one(rest)?;
        total = total.checked_add(nanoseconds).ok_or(Error::TooLong)?;
        rest = behind;
    }
    // Go counts in signed 64 bits; the same limit keeps the texts exchangeable.
    if total > i64::MAX.unsigned_abs() {
        return Err(Error::TooLong);
    }
    Ok(Duration::from_nanos(total))
}

/// Reads one number with its unit: the nanoseconds, and the text behind.
fn parse_one(text: &str) -> Result<(u64, &str), Error> {
    let (whole, behind) = digits(text);
    let (fraction, behind) = match behind.strip_prefix('.') {
        Some(behind) => digits(behind),
        None => ("", behind),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Error::MissingNumber(text.to_owned()));
    }
    let number = &text[..text.len() - behind.len()];
    let end = behind
        .find(|character: char| character.is_ascii_digit() || character == '.')
        .unwrap_or(behind.len());
    let (unit, behind) = behind.split_at(end);
    if unit.is_empty() {
        return Err(Error::MissingUnit(number.to_owned()));
    }
    let length = unit_length(unit).ok_or_else(|| Error::UnknownUnit(unit.to_owned()))?;
    let nanoseconds = scaled(whole, fraction, length).ok_or(Error::TooLong)?;
    Ok((nanoseconds, behind))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn unit_length(unit: &str) -> Option<u64> {
    // Two code points look like a micro sign, and both are in use.
    let unit = if matches!(unit, "µs" | "μs") {
        "us"
    } else {
        unit
    };
    UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, length)| *length)
}

/// `whole.fraction` times `length`, in integers, so that no decimal is off by a rounding of floats.
fn scaled(whole: &str, fraction: &str, length: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let mut numerator: u128 = 0;
    let mut denominator: u128 = 1;
    for digit in fraction.bytes() {
        numerator = numerator * 10 + u128::from(digit - b'0');
        denominator *= 10;
    }
    let part = u64::try_from(numerator * u128::from(length) / denominator).ok()?;
    whole.checked_mul(length)?.checked_add(part)
}

/// The short spelling: `1h30m`, `1.5s`, `100ms`, `0s`. [`parse`] reads it back as the same length.
pub fn format(duration: Duration) -> String {
    let mut text = String::new();
    let mut nanoseconds = duration.as_nanos();
    // Hours and minutes stand before the seconds; what is below a minute is one decimal number.
    for (unit, length) in &UNITS[..2] {
        let count = nanoseconds / u128::from(*length);
        nanoseconds %= u128::from(*length);
        if count > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, "{count}{unit}");
        }
    }
    if nanoseconds == 0 {
        return if text.is_empty() {
            "0s".to_owned()
        } else {
            text
        };
    }
    let (unit, length) = UNITS[2..]
        .iter()
        .find(|(_, length)| nanoseconds >= u128::from(*length))
        .copied()
        // The last unit is one nanosecond, so there is always one that fits.
        .unwrap_or(("ns", 1));
    let whole = nanoseconds / u128::from(length);
    let width = length.ilog10() as usize;
    let fraction = format!("{:0width$}", nanoseconds % u128::from(length));
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let _ = write!(text, "{whole}{point}{fraction}{unit}");
    text
}

/// Whether both texts mean the same length. Texts that do not parse are the same only when they are equal.
pub fn same(left: &str, right: &str) -> bool {
    left == right || matches!((parse(left), parse(right)), (Ok(left), Ok(right)) if left == right)
}

/// [`parse`] for an attribute: the error as an issue at `path`.
///
/// # Errors
/// An issue that quotes the text and shows the expected form.
pub fn parse_at(path: impl Into<Vec<Step>>, text: &str) -> Result<Duration, Issue> {
    parse(text).map_err(|error| {
        let detail = format!(
            "The duration {text:?} {error}. Expected one or more numbers, each with a unit of \
             h, m, s, ms, us or ns, such as \"30s\", \"1h30m\" or \"1.5h\"."
        );
        Issue::new(path, "A duration cannot be read", detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30_000_000_000),
            ("+30s", 30_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("100ms", 100_000_000),
            ("1m1ms", 60_001_000_000),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("1μs", 1_000),
            ("1ns", 1),
            ("0.1ns", 0),
            ("0.000000000000000000000000001h", 0),
            ("0.3333333333333333333h", 1_199_999_999_999),
            ("9223372036854775807ns", i64::MAX.unsigned_abs()),
            ("60m", 3_600_000_000_000),
            ("2m1h", 3_720_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        for (text, message) in [
            ("", "is empty"),
            ("+", "is empty"),
            ("-5s", "is negative"),
            ("s", "has no number before \"s\""),
            (".s", "has no number before \".s\""),
            (" 5s", "has no number before \" 5s\""),
            ("30", "has the number 30 without a unit"),
            ("1h30", "has the number 30 without a unit"),
            ("1.5.5s", "has the number 1.5 without a unit"),
            ("5 s", "has the unknown unit \" s\""),
            ("5s ", "has the unknown unit \"s \""),
            ("3d", "has the unknown unit \"d\""),
            ("5S", "has the unknown unit \"S\""),
            ("9223372036854775808ns", "is longer than 292 years"),
            ("99999999999999999999h", "is longer than 292 years"),
            ("9223372036854775807ns1ns", "is longer than 292 years"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn the_short_spelling_leaves_out_what_is_zero() {
        for (nanoseconds, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5us"),
            (100_000_000, "100ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m"),
            (5_400_000_000_000, "1h30m"),
            (3_600_050_000_000, "1h50ms"),
        ] {
            assert_eq!(format(Duration::from_nanos(nanoseconds)), text);
        }
    }

    #[test]
    fn the_same_length_in_another_spelling_is_the_same() {
        assert!(same("90m", "1h30m"));
        assert!(same("nonsense", "nonsense"));
        assert!(!same("nonsense", "other"));
        assert!(!same("90m", "1h"));
    }

    proptest! {
        #[test]
        fn what_is_formatted_is_read_back(nanoseconds in 0..=i64::MAX.unsigned_abs()) {
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn any_text_is_answered(text in "\\PC*|[0-9.hmsunµ+-]{0,40}") {
            let _ = parse(&text);
        }
    }
}
