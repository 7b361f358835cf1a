//! The root of an ISO 9660 volume, in its two kinds: plain names with Rock Ridge behind them, and Joliet's.
//!
//! A record is never cut by the end of a sector, and records are in the order of their names. Rock Ridge adds to a plain
//! record what Linux wants to know (RRIP 1.09): `NM` the name, `PX` the mode, and once, in the root's own record, `SP` and
//! `ER`, which say that it is there.

use crate::pack::Files;

use super::names::plain;
use super::{SECTOR, both_16, both_32, sectors_of};

const FOLDER: u8 = 2;
/// 1 January 1980, as in the volume's description.
const DATE: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];
/// A volume belongs to root, and nobody else reads it.
const FILE_MODE: u32 = 0o100_600;
const FOLDER_MODE: u32 = 0o40_700;

/// How names are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Plain, with what Linux reads behind each.
    RockRidge,
    /// In UCS-2, big end first.
    Joliet,
}

/// A place on the volume.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// Its first sector.
    pub(super) sector: u64,
    /// Its bytes.
    pub(super) length: u64,
}

impl Kind {
    /// A text of the volume's description, filled with blanks.
    pub(super) fn text(self, text: &str, length: usize) -> Vec<u8> {
        let filled = format!("{text:<length$}");
        match self {
            Self::RockRidge => filled.into_bytes(),
            // Half as many characters; of an odd length the last byte is left.
            Self::Joliet => {
                let mut bytes = ucs_2(&filled);
                bytes.truncate(length / 2 * 2);
                bytes.resize(length, 0);
                bytes
            }
        }
    }
}

/// The sectors of the root, of files that follow each other from sector `first` on.
pub(super) fn root(kind: Kind, files: &Files, itself: Extent, first: u64) -> Vec<u8> {
    let (own, above) = match kind {
        Kind::RockRidge => {
            let there = b"SP\x07\x01\xbe\xef\0ER\x12\x01\x0a\0\0\x01RRIP_1991A";
            (
                [there, mode(FOLDER_MODE, 2).as_slice()].concat(),
                mode(FOLDER_MODE, 2),
            )
        }
        Kind::Joliet => (Vec::new(), Vec::new()),
    };
    let mut root = Vec::new();
    let records = [folder(0, itself, &own), folder(1, itself, &above)];
    for record in records.into_iter().chain(records_of(kind, files, first)) {
        let left = SECTOR as usize - root.len() % SECTOR as usize;
        if record.len() > left {
            root.resize(root.len() + left, 0);
        }
        root.extend(record);
    }
    root.resize(root.len().next_multiple_of(SECTOR as usize), 0);
    root
}

fn records_of(kind: Kind, files: &Files, first: u64) -> Vec<Vec<u8>> {
    let mut sector = first;
    let mut records: Vec<_> = plain(files)
        .into_iter()
        .zip(files)
        .map(|((stem, ending), (name, text))| {
            let length = text.len() as u64;
            let extent = Extent { sector, length };
            sector += sectors_of(text);
            match kind {
                Kind::RockRidge => {
                    let identifier = format!("{stem}.{ending};1").into_bytes();
                    let behind = [shown(name), mode(FILE_MODE, 1)].concat();
                    ((stem, ending), record(&identifier, extent, 0, &behind))
                }
                Kind::Joliet => {
                    // The stem is compared before the ending, so that `a.json` stands before `a-b.json`.
                    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
                    let key = (stem.to_owned(), ending.to_owned());
                    (key, record(&ucs_2(name), extent, 0, &[]))
                }
            }
        })
        .collect();
    records.sort();
    records.into_iter().map(|(_, record)| record).collect()
}

/// The record of a folder: 0 is itself, 1 is the one above.
pub(super) fn folder(identifier: u8, extent: Extent, behind: &[u8]) -> Vec<u8> {
    record(&[identifier], extent, FOLDER, behind)
}

fn record(identifier: &[u8], extent: Extent, flags: u8, behind: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 0];
    record.extend(both_32(extent.sector as u32));
    record.extend(both_32(extent.length as u32));
    record.extend(DATE);
    record.extend([flags, 0, 0]);
    record.extend(both_16(1));
    record.push(identifier.len() as u8);
    record.extend(identifier);
    // What follows the name, and the next record, begin at even places.
    record.resize(record.len().next_multiple_of(2), 0);
    record.extend(behind);
    record.resize(record.len().next_multiple_of(2), 0);
    record[0] = record.len() as u8;
    record
}

/// The name that Linux shows.
fn shown(name: &str) -> Vec<u8> {
    let mut field = b"NM".to_vec();
    field.extend([name.len() as u8 + 5, 1, 0]);
    field.extend(name.as_bytes());
    field
}

/// Mode and links; user and group are root.
fn mode(mode: u32, links: u32) -> Vec<u8> {
    let numbers = [mode, links, 0, 0].map(both_32).concat();
    [b"PX\x24\x01".as_slice(), &numbers].concat()
}

fn ucs_2(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}
