//! The tar form of a seed: what install images carry in their seed partition, and reading it back.
//!
//! Before: `pack.rs` checked names and sizes. After: the bytes. IncusOS takes an archive whose first header has the magic
//! `ustar`, takes the first entry of a name, and ignores whatever is behind the end.

use std::io::{self, Read, Write};

use crate::pack::{Files, LARGEST_SEED, is_name};

const BLOCK: u64 = 512;

/// Why bytes are not read as a seed. No message repeats anything of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// It ended too early, is damaged, or is encrypted for somebody else.
    #[error("the seed could not be read")]
    Read(#[source] io::Error),
    /// It is something else.
    #[error("the seed is not a tar archive of the kind that IncusOS reads (ustar)")]
    NotAnArchive,
    /// It does not fit into the partition.
    #[error("the seed has more than {LARGEST_SEED} bytes, which is what its partition has")]
    TooLarge,
    /// There is nothing in it.
    #[error("the seed has no files")]
    NoFiles,
    /// A folder, a link, or a file that IncusOS does not look for.
    #[error("the seed has an entry `{name}`, which IncusOS does not look for")]
    Entry {
        /// The entry's name.
        name: String,
    },
    /// IncusOS would take the first of them.
    #[error("the seed has `{name}` twice, in whatever form")]
    Twice {
        /// The name without its ending.
        name: String,
    },
    /// Seed files are JSON or YAML.
    #[error("the file `{name}` of the seed is not text (UTF-8)")]
    NotText {
        /// The file's name.
        name: String,
    },
}

/// What the archive of these files has, in bytes.
pub(crate) fn size(files: &Files) -> u64 {
    let entry = |text: &String| BLOCK + (text.len() as u64).next_multiple_of(BLOCK);
    files.values().map(entry).sum::<u64>() + 2 * BLOCK
}

/// Writes the archive; names are in order, and nothing tells of this machine or this moment.
pub(crate) fn write(files: &Files, sink: &mut impl Write) -> io::Result<()> {
    let mut builder = tar::Builder::new(sink);
    for (name, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, name, text.as_bytes())?;
    }
    builder.into_inner()?.flush()
}

/// Reads an archive, as [`pack`](crate::pack) or IncusOS's own tools write it, to its last byte.
///
/// It is stricter than IncusOS, which overlooks what it does not look for: a seed that is read here is found whole there.
pub fn unpack(reader: impl Read) -> Result<Files, UnpackError> {
    let mut reader = reader.take(LARGEST_SEED + 1);
    let mut first = Vec::new();
    let block = &mut (&mut reader).take(BLOCK);
    block.read_to_end(&mut first).map_err(UnpackError::Read)?;
    // Of a longer archive the tail is read below, so the limit is that of the whole.
    if first.get(257..262) != Some(b"ustar") {
        return Err(UnpackError::NotAnArchive);
    }
    let mut archive = tar::Archive::new(first.as_slice().chain(&mut reader));
    let files = entries(&mut archive);
    // Who reads to the end knows that all of it was there: an encrypted seed is proved complete by its last block.
    let rest = files.and_then(|files| {
        let rest = archive.into_inner();
        io::copy(&mut { rest }, &mut io::sink()).map_err(UnpackError::Read)?;
        Ok(files)
    });
    if reader.limit() == 0 {
        return Err(UnpackError::TooLarge);
    }
    match rest {
        Ok(files) if files.is_empty() => Err(UnpackError::NoFiles),
        rest => rest,
    }
}

