//! What stands where a medium is to be written: a file, a stick, the disk that this machine runs from.
//!
//! Before: the path that was given. After: `refuse.rs` decides whether it is written to. Only facts are gathered here, from
//! the file system, `/proc` and `/sys`. The kernel has the last word, when the device is opened for this process alone.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What is known about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// As it was given.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Whether it is somewhere below `/dev`.
    pub(crate) is_among_devices: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, so a file can be made.
    Nothing,
    /// A file, which can be replaced; by its file system and its number in there.
    File {
        identity: (u64, u64),
    },
    Folder,
    Device(Device),
    /// A pipe, a terminal, `/dev/null`.
    Other,
}

/// A disk, a stick or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    /// The kernel's name for it: `sdb`.
    pub(crate) name: String,
    /// The kernel's numbers for it, as the file system has them.
    pub(crate) rdev: u64,
    /// What its maker calls it.
    pub(crate) model: Option<String>,
    /// In bytes.
    pub(crate) size: u64,
    /// The disk that it is a partition of.
    pub(crate) part_of: Option<String>,
    pub(crate) is_read_only: bool,
    /// What uses it or a part of it, each as a sentence without its full stop.
    pub(crate) uses: Vec<String>,
}

/// Where the kernel tells about devices.
pub(crate) struct Kernel {
    /// `/proc`.
    pub(crate) proc: PathBuf,
    /// `/sys`.
    pub(crate) sys: PathBuf,
    /// `/dev`.
    pub(crate) dev: PathBuf,
}

impl Kernel {
    /// The one that runs.
    pub(crate) fn running() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
        }
    }
}

/// Looks at a place, through links.
pub(crate) fn look(path: &Path, kernel: &Kernel) -> io::Result<Target> {
    let kind = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Kind::Nothing,
        Err(error) => return Err(error),
        Ok(there) if there.is_file() => Kind::File {
            identity: (there.dev(), there.ino()),
        },
        Ok(there) if there.is_dir() => Kind::Folder,
        Ok(there) if there.file_type().is_block_device() => {
            Kind::Device(device(kernel, there.rdev())?)
        }
        Ok(_) => Kind::Other,
    };
    Ok(Target {
        path: path.to_owned(),
        kind,
        is_among_devices: is_below(path, &kernel.dev)?,
    })
}

/// Whether a file of this path would be somewhere below this folder, also if folders between them are missing.
fn is_below(path: &Path, top: &Path) -> io::Result<bool> {
    let path = std::path::absolute(path)?;
    // What replaces a file replaces a link as well, so only the folders are followed.
    let mut folders = path.ancestors().skip(1);
    let folder = folders.find_map(|folder| fs::canonicalize(folder).ok());
    let top = fs::canonicalize(top).unwrap_or_else(|_| top.to_owned());
    Ok(folder.is_some_and(|folder| folder.starts_with(top)))
}

/// What the kernel tells about the device with these numbers.
fn device(kernel: &Kernel, rdev: u64) -> io::Result<Device> {
    let (major, minor) = (rustix::fs::major(rdev), rustix::fs::minor(rdev));
    let numbers = format!("{major}:{minor}");
    let folder = fs::canonicalize(kernel.sys.join("dev/block").join(numbers))?;
    let is_partition = folder.join("partition").exists();
    let disk = folder.parent().filter(|_| is_partition);
    // The kernel counts in units of 512 bytes, whatever the device's own sectors are.
    let sectors: u64 = line(&folder, "size")?.parse().map_err(io::Error::other)?;
    let mut uses = uses_of(kernel, &folder)?;
    for partition in partitions(&folder)? {
        uses.extend(uses_of(kernel, &partition)?);
    }
    Ok(Device {
        name: name_of(&folder),
        rdev,
        model: line(disk.unwrap_or(&folder), "device/model").ok(),
        size: sectors * 512,
        part_of: disk.map(name_of),
        is_read_only: line(&folder, "ro").is_ok_and(|text| text == "1"),
        uses,
    })
}

