//! Media: an image with a real partition table gets a seed, and only that changes in it.
//!
//! The image is made by `sgdisk`, sized as IncusOS's, and compared by `cmp`; the seed is read back by `tar`. Devices are in
//! `media/devices.rs`.

mod devices;

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::seeds::prepare;
use crate::process::{run, said, tool};
use crate::scenario::{Context, Need, Scenario};
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "an_image_is_written_with_a_sealed_seed_and_nothing_else_changes",
        proves: "`homelabctl image write` puts a sealed seed into partition 2 of an image of 3 GiB, plain and compressed; every \
                 other byte is the image's, and an image without the partition is refused (HO-SEED-03, HO-SEED-04, HO-SEED-31).",
        group: "media",
        needs: &[],
        seconds: 40,
        run: write,
    },
    Scenario {
        name: "a_device_is_written_only_if_it_is_free_and_named",
        proves: "`homelabctl image write` onto a block device is refused while it is mounted, without `--yes` and with another's \
                 name; confirmed, it has the image with the seed, or a volume that `blkid` knows as SEED_DATA, whatever was on it \
                 before (HO-SEED-02, HO-SEED-29, HO-SEED-30).",
        group: "media",
        needs: &[Need::LoopDevices],
        seconds: 90,
        run: devices::write,
    },
];

/// Where IncusOS's images have their second partition, in bytes.
const SEED_AT: u64 = 2_148_532_224;

const MACHINE: &str = r#"
resource "homelab_seed" "a" {
  machine = {
    name    = "a"
    mac     = "52:54:00:00:00:0a"
    role    = "bootstrap"
    address = "192.168.1.210"
    network = { name = "lan", cidr = "192.168.1.0/24", gateway = "192.168.1.1", dns = ["192.168.1.1"] }
  }
  break_glass_certificate = file("break-glass.crt")
  output                  = { path = "a.tar.age", format = "tar" }
  encrypt_to              = [trimspace(file("recipient"))]
}
"#;

/// A folder with a sealed seed, and who can read it.
pub(crate) fn seed(context: &Context, name: &str) -> Result<(Workspace, PathBuf)> {
    let workspace = context.workspace(name)?;
    let identity = prepare(context, &workspace)?;
    workspace.main(MACHINE)?;
    workspace.apply()?.succeeded()?;
    Ok((workspace, identity))
}

/// An image with IncusOS's partitions, and with something in each to be changed by mistake.
pub(crate) fn image(path: &Path, seed_name: &str, length: u64) -> Result<()> {
    let mut file = File::create(path)?;
    file.set_len(length)?;
    let name = format!("2:{seed_name}");
    let mut partitions = tool(
        "sgdisk",
        &[
            "--new=1:2048:+2G",
            "--new=2:4196352:+100M",
            "--new=3:0:+16K",
        ],
    );
    partitions.args(["--new=4:0:+100M", "--new=5:0:0", "--change-name", &name]);
    run(partitions.arg(path))?;
    for at in [1 << 20, SEED_AT - 4096, SEED_AT + (100 << 20), 5 << 29] {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&[0xA5; 8192])?;
    }
    // Well past the end of any seed, so that a write behind it shows.
    file.seek(SeekFrom::Start(SEED_AT))?;
    file.write_all(&vec![0xA5; 1 << 20])?;
    file.sync_all().context("writing an image")
}

/// The command that writes a medium.
pub(crate) fn image_write(
    context: &Context,
    folder: &Path,
    identity: &Path,
    base: &Path,
    output: &Path,
) -> Command {
    let program = context.programs.homelabctl();
    let mut command = tool(&program.to_string_lossy(), &["image", "write"]);
    command
        .args(["--seed", "a.tar.age", "--identity"])
        .arg(identity);
    command.arg("--base").arg(base).arg("--output").arg(output);
    command.current_dir(folder);
    command
}

fn write(context: &Context) -> Result<()> {
    let (workspace, identity) = seed(context, "media")?;
    let folder = workspace.folder().to_owned();
    let (base, output) = (folder.join("base.img"), folder.join("medium.img"));
    image(&base, "seed-data", 3 << 30)?;
    let packed = folder.join("base.img.gz");
    let mut pack = tool("sh", &["-ec", r#"gzip -1 <"$1" >"$2""#, "sh"]);
    run(pack.arg(&base).arg(&packed))?;

    for base_or_packed in [&base, &packed] {
        run(&mut image_write(
            context,
            &folder,
            &identity,
            base_or_packed,
            &output,
        ))?;
        let files = &workspace.attributes("homelab_seed.a")?["files"];
        let length = seed_is_there(&folder, &output, files)?;
        nothing_else(&base, &output, length)?;
        let mode = fs::metadata(&output)?.permissions().mode() & 0o777;
        ensure!(mode == 0o600, "a medium holds keys, and has mode {mode:o}");
        fs::remove_file(&output)?;
    }

    let other = folder.join("other.img");
    image(&other, "home", 3 << 30)?;
    let refused = image_write(context, &folder, &identity, &other, &output).output()?;
    let words = said(&refused);
    ensure!(
        !refused.status.success() && words.contains("seed-data"),
        "{words}"
    );
    ensure!(!output.exists(), "a refusal left a medium behind");
    workspace.destroy()?.succeeded()?;
    for file in [base, packed, other] {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// What `tar` reads from the partition is what the state has. The length of its archive: each file has a header of 512
/// bytes and is padded to such blocks, and two of them end it.
fn seed_is_there(folder: &Path, medium: &Path, files: &serde_json::Value) -> Result<u64> {
    let mut file = File::open(medium)?;
    file.seek(SeekFrom::Start(SEED_AT))?;
    let mut partition = Vec::new();
    file.take(1 << 20).read_to_end(&mut partition)?;
    let archive = folder.join("partition.tar");
    fs::write(&archive, &partition)?;
    let files = files.as_object().context("files")?;
    let mut length = 1024;
    for (name, content) in files {
        let read = run(tool("tar", &["--extract", "--to-stdout", "--file"])
            .arg(&archive)
            .arg(name))?;
        ensure!(content.as_str() == Some(&read), "{name} reads as {read:?}");
        length += 512 + (read.len() as u64).next_multiple_of(512);
    }
    Ok(length)
}

/// Before the seed and from its archive's end on.
fn nothing_else(base: &Path, medium: &Path, seed: u64) -> Result<()> {
    let end = SEED_AT + seed;
    let before = SEED_AT.to_string();
    let after = format!("{end}:{end}");
    for limits in [["--bytes", &before], ["--ignore-initial", &after]] {
        run(tool("cmp", &limits).arg(base).arg(medium))?;
    }
    Ok(())
}