fn entries(archive: &mut tar::Archive<impl Read>) -> Result<Files, UnpackError> {
    let mut files = Files::new();
    for entry in archive.entries().map_err(UnpackError::Read)? {
        let mut entry = entry.map_err(UnpackError::Read)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let is_file = entry.header().entry_type().is_file();
        // What IncusOS trims, and what `tar -C folder .` puts before each name, the folder's own entry included.
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        if name.is_empty() && entry.header().entry_type().is_dir() {
            continue;
        }
        if !is_file || !is_name(&name) {
            let name = name.chars().take(80).collect();
            return Err(UnpackError::Entry { name });
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(UnpackError::Read)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(UnpackError::NotText { name });
        };
        let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        if files
            .keys()
            .any(|other: &String| stem(other) == stem(&name))
        {
            return Err(UnpackError::Twice { name: stem(&name) });
        }
        files.insert(name, text);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Format;
    use crate::pack::tests::{any_files, packed, usual};

    /// The bytes are asserted one by one, since this is what IncusOS reads (HO-SEED-03).
    #[test]
    fn an_archive_is_as_incusos_reads_it() {
        let bytes = packed(&usual(), Format::Tar);
        assert_eq!(&bytes[257..265], b"ustar\x0000");
        let text = |range: std::ops::Range<usize>| {
            let field = String::from_utf8_lossy(&bytes[range]);
            field.trim_end_matches('\0').to_owned()
        };
        assert_eq!(text(0..100), "applications.json");
        assert_eq!(text(100..108), "0000600", "mode");
        assert_eq!(
            (text(108..116), text(116..124)),
            ("0000000".into(), "0000000".into())
        );
        assert_eq!(text(136..148), "00000000000", "time");
        assert_eq!(
            (text(265..297), text(297..329)),
            (String::new(), String::new())
        );
        assert_eq!(bytes.len() as u64, size(&usual()));
        assert!(bytes[bytes.len() - 1024..].iter().all(|byte| *byte == 0));
        let names: Vec<&str> = [
            "applications.json",
            "incus.json",
            "install.json",
            "network.json",
        ]
        .into();
        let places = names.iter().map(|name| {
            bytes
                .windows(name.len())
                .position(|window| window == name.as_bytes())
        });
        assert!(places.is_sorted(), "names are in order");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_was_packed_is_read_back(files in any_files()) {
            let stems: BTreeSet<_> = files.keys().map(|name| name.split('.').next()).collect();
            let bytes = packed(&files, Format::Tar);
            prop_assert_eq!(bytes.len() as u64, size(&files));
            let unpacked = unpack(bytes.as_slice());
            if stems.len() == files.len() {
                prop_assert_eq!(unpacked.ok(), Some(files));
            } else {
                let is_twice = matches!(unpacked, Err(UnpackError::Twice { .. }));
                prop_assert!(is_twice);
            }
        }

        /// Whatever the bytes are, reading them ends with an answer.
        #[test]
        fn no_bytes_bring_the_reader_down(at in 0usize..4000, byte: u8) {
            let mut bytes = packed(&usual(), Format::Tar);
            let length = bytes.len();
            bytes[at % length] = byte;
            let _ = unpack(bytes.as_slice());
            let _ = unpack(&bytes[..at % length]);
        }
    }

    /// An archive of these entries, made with the library's own defaults.
    fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, bytes) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            builder.append(&header, *bytes).expect("an entry");
        }
        builder.into_inner().expect("an archive")
    }

    #[test]
    fn archives_of_other_tools_are_read() {
        use tar::EntryType::{Directory, Regular};
        let mut bytes = archive(&[("./", Directory, b""), ("./install.yaml", Regular, b"a: 1")]);
        let expected = Files::from([("install.yaml".to_owned(), "a: 1".to_owned())]);
        assert_eq!(unpack(bytes.as_slice()).ok(), Some(expected.clone()));
        bytes.extend([7; 5000]);
        let behind_the_end = unpack(bytes.as_slice());
        assert_eq!(behind_the_end.ok(), Some(expected));
    }

    #[test]
    fn what_incusos_would_overlook_is_refused_by_name() {
        use tar::EntryType::{Directory, Regular, Symlink};
        for (bytes, part) in [
            (archive(&[("install.json", Symlink, b"")]), "`install.json`"),
            (archive(&[("seed", Directory, b"")]), "`seed`"),
            (
                archive(&[("seed/install.json", Regular, b"")]),
                "`seed/install.json`",
            ),
            (archive(&[("INSTALL.JSON", Regular, b"")]), "`INSTALL.JSON`"),
            (
                archive(&[("../install.json", Regular, b"")]),
                "`../install.json`",
            ),
            (
                archive(&[
                    ("install.yml", Regular, b""),
                    ("./install.json", Regular, b""),
                ]),
                "`install` twice",
            ),
            (archive(&[("install.json", Regular, b"\xff")]), "not text"),
            (vec![0; 2048], "not a tar"),
            (Vec::new(), "not a tar"),
            (packed(&usual(), Format::SeedDataIso), "not a tar"),
            (
                packed(&usual(), Format::Tar)[..600].to_vec(),
                "could not be read",
            ),
        ] {
            let error = unpack(bytes.as_slice()).expect_err(part).to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let nothing = archive(&[("./", Directory, b"")]);
        assert!(matches!(
            unpack(nothing.as_slice()),
            Err(UnpackError::NoFiles)
        ));
    }

    #[test]
    fn a_seed_beyond_its_partition_is_not_read_on() {
        let endless = packed(&usual(), Format::Tar);
        let endless = endless.as_slice().chain(io::repeat(0));
        assert!(matches!(unpack(endless), Err(UnpackError::TooLarge)));
    }
}
