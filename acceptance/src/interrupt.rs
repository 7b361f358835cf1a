//! Ctrl-C and its like: everything that this process set up is taken down before it ends.
//!
//! `main.rs` starts the listener once. A terminal that goes away is not listened to: it ends the process, unless the
//! user asked for the opposite with nohup. A kill that cannot be listened to is covered by the guard (`lab/guard.rs`).

use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::{lab, process};

/// Processes of ours that would otherwise run on after us: OpenTofu, with its providers.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Notes a running child while its guard is held.
#[must_use]
#[derive(Debug)]
pub struct Running(u32);

impl Running {
    /// Notes the process with this id.
    pub fn note(pid: u32) -> Running {
        RUNNING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(pid);
        Running(pid)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .retain(|pid| *pid != self.0);
    }
}

/// From now on SIGINT and SIGTERM take everything down and end this process with exit code 130.
pub fn listen() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting to listen")?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let on = |kind| signal(kind).context("listening for signals");
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {}, }
        });
        let children = RUNNING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone();
        let _ = process::end(&process::with_descendants(&children));
        lab::take_down_all();
        std::process::exit(130);
    });
    Ok(())
}
