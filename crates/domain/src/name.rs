//! Names that end up as hostnames and in names of Incus objects.
//!
//! Before: the names of machines, members, networks and apps, as the user wrote them.
//! After: the same text, known to fit wherever it is used.
//! Not here: the names of workloads, which are put together from these (`app`).

use crate::issue::{Issue, Step};

/// Longest label of a hostname (RFC 1123); Incus takes the same for the names of its instances.
pub const LABEL_LENGTH: usize = 63;

/// Longest name of an app, a machine or a member. The fleet store and workloads add prefixes and counters to
/// it, and the result must fit into 64.
pub const NAME_LENGTH: usize = 48;

/// Why a text is no name. The message continues "the name "…"".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// It has a character that no hostname has, or an upper-case letter.
    #[error("contains {0:?}")]
    Character(char),
    /// It starts with a hyphen.
    #[error("starts with a hyphen")]
    LeadingHyphen,
    /// It ends with a hyphen.
    #[error("ends with a hyphen")]
    TrailingHyphen,
    /// It is too long.
    #[error("has {length} characters, and at most {limit} fit")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
}

/// Checks that `text` is a hostname label of at most [`LABEL_LENGTH`] characters.
///
/// # Errors
/// The first reason why it is none.
pub fn check_label(text: &str) -> Result<(), Error> {
    check(text, LABEL_LENGTH)
}

/// Checks that `text` may name an app, a machine or a member: a hostname label of at most [`NAME_LENGTH`].
///
/// # Errors
/// The first reason why it may not.
pub fn check_name(text: &str) -> Result<(), Error> {
    check(text, NAME_LENGTH)
}

fn check(text: &str, limit: usize) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let stranger = text
        .chars()
        .find(|character| !matches!(character, 'a'..='z' | '0'..='9' | '-'));
    if let Some(character) = stranger {
        return Err(Error::Character(character));
    }
    if text.starts_with('-') {
        return Err(Error::LeadingHyphen);
    }
    if text.ends_with('-') {
        return Err(Error::TrailingHyphen);
    }
    // Only ASCII is left here, so bytes are characters.
    let length = text.len();
    if length > limit {
        return Err(Error::TooLong { length, limit });
    }
    Ok(())
}

/// [`check_name`] for an attribute or a map's key: the error as an issue at `path`.
/// `bearer` is what bears the name: "machine", "app".
pub fn issue(path: impl Into<Vec<Step>>, bearer: &str, text: &str) -> Option<Issue> {
    let error = check_name(text).err()?;
    let detail = format!(
        "The name {text:?} {error}. Expected a hostname label: 1 to {NAME_LENGTH} lower-case letters \
         a-z, digits and hyphens, with no hyphen first or last. Rename the {bearer}."
    );
    Some(Issue::new(
        path,
        format!("The name of a {bearer} is not valid"),
        detail,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::attribute;

    #[test]
    fn names_are_hostname_labels() {
        let longest = "a".repeat(48);
        for name in ["a", "web", "web-1", "0", "1a", "a--b", longest.as_str()] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_label(&"a".repeat(63)), Ok(()));
    }

    #[test]
    fn what_is_no_name_says_why() {
        let long = "a".repeat(49);
        for (name, message) in [
            ("", "is empty"),
            ("Web", "contains 'W'"),
            ("web_1", "contains '_'"),
            ("web.lan", "contains '.'"),
            ("web 1", "contains ' '"),
            ("wéb", "contains 'é'"),
            ("-web", "starts with a hyphen"),
            ("web-", "ends with a hyphen"),
            ("-", "starts with a hyphen"),
            (long.as_str(), "has 49 characters, and at most 48 fit"),
        ] {
            assert_eq!(check_name(name).expect_err(name).to_string(), message);
        }
        assert!(check_label(&"a".repeat(64)).is_err());
    }

    #[test]
    fn an_issue_says_what_was_seen_expected_and_to_do() {
        let issue = issue(attribute("name"), "machine", "Node_A").expect("upper case is refused");
        assert_eq!(issue.summary, "The name of a machine is not valid");
        for part in [
            "\"Node_A\"",
            "contains 'N'",
            "hostname label",
            "Rename the machine",
        ] {
            assert!(issue.detail.contains(part), "{part}: {}", issue.detail);
        }
    }
}
