//! Where an image wants its seed: read from its partition table, and believed only if it is where IncusOS's tools put it.
//!
//! Before: `base.rs` has the first mebibyte of the image. After: `copy.rs` writes the seed there. A total function over
//! bytes. Not here: the second table at the end of the disk, which nothing of this changes.

use flate2::Crc;

/// How much of an image holds everything that is read here: partitions begin behind it.
pub(crate) const HEAD: usize = 1 << 20;

/// Where the seed partition of every release begins, in bytes: 1 MiB for the table, 2 GiB for the first partition. IncusOS's
/// own tools write to this place without a look, so another one is another layout than the one that is known.
const SEED_START: u64 = 2_148_532_224;
/// What the seed partition has, in bytes.
const SEED_SIZE: u64 = 100 * 1024 * 1024;
const SEED_NAME: &str = "seed-data";
/// Which partition it is, counted from zero.
const SEED_INDEX: usize = 1;

/// The sectors that images come in: disks have 512 bytes, and the `.iso` is a disk with 2048.
const SECTORS: [usize; 2] = [512, 2048];
const MAGIC: &[u8] = b"EFI PART";
const SMALLEST_HEADER: usize = 92;
const SMALLEST_ENTRY: usize = 128;

/// What an image's table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Where the seed goes, in bytes from the beginning.
    pub(crate) seed_start: u64,
    /// The most that the seed may have, in bytes.
    pub(crate) seed_size: u64,
    /// What the whole image has at least, in bytes: its table has a second copy in the last sector.
    pub(crate) image_size: u64,
}

/// Why an image has no place for a seed. The message continues "The image …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GptError {
    #[error("has no GPT partition table, so it is no IncusOS image")]
    NoTable,
    #[error("has a damaged partition table (its {part})")]
    Damaged { part: &'static str },
    #[error(
        "has no seed partition: partition 2 is named {name:?} and has {size} bytes at byte {start}; expected {SEED_NAME:?} with \
         {SEED_SIZE} bytes at byte {SEED_START}, as in images of IncusOS"
    )]
    NoSeedPartition { name: String, start: u64, size: u64 },
}

/// Reads the table from the first [`HEAD`] bytes of an image.
pub(crate) fn read(head: &[u8]) -> Result<Layout, GptError> {
    let has_table = |sector: &usize| head.get(*sector..).is_some_and(|at| at.starts_with(MAGIC));
    let sector = SECTORS
        .into_iter()
        .find(has_table)
        .ok_or(GptError::NoTable)?;
    let header = header(head, sector).ok_or(GptError::Damaged { part: "header" })?;
    let entries = entries(head, sector, header).ok_or(GptError::Damaged { part: "entries" })?;
    let (name, start, size) = partition(entries, sector).ok_or(GptError::Damaged {
        part: "second entry",
    })?;
    if (name.as_str(), start, size) != (SEED_NAME, SEED_START, SEED_SIZE) {
        return Err(GptError::NoSeedPartition { name, start, size });
    }
    let last = number(header, 32).and_then(|last| last.checked_add(1));
    let image_size = last.and_then(|sectors| sectors.checked_mul(sector as u64));
    let image_size = image_size.filter(|size| *size > SEED_START + SEED_SIZE);
    Ok(Layout {
        seed_start: SEED_START,
        seed_size: SEED_SIZE,
        image_size: image_size.ok_or(GptError::Damaged { part: "header" })?,
    })
}

/// The header, if its checksum is right.
fn header(head: &[u8], sector: usize) -> Option<&[u8]> {
    let whole = head.get(sector..2 * sector)?;
    let length = small(whole, 12)?;
    let header = whole.get(..length).filter(|_| length >= SMALLEST_HEADER)?;
    // The checksum is over the header with zeros in its own place.
    let mut crc = Crc::new();
    crc.update(&header[..16]);
    crc.update(&[0; 4]);
    crc.update(&header[20..]);
    (small(header, 16)? == crc.sum() as usize).then_some(header)
}

/// The entries, each with its size, if their checksum is right.
fn entries<'a>(head: &'a [u8], sector: usize, header: &[u8]) -> Option<(&'a [u8], usize)> {
    let start = usize::try_from(number(header, 72)?)
        .ok()?
        .checked_mul(sector)?;
    let (count, size) = (small(header, 80)?, small(header, 84)?);
    let end = start.checked_add(count.checked_mul(size)?)?;
    let entries = head.get(start..end).filter(|_| size >= SMALLEST_ENTRY)?;
    let mut crc = Crc::new();
    crc.update(entries);
    (small(header, 88)? == crc.sum() as usize).then_some((entries, size))
}

