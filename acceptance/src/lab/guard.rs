//! A process beside the runner that takes a lab down when the runner is killed.
//!
//! It reads from a pipe whose other end only the runner holds: the end of the pipe is the end of the runner, however it
//! ended. When the lab is gone by then, there is nothing to do.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::{Record, teardown};
use crate::process;

/// The guard of one lab, seen from the runner.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts watching over a lab.
    pub(super) fn watch(record: &Record) -> Result<Guard> {
        let guard = Command::new(process::THIS_PROGRAM)
            .args(["lab", "guard"])
            .arg(&record.directory)
            .stdin(Stdio::piped())
            // It must hold nothing of the runner open, or whoever reads the runner's output waits for it.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("starting the guard of a lab")?;
        Ok(Guard(guard))
    }

    /// Ends the guard, whose lab is to outlive the runner.
    pub(super) fn dismiss(mut self) {
        // Killing a child of our own cannot fail in a way that matters here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the pipe makes it look once more, and end.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the guard does: wait for the end of the runner, then take the lab down.
pub fn stand(directory: &Path) -> Result<()> {
    let record = Record::read(directory)?;
    let mut nothing = Vec::new();
    std::io::stdin()
        .read_to_end(&mut nothing)
        .context("waiting for the end of the runner")?;
    teardown::take_down(&record)
}
