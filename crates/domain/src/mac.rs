//! MAC addresses: what identifies a machine before it has a name or an address (HO-CFG-03).
//!
//! Before: the text that a user copied from a label, a switch or a firmware screen, each with a spelling of its own.
//! After: one spelling, by which machines are compared and seeds are matched with network cards.
//! Not here: who has which address (`fleet` compares machines).

use core::fmt;

/// The address of one network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac([u8; 6]);

/// Why a text is not the address of a network card. The message continues "the MAC address "…"".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It has a character that is neither a hexadecimal digit nor a separator.
    #[error("contains {0:?}")]
    Character(char),
    /// It has another number of digits.
    #[error("has {0} hexadecimal digits instead of 12")]
    Digits(usize),
    /// It has 12 digits, in other groups than anybody writes.
    #[error("has its digits in unusual groups")]
    Groups,
    /// All bytes are 0, which stands for "no address".
    #[error("is all zeros, which is the address of no network card")]
    Zero,
    /// All bits are 1, which stands for every card.
    #[error("is the broadcast address, which means every network card")]
    Broadcast,
    /// The lowest bit of the first byte is set.
    #[error("is a multicast address (its first byte is odd), which no network card has")]
    Multicast,
}

/// The usual ways to group 12 digits: the separator, and how many digits are between two of them.
const SPELLINGS: [(char, usize); 3] = [(':', 2), ('-', 2), ('.', 4)];

impl Mac {
    /// Reads an address in any usual spelling: `52:54:00:00:00:0a`, `52-54-00-00-00-0A`, `5254.0000.000a` or
    /// `52540000000a`, in lower or upper case.
    ///
    /// # Errors
    /// The first reason why it is not the address of one network card.
    pub fn parse(text: &str) -> Result<Mac, Error> {
        let is_separator = |character: char| {
            SPELLINGS
                .iter()
                .any(|(separator, _)| *separator == character)
        };
        let stranger =
            |character: &char| !character.is_ascii_hexdigit() && !is_separator(*character);
        if let Some(character) = text.chars().find(stranger) {
            return Err(Error::Character(character));
        }
        let digits: Vec<u8> = text
            .chars()
            .filter_map(|character| character.to_digit(16))
            .filter_map(|digit| u8::try_from(digit).ok())
            .collect();
        let Ok(digits) = <[u8; 12]>::try_from(digits) else {
            let count = text.chars().filter(char::is_ascii_hexdigit).count();
            return Err(Error::Digits(count));
        };
        let in_groups = |(separator, length): &(char, usize)| {
            text.split(*separator).all(|group| group.len() == *length)
        };
        if text.len() != digits.len() && !SPELLINGS.iter().any(in_groups) {
            return Err(Error::Groups);
        }
        let mut bytes = [0; 6];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |value, digit| value << 4 | digit);
        }
        Mac(bytes).of_one_card()
    }

    fn of_one_card(self) -> Result<Mac, Error> {
        match self.0 {
            [0, 0, 0, 0, 0, 0] => Err(Error::Zero),
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Err(Error::Broadcast),
            [first, ..] if first & 1 == 1 => Err(Error::Multicast),
            _ => Ok(self),
        }
    }
}

/// Prints the one spelling that we use: lower case with colons.
impl fmt::Display for Mac {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ":" };
            write!(formatter, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

/// What to tell a user about a text that is none: what was seen, what was expected, what to change.
pub fn refusal(text: &str, error: &Error) -> String {
    // Whatever was pasted here by mistake, its beginning is enough to recognise it.
    let seen: String = text.chars().take(40).collect();
    format!(
        "The MAC address {seen:?} {error}. Expected the address of one network card: 12 hexadecimal digits as \
         \"52:54:00:00:00:0a\", \"52-54-00-00-00-0A\", \"5254.0000.000a\" or \"52540000000a\". Take it from the label \
         or the firmware of the machine"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        match Mac::parse(text) {
            Ok(mac) => mac.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// HO-CFG-03: however a label, a switch or a firmware spells it, it is the same machine.
    #[test]
    fn every_usual_spelling_is_the_same_address() {
        for text in [
            "52:54:00:ab:cd:0e",
            "52:54:00:AB:CD:0E",
            "52-54-00-ab-cd-0e",
            "52-54-00-AB-CD-0E",
            "5254.00ab.cd0e",
            "5254.00AB.CD0E",
            "525400abcd0e",
            "525400ABCD0E",
            "52:54:00:Ab:cD:0e",
        ] {
            assert_eq!(read(text), "52:54:00:ab:cd:0e", "{text}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_card_says_why() {
        for (text, reason) in [
            ("", "has 0 hexadecimal digits instead of 12"),
            ("52:54:00:ab:cd", "has 10 hexadecimal digits instead of 12"),
            (
                "52:54:00:ab:cd:0e:0f",
                "has 14 hexadecimal digits instead of 12",
            ),
            (
                "2:54:00:ab:cd:0e",
                "has 11 hexadecimal digits instead of 12",
            ),
            ("52:54:00:ab:cd:0g", "contains 'g'"),
            ("52 54 00 ab cd 0e", "contains ' '"),
            (" 52:54:00:ab:cd:0e", "contains ' '"),
            ("52:54:00:ab:cd:0é", "contains 'é'"),
            ("5254:00ab:cd0e", "has its digits in unusual groups"),
            ("52.54.00.ab.cd.0e", "has its digits in unusual groups"),
            ("52:54-00:ab-cd:0e", "has its digits in unusual groups"),
            ("5:254:00:ab:cd:0e", "has its digits in unusual groups"),
            ("525400abcd0e:", "has its digits in unusual groups"),
            ("525400-abcd0e", "has its digits in unusual groups"),
            ("00:00:00:00:00:00", "is all zeros"),
            ("ffff.ffff.ffff", "is the broadcast address"),
            ("01:00:5e:00:00:01", "is a multicast address"),
            ("33-33-00-00-00-01", "is a multicast address"),
        ] {
            assert!(read(text).starts_with(reason), "{text:?}: {}", read(text));
        }
    }

    #[test]
    fn a_refusal_says_what_was_seen_expected_and_to_do() {
        let text = format!("zz{}", "0".repeat(100_000));
        let error = Mac::parse(&text).expect_err("z is no digit");
        let told = refusal(&text, &error);
        assert!(told.len() < 400, "{told}");
        for part in ["\"zz00", "contains 'z'", "52:54:00:00:00:0a", "firmware"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    proptest! {
        /// Normalising what is normalised changes nothing, and every spelling of it reads back.
        #[test]
        fn normalising_is_idempotent(mut bytes in any::<[u8; 6]>(), upper in any::<bool>(), spelling in 0..4_usize) {
            bytes[0] &= 0xfe;
            bytes[5] |= 1;
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let spelled = |separator: &str, length: usize| {
                let groups = (0..12).step_by(length).map(|start| &digits[start..start + length]);
                groups.collect::<Vec<&str>>().join(separator)
            };
            let plain = spelled(":", 2);
            prop_assert_eq!(read(&plain), plain.clone());
            let (separator, length) = [(":", 2), ("-", 2), (".", 4), ("", 2)][spelling];
            let text = spelled(separator, length);
            let text = if upper { text.to_uppercase() } else { text };
            prop_assert_eq!(read(&text), plain);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), near in "[0-9a-fA-F:.-]{0,20}") {
            for text in [text, near] {
                if let Ok(mac) = Mac::parse(&text) {
                    prop_assert_eq!(Mac::parse(&mac.to_string()), Ok(mac));
                }
            }
        }
    }
}