/// What uses exactly this device.
fn uses_of(kernel: &Kernel, folder: &Path) -> io::Result<Vec<String>> {
    let name = name_of(folder);
    let node = format!("/dev/{name}");
    let numbers = line(folder, "dev")?;
    let mut uses = Vec::new();
    let mounts = fs::read_to_string(kernel.proc.join("self/mountinfo"))?;
    for mount in mounts.lines() {
        let (before, behind) = mount.split_once(" - ").unwrap_or((mount, ""));
        let fields: Vec<&str> = before.split(' ').collect();
        // Some file systems have numbers of their own, and name their device behind their kind.
        let is_its = fields.get(2) == Some(&numbers.as_str())
            || behind.split(' ').nth(1) == Some(node.as_str());
        if let Some(place) = fields.get(4).filter(|_| is_its) {
            uses.push(format!("{name} is mounted on {}", unescape(place)));
        }
    }
    let swaps = fs::read_to_string(kernel.proc.join("swaps")).unwrap_or_default();
    if swaps
        .lines()
        .any(|swap| swap.split_whitespace().next() == Some(node.as_str()))
    {
        uses.push(format!("{name} is used as swap"));
    }
    let holders = children(&folder.join("holders")).unwrap_or_default();
    uses.extend(
        holders
            .iter()
            .map(|holder| format!("{name} is used by {}", name_of(holder))),
    );
    Ok(uses)
}

fn partitions(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut partitions = children(folder)?;
    partitions.retain(|child| child.join("partition").exists());
    Ok(partitions)
}

fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut children: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    children.sort();
    Ok(children)
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    // The kernel writes `!` for the slash in names such as `cciss/c0d0`.
    name.replace('!', "/")
}

fn line(folder: &Path, file: &str) -> io::Result<String> {
    let text = fs::read_to_string(folder.join(file))?;
    Ok(text.trim().to_owned())
}

