//! Packs the files of a seed: checks what every format needs, then hands them to one of the three writers.
//!
//! Before: the rendered files. After: `archive.rs`, `fat.rs` or `iso.rs`. Not here: what is in a file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::{Format, archive, fat, iso};

/// The files of a seed: name and text. A text may hold private keys.
pub type Files = BTreeMap<String, String>;

/// The most that a packed seed may have, in bytes: the size of the partition that holds it on the installed disk.
pub const LARGEST_SEED: u64 = 100 * 1024 * 1024;

/// What ISO 9660's Joliet names may have, in characters.
const LONGEST_NAME: usize = 64;

/// Why files are no seed, or are not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// IncusOS would find nothing in it.
    #[error("a seed has at least one file")]
    NoFiles,
    /// A name that IncusOS does not look for, or that a format cannot hold.
    #[error(
        "`{name}` is not a name of a seed file: expected up to 64 lower-case letters, digits, `-` and `_`, then `.json`, \
         `.yaml` or `.yml`"
    )]
    Name {
        /// The name as given.
        name: String,
    },
    /// It does not fit into the partition.
    #[error("the seed has {size} bytes when packed, and its partition has {LARGEST_SEED}")]
    TooLarge {
        /// What it would have, in bytes.
        size: u64,
    },
    /// The sink took no more.
    #[error("the packed seed could not be written")]
    Write(#[source] io::Error),
}

/// Writes the files in this format. The same files give the same bytes, always.
///
/// # Errors
///
/// All but [`PackError::Write`] are found before the first byte is written.
pub fn pack(files: &Files, format: Format, sink: &mut impl Write) -> Result<(), PackError> {
    check(files)?;
    let written = match format {
        Format::Tar => archive::write(files, sink),
        Format::SeedDataImg => fat::write(files, sink),
        Format::SeedDataIso => iso::write(files, sink),
    };
    written.map_err(PackError::Write)
}

/// Says what is wrong with the files, whatever the format. The limit is that of the archive in every format: whatever is
/// on a volume goes into the partition during the installation.
fn check(files: &Files) -> Result<(), PackError> {
    if files.is_empty() {
        return Err(PackError::NoFiles);
    }
    if let Some(name) = files.keys().find(|name| !is_name(name)) {
        let name = name.chars().take(80).collect();
        return Err(PackError::Name { name });
    }
    let size = archive::size(files);
    if size > LARGEST_SEED {
        return Err(PackError::TooLarge { size });
    }
    Ok(())
}

/// Whether IncusOS looks for such a name, and every format can hold it.
pub(crate) fn is_name(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    name.len() <= LONGEST_NAME
        && !stem.is_empty()
        && stem.bytes().all(allowed)
        && ["json", "yaml", "yml"].contains(&ending)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A seed as it usually is.
    pub(crate) fn usual() -> Files {
        [
            ("install.json", "{\"version\":\"1\"}"),
            (
                "applications.json",
                "{\"applications\":[{\"name\":\"incus\"}]}",
            ),
            ("incus.json", "{\"apply_defaults\":false}"),
            ("network.json", "{\"dns\":{\"hostname\":\"attic\"}}"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
    }

    /// Seeds of all sizes: names with every allowed character, texts that end at, before and behind every boundary.
    pub(crate) fn any_files() -> impl Strategy<Value = Files> {
        let name = "[a-z0-9_-]{1,59}\\.(json|yaml|yml)";
        let text = prop_oneof![
            "[a-zä{}\":\\n]{0,600}",
            (0usize..9000).prop_map(|length| "x".repeat(length)),
            (0usize..20).prop_map(|blocks| "x".repeat(blocks * 512)),
        ];
        proptest::collection::btree_map(name, text, 1..40)
    }

    pub(crate) fn packed(files: &Files, format: Format) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(files, format, &mut bytes).expect("a seed");
        bytes
    }

    #[test]
    fn what_is_no_seed_is_refused_before_anything_is_written() {
        let one = |name: &str, text: String| Files::from([(name.to_owned(), text)]);
        let much = "x".repeat(LARGEST_SEED as usize - 1536 + 1);
        for (files, part) in [
            (Files::new(), "at least one file"),
            (one("install", String::new()), "`install` is not"),
            (one("Install.json", String::new()), "`Install.json` is not"),
            (one("seed/install.json", String::new()), "lower-case"),
            (one("..json", String::new()), "`..json` is not"),
            (one(".json", String::new()), "`.json` is not"),
            (
                one(&format!("{}.json", "n".repeat(60)), String::new()),
                "64",
            ),
            (one("install.json", much), "104858112 bytes"),
        ] {
            for format in Format::ALL {
                let mut bytes = Vec::new();
                let error = pack(&files, format, &mut bytes)
                    .expect_err(part)
                    .to_string();
                assert!(error.contains(part), "{error}");
                assert_eq!(bytes, [0; 0]);
            }
        }
    }

    #[test]
    fn the_largest_seed_fills_its_partition() {
        let text = "x".repeat(LARGEST_SEED as usize - 512 - 1024);
        let files = Files::from([("incus.json".to_owned(), text)]);
        assert_eq!(packed(&files, Format::Tar).len() as u64, LARGEST_SEED);
        for format in [Format::SeedDataImg, Format::SeedDataIso] {
            assert!(packed(&files, format).len() as u64 > LARGEST_SEED);
        }
    }

    /// Media are made anew whenever they are wanted, and a comparison has to show whether anything changed (HO-SEED-05).
    #[test]
    fn the_same_files_give_the_same_bytes() {
        for format in Format::ALL {
            assert_eq!(packed(&usual(), format), packed(&usual(), format));
        }
    }

    /// A sink that takes only so much, as a full disk does.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_wherever_it_ends() {
        for format in Format::ALL {
            let length = packed(&usual(), format).len();
            for room in [0, 1, 512, length - 1] {
                let failed = pack(&usual(), format, &mut Full(room));
                assert!(
                    matches!(failed, Err(PackError::Write(_))),
                    "{format} {room}"
                );
            }
            assert!(
                pack(&usual(), format, &mut Full(length)).is_ok(),
                "{format}"
            );
        }
    }
}
