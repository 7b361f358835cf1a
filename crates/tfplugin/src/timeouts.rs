//! How long an operation may take: the `timeouts` attribute that every waiting resource has, and its durations.
//!
//! Durations are spelled as Go spells them ("30s", "1h30m", "1.5h"), because that is what users of OpenTofu know. Their
//! meaning is compared, their spelling is kept.

use std::fmt;
use std::time::Duration;

use crate::{Attribute, Diagnostic, Value};

/// The attribute `timeouts`, with an optional duration for each of the operations.
pub fn timeouts_attribute(operations: &[&str]) -> Attribute {
    let durations = operations.iter().map(|operation| {
        Attribute::string(*operation)
            .optional()
            .same_meaning(same_duration)
            .validate(validate_duration)
            .describe(format!(
                "How long `{operation}` may take, such as `30s` or `1h30m`."
            ))
    });
    Attribute::single("timeouts", durations).optional().describe(
        "How long operations may take. OpenTofu ignores unknown names in here silently, so mind their spelling.",
    )
}

/// What the `timeouts` attribute of a configuration or a state says; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// For a creation.
    pub create: Option<Duration>,
    /// For a read.
    pub read: Option<Duration>,
    /// For an update.
    pub update: Option<Duration>,
    /// For a deletion.
    pub delete: Option<Duration>,
}

impl From<&Value> for Timeouts {
    /// Takes the value of the attribute `timeouts`. What does not parse was refused by validation and counts as absent.
    fn from(timeouts: &Value) -> Timeouts {
        let of = |operation| {
            timeouts
                .attr(operation)
                .as_str()
                .and_then(|text| parse_duration(text).ok())
        };
        Timeouts {
            create: of("create"),
            read: of("read"),
            update: of("update"),
            delete: of("delete"),
        }
    }
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reading a duration: expected numbers with units, such as 30s, 1h30m or 1.5h")]
pub struct ParseDurationError;

/// The units, in nanoseconds. `m` stands behind `ms` so that the longer name is tried first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
];

/// Reads a duration as Go does, but for negative ones: nothing waits a negative time.
pub fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(ParseDurationError);
    }
    let mut nanoseconds: u64 = 0;
    while !rest.is_empty() {
        let (part, after) = parse_part(rest).ok_or(ParseDurationError)?;
        nanoseconds = nanoseconds.checked_add(part).ok_or(ParseDurationError)?;
        rest = after;
    }
    // Go counts in signed nanoseconds; what it refuses is refused here too.
    i64::try_from(nanoseconds).map_err(|_| ParseDurationError)?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// One number with its unit, in nanoseconds, and what follows it.
fn parse_part(text: &str) -> Option<(u64, &str)> {
    let number_length =
        text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, rest) = text.split_at(number_length);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let unit_length = rest
        .find(|character: char| character.is_ascii_digit() || character == '.')
        .unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit_length);
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // A ninth digit after an hour's point is less than a microsecond; further digits are cut off.
    let fraction = &fraction[..fraction.len().min(9)];
    let fraction_value: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let fraction_value =
        u128::from(fraction_value) * u128::from(*scale) / 10u128.pow(fraction.len() as u32);
    let total = whole
        .checked_mul(*scale)?
        .checked_add(u64::try_from(fraction_value).ok()?)?;
    Some((total, after))
}

/// Shows a duration as Go does: `1h30m0s`, `1.5s`, `100ms`.
pub struct GoDuration(
    /// The duration to show.
    pub Duration,
);

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos();
        let (unit, scale): (&str, u128) = match nanoseconds {
            0 => return formatter.write_str("0s"),
            1..1_000 => ("ns", 1),
            1_000..1_000_000 => ("\u{b5}s", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        let (hours, rest) = (
            nanoseconds / 3_600_000_000_000,
            nanoseconds % 3_600_000_000_000,
        );
        let (minutes, rest) = (rest / 60_000_000_000, rest % 60_000_000_000);
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(formatter, "{minutes}m")?;
        }
        let places = scale.ilog10() as usize;
        let fraction = format!("{:0places$}", rest % scale);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(formatter, "{}{point}{fraction}{unit}", rest / scale)
    }
}

/// Whether two texts are the same duration.
pub fn same_duration(left: &Value, right: &Value) -> bool {
    let parse = |value: &Value| value.as_str().and_then(|text| parse_duration(text).ok());
    parse(left).is_some() && parse(left) == parse(right)
}

/// Refuses a text that is no duration; for [`Attribute::validate`].
pub fn validate_duration(value: &Value) -> Result<(), Diagnostic> {
    let text = value.as_str().unwrap_or_default();
    parse_duration(text).map(|_| ()).map_err(|_| {
        Diagnostic::error(format!("{text:?} is not a duration")).detail(
            "Expected numbers with units, such as \"30s\", \"1h30m\" or \"1.5h\". The units are ns, us, ms, s, m and h.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("100ms", 100),
            (".5s", 500),
            ("+1m", 60_000),
            ("1m1m", 120_000),
            ("2000us", 2),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1 s",
            "1d",
            "1.2.3s",
            ".s",
            "1h-3m",
            "soon",
            "9999999999h",
            "1s ",
            "\u{661}s",
        ] {
            assert_eq!(parse_duration(text), Err(ParseDurationError), "{text:?}");
        }
    }

    #[test]
    fn durations_show_as_in_go() {
        for text in [
            "0s", "30s", "1h30m0s", "1h0m0s", "1m5.5s", "100ms", "1.5ms", "15ns",
        ] {
            let duration = parse_duration(text).expect("a duration");
            assert_eq!(GoDuration(duration).to_string(), text);
        }
    }

    #[test]
    fn meaning_is_compared_and_not_spelling() {
        assert!(same_duration(&"90m".into(), &"1h30m".into()));
        assert!(!same_duration(&"90m".into(), &"90s".into()));
        assert!(!same_duration(&"soon".into(), &"soon".into()));
    }

    #[test]
    fn the_attribute_reads_back() {
        let value = Value::object([("create", "5m".into()), ("delete", Value::Null)]);
        let timeouts = Timeouts::from(&value);
        assert_eq!(timeouts.create, Some(Duration::from_secs(300)));
        assert_eq!(timeouts.delete, None);
        assert_eq!(Timeouts::from(&Value::Null), Timeouts::default());
    }
}
