//! `homelabctl image write`: a machine's seed into an install image, or onto a volume of its own (HO-SEED-02, -04, -29, -30).
//!
//! ```text
//! image/seed.rs     opens the seed and checks it            nothing is written before all of these are content
//! image/base.rs     opens the image; gpt.rs finds the place
//! image/target.rs   looks at the output; refuse.rs decides
//! image/copy.rs     writes and reads back; beside.rs is the file until it is whole
//! ```
//!
//! Not here: what a seed says, which `homelab_seed` renders, and downloads.

mod base;
mod beside;
mod copy;
mod gpt;
mod refuse;
mod seed;
mod target;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use media::{Files, Format};
use rustix::fs::OFlags;

use crate::progress::{Progress, size, time};
use base::{Base, BaseError};
use beside::Beside;
use copy::{CopyError, Seed, Sink};
use refuse::{Intent, Refusal, is_judged, refuse};
use seed::SeedError;
use target::{Device, Kernel, Kind, look};

/// What is asked for.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("medium").required(true).args(["base", "seed_data"])))]
pub(crate) struct Write {
    /// The machine's seed: a tar file as homelab_seed writes it, plain or encrypted with age; - is standard input
    #[arg(long, value_name = "FILE|-")]
    seed: PathBuf,
    /// The IncusOS image to write the seed into, .img or .iso, also as .gz
    #[arg(long, value_name = "IMAGE")]
    base: Option<PathBuf>,
    /// Write a small volume named SEED_DATA instead, to attach beside an unmodified image
    #[arg(long)]
    seed_data: bool,
    /// What kind of volume
    #[arg(
        long,
        requires = "seed_data",
        conflicts_with = "base",
        default_value = "seed-data-img"
    )]
    format: Volume,
    /// Where it goes: a file, which is replaced, or a device, of which everything is lost
    #[arg(long, value_name = "FILE|DEVICE")]
    output: PathBuf,
    /// The age identity file that opens an encrypted seed
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// The name of the device, such as sdb, to confirm that everything on it may be lost
    #[arg(long, value_name = "NAME")]
    yes: Option<String>,
    /// What is compared after reading it back; all on a device and the seed in a file, if not given
    #[arg(long)]
    verify: Option<Verify>,
    /// Show the progress also where standard error is no terminal
    #[arg(long)]
    progress: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Volume {
    /// A FAT volume
    SeedDataImg,
    /// An ISO 9660 volume, for virtual drives
    SeedDataIso,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Verify {
    /// The seed alone
    Seed,
    /// Every byte, against the image read once more
    Full,
}

/// Why there is no medium. Unless it says so, nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error(transparent)]
    Seed(#[from] SeedError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("Looking at {path} failed")]
    Look {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("Packing the seed failed")]
    Pack(#[source] media::PackError),
    #[error("Opening {path} for this process alone failed; something may be using it")]
    OpenDevice {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is not {name} any more, which was looked at a moment ago. Nothing was written")]
    Changed { path: PathBuf, name: String },
    #[error("Making a file beside {path} failed")]
    Make {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("Writing {path} failed; what was there before is still there")]
    File {
        path: PathBuf,
        #[source]
        source: CopyError,
    },
    #[error("Writing {path} failed; what it has now is not usable")]
    Device {
        path: PathBuf,
        #[source]
        source: CopyError,
    },
    #[error("Putting the new file in place as {path} failed")]
    Place {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Output(#[from] media::OutputError),
}

/// Writes what is asked for, and says what was done.
pub(crate) fn write(write: &Write) -> Result<String, ImageError> {
    let files = seed::read(&write.seed, write.identity.as_deref())?;
    match &write.base {
        Some(base) => write_image(write, &Base::open(base)?, &files),
        None => write_volume(write, &files),
    }
}

fn write_image(write: &Write, base: &Base, files: &Files) -> Result<String, ImageError> {
    let bytes = packed(files, Format::Tar)?;
    let seed = Seed {
        at: base.layout.seed_start,
        bytes: &bytes,
    };
    let size = base.size.unwrap_or(base.layout.image_size);
    let verb = match place(write, size, true)? {
        Kind::Device(judged) => {
            let path = &write.output;
            let device = open_device(path, &judged)?;
            let failed = |source| ImageError::Device {
                path: path.clone(),
                source,
            };
            copied(write, base, seed, Sink::Device(&device), Verify::Full).map_err(failed)?
        }
        _ => {
            let path = &write.output;
            let made = Beside::make(path);
            let beside = made.map_err(|source| ImageError::Make {
                path: path.clone(),
                source,
            })?;
            let sink = Sink::File(beside.file());
            let copied = copied(write, base, seed, sink, Verify::Seed);
            let done = copied.map_err(|source| ImageError::File {
                path: path.clone(),
                source,
            })?;
            let placed = beside.put(path);
            placed.map_err(|source| ImageError::Place {
                path: path.clone(),
                source,
            })?;
            done
        }
    };
    Ok(format!(
        "Wrote {}: {verb}.\nIt has the seed's {} files: {}.\nThe installer takes a whole disk of at least 50 GiB, which must have no partition table.",
        write.output.display(),
        files.len(),
        names(files)
    ))
}

/// Writes the image, compares it, and says how it went.
fn copied(
    write: &Write,
    base: &Base,
    seed: Seed<'_>,
    sink: Sink<'_>,
    usual: Verify,
) -> Result<String, CopyError> {
    let total = base.size.unwrap_or(base.layout.image_size);
    let mut progress = Progress::begin("writing", total, write.progress);
    let count = copy::write(base, seed, sink, &mut progress)?;
    let took = progress.end(count);
    let (Sink::File(file) | Sink::Device(file)) = sink;
    let compared = match write.verify.unwrap_or(usual) {
        Verify::Seed => {
            copy::compare_seed(seed, file)?;
            "the seed"
        }
        Verify::Full => {
            let mut progress = Progress::begin("reading back", count, write.progress);
            copy::compare_all(base, seed, file, &mut progress)?;
            progress.end(count);
            "every byte"
        }
    };
    Ok(format!(
        "{} in {}, {compared} compared after reading it back",
        size(count),
        time(took)
    ))
}

fn write_volume(write: &Write, files: &Files) -> Result<String, ImageError> {
    let format = match write.format {
        Volume::SeedDataImg => Format::SeedDataImg,
        Volume::SeedDataIso => Format::SeedDataIso,
    };
    let bytes = packed(files, format)?;
    match place(write, bytes.len() as u64, false)? {
        Kind::Device(judged) => {
            let device = open_device(&write.output, &judged)?;
            volume_onto(&device, judged.size, &bytes).map_err(|source| ImageError::Device {
                path: write.output.clone(),
                source,
            })?;
        }
        _ => media::write_output(&write.output, format, files, &[])?,
    }
    Ok(format!(
        "Wrote {}: a volume {} with {}.\nDetach it when the installation is done: as long as it is there, the machine installs \
         again. The installer takes a whole disk of at least 50 GiB, which must have no partition table.",
        write.output.display(),
        media::VOLUME_LABEL,
        names(files)
    ))
}

/// Other file systems have their signatures up to here from either end of a device, in bytes.
const SIGNATURES: u64 = 1 << 20;

/// A volume is small, and is compared as a whole.
///
/// What another file system left around it is overwritten: whoever finds two signatures on a device believes neither.
fn volume_onto(device: &File, size: u64, bytes: &[u8]) -> Result<(), CopyError> {
    let end = bytes.len() as u64;
    let tail = size.saturating_sub(SIGNATURES).max(end);
    let put = |at: u64, bytes: &[u8]| {
        let written = device.write_all_at(bytes, at);
        written.map_err(|source| CopyError::Write { at, source })
    };
    for (from, to) in [(end, SIGNATURES.min(size)), (tail, size)] {
        put(from, &vec![0; to.saturating_sub(from) as usize])?;
    }
    put(0, bytes)?;
    device.sync_all().map_err(CopyError::Sync)?;
    copy::forget(device, 0, None);
    copy::compare(device, 0, bytes, &mut vec![0; bytes.len()])
}

fn packed(files: &Files, format: Format) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    media::pack(files, format, &mut bytes).map_err(ImageError::Pack)?;
    Ok(bytes)
}

/// What is at the output, if it may be written to.
fn place(write: &Write, size: u64, is_disk: bool) -> Result<Kind, ImageError> {
    let inputs = [
        Some(&write.seed),
        write.base.as_ref(),
        write.identity.as_ref(),
    ];
    let inputs = inputs.into_iter().flatten().filter_map(|path| {
        // What cannot be looked at, such as `-`, is no file that the output could be.
        let there = fs::metadata(path).ok()?;
        Some((path.clone(), (there.dev(), there.ino())))
    });
    let intent = Intent {
        size,
        is_disk,
        confirmed: write.yes.clone(),
        inputs: inputs.collect(),
    };
    let looked = look(&write.output, &Kernel::running());
    let target = looked.map_err(|source| ImageError::Look {
        path: write.output.clone(),
        source,
    })?;
    refuse(&target, &intent)?;
    Ok(target.kind)
}

/// Opens a device so that nothing else can mount it meanwhile. The kernel refuses if something has done so already.
/// What was plugged in under the same name meanwhile is refused.
fn open_device(path: &Path, judged: &Device) -> Result<File, ImageError> {
    let failed = |source| ImageError::OpenDevice {
        path: path.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    let flags = OFlags::EXCL.bits() as i32;
    let opened = options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path);
    let device = opened.map_err(failed)?;
    let there = device.metadata().map_err(failed)?;
    if is_judged(judged, there.file_type().is_block_device(), there.rdev()) {
        return Ok(device);
    }
    Err(ImageError::Changed {
        path: path.to_owned(),
        name: judged.name.clone(),
    })
}

fn names(files: &Files) -> String {
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
