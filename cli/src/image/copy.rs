//! Moves the bytes of an image, with the seed in their midst, and compares them afterwards.
//!
//! Before: `base.rs` has the image, `../image.rs` the place to write to. After: the disk. One thread reads and unpacks while
//! another writes, in a few large buffers, however large the image is (HO-SEED-31). A plain image that becomes a file is
//! copied by the kernel. Not here: whether the place may be written to.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::sync_channel;
use std::thread;

use rustix::fs::{Advice, SeekFrom, copy_file_range, fadvise, seek};
use rustix::io::Errno;

use super::base::{Base, BaseError};
use crate::progress::Progress;

/// Large enough that calls and disks' own overheads do not count.
const BUFFER: usize = 4 << 20;
/// One is filled, one is written, and one of each waits.
const BUFFERS: usize = 4;
/// Zeros of this length become a hole of a file.
const HOLE: usize = 64 << 10;
/// A stick is slower than memory. Without waiting for it in between, all progress would be shown before any of it is true.
const UNSYNCED: u64 = 64 << 20;
/// What the kernel copies before the progress is shown again.
const CLONED: u64 = 64 << 20;

/// The seed, and where in the image it goes, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Seed<'a> {
    pub(crate) at: u64,
    pub(crate) bytes: &'a [u8],
}

/// What an image is written to.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    /// An empty file, in which zeros take no space.
    File(&'a File),
    /// A device, with anything on it.
    Device(&'a File),
}

/// Why the bytes are not there. The message continues with the cause.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error("Writing at byte {at} failed")]
    Write {
        at: u64,
        #[source]
        source: io::Error,
    },
    #[error("Waiting for the disk to have everything failed")]
    Sync(#[source] io::Error),
    #[error("Reading back at byte {at} failed")]
    ReadBack {
        at: u64,
        #[source]
        source: io::Error,
    },
    #[error(
        "What was read back differs from what was written, at byte {at}: the medium is damaged, or something else wrote to it"
    )]
    Differs { at: u64 },
}

/// Writes the image and the seed, waits until the disk has both, and says how many bytes there are.
///
/// Everything but the bytes of the seed is as in the base, also what an older, longer seed left behind it.
pub(crate) fn write(
    base: &Base,
    seed: Seed<'_>,
    sink: Sink<'_>,
    progress: &mut Progress,
) -> Result<u64, CopyError> {
    let file = match sink {
        Sink::File(file) | Sink::Device(file) => file,
    };
    let size = match (sink, base.plain(), base.size) {
        (Sink::File(file), Some(plain), Some(size))
            if clone(base, plain, size, file, progress)? =>
        {
            put(file, seed.at, seed.bytes)?;
            size
        }
        _ => stream(base, seed, sink, progress)?,
    };
    if let Sink::File(file) = sink {
        // A hole at the end is nothing that was written.
        file.set_len(size)
            .map_err(|source| CopyError::Write { at: size, source })?;
    }
    file.sync_all().map_err(CopyError::Sync)?;
    base.check(size)?;
    Ok(size)
}

fn put(file: &File, at: u64, bytes: &[u8]) -> Result<(), CopyError> {
    let written = file.write_all_at(bytes, at);
    written.map_err(|source| CopyError::Write { at, source })
}

/// Lets the kernel copy what is no hole, and says whether it can.
fn clone(
    base: &Base,
    from: &File,
    size: u64,
    to: &File,
    progress: &mut Progress,
) -> Result<bool, CopyError> {
    let mut done = 0;
    while done < size {
        let data = match seek(from, SeekFrom::Data(done)) {
            Ok(data) => data,
            // From here on there is only a hole.
            Err(Errno::NXIO) => break,
            // A file system that knows no holes.
            Err(_) => done,
        };
        let hole = seek(from, SeekFrom::Hole(data)).unwrap_or(size);
        let (mut source, mut sink) = (data, data);
        while source < hole {
            let length = (hole - source).min(CLONED) as usize;
            match copy_file_range(from, Some(&mut source), to, Some(&mut sink), length) {
                Ok(0) => {
                    let ended = io::ErrorKind::UnexpectedEof.into();
                    return Err(base.failed(ended).into());
                }
                Ok(_) => progress.reach(source),
                // Other file systems, or a kernel that does not copy between these two: then it is read and written.
                Err(_) if source == 0 => return Ok(false),
                Err(error) => {
                    let source = error.into();
                    return Err(CopyError::Write { at: sink, source });
                }
            }
        }
        done = hole;
    }
    Ok(true)
}

/// Reads in one thread and writes in another.
fn stream(
    base: &Base,
    seed: Seed<'_>,
    sink: Sink<'_>,
    progress: &mut Progress,
) -> Result<u64, CopyError> {
    let mut unsynced = 0;
    pump(base, seed, |at, bytes| {
        match sink {
            Sink::File(file) => sparsely(file, at, bytes)?,
            Sink::Device(file) => {
                put(file, at, bytes)?;
                unsynced += bytes.len() as u64;
                if unsynced >= UNSYNCED {
                    unsynced = 0;
                    file.sync_data().map_err(CopyError::Sync)?;
                }
            }
        }
        progress.reach(at + bytes.len() as u64);
        Ok(())
    })
}

