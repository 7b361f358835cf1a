//! The root of a FAT volume: its label, and for each file a short name and, since that is not enough, a long one.
//!
//! A long name stands before its file, last part first, thirteen UTF-16 units to an entry of 32 bytes; a checksum ties it
//! to the short name. Not here: where the bytes of a file go, but that files follow each other from cluster 2 on.

use std::collections::BTreeSet;
use std::io;

use super::{ROOT_ENTRIES, clusters_of};
use crate::VOLUME_LABEL;
use crate::pack::Files;

const ENTRY: usize = 32;
const LABEL: u8 = 0x08;
const ARCHIVE: u8 = 0x20;
const LONG_NAME: u8 = 0x0f;
const LAST_PART: u8 = 0x40;
const PART: usize = 13;
/// The first day that FAT knows, 1 January 1980: the same seed gives the same bytes.
const DATE: u16 = 1 << 5 | 1;
const FIRST_CLUSTER: u64 = 2;

/// The bytes of the root.
pub(super) fn root(files: &Files) -> io::Result<Vec<u8>> {
    let mut root = entry(&label(VOLUME_LABEL), LABEL, 0, 0).to_vec();
    let mut taken = BTreeSet::new();
    let mut cluster = FIRST_CLUSTER;
    for (name, text) in files {
        let short = short_name(name, &taken);
        taken.insert(short);
        root.extend(long_name(name, &short));
        // A file without bytes has no cluster.
        let first = if text.is_empty() { 0 } else { cluster };
        root.extend(entry(&short, ARCHIVE, first as u16, text.len() as u32));
        cluster += clusters_of(text);
    }
    let room = ROOT_ENTRIES as usize * ENTRY;
    if root.len() > room {
        return Err(io::Error::other("the root of a FAT volume has 512 entries"));
    }
    root.resize(room, 0);
    Ok(root)
}

/// A label as it stands in an entry: eleven bytes, filled with blanks.
pub(super) fn label(text: &str) -> [u8; 11] {
    let mut label = [b' '; 11];
    label[..text.len()].copy_from_slice(text.as_bytes());
    label
}

fn entry(name: &[u8; 11], attributes: u8, cluster: u16, size: u32) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..11].copy_from_slice(name);
    entry[11] = attributes;
    for date in [16, 18, 24] {
        entry[date..date + 2].copy_from_slice(&DATE.to_le_bytes());
    }
    entry[26..28].copy_from_slice(&cluster.to_le_bytes());
    entry[28..32].copy_from_slice(&size.to_le_bytes());
    entry
}

/// A name of eight and three characters that no other file has: `APPLIC~1JSO`.
fn short_name(name: &str, taken: &BTreeSet<[u8; 11]>) -> [u8; 11] {
    let upper = name.to_ascii_uppercase();
    let (stem, ending) = upper.rsplit_once('.').unwrap_or((&upper, ""));
    let candidate = |number: usize| {
        let tail = format!("~{number}");
        let stem = &stem[..stem.len().min(8 - tail.len())];
        let ending = &ending[..ending.len().min(3)];
        let text = format!("{:<8}{ending:<3}", format!("{stem}{tail}"));
        let mut short = [b' '; 11];
        short.copy_from_slice(text.as_bytes());
        short
    };
    // There are fewer files than numbers of six digits, so one is free.
    let free = (1..).map(candidate).find(|short| !taken.contains(short));
    free.unwrap_or_default()
}

/// The entries of a long name, in the order in which they are written.
fn long_name(name: &str, short: &[u8; 11]) -> Vec<u8> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let parts = units.len().div_ceil(PART);
    let mut entries = Vec::new();
    for (index, part) in units.chunks(PART).enumerate().rev() {
        let mut entry = [0; ENTRY];
        let is_last = index + 1 == parts;
        entry[0] = (index + 1) as u8 | if is_last { LAST_PART } else { 0 };
        entry[11] = LONG_NAME;
        entry[13] = checksum(short);
        // The end is a zero if there is room for it, and behind it are ones.
        let end = std::iter::once(0).chain(std::iter::repeat(0xffff));
        let places = (1..11).chain(14..26).chain(28..32);
        let bytes = part.iter().copied().chain(end).flat_map(u16::to_le_bytes);
        for (place, byte) in places.zip(bytes) {
            entry[place] = byte;
        }
        entries.extend(entry);
    }
    entries
}

fn checksum(short: &[u8; 11]) -> u8 {
    let add = |sum: u8, byte: &u8| sum.rotate_right(1).wrapping_add(*byte);
    short.iter().fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of `applications.json`, byte for byte, as Windows and Linux write them.
    #[test]
    fn a_long_name_stands_before_its_file() {
        let files = Files::from([("applications.json".to_owned(), "{}".to_owned())]);
        let root = root(&files).expect("there is room");
        let entries: Vec<&[u8]> = root.chunks(ENTRY).collect();
        assert_eq!(&entries[0][..12], b"SEED_DATA  \x08");
        let last = b"\x42j\0s\0o\0n\0\0\0\x0f\0\x43\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\xff\xff\xff\xff";
        let checksum = checksum(b"APPLIC~1JSO");
        let mut expected = last.to_vec();
        expected[13] = checksum;
        assert_eq!(entries[1], expected);
        let mut expected = b"\x01a\0p\0p\0l\0i\0\x0f\0\0c\0a\0t\0i\0o\0n\0\0\0s\0.\0".to_vec();
        expected[13] = checksum;
        assert_eq!(entries[2], expected);
        assert_eq!(&entries[3][..12], b"APPLIC~1JSO\x20");
        assert_eq!(&entries[3][26..], &[2, 0, 2, 0, 0, 0]);
        assert_eq!(entries[4], [0; ENTRY]);
    }

    #[test]
    fn short_names_are_never_shared() {
        let names = (0..1200).map(|number| format!("applications-{number}.json"));
        let mut taken = BTreeSet::new();
        for name in names {
            assert!(taken.insert(short_name(&name, &taken)), "{name}");
        }
        assert!(taken.contains(b"APPLI~99JSO") && taken.contains(b"APP~1200JSO"));
        assert_eq!(&short_name("a.yml", &BTreeSet::new()), b"A~1     YML");
    }

    #[test]
    fn more_files_than_the_root_holds_are_an_error() {
        let names = (0..300).map(|number| (format!("a{number}.json"), String::new()));
        assert!(root(&names.collect()).is_err());
    }

    /// The checksum as the specification computes it.
    #[test]
    fn checksums_tie_long_names_to_short_ones() {
        let by_the_book = |short: &[u8; 11]| {
            let mut sum = 0u32;
            for byte in short {
                sum = (if sum & 1 == 1 { 0x80 } else { 0 } + (sum >> 1) + u32::from(*byte)) & 0xff;
            }
            sum as u8
        };
        for short in [b"APPLIC~1JSO", b"INCUS~1 JSO", b"A~1     YML"] {
            assert_eq!(checksum(short), by_the_book(short));
        }
    }
}
