//! Puts a packed seed where it was asked for: a file that is complete or not there, and that only its owner reads.
//!
//! Before: the files and where they go. After: `pack.rs` writes through `cipher.rs` into a file under another name in the
//! same folder, which takes its place when all of it is on the disk. With recipients no plaintext reaches a disk, not even
//! for a moment (HO-SEED-28). Not here: devices, which `homelabctl` writes.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{CipherError, Files, Format, PackError, Recipient, encrypt, pack};

/// What was being done when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Making the folder that the file is in.
    MakeFolder,
    /// Looking at what is there already.
    Look,
    /// Making the file that takes its place.
    Create,
    /// Writing it.
    Write,
    /// Waiting until the disk has it.
    Sync,
    /// Giving it its name.
    Rename,
}

/// Why a seed was not written. What was at the path before is still there, whatever failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The files are no seed.
    #[error("The seed for {path} could not be packed")]
    Pack {
        /// Where it was to go.
        path: PathBuf,
        /// What is wrong with the files.
        #[source]
        source: PackError,
    },
    /// It could not be encrypted.
    #[error("The seed for {path} could not be encrypted")]
    Encrypt {
        /// Where it was to go.
        path: PathBuf,
        /// Why.
        #[source]
        source: CipherError,
    },
    /// A folder, a device or the like is in its place.
    #[error("{path} is not a file, so no seed is written there")]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// The disk or its permissions.
    #[error("{step} {path} failed")]
    Disk {
        /// What was being done.
        step: Step,
        /// The seed's file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MakeFolder => "Making the folder",
            Self::Look => "Looking at",
            Self::Create => "Making a file beside",
            Self::Write => "Writing",
            Self::Sync => "Waiting for the disk to have",
            Self::Rename => "Putting the new file in place as",
        })
    }
}

/// Writes the files in this format, encrypted if there are recipients, to a file with mode 0600.
///
/// # Guarantees
///
/// - The path has the whole new file, or what it had before. A process that is killed leaves at most a hidden file beside it,
///   which begins with a dot and ends in `.new`, and has the same mode and the same encryption.
/// - The folder is made if it is missing, with mode 0700, and so are those above it.
/// - When this returns, the disk has it.
pub fn write_output(
    path: &Path,
    format: Format,
    files: &Files,
    recipients: &[Recipient],
) -> Result<(), OutputError> {
    let failed = |step| {
        move |source| OutputError::Disk {
            step,
            path: path.to_owned(),
            source,
        }
    };
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            let path = path.to_owned();
            return Err(OutputError::NotAFile { path });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed(Step::Look)(error));
        }
        Ok(_) | Err(_) => {}
    }
    let folder = folder_of(path);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(failed(Step::MakeFolder))?;

    // Made with mode 0600, and deleted if anything below fails.
    let mut beside = NamedTempFile::with_suffix_in(".new", folder).map_err(failed(Step::Create))?;
    fill(path, beside.as_file_mut(), format, files, recipients)?;
    beside.as_file().sync_all().map_err(failed(Step::Sync))?;
    let renamed = beside.persist(path);
    renamed.map_err(|error| failed(Step::Rename)(error.error))?;
    // The name is in the folder, which is written on its own.
    sync_folder(folder).map_err(failed(Step::Sync))
}

/// Waits until the disk has the names that are in a folder, where its file system can say so.
///
/// Some file systems over a network refuse to wait for a folder. The file itself is on the disk and in its place then, and
/// that is no failure.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // EINVAL and ENOTSUP.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

