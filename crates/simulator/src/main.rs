//! The command line of the simulator: runs the stories of seeds, or serves an Incus in memory.
//!
//! Before: `make sim SEEDS=0..500`, or somebody who wants to plan against ten thousand workloads. After: `trace.rs`, and
//! `server.rs`.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use simulator::server::{Options, Server};
use simulator::trace;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage:
  simulator --seeds FROM..TO              tells the stories of these seeds, and prints the first that fails
  simulator serve --socket PATH           answers as an Incus until it gets SIGTERM or SIGINT
    [--members N]                         3; one is a server without cluster
    [--latency MILLISECONDSms]            how long every change takes: 0ms
    [--instances-of-others N]             what is there beside our workloads: 0
    [--shared-pool NAME]                  a pool that all members share
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--seeds", seeds] => parse(seeds).map(tell),
        ["serve", options @ ..] => read(options).map(|(socket, options)| serve(socket, &options)),
        _ => None,
    }
    .unwrap_or_else(|| {
        eprint!("{USAGE}");
        ExitCode::from(64)
    })
}

fn tell(seeds: Range<u64>) -> ExitCode {
    let mut events = 0;
    for seed in seeds.clone() {
        match trace::run(seed, None) {
            Ok(of_story) => events += of_story,
            Err(failure) => {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{} stories of {events} events, {}..{}, all invariants hold",
        seeds.end - seeds.start,
        seeds.start,
        seeds.end
    );
    ExitCode::SUCCESS
}

fn parse(seeds: &str) -> Option<Range<u64>> {
    let (from, to) = seeds.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to).then_some(from..to)
}

/// The socket and the options of a server; `None` if something is not understood.
fn read(words: &[&str]) -> Option<(PathBuf, Options)> {
    let (mut socket, mut options) = (None, Options::default());
    for pair in words.chunks(2) {
        match *pair {
            ["--socket", path] => socket = Some(PathBuf::from(path)),
            ["--members", number] => options.members = number.parse().ok()?,
            ["--latency", time] => {
                let milliseconds = time.strip_suffix("ms")?.parse().ok()?;
                options.latency = Duration::from_millis(milliseconds);
            }
            ["--instances-of-others", number] => {
                options.instances_of_others = number.parse().ok()?;
            }
            ["--shared-pool", name] => options.shared_pool = Some(name.to_owned()),
            _ => return None,
        }
    }
    Some((socket?, options))
}

fn serve(socket: PathBuf, options: &Options) -> ExitCode {
    let served = Runtime::new().and_then(|runtime| runtime.block_on(run(&socket, options)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serving at {}: {error}", socket.display());
            ExitCode::FAILURE
        }
    }
}

/// Serves until somebody wants this to end. Whoever does so at once is heard, too, and the socket is removed.
async fn run(socket: &Path, options: &Options) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let _server = Server::start(socket, options)?;
    println!("unix://{}", socket.display());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
