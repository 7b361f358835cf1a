//! Media on block devices: files that the kernel shows as disks, written, refused, and read by `cmp`, `tar` and `blkid`.
//!
//! Not here: what is written into the partition of an image, which `../media.rs` proves on files.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{image, image_write, nothing_else, seed, seed_is_there};
use crate::process::{run, said, tool};
use crate::scenario::Context;

/// Just enough for the image's patterns.
const IMAGE: u64 = (5 << 29) + (64 << 20);

/// A file as a disk. Whatever happens, it is unmounted and ends with this value.
struct Loop {
    device: PathBuf,
    mounted: Option<PathBuf>,
}

impl Loop {
    fn new(file: &Path, length: u64) -> Result<Self> {
        File::create(file)?.set_len(length)?;
        let device = run(tool("losetup", &["--find", "--show"]).arg(file))?;
        Ok(Self {
            device: device.trim().into(),
            mounted: None,
        })
    }

    /// What `--yes` takes.
    fn name(&self) -> String {
        let name = self.device.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn mount(&mut self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        run(tool("mount", &[]).arg(&self.device).arg(folder))?;
        self.mounted = Some(folder.to_owned());
        Ok(())
    }

    fn unmount(&mut self) -> Result<()> {
        let mounted = self.mounted.take();
        mounted.map_or(Ok(()), |folder| {
            run(tool("umount", &[]).arg(folder)).map(drop)
        })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let ended = self
            .unmount()
            .and_then(|()| run(tool("losetup", &["--detach"]).arg(&self.device)));
        if let Err(error) = ended {
            eprintln!("{} is still there: {error:#}", self.device.display());
        }
    }
}

pub(super) fn write(context: &Context) -> Result<()> {
    let (workspace, identity) = seed(context, "media-devices")?;
    let folder = workspace.folder().to_owned();
    let base = folder.join("base.img");
    image(&base, "seed-data", IMAGE)?;

    let mut disk = Loop::new(&folder.join("disk"), IMAGE)?;
    let name = disk.name();
    let write = |yes: Option<&str>| {
        let mut command = image_write(context, &folder, &identity, &base, &disk.device);
        command.args(yes.map(|name| ["--yes", name]).iter().flatten());
        command
    };
    refused(&mut write(None), &format!("add --yes {name}"))?;
    refused(&mut write(Some("sdzz")), "--yes names sdzz")?;
    let missing = Path::new("/dev/homelab-none");
    let mut onto_nothing = image_write(context, &folder, &identity, &base, missing);
    refused(onto_nothing.args(["--yes", "homelab-none"]), "is none")?;
    ensure!(!missing.exists(), "a file was made among devices");
    run(&mut write(Some(&name)))?;
    let files = &workspace.attributes("homelab_seed.a")?["files"];
    let length = seed_is_there(&folder, &disk.device, files)?;
    nothing_else(&base, &disk.device, length)?;
    let told = run(tool("sgdisk", &["--verify"]).arg(&disk.device))?;
    ensure!(told.contains("No problems found"), "{told}");

    let volume = Loop::new(&folder.join("stick"), 64 << 20)?;
    volumes(context, &folder, &identity, volume)?;
    mounted(&mut disk, context, &folder, &identity, &base)?;
    drop(disk);
    workspace.destroy()?.succeeded()?;
    for file in ["base.img", "disk", "stick"] {
        fs::remove_file(folder.join(file))?;
    }
    Ok(())
}

fn refused(command: &mut Command, part: &str) -> Result<()> {
    let output = command.output()?;
    let words = said(&output);
    ensure!(!output.status.success() && words.contains(part), "{words}");
    Ok(())
}

/// A volume of each format on a stick that was a member of an array and has an older file system as well.
fn volumes(context: &Context, folder: &Path, identity: &Path, stick: Loop) -> Result<()> {
    let program = context.programs.homelabctl();
    for format in ["seed-data-img", "seed-data-iso"] {
        leave_signatures(&stick.device)?;
        let mut write = tool(
            &program.to_string_lossy(),
            &["image", "write", "--seed-data"],
        );
        write.args(["--seed", "a.tar.age", "--format", format, "--identity"]);
        write.arg(identity).arg("--output").arg(&stick.device);
        write.current_dir(folder);
        refused(&mut write, "add --yes")?;
        run(write.args(["--yes", &stick.name()]))?;
        let mut label = tool("blkid", &["--probe", "--output", "value", "--match-tag"]);
        let label = run(label.arg("LABEL").arg(&stick.device)).context(format)?;
        ensure!(
            label.trim() == "SEED_DATA",
            "{format} has the label {label:?}"
        );
    }
    Ok(())
}

/// As a used stick has them: what a member of a software array has near its end, and one of many a file system leaves.
fn leave_signatures(device: &Path) -> Result<()> {
    run(tool("mkfs.ext4", &["-q", "-F"]).arg(device))?;
    let file = File::options().write(true).open(device)?;
    let mut array = [0; 64];
    // The magic number and the version 0.90 of md(4), 64 KiB before the end.
    array[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    array[8..12].copy_from_slice(&90_u32.to_le_bytes());
    file.write_all_at(&array, (64 << 20) - (64 << 10))?;
    file.sync_all()?;
    let mut probe = tool("blkid", &["--probe"]);
    let before = probe.arg(device).output()?;
    ensure!(
        !said(&before).contains("SEED_DATA"),
        "an older volume would pass for the new one"
    );
    Ok(())
}

/// Refused while a file system on it is mounted, whatever is confirmed; where the kernel has none that mounts, that is said.
fn mounted(
    disk: &mut Loop,
    context: &Context,
    folder: &Path,
    identity: &Path,
    base: &Path,
) -> Result<()> {
    if !fs::read_to_string("/proc/filesystems")?.contains("ext4") {
        eprintln!("This kernel has no ext4, so no device was mounted.");
        return Ok(());
    }
    run(tool("mkfs.ext4", &["-q", "-F"]).arg(&disk.device))?;
    let place = folder.join("mounted");
    disk.mount(&place)?;
    fs::write(place.join("mine"), "mine")?;
    let mut write = image_write(context, folder, identity, base, &disk.device);
    refused(write.args(["--yes", &disk.name()]), "is mounted on")?;
    ensure!(fs::read_to_string(place.join("mine"))? == "mine");
    disk.unmount()?;
    run(tool("fsck.ext4", &["-f", "-n"]).arg(&disk.device)).map(drop)
}