/// Name, first byte and size of the partition where the seed should be; one that is not used has no name.
fn partition((entries, size): (&[u8], usize), sector: usize) -> Option<(String, u64, u64)> {
    let entry = entries.get(SEED_INDEX * size..)?.get(..SMALLEST_ENTRY)?;
    let (first, last) = (number(entry, 32)?, number(entry, 40)?);
    let sectors = if first == 0 && last == 0 {
        0
    } else {
        last.checked_sub(first)?.checked_add(1)?
    };
    let units = entry[56..]
        .chunks(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    let bytes = |sectors: u64| sectors.checked_mul(sector as u64);
    Some((
        String::from_utf16_lossy(&units),
        bytes(first)?,
        bytes(sectors)?,
    ))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

fn small(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes) as usize)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The beginning of an image whose table says this, with right checksums.
    pub(crate) fn head(sector: usize, name: &str, start: u64, size: u64, image: u64) -> Vec<u8> {
        let mut head = vec![0; HEAD];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        let sectors = |bytes: u64| bytes / sector as u64;
        let table = 2 * sector;
        // The first partition reaches up to the second.
        put(table + 32, &sectors(1 << 20).to_le_bytes());
        let entry = table + 128;
        put(entry, &[0xaf; 16]);
        put(entry + 32, &sectors(start).to_le_bytes());
        put(entry + 40, &(sectors(start + size) - 1).to_le_bytes());
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        put(entry + 56, &name);
        let header = sector;
        put(header, b"EFI PART\0\0\x01\0\x5c\0\0\0");
        put(header + 24, &1u64.to_le_bytes());
        put(header + 32, &(sectors(image) - 1).to_le_bytes());
        put(header + 72, &2u64.to_le_bytes());
        put(header + 80, &128u32.to_le_bytes());
        put(header + 84, &128u32.to_le_bytes());
        let sum = crc(&head[table..table + 128 * 128]);
        head[header + 88..header + 92].copy_from_slice(&sum);
        let sum = crc(&head[header..header + 92]);
        head[header + 16..header + 20].copy_from_slice(&sum);
        head
    }

    /// The beginning of an image as IncusOS has it.
    pub(crate) fn usual(sector: usize, image: u64) -> Vec<u8> {
        head(sector, SEED_NAME, SEED_START, SEED_SIZE, image)
    }

    fn crc(bytes: &[u8]) -> [u8; 4] {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    }

    const IMAGE: u64 = 3 << 30;

    /// Both of IncusOS's images: the `.img`, and the `.iso`, which is a disk with sectors of 2048 bytes.
    #[test]
    fn the_place_for_the_seed_is_found_in_both_kinds_of_images() {
        for sector in SECTORS {
            let expected = Layout {
                seed_start: 2_148_532_224,
                seed_size: 104_857_600,
                image_size: IMAGE,
            };
            assert_eq!(read(&usual(sector, IMAGE)), Ok(expected), "{sector}");
        }
    }

    #[test]
    fn another_layout_is_refused_and_shown() {
        let (start, size) = (SEED_START, SEED_SIZE);
        for (name, start, size) in [
            ("esp", start, size),
            ("SEED_DATA", start, size),
            (SEED_NAME, start + 2048, size),
            (SEED_NAME, start, size - 2048),
        ] {
            let refused = read(&head(512, name, start, size, IMAGE)).expect_err(name);
            let expected = GptError::NoSeedPartition {
                name: name.into(),
                start,
                size,
            };
            assert_eq!(refused, expected);
            let told = refused.to_string();
            for part in [name, &start.to_string(), &size.to_string(), "104857600"] {
                assert!(told.contains(part), "{told}");
            }
        }
    }

    #[test]
    fn what_is_no_disk_has_no_table() {
        for head in [Vec::new(), vec![0; HEAD], usual(512, IMAGE).split_off(1)] {
            assert_eq!(read(&head), Err(GptError::NoTable));
        }
    }

    #[test]
    fn a_table_with_a_wrong_checksum_is_not_believed() {
        for (at, part) in [(512 + 40, "header"), (1024 + 5000, "entries")] {
            let mut head = usual(512, IMAGE);
            head[at] ^= 1;
            assert_eq!(read(&head), Err(GptError::Damaged { part }));
        }
        let cut = &usual(512, IMAGE)[..4096];
        assert_eq!(read(cut), Err(GptError::Damaged { part: "entries" }));
        let too_small = usual(512, SEED_START);
        assert_eq!(read(&too_small), Err(GptError::Damaged { part: "header" }));
    }

    proptest! {
        /// Whatever an image begins with, there is an answer.
        #[test]
        fn no_bytes_bring_the_reader_down(
            numbers in proptest::collection::vec((512usize..1200, any::<u64>()), 1..6),
            is_sealed: bool,
        ) {
            let mut head = usual(512, IMAGE);
            for (at, number) in numbers {
                head[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            if is_sealed {
                head[512..528].copy_from_slice(b"EFI PART\0\0\x01\0\x5c\0\0\0");
                head[528..532].fill(0);
                let sum = crc(&head[512..604]);
                head[528..532].copy_from_slice(&sum);
            }
            let _ = read(&head);
        }
    }
}