/// A place as people write it: the kernel writes a blank as `\040`.
fn unescape(place: &str) -> String {
    place.replace("\\040", " ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::makedev;

    use super::*;

    /// A machine with the disk `sda`, which it runs from, and the stick `sdb`.
    fn machine() -> (tempfile::TempDir, Kernel) {
        let home = tempfile::tempdir().expect("a folder");
        let kernel = Kernel {
            proc: home.path().join("proc"),
            sys: home.path().join("sys"),
            dev: home.path().join("dev"),
        };
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        fs::create_dir_all(kernel.sys.join("dev/block")).expect("a folder");
        for (disk, model, minor) in [("sda", "Evo 1TB", 0), ("sdb", "Cruzer", 16)] {
            let folder = format!("sys/devices/{disk}");
            write(&format!("{folder}/device/model"), &format!("{model}  \n"));
            write(&format!("{folder}/ro"), "0\n");
            let parts = (0..3).map(|part| match part {
                0 => (folder.clone(), minor),
                part => (format!("{folder}/{disk}{part}"), minor + part),
            });
            for (folder, minor) in parts {
                write(&format!("{folder}/dev"), &format!("8:{minor}\n"));
                write(&format!("{folder}/size"), "16777216\n");
                let link = kernel.sys.join(format!("dev/block/8:{minor}"));
                symlink(home.path().join(&folder), link).expect("a link");
                fs::create_dir_all(home.path().join(&folder).join("holders")).expect("a folder");
                if minor % 16 > 0 {
                    write(&format!("{folder}/partition"), "1\n");
                }
            }
        }
        write("sys/devices/sda/sda2/holders/dm-0", "");
        write(
            "proc/self/mountinfo",
            "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
             30 22 0:44 /root /media/my\\040stick rw shared:1 - btrfs /dev/sdb2 rw\n\
             31 22 0:5 / /proc rw - proc proc rw\n",
        );
        write(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n",
        );
        (home, kernel)
    }

    #[test]
    fn a_disk_is_used_if_any_part_of_it_is() {
        let (_home, kernel) = machine();
        let sda = device(&kernel, makedev(8, 0)).expect("a disk");
        assert_eq!(
            (sda.name.as_str(), sda.model.as_deref()),
            ("sda", Some("Evo 1TB"))
        );
        assert_eq!((sda.size, &sda.part_of), (8 << 30, &None));
        assert_eq!(sda.rdev, makedev(8, 0));
        assert_eq!(sda.uses, ["sda1 is mounted on /", "sda2 is used by dm-0"]);
        let sdb = device(&kernel, makedev(8, 16)).expect("a stick");
        let uses = ["sdb1 is used as swap", "sdb2 is mounted on /media/my stick"];
        assert_eq!(sdb.uses, uses);
    }

    #[test]
    fn a_partition_tells_its_disk() {
        let (_home, kernel) = machine();
        let sdb1 = device(&kernel, makedev(8, 17)).expect("a partition");
        assert_eq!(
            (sdb1.name.as_str(), sdb1.part_of.as_deref()),
            ("sdb1", Some("sdb"))
        );
        assert_eq!(sdb1.model.as_deref(), Some("Cruzer"));
        assert_eq!(sdb1.uses, ["sdb1 is used as swap"]);
    }

    #[test]
    fn a_write_protected_stick_says_so() {
        let (_home, kernel) = machine();
        assert!(
            !device(&kernel, makedev(8, 16))
                .expect("a stick")
                .is_read_only
        );
        fs::write(kernel.sys.join("devices/sdb/ro"), "1\n").expect("a file");
        assert!(
            device(&kernel, makedev(8, 16))
                .expect("a stick")
                .is_read_only
        );
    }

    #[test]
    fn places_are_told_apart_through_links() {
        let (home, kernel) = machine();
        let at = |name: &str| home.path().join(name);
        fs::write(at("file"), "").expect("a file");
        symlink(at("file"), at("link")).expect("a link");
        let kind = |path: &Path| look(path, &kernel).expect("a place").kind;
        let there = fs::metadata(at("file")).expect("a file");
        let identity = (there.dev(), there.ino());
        assert_eq!(kind(&at("file")), Kind::File { identity });
        assert_eq!(kind(&at("link")), Kind::File { identity });
        assert_eq!(kind(&at("none")), Kind::Nothing);
        assert_eq!(kind(home.path()), Kind::Folder);
        assert_eq!(kind(Path::new("/dev/zero")), Kind::Other);
        assert!(look(&at("file/none"), &kernel).is_err());
    }

    /// Wherever folders and links lead, and whatever is missing on the way.
    #[test]
    fn what_is_below_dev_is_among_devices() {
        let (home, kernel) = machine();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("dev/disk")).expect("a folder");
        fs::write(at("dev/file"), "").expect("a file");
        symlink(at("dev"), at("link")).expect("a link");
        symlink(at("dev/sdb"), at("stick")).expect("a link");
        for (name, expected) in [
            ("dev/sdb", true),
            ("dev/file", true),
            ("dev/disk/by-id/stick", true),
            ("dev/../dev/sdb", true),
            ("link/sdb", true),
            ("link/none/sdb", true),
            ("device", false),
            ("dev/../out", false),
            // The link itself would be replaced.
            ("stick", false),
        ] {
            let target = look(&at(name), &kernel).expect("a place");
            assert_eq!(target.is_among_devices, expected, "{name}");
        }
    }

    /// A stick as the other tests have it.
    pub(crate) fn stick() -> Device {
        Device {
            name: "sdb".into(),
            rdev: makedev(8, 16),
            model: Some("Cruzer".into()),
            size: 8 << 30,
            part_of: None,
            is_read_only: false,
            uses: Vec::new(),
        }
    }
}
