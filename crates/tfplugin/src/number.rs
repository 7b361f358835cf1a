//! Numbers, exactly as they were written.
//!
//! OpenTofu's numbers are decimals of any size, and a provider that turns 0.1 into the nearest binary fraction has
//! changed the user's value. So a number here is its text; two numbers are equal when they mean the same quantity.
//! What comes before: the decoders (`msgpack.rs`, `json.rs`). There is no arithmetic here, nobody needs it.

use std::cmp::Ordering;
use std::fmt;

/// A number that was not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reading a number: expected decimal digits, a fraction and an exponent at most")]
pub struct ParseNumberError;

/// An exact decimal number, kept as it was written.
///
/// `1.50` and `1.5` are equal, and each is passed on with its own digits.
#[derive(Clone)]
pub struct Number {
    /// A decimal that [`Decimal::parse`] accepts; every constructor sees to that.
    text: String,
}

/// Exponents beyond this are refused: no real value has them, and adding to them must not overflow.
const LARGEST_EXPONENT: i64 = 1_000_000_000;

impl Number {
    /// Reads a decimal such as `-12`, `0.1` or `1e400`.
    pub fn parse(text: &str) -> Result<Number, ParseNumberError> {
        Decimal::parse(text).ok_or(ParseNumberError)?;
        Ok(Number {
            text: text.to_owned(),
        })
    }

    /// The exact decimal expansion of a binary fraction; `None` for infinities and what is not a number.
    pub fn from_f64(number: f64) -> Option<Number> {
        if !number.is_finite() {
            return None;
        }
        let text = if number.fract() == 0.0 {
            format!("{number:.0}")
        } else {
            // 1074 digits are enough for the smallest fraction there is, so nothing is rounded away.
            let expansion = format!("{number:.1074}");
            expansion.trim_end_matches('0').to_owned()
        };
        Some(Number { text })
    }

    /// The whole number, if it is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.decimal().whole()?.parse().ok()
    }

    /// The whole number, if it is one, is not negative and fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.decimal().whole()?.parse().ok()
    }

    /// The nearest binary fraction. It may differ from the number; use it for estimates only.
    pub fn as_f64(&self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn decimal(&self) -> Decimal {
        // Only accepted texts become numbers; zero stands for the case that cannot be.
        Decimal::parse(&self.text).unwrap_or_default()
    }
}

/// A number taken apart: plus or minus 0.DIGITS × 10^exponent, without zeros at either end of the digits.
#[derive(Default, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    exponent: i64,
    /// Empty for zero.
    digits: String,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let only_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty())
            || !only_digits(whole)
            || !only_digits(fraction)
        {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let leading_zeros = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Decimal::default());
        }
        let exponent = exponent + whole.len() as i64 - leading_zeros as i64;
        Some(Decimal {
            negative,
            exponent,
            digits,
        })
    }

    /// The digits of a whole number of at most twenty places, with its sign.
    fn whole(&self) -> Option<String> {
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let places = usize::try_from(self.exponent).ok()?;
        if places < self.digits.len() || places > 20 {
            return None;
        }
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{:0<places$}", self.digits))
    }

    /// Orders by quantity.
    fn compare(&self, other: &Decimal) -> Ordering {
        let sign = |decimal: &Decimal| match (decimal.digits.is_empty(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = (self.exponent, &self.digits).cmp(&(other.exponent, &other.digits));
        let by_size = if self.negative {
            by_size.reverse()
        } else {
            by_size
        };
        sign(self).cmp(&sign(other)).then(by_size)
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = text.parse().ok()?;
    (exponent.abs() <= LARGEST_EXPONENT).then_some(exponent)
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        self.decimal().compare(&other.decimal())
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.text == other.text || self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Number {
        Number {
            text: number.to_string(),
        }
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number {
            text: number.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).expect("a number")
    }

    #[test]
    fn equality_is_by_quantity_and_the_digits_stay() {
        for (left, right) in [
            ("1.50", "1.5"),
            ("1e2", "100"),
            ("-0", "0"),
            ("0.1", "1E-1"),
            ("+7", "007"),
            (".5", "5e-1"),
        ] {
            assert_eq!(number(left), number(right), "{left} and {right}");
            assert_eq!(number(left).to_string(), left);
        }
        for (left, right) in [
            ("1", "-1"),
            ("0.1", "0.10000000000000001"),
            ("10", "1"),
            ("1e400", "1e401"),
        ] {
            assert_ne!(number(left), number(right), "{left} and {right}");
        }
    }

    #[test]
    fn order_is_by_quantity() {
        let mut numbers = ["3", "-2", "0.5", "-10", "1e3", "0", "20"].map(number);
        numbers.sort();
        assert_eq!(
            numbers.map(|number| number.to_string()),
            ["-10", "-2", "0", "0.5", "3", "20", "1e3"]
        );
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "1.2.3",
            "0x10",
            "1e",
            "1e+",
            "NaN",
            "inf",
            " 1",
            "1 ",
            "1_000",
            "1e99999999999999999999",
        ] {
            assert_eq!(Number::parse(text), Err(ParseNumberError), "{text:?}");
        }
    }

    #[test]
    fn whole_numbers_convert_only_when_they_fit() {
        assert_eq!(number("9223372036854775807").as_i64(), Some(i64::MAX));
        assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(number("9223372036854775808").as_i64(), None);
        assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(number("1.5e1").as_i64(), Some(15));
        assert_eq!(number("1.0").as_i64(), Some(1));
        assert_eq!(number("0.5").as_i64(), None);
        assert_eq!(number("1e1000000").as_i64(), None);
        assert_eq!(number("-1").as_u64(), None);
    }

    #[test]
    fn binary_fractions_expand_exactly() {
        assert_eq!(Number::from_f64(0.5), Some(number("0.5")));
        assert_eq!(Number::from_f64(-3.0), Some(number("-3")));
        assert_ne!(Number::from_f64(0.1), Some(number("0.1")));
        assert_eq!(
            Number::from_f64(5e-324).map(|number| number.as_f64()),
            Some(5e-324)
        );
        assert_eq!(Number::from_f64(f64::INFINITY), None);
    }
}
