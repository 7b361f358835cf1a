//! The three forms that a seed is written in, by the names that configurations and command lines use.

use std::fmt;
use std::str::FromStr;

/// What a seed is packed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `tar`: an archive, as it is written into the seed partition of an install image.
    Tar,
    /// `seed-data-img`: a FAT volume to attach beside an unmodified install image (HO-SEED-29).
    SeedDataImg,
    /// `seed-data-iso`: the same as an ISO 9660 volume, for virtual drives.
    SeedDataIso,
}

/// A text that names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a format of a seed: expected `tar`, `seed-data-img` or `seed-data-iso`")]
pub struct FormatError {
    text: String,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Tar, Self::SeedDataImg, Self::SeedDataIso];

    /// The name that configurations use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::SeedDataImg => "seed-data-img",
            Self::SeedDataIso => "seed-data-iso",
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| FormatError {
            text: text.chars().take(80).collect(),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_shown() {
        for (text, format) in [
            ("tar", Format::Tar),
            ("seed-data-img", Format::SeedDataImg),
            ("seed-data-iso", Format::SeedDataIso),
        ] {
            assert_eq!(text.parse(), Ok(format));
            assert_eq!(format.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_format_is_told_what_is_one() {
        for text in ["", "TAR", "iso", "seed-data"] {
            let error = text.parse::<Format>().expect_err(text).to_string();
            let parts = [text, "`tar`, `seed-data-img` or `seed-data-iso`"];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
