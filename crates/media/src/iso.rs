//! The ISO 9660 form of a seed: a volume `SEED_DATA` with the files in its root, for virtual drives (HO-SEED-29).
//!
//! Before: `pack.rs` checked names and sizes. After: the bytes, written from the first to the last, since everything is
//! known before the first one. No crate that writes ISO 9660 is kept well enough to depend on. The files have their own
//! names twice over: for Linux by Rock Ridge, for everything else by Joliet; `iso/directory.rs` makes both roots, and
//! `iso/names.rs` the short names beneath. The layout, in sectors of 2048 bytes:
//!
//! ```text
//! 0 … 15 empty │ 16 volume │ 17 Joliet's volume │ 18 end │ 19 … 22 path tables │ root │ Joliet's root │ files
//! ```

mod directory;
mod names;

use std::io::{self, Write};

use crate::VOLUME_LABEL;
use crate::fat::zeros;
use crate::pack::Files;

use directory::{Extent, Kind};

const SECTOR: u64 = 2048;
const PATH_TABLES: u64 = 19;
const ROOT: u64 = 23;
/// What a path table has: one entry, of the root.
const PATH_TABLE_LENGTH: u32 = 10;
/// The same day as in a FAT volume; the same seed gives the same bytes.
const DATE: &[u8; 17] = b"1980010100000000\0";

/// Writes the volume.
pub(crate) fn write(files: &Files, sink: &mut impl Write) -> io::Result<()> {
    // Where the files begin depends on the size of the roots, which does not depend on where they begin.
    let size = |kind| directory::root(kind, files, Extent::default(), 0).len() as u64;
    let plain = Extent {
        sector: ROOT,
        length: size(Kind::RockRidge),
    };
    let joliet = Extent {
        sector: ROOT + plain.length / SECTOR,
        length: size(Kind::Joliet),
    };
    let first = joliet.sector + joliet.length / SECTOR;
    let total = first + files.values().map(|text| sectors_of(text)).sum::<u64>();

    zeros(16 * SECTOR, sink)?;
    sink.write_all(&descriptor(Kind::RockRidge, plain, total))?;
    sink.write_all(&descriptor(Kind::Joliet, joliet, total))?;
    sink.write_all(&sector(b"\xffCD001\x01"))?;
    for root in [plain, joliet] {
        let number = root.sector as u32;
        sink.write_all(&path_table(number.to_le_bytes(), 1u16.to_le_bytes()))?;
        sink.write_all(&path_table(number.to_be_bytes(), 1u16.to_be_bytes()))?;
    }
    sink.write_all(&directory::root(Kind::RockRidge, files, plain, first))?;
    sink.write_all(&directory::root(Kind::Joliet, files, joliet, first))?;
    for text in files.values() {
        sink.write_all(text.as_bytes())?;
        zeros(sectors_of(text) * SECTOR - text.len() as u64, sink)?;
    }
    sink.flush()
}

fn sectors_of(text: &str) -> u64 {
    (text.len() as u64).div_ceil(SECTOR)
}

/// A sector that begins with these bytes.
fn sector(bytes: &[u8]) -> Vec<u8> {
    let mut sector = bytes.to_vec();
    sector.resize(SECTOR as usize, 0);
    sector
}

fn path_table(root: [u8; 4], parent: [u8; 2]) -> Vec<u8> {
    let mut table = vec![1, 0];
    table.extend(root);
    table.extend(parent);
    sector(&table)
}

/// The description of the volume, once for each kind of names.
fn descriptor(kind: Kind, root: Extent, total: u64) -> Vec<u8> {
    let text = |text: &str, length| kind.text(text, length);
    let tables = PATH_TABLES as u32 + if kind == Kind::Joliet { 2 } else { 0 };
    let mut bytes = vec![if kind == Kind::Joliet { 2 } else { 1 }];
    bytes.extend(b"CD001\x01\0");
    bytes.extend(text("", 32));
    bytes.extend(text(VOLUME_LABEL, 32));
    bytes.extend([0; 8]);
    bytes.extend(both_32(total as u32));
    // Joliet, level 3: names are UCS-2.
    let escape: &[u8] = if kind == Kind::Joliet { b"%/E" } else { b"" };
    bytes.extend(escape);
    bytes.resize(120, 0);
    // The first volume of a set of one.
    bytes.extend([both_16(1), both_16(1), both_16(SECTOR as u16)].concat());
    bytes.extend(both_32(PATH_TABLE_LENGTH));
    bytes.extend(tables.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend((tables + 1).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(directory::folder(0, root, &[]));
    // Set, publisher, preparer, application; then three names of files that are not there.
    bytes.extend([128; 4].map(|length| text("", length)).concat());
    bytes.extend([37; 3].map(|length| text("", length)).concat());
    // Made and changed; it never expires, and counts at once.
    for date in [DATE, DATE, b"0000000000000000\0", DATE] {
        bytes.extend(date);
    }
    bytes.push(1);
    sector(&bytes)
}

/// A number in both orders of bytes, as ISO 9660 has them.
fn both_16(number: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (number.to_le_bytes(), number.to_be_bytes());
    [a, b, c, d]
}

/// A number in both orders of bytes, as ISO 9660 has them.
fn both_32(number: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (number.to_le_bytes(), number.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests;
