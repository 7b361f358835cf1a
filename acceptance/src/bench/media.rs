//! How fast an image is written with its seed, against `cp` of the same image, and how much memory that takes.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::{median, ratio};
use crate::process::{run as finish, tool};
use crate::scenario::Context;
use crate::scenarios::media;

const ROUNDS: usize = 3;
/// The seed is two GiB into an image, so none is much smaller than the first.
const GIB: [u64; 2] = [3, 6];

pub(super) fn run(context: &Context) -> Result<()> {
    let (workspace, identity) = media::seed(context, "bench-media")?;
    let folder = workspace.folder();
    let (base, output) = (folder.join("base.img"), folder.join("output.img"));
    let mut peaks = Vec::new();
    for gib in GIB {
        media::image(&base, "seed-data", gib << 30)?;
        fill(&base, gib << 30)?;
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let mut ours = media::image_write(context, folder, &identity, &base, &output);
            let (took, peak) = watched(&mut ours, &output)?;
            times[0].push(took);
            peaks.push(peak);
            let copy = r#"cp "$1" "$2""#;
            for (times, script) in times[1..]
                .iter_mut()
                .zip([copy, r#"cp "$1" "$2" && sync "$2""#])
            {
                let mut peer = tool("sh", &["-ec", script, "sh"]);
                times.push(watched(peer.arg(&base).arg(&output), &output)?.0);
            }
        }
        let [ours, copy, synced] = times.map(median);
        println!(
            "image of {gib} GiB       {:.1} s with seed, verified and synced; {:.2} of the rate of cp (aim: at least 0.8), {:.2} of \
             cp and sync; {:.1} MiB of memory",
            ours.as_secs_f64(),
            ratio(copy, ours),
            ratio(synced, ours),
            peaks.iter().copied().fold(0.0, f64::max)
        );
    }
    Ok(())
}

/// Nothing that could be skipped: no zeros.
fn fill(base: &Path, length: u64) -> Result<()> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut block = Vec::with_capacity(1 << 24);
    while block.len() < 1 << 24 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend_from_slice(&state.to_le_bytes());
    }
    let mut file = File::options().write(true).open(base)?;
    // The first and the last MiB hold the partition tables.
    let mut at = 1 << 20;
    file.seek(SeekFrom::Start(at))?;
    while at < length - (1 << 20) {
        let room = usize::try_from(length - (1 << 20) - at)?;
        let part = room.min(block.len());
        file.write_all(&block[..part])?;
        at += part as u64;
    }
    file.sync_all().context("filling an image")
}

/// How long a command takes, and the most memory that it had, in MiB. What it wrote is removed.
fn watched(command: &mut Command, output: &Path) -> Result<(Duration, f64)> {
    // What was written before must not be waited for now.
    finish(&mut tool("sync", &[]))?;
    let since = Instant::now();
    let mut child = command.spawn().context("starting a copy")?;
    let process = Path::new("/proc").join(child.id().to_string());
    let mut peak = 0.0_f64;
    let status = loop {
        peak = super::start::peak(&process).map_or(peak, |seen| peak.max(seen));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = since.elapsed();
    ensure!(status.success(), "copying ended with {status}");
    std::fs::remove_file(output).context("removing a copy")?;
    Ok((took, peak))
}
