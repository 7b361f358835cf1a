//! Processes: running tools, waiting for a condition, and ending processes by their id and nothing else.
//!
//! Below everything else in this crate. Which processes belong to a lab is decided in `lab/teardown.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal};
use rustix::thread::LinkNameSpaceType;

/// How often a condition is looked at; short against everything that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// This program, also when it was built again meanwhile and its file is another one.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// Something that this machine lacks: the runner ends with exit code 2 and names it (HO-CI-02).
#[derive(Debug, thiserror::Error)]
#[error("missing prerequisite: {0}")]
pub struct Missing(pub String);

/// Runs a tool to its end; its failure is an error that quotes what it said.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output();
    succeeded(command, output)
}

/// The same with an input, which is never quoted: it may be a key.
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let output = piped.stderr(Stdio::piped()).spawn().and_then(|mut child| {
        // A tool that does not want to read all of it says why when it ends.
        let _ = child
            .stdin
            .take()
            .map(|mut to| to.write_all(input.as_bytes()));
        child.wait_with_output()
    });
    succeeded(command, output)
}

fn succeeded(command: &Command, output: std::io::Result<Output>) -> Result<String> {
    let output = output.with_context(|| format!("running {}", told(command)))?;
    if !output.status.success() {
        bail!(
            "{} failed ({}): {}",
            told(command),
            output.status,
            said(&output)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Does something in another network namespace: a file below `/run/netns` or `/proc/…/ns/net`.
///
/// Only a thread of its own enters the namespace, and it ends with the work.
pub fn inside<T: Send>(network: &Path, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let entered = || {
        let file = File::open(network).context("finding a network")?;
        rustix::thread::move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .context("entering a network")?;
        work()
    };
    let worked = thread::scope(|scope| scope.spawn(entered).join());
    worked.map_err(|_| anyhow!("the thread in {} panicked", network.display()))?
}

/// A tool with its arguments, ready to be run.
pub fn tool(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn told(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Everything that a process printed, trimmed.
pub fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// Looks until the condition holds; an error of the condition ends the wait.
pub fn wait_until(
    what: &str,
    most: Duration,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let give_up_at = Instant::now() + most;
    while !holds().with_context(|| format!("waiting until {what}"))? {
        if Instant::now() >= give_up_at {
            bail!("waited {most:?} in vain until {what}");
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// The state letter and the parent of a process; `None` when there is no such process.
fn status(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, blanks and parentheses too.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process still runs; one that only waits to be collected does not.
pub fn is_alive(pid: u32) -> bool {
    status(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    status(pid).map(|(_, parent)| parent)
}

/// When a process started, in clock ticks since the boot: with the id it names a process for good.
pub fn started_at(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.get(stat.rfind(')')? + 1..)?
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// All process ids.
pub fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// These processes and everything below them.
pub fn with_descendants(roots: &[u32]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all() {
        if let Some((_, parent)) = status(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found: Vec<u32> = Vec::new();
    let mut next = roots.to_vec();
    while let Some(pid) = next.pop() {
        if !found.contains(&pid) {
            found.push(pid);
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// Sends a signal; a process that is gone already is no error.
pub fn signal(pid: u32, signal: Signal) {
    // Process 1 and our own are never meant, whatever a stale record says.
    if pid <= 1 || pid == std::process::id() {
        return;
    }
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Ends processes at once and waits until they are gone.
pub fn end(pids: &[u32]) -> Result<()> {
    for pid in pids {
        signal(*pid, Signal::KILL);
    }
    wait_until(
        "the killed processes are gone",
        Duration::from_secs(20),
        || Ok(!pids.iter().any(|pid| is_alive(*pid))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_only_they_are_ended() {
        let mut parent = tool("sh", &["-c", "sleep 1000 & sleep 1000"])
            .spawn()
            .expect("a shell");
        let mut other = tool("sleep", &["1000"]).spawn().expect("a bystander");
        wait_until("both sleeps run", Duration::from_secs(5), || {
            Ok(with_descendants(&[parent.id()]).len() == 3)
        })
        .expect("a tree of three");
        let tree = with_descendants(&[parent.id()]);
        end(&tree).expect("ended");
        assert!(is_alive(other.id()));
        parent.wait().expect("collected");
        other.kill().and_then(|()| other.wait()).expect("ended");
        assert!(tree.iter().all(|pid| !is_alive(*pid)));
    }

    #[test]
    fn a_wait_in_vain_says_for_what() {
        let error = wait_until("pigs fly", Duration::ZERO, || Ok(false)).expect_err("in vain");
        assert!(error.to_string().contains("pigs fly"), "{error}");
    }
}