/// Writes all but long runs of zeros, which an empty file has anyway.
fn sparsely(file: &File, at: u64, bytes: &[u8]) -> Result<(), CopyError> {
    static ZEROS: [u8; HOLE] = [0; HOLE];
    let is_zero = |piece: &&[u8]| **piece == ZEROS[..piece.len()];
    let mut start = 0;
    while start < bytes.len() {
        let pieces = || bytes[start..].chunks(HOLE);
        let zeros: usize = pieces().take_while(is_zero).map(<[u8]>::len).sum();
        let data: usize = pieces()
            .skip(zeros.div_ceil(HOLE))
            .take_while(|piece| !is_zero(piece))
            .map(<[u8]>::len)
            .sum();
        let data_start = start + zeros;
        put(
            file,
            at + data_start as u64,
            &bytes[data_start..data_start + data],
        )?;
        start = data_start + data;
    }
    Ok(())
}

/// Compares everything with the image, read once more, and the seed.
pub(crate) fn compare_all(
    base: &Base,
    seed: Seed<'_>,
    written: &File,
    progress: &mut Progress,
) -> Result<(), CopyError> {
    forget(written, 0, None);
    let mut there = vec![0; BUFFER];
    pump(base, seed, |at, bytes| {
        compare(written, at, bytes, &mut there)?;
        progress.reach(at + bytes.len() as u64);
        Ok(())
    })?;
    Ok(())
}

/// Compares the seed alone.
pub(crate) fn compare_seed(seed: Seed<'_>, written: &File) -> Result<(), CopyError> {
    forget(written, seed.at, NonZeroU64::new(seed.bytes.len() as u64));
    compare(written, seed.at, seed.bytes, &mut vec![0; seed.bytes.len()])
}

/// Compares what is at this place, in a buffer that is large enough.
pub(crate) fn compare(
    written: &File,
    at: u64,
    bytes: &[u8],
    buffer: &mut [u8],
) -> Result<(), CopyError> {
    let there = &mut buffer[..bytes.len()];
    let read = written.read_exact_at(there, at);
    read.map_err(|source| CopyError::ReadBack { at, source })?;
    if there == bytes {
        return Ok(());
    }
    let first = there
        .iter()
        .zip(bytes)
        .position(|(there, byte)| there != byte);
    Err(CopyError::Differs {
        at: at + first.unwrap_or_default() as u64,
    })
}

/// Asks the kernel to forget what it remembers of a file that is on the disk, so that reading it back asks the disk. Without
/// a length it is all from there on.
pub(crate) fn forget(file: &File, at: u64, length: Option<NonZeroU64>) {
    // Where it does not help, the comparison is of what the kernel has; that is no reason not to make it.
    let _ = fadvise(file, at, length, Advice::DontNeed);
}

/// Reads the image with the seed in it, in a thread of its own, and hands each piece on with its place.
fn pump(
    base: &Base,
    seed: Seed<'_>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), CopyError>,
) -> Result<u64, CopyError> {
    let mut reader = base.reader()?;
    let (filled, to_write) = sync_channel::<io::Result<(Vec<u8>, usize)>>(BUFFERS);
    let (written, to_fill) = sync_channel::<Vec<u8>>(BUFFERS);
    for _ in 0..BUFFERS {
        // There is room for all of them.
        let _ = written.send(vec![0; BUFFER]);
    }
    // What this moves in is gone when it returns, and a reader that waits for a buffer ends.
    thread::scope(move |scope| {
        scope.spawn(move || {
            let mut at = 0;
            // Either end of it stops the other: whoever is gone takes nothing more.
            for mut buffer in to_fill {
                let read = fill(&mut reader, &mut buffer);
                if let Ok(length) = read {
                    lay(seed, at, &mut buffer[..length]);
                    at += length as u64;
                }
                let is_last = !matches!(read, Ok(BUFFER));
                if filled.send(read.map(|length| (buffer, length))).is_err() || is_last {
                    break;
                }
            }
        });
        let mut at = 0;
        for piece in to_write {
            let (buffer, length) = piece.map_err(|error| base.failed(error))?;
            base.limit(at + length as u64)?;
            take(at, &buffer[..length])?;
            at += length as u64;
            // The reader has ended, and needs no more buffers.
            let _ = written.send(buffer);
        }
        Ok(at)
    })
}

/// Fills the buffer, or as much of it as there is.
fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match reader.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Puts as much of the seed over a piece of the image as is in it.
fn lay(seed: Seed<'_>, at: u64, piece: &mut [u8]) {
    let start = seed.at.max(at);
    let end = (seed.at + seed.bytes.len() as u64).min(at + piece.len() as u64);
    if start < end {
        let place = (start - at) as usize..(end - at) as usize;
        let part = (start - seed.at) as usize..(end - seed.at) as usize;
        piece[place].copy_from_slice(&seed.bytes[part]);
    }
}

#[cfg(test)]
mod tests;
