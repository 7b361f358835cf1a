//! Secrets that stand where none belongs: what a message may repeat of a text that a user gave.
//!
//! A refused text is quoted so that it is found. One that looks like a key is not: a plan is printed, kept and shared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::issue::Issue;

/// As much as is needed to recognise a text.
const LONGEST_QUOTE: usize = 60;

/// Fewer letters than any key has, and more than a word.
const SHORTEST_KEY: usize = 40;

/// The text in quotation marks, or that it is left out.
pub(super) fn quoted(text: &str) -> String {
    if looks_secret(text) {
        return "not repeated here, because it looks like a key".to_owned();
    }
    let beginning: String = text.chars().take(LONGEST_QUOTE).collect();
    if beginning.len() < text.len() {
        format!("{beginning:?} and more")
    } else {
        format!("{text:?}")
    }
}

/// Whether a text holds a private key or an authentication key, or may.
pub(super) fn looks_secret(text: &str) -> bool {
    let is_of_a_key =
        |character: char| character.is_ascii_alphanumeric() || "+/=".contains(character);
    let is_key = |run: &str| {
        run.len() >= SHORTEST_KEY
            && [
                u8::is_ascii_uppercase,
                u8::is_ascii_lowercase,
                u8::is_ascii_digit,
            ]
            .iter()
            .all(|class| run.bytes().any(|byte| class(&byte)))
    };
    is_private_key(text)
        || text.contains("tskey-")
        || text.split(|character| !is_of_a_key(character)).any(is_key)
}

/// Whether a text holds a private key in PEM form.
pub(crate) fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY")
}

/// The issue, without its detail, which quotes what looks like a key.
pub(super) fn hushed(mut issue: Issue) -> Issue {
    issue.detail = "What stands there looks like a key, so it is not repeated here. Expected no secret in this attribute; \
                    replace the key too if this configuration was shared."
        .to_owned();
    issue
}

/// Why a text is no WireGuard key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyError {
    #[error("is not base64")]
    Base64,
    #[error("does not have the 32 bytes of a WireGuard key")]
    Length,
    #[error("is all zeros")]
    Zero,
}

/// Checks that a text is a WireGuard key, private or public, in its only spelling.
pub(super) fn check_wireguard_key(text: &str) -> Result<(), KeyError> {
    // The engine takes padding and the bits behind the last byte in their canonical form only.
    let bytes = STANDARD.decode(text).map_err(|_| KeyError::Base64)?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| KeyError::Length)?;
    if bytes == [0; 32] {
        return Err(KeyError::Zero);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_key_is_not_quoted() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMC4",
            "-----BEGIN EC PRIVATE KEY-----",
            "tskey-auth-x",
            "key: yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
        ] {
            let quote = quoted(text);
            assert!(quote.starts_with("not repeated"), "{quote}");
        }
        assert_eq!(quoted("hub.example.net:51820"), "\"hub.example.net:51820\"");
        let long = "a".repeat(100);
        assert_eq!(quoted(&long), format!("{:?} and more", "a".repeat(60)));
    }

    #[test]
    fn a_wireguard_key_has_one_spelling() {
        let key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=";
        for (text, expected) in [
            (key.to_owned(), Ok(())),
            (key.replace("U4=", "U5="), Err(KeyError::Base64)),
            (key.replace('=', ""), Err(KeyError::Base64)),
            (format!("{key}\n"), Err(KeyError::Base64)),
            (format!(" {key}"), Err(KeyError::Base64)),
            (key.replace("Z2", "-_"), Err(KeyError::Base64)),
            (String::new(), Err(KeyError::Length)),
            ("c2hvcnQ=".to_owned(), Err(KeyError::Length)),
            (format!("{}=", "A".repeat(43)), Err(KeyError::Zero)),
        ] {
            assert_eq!(check_wireguard_key(&text), expected, "{text}");
        }
    }
}
