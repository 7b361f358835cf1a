//! The FAT form of a seed: a volume labelled `SEED_DATA` with the files in its root (HO-SEED-29).
//!
//! Before: `pack.rs` checked names and sizes. After: the bytes, written from the first to the last, since everything is
//! known before the first one. FAT16, because its root is in one piece and every seed fits: from 8 MiB on, in clusters of
//! 2 KiB. `fat/directory.rs` makes the root. The layout is that of Microsoft's specification of 2000:
//!
//! ```text
//! boot sector │ table │ table again │ root, 32 sectors │ clusters 2, 3, …
//! ```
//!
//! Not here: a partition table. IncusOS finds the volume by its label, on a whole disk as well.

mod directory;

use std::io::{self, Write};

use crate::VOLUME_LABEL;
use crate::pack::Files;

const SECTOR: u64 = 512;
const SECTORS_PER_CLUSTER: u64 = 4;
const CLUSTER: u64 = SECTOR * SECTORS_PER_CLUSTER;
/// Entries of 32 bytes in the root: what every other tool has as well. Forty files with the longest names take 280.
const ROOT_ENTRIES: u64 = 512;
const ROOT_SECTORS: u64 = ROOT_ENTRIES * 32 / SECTOR;
/// With fewer clusters a volume is FAT12 to every reader; a little above the limit, since some readers count differently.
const FEWEST_CLUSTERS: u64 = 4085 + 32;
/// A disk that does not move, as boot sector and table both say.
const FIXED_DISK: u8 = 0xf8;
const END_OF_FILE: u16 = 0xffff;
/// A volume has a number that tells it from others. Ours is always the same: the same seed gives the same bytes.
const SERIAL: u32 = 0x5eed_da7a;

/// The places on a volume, in sectors.
struct Layout {
    clusters: u64,
    table: u64,
    total: u64,
}

impl Layout {
    fn of(files: &Files) -> Self {
        let used: u64 = files.values().map(|text| clusters_of(text)).sum();
        let clusters = used.max(FEWEST_CLUSTERS);
        // Two entries of the table belong to no cluster.
        let table = ((clusters + 2) * 2).div_ceil(SECTOR);
        let total = 1 + 2 * table + ROOT_SECTORS + clusters * SECTORS_PER_CLUSTER;
        Self {
            clusters,
            table,
            total,
        }
    }
}

fn clusters_of(text: &str) -> u64 {
    (text.len() as u64).div_ceil(CLUSTER)
}

/// Writes the volume.
pub(crate) fn write(files: &Files, sink: &mut impl Write) -> io::Result<()> {
    let layout = Layout::of(files);
    let root = directory::root(files)?;
    sink.write_all(&boot_sector(&layout))?;
    let table = table(files, &layout);
    sink.write_all(&table)?;
    sink.write_all(&table)?;
    sink.write_all(&root)?;
    let mut used = 0;
    for text in files.values() {
        sink.write_all(text.as_bytes())?;
        let end = clusters_of(text) * CLUSTER;
        zeros(end - text.len() as u64, sink)?;
        used += clusters_of(text);
    }
    zeros((layout.clusters - used) * CLUSTER, sink)?;
    sink.flush()
}

/// Writes so many zeros.
pub(crate) fn zeros(count: u64, sink: &mut impl Write) -> io::Result<()> {
    let some = [0; 1 << 16];
    let mut left = count;
    while left > 0 {
        let now = left.min(some.len() as u64);
        sink.write_all(&some[..now as usize])?;
        left -= now;
    }
    Ok(())
}

