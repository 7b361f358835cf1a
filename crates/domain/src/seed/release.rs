//! Releases of IncusOS: which fields a seed may have. IncusOS refuses a file with a field that it does not know.
//!
//! Before: `incusos_release`, as text. After: `extra/fields.rs` and the checks leave out or refuse what is too new.

use core::fmt;

use crate::given::Given;

/// The oldest release that seeds are rendered for, and the default. It is a date in the spelling of releases, not a
/// release that must exist: every seed for it is also read by those that follow.
pub const OLDEST_SUPPORTED: &str = "202608220000";

/// The release from which on the newest fields are known: the file `storage`, and the port of Tailscale.
pub const NEWEST_FIELDS: &str = "202610161222";

/// What a release knows. The order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    /// The fields of August 2026.
    Oldest,
    /// Those of October 2026 too.
    Newest,
}

impl Release {
    /// Reads the spelling of IncusOS, `YYYYMMDDHHMM`. One that is newer than all that are known has the fields of the
    /// newest known one: IncusOS has added fields and removed none. Absent is the oldest supported.
    ///
    /// # Errors
    /// Why it is none, to continue a quotation of the text.
    pub(super) fn parse(text: &str) -> Result<Release, &'static str> {
        if text.len() != 12 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("is not twelve digits");
        }
        let part = |range| {
            text.get(range)
                .and_then(|part: &str| part.parse::<u32>().ok())
        };
        let within = |range, allowed: core::ops::RangeInclusive<u32>| {
            part(range).is_some_and(|number| allowed.contains(&number))
        };
        if !(within(4..6, 1..=12)
            && within(6..8, 1..=31)
            && within(8..10, 0..=23)
            && within(10..12, 0..=59))
        {
            return Err("is not a date and a time");
        }
        // Of one length, digits are ordered as the times that they spell.
        match text {
            _ if text < OLDEST_SUPPORTED => Err("is older than the oldest supported one"),
            _ if text < NEWEST_FIELDS => Ok(Release::Oldest),
            _ => Ok(Release::Newest),
        }
    }

    /// The one that is declared; nothing if it is not known or not valid.
    pub(super) fn of(given: &Given<String>) -> Option<Release> {
        match given {
            Given::Absent => Some(Release::Oldest),
            Given::Unknown => None,
            Given::Known(text) => Release::parse(text).ok(),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Release::Oldest => OLDEST_SUPPORTED,
            Release::Newest => NEWEST_FIELDS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_knows_the_fields_of_its_time() {
        for (text, expected) in [
            ("202608220000", Ok(Release::Oldest)),
            ("202609271243", Ok(Release::Oldest)),
            ("202610161221", Ok(Release::Oldest)),
            ("202610161222", Ok(Release::Newest)),
            ("203101010000", Ok(Release::Newest)),
            (
                "202608212359",
                Err("is older than the oldest supported one"),
            ),
            ("202613010000", Err("is not a date and a time")),
            ("202609272460", Err("is not a date and a time")),
            ("20260927", Err("is not twelve digits")),
            ("v20260927124", Err("is not twelve digits")),
            ("stable", Err("is not twelve digits")),
        ] {
            assert_eq!(Release::parse(text), expected, "{text}");
        }
    }
}
