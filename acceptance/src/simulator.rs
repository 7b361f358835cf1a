//! The simulator as a server: an Incus in memory at a socket of its own, for what the lab cannot show.
//!
//! Used by scenarios and benchmarks. That it answers as a real Incus does is judged in `scenarios/simulator.rs`, with
//! `alike.rs`; whatever is measured against it rests on that.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use crate::interrupt::Running;
use crate::lab;
use crate::observer::Observer;
use crate::process::{self, wait_until};
use crate::scenario::Context;

/// Ten thousand instances take a second or two.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A running simulator; dropping it ends it.
#[derive(Debug)]
pub struct Simulator {
    child: Child,
    socket: PathBuf,
    _running: Running,
}

impl Simulator {
    /// Starts one with these options, and gives it the images of the lab.
    pub fn start(context: &Context, name: &str, options: &[&str]) -> Result<Simulator> {
        let program = context.programs.simulator()?;
        let socket = context.file(&format!("{name}.socket"));
        let starting = || format!("starting the simulator at {}", socket.display());
        let mut command = Command::new(program);
        command.args(["serve", "--socket"]).arg(&socket);
        command.args(options).stdout(Stdio::null());
        let child = command.spawn().with_context(starting)?;
        // From here on an early return ends it.
        let mut simulator = Simulator {
            _running: Running::note(child.id()),
            child,
            socket,
        };
        let child = &mut simulator.child;
        let socket = &simulator.socket;
        wait_until("the simulator listens", LONGEST_START, || {
            let ended = child.try_wait()?;
            anyhow::ensure!(ended.is_none(), "it ended: {ended:?}");
            Ok(socket.exists())
        })?;
        let folder = context.file(&format!("{name}-images"));
        lab::give_images(&simulator.observer(), &folder)?;
        Ok(simulator)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Looks at it as at any Incus.
    pub fn observer(&self) -> Observer {
        Observer::new(&self.socket)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        process::signal(self.child.id(), Signal::TERM);
        // It has nothing to finish; its end is only collected.
        let _ = self.child.wait();
    }
}
