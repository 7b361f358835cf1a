//! How long the provider takes from exec to its handshake line, its peak memory, and the size of its binary.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::median;
use crate::scenario::Context;

/// A certificate as a host presents it; its key was thrown away, since nobody ever connects.
const HOST_CERTIFICATE: &str = include_str!("host.pem");

/// The agreed value by which a provider knows that a host started it, not a person.
const COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/// lxc/terraform-provider-incus, written in Go, measured once on a machine with two cores: exec to handshake.
const PEER_HANDSHAKE: Duration = Duration::from_micros(8_900);
/// The same provider's peak memory until then.
const PEER_MEMORY: f64 = 27.8;

const ROUNDS: usize = 41;

pub(super) fn run(context: &Context) -> Result<()> {
    let provider = context.programs.provider();
    // The first start reads the binary from disk.
    handshake(&provider)?;
    let rounds: Vec<(Duration, f64)> = (0..ROUNDS)
        .map(|_| handshake(&provider))
        .collect::<Result<_>>()?;
    let time = median(rounds.iter().map(|(time, _)| *time).collect());
    let memory = median(rounds.iter().map(|(_, memory)| *memory).collect());
    println!(
        "exec to handshake    {:.2} ms, {:.2} of the Go peer's {:.1} ms (aim: 0.33; the peer was measured elsewhere)",
        time.as_secs_f64() * 1e3,
        time.as_secs_f64() / PEER_HANDSHAKE.as_secs_f64(),
        PEER_HANDSHAKE.as_secs_f64() * 1e3
    );
    println!(
        "peak memory          {memory:.1} MiB, {:.2} of the Go peer's {PEER_MEMORY} MiB (aim: 0.33; the same)",
        memory / PEER_MEMORY
    );
    let size = fs::metadata(&provider)
        .context("reading the size of the provider")?
        .len();
    println!(
        "size of the binary   {:.1} MB (aim: under 12)",
        size as f64 / 1e6
    );
    Ok(())
}

fn handshake(provider: &Path) -> Result<(Duration, f64)> {
    let mut command = Command::new(provider);
    command
        .env("TF_PLUGIN_MAGIC_COOKIE", COOKIE)
        .env("PLUGIN_PROTOCOL_VERSIONS", "6");
    command.env("PLUGIN_CLIENT_CERT", HOST_CERTIFICATE);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let since = Instant::now();
    let mut child = command.spawn().context("starting the provider")?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
    let time = since.elapsed();
    let peak = peak(Path::new(&format!("/proc/{}", child.id())));
    child
        .kill()
        .and_then(|()| child.wait())
        .context("ending the provider")?;
    ensure!(line.starts_with("1|6|unix|"), "no handshake but {line:?}");
    let peak = peak.context("the peak memory")?;
    // The provider removes its socket when it ends by itself; a killed one cannot.
    if let Some(folder) = line.split('|').nth(3).map(Path::new).and_then(Path::parent) {
        let _ = fs::remove_dir_all(folder);
    }
    Ok((time, peak))
}

/// The most memory that a process has had so far, in MiB.
pub(super) fn peak(process: &Path) -> Option<f64> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}