fn fill(
    path: &Path,
    file: &mut File,
    format: Format,
    files: &Files,
    recipients: &[Recipient],
) -> Result<(), OutputError> {
    let disk = |source| OutputError::Disk {
        step: Step::Write,
        path: path.to_owned(),
        source,
    };
    let packing = |error| match error {
        PackError::Write(source) => disk(source),
        source => OutputError::Pack {
            path: path.to_owned(),
            source,
        },
    };
    let mut sink = BufWriter::with_capacity(1 << 20, file);
    if recipients.is_empty() {
        pack(files, format, &mut sink).map_err(packing)?;
        return sink.flush().map_err(disk);
    }
    let mut encrypting = encrypt(recipients, sink).map_err(|error| match error {
        CipherError::Write(source) => disk(source),
        source => OutputError::Encrypt {
            path: path.to_owned(),
            source,
        },
    })?;
    pack(files, format, &mut encrypting).map_err(packing)?;
    let mut sink = encrypting.finish().map_err(disk)?;
    sink.flush().map_err(disk)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cipher::tests::pair;
    use crate::pack::tests::{packed, usual};
    use crate::{Identities, decrypt, unpack};

    fn mode(path: &Path) -> u32 {
        let metadata = fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let name = |entry| name(entry).to_string_lossy().into_owned();
        entries.map(name).collect()
    }

    #[test]
    fn a_seed_is_for_its_owner_alone_and_nothing_stays_beside_it() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("seeds/attic");
        for format in Format::ALL {
            let path = folder.join("seed");
            write_output(&path, format, &usual(), &[]).expect("written");
            assert_eq!(fs::read(&path).expect("a file"), packed(&usual(), format));
            assert_eq!(mode(&path), 0o600);
            assert_eq!(names(&folder), ["seed"]);
        }
        assert_eq!(
            (mode(&folder), mode(&home.path().join("seeds"))),
            (0o700, 0o700)
        );
    }

    /// With recipients the plaintext is in no file, and theirs is what opens it (HO-SEED-28).
    #[test]
    fn an_encrypted_seed_is_only_ciphertext() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("seed.tar.age");
        let (recipient, identity) = pair();
        write_output(&path, Format::Tar, &usual(), &[recipient]).expect("written");
        let bytes = fs::read(&path).expect("a file");
        assert!(bytes.starts_with(b"age-encryption.org/v1"));
        for marker in ["ustar", "install.json", "hostname"] {
            let mut windows = bytes.windows(marker.len());
            assert!(
                !windows.any(|window| window == marker.as_bytes()),
                "{marker}"
            );
        }
        let identities = Identities::parse(&identity).ok();
        let opened = decrypt(bytes.as_slice(), identities.as_ref()).expect("ours");
        assert_eq!(unpack(opened).ok(), Some(usual()));
        assert_eq!((mode(&path), names(home.path()).len()), (0o600, 1));
    }

    #[test]
    fn what_fails_leaves_what_was_there() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("seed.tar");
        write_output(&path, Format::Tar, &usual(), &[]).expect("written");
        let refused = write_output(&path, Format::Tar, &Files::new(), &[]);
        let told = refused.expect_err("no files").to_string();
        assert!(told.contains("seed.tar could not be packed"), "{told}");
        let bytes = fs::read(&path).expect("a file");
        assert_eq!(bytes, packed(&usual(), Format::Tar));
        assert_eq!(names(home.path()), ["seed.tar"]);
    }

    /// The kernel answers EINVAL for `/proc`, as some network file systems do for every folder.
    #[test]
    fn a_folder_that_cannot_be_waited_for_is_no_failure() {
        let refused = File::open("/proc").and_then(|folder| folder.sync_all());
        let refused = refused.expect_err("no disk is below it");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        sync_folder(Path::new("/proc")).expect("no failure");
        sync_folder(Path::new("/proc/homelab")).expect_err("no folder");
    }

    #[test]
    fn errors_name_the_step_and_the_path() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        fs::write(&file, "").expect("a file");
        let in_a_file = file.join("folder/seed");
        for (path, part) in [
            (home.path(), "is not a file"),
            (
                Path::new("/proc/self/mem/seed"),
                "Looking at /proc/self/mem/seed failed",
            ),
            (in_a_file.as_path(), "/file/folder/seed failed"),
            (
                Path::new("/proc/homelab/seed"),
                "Making the folder /proc/homelab/seed failed",
            ),
        ] {
            let error = write_output(path, Format::Tar, &usual(), &[]).expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
