//! A file that takes its place when it is whole: until then it has no name, and ends with this process.
//!
//! Before: `../image.rs` knows the folder. After: the file is there under its name, and what had the name before is gone.
//! An image holds keys and has gigabytes, so nothing of it may stay behind when the process is killed. Where a file system
//! has no nameless files, a hidden one beside the place is used, which stays behind in that case only.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use tempfile::NamedTempFile;

/// A file beside its place. Only its owner may read and write it.
pub(crate) enum Beside {
    Nameless { file: File, folder: PathBuf },
    Hidden(NamedTempFile),
}

impl Beside {
    /// Makes it in the folder of this path, which must be there.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            Some(_) | None => Path::new("."),
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let flags = OFlags::TMPFILE.bits() as i32;
        match options.custom_flags(flags).open(folder) {
            Ok(file) => Ok(Self::Nameless {
                file,
                folder: folder.to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            Err(_) => Ok(Self::Hidden(NamedTempFile::with_suffix_in(".new", folder)?)),
        }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        match self {
            Self::Nameless { file, .. } => file,
            Self::Hidden(file) => file.as_file(),
        }
    }

    /// Gives it its name, and waits until the disk has that too.
    pub(crate) fn put(self, path: &Path) -> io::Result<()> {
        let folder = match self {
            Self::Hidden(file) => {
                let folder = file.path().parent().map(Path::to_owned);
                file.persist(path).map_err(|error| error.error)?;
                folder.unwrap_or_default()
            }
            Self::Nameless { file, folder } => {
                // A name can be given but not taken over, so it is another one for a moment.
                let moment = tempfile::Builder::new()
                    .suffix(".new")
                    .make_in(&folder, |hidden| link(&file, hidden))?;
                moment.persist(path).map_err(|error| error.error)?;
                folder
            }
        };
        media::sync_folder(&folder)
    }
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("image");
        for text in ["first", "second"] {
            let beside = Beside::make(&path).expect("a file");
            beside.file().write_all(text.as_bytes()).expect("written");
            let before = fs::read_to_string(&path).ok();
            assert_ne!(before.as_deref(), Some(text));
            beside.put(&path).expect("in place");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(names(home.path()), ["image"]);
        }
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("image");
        drop(Beside::make(&path).expect("a file"));
        let hidden = NamedTempFile::new_in(home.path()).expect("a file");
        drop(Beside::Hidden(hidden));
        assert_eq!(names(home.path()), [""; 0]);
        let missing = home.path().join("none/image");
        assert!(Beside::make(&missing).is_err());
    }
}