fn boot_sector(layout: &Layout) -> [u8; SECTOR as usize] {
    let mut sector = [0; SECTOR as usize];
    let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
    // Nothing starts from here, so the jump that must be there leads to itself.
    put(0, &[0xeb, 0xfe, 0x90]);
    put(3, b"MSWIN4.1");
    put(11, &(SECTOR as u16).to_le_bytes());
    put(13, &[SECTORS_PER_CLUSTER as u8]);
    put(14, &1u16.to_le_bytes());
    put(16, &[2]);
    put(17, &(ROOT_ENTRIES as u16).to_le_bytes());
    match u16::try_from(layout.total) {
        Ok(total) => put(19, &total.to_le_bytes()),
        Err(_) => put(32, &(layout.total as u32).to_le_bytes()),
    }
    put(21, &[FIXED_DISK]);
    put(22, &(layout.table as u16).to_le_bytes());
    // A geometry that no reader of today needs, and that old ones divide by.
    put(24, &32u16.to_le_bytes());
    put(26, &64u16.to_le_bytes());
    put(36, &[0x80, 0, 0x29]);
    put(39, &SERIAL.to_le_bytes());
    put(43, &directory::label(VOLUME_LABEL));
    put(54, b"FAT16   ");
    put(510, &[0x55, 0xaa]);
    sector
}

/// The chain of clusters of each file, one file after the other.
fn table(files: &Files, layout: &Layout) -> Vec<u8> {
    let mut table = vec![0xff00 | u16::from(FIXED_DISK), END_OF_FILE];
    for text in files.values() {
        for left in (0..clusters_of(text)).rev() {
            let next = table.len() as u16 + 1;
            table.push(if left == 0 { END_OF_FILE } else { next });
        }
    }
    table.resize((layout.table * SECTOR / 2) as usize, 0);
    table.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use proptest::prelude::*;

    use super::*;
    use crate::Format;
    use crate::pack::tests::{any_files, packed, usual};

    /// What somebody else's reader finds on a volume.
    fn read_back(volume: Vec<u8>) -> Files {
        let options = fatfs::FsOptions::new();
        let volume = fatfs::FileSystem::new(Cursor::new(volume), options).expect("a FAT volume");
        assert_eq!(volume.fat_type(), fatfs::FatType::Fat16);
        let root = volume.root_dir();
        let read = |entry: io::Result<fatfs::DirEntry<'_, _>>| {
            let entry = entry.expect("an entry");
            let mut text = String::new();
            let mut file = entry.to_file();
            file.read_to_string(&mut text).expect("a text");
            assert_eq!(text.len() as u64, entry.len());
            (entry.file_name(), text)
        };
        root.iter().map(read).collect()
    }

    #[test]
    fn the_label_is_where_either_kind_of_reader_looks() {
        let bytes = packed(&usual(), Format::SeedDataImg);
        assert_eq!(&bytes[43..54], b"SEED_DATA  ", "in the boot sector");
        let table = u64::from(u16::from_le_bytes([bytes[22], bytes[23]]));
        let root = ((1 + 2 * table) * SECTOR) as usize;
        assert_eq!(&bytes[root..root + 12], b"SEED_DATA  \x08", "in the root");
        assert_eq!(&bytes[54..59], b"FAT16");
        assert_eq!(&bytes[510..512], &[0x55, 0xaa]);
        let reader = fatfs::FileSystem::new(Cursor::new(bytes), fatfs::FsOptions::new());
        let reader = reader.expect("a FAT volume");
        let in_root = reader.read_volume_label_from_root_dir().expect("readable");
        assert_eq!(reader.volume_label(), "SEED_DATA");
        assert_eq!(in_root.as_deref(), Some("SEED_DATA"));
        assert_eq!(reader.volume_id(), SERIAL);
    }

    /// IncusOS looks for lower-case names of any length, and finds them through Linux's own reader.
    #[test]
    fn long_names_are_kept_as_they_are() {
        let bytes = packed(&usual(), Format::SeedDataImg);
        assert_eq!(bytes.len() as u64 % SECTOR, 0);
        assert_eq!(read_back(bytes), usual());
    }

    #[test]
    fn a_volume_is_large_enough_for_its_seed_and_not_larger() {
        let large = Files::from([("incus.json".to_owned(), "x".repeat(20 << 20))]);
        for (files, mebibytes) in [(usual(), 8), (large, 20)] {
            let bytes = packed(&files, Format::SeedDataImg);
            assert_eq!(bytes.len() >> 20, mebibytes);
            assert!(read_back(bytes) == files);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_was_packed_is_read_back(files in any_files()) {
            prop_assert_eq!(read_back(packed(&files, Format::SeedDataImg)), files);
        }
    }
}
