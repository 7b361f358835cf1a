//! Hexadecimal, as digests and ids are written: two lower-case digits for each byte.
//!
//! Before: bytes of any kind. After: a text in a specification, a state or a message.

use core::fmt::Write as _;

/// The bytes as digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
    }
}
