//! The lab itself: whatever happens to its runner, nothing of it is left on the machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use crate::lab::Record;
use crate::process::{self, run, tool, wait_until};
use crate::scenario::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_killed_runner_leaves_nothing_behind",
        proves: "A lab whose runner is killed is taken down: no process, namespace, mount or folder remains.",
        group: "lab",
        needs: &[],
        seconds: 6,
        run: |_| leaves_nothing("killed", Signal::KILL),
    },
    Scenario {
        name: "an_interrupted_runner_leaves_nothing_behind",
        proves: "A lab whose runner gets Ctrl-C is taken down before the runner ends.",
        group: "lab",
        needs: &[],
        seconds: 6,
        run: |_| leaves_nothing("interrupted", Signal::INT),
    },
];

fn leaves_nothing(slug: &str, signal: Signal) -> Result<()> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut runner = Command::new(program)
        .args(["lab", "hold", slug])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting a runner")?;
    let mut lines = BufReader::new(runner.stdout.take().context("its output")?).lines();
    let directory = lines.next().context("the runner says nothing")??;
    let record = Record::read(Path::new(&directory))?;
    let place = &record.members[0];
    let inside = run(&mut tool("ip", &["netns", "pids", &place.namespace]))?;
    let inside: Vec<u32> = inside
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    let all = process::with_descendants(&inside);
    ensure!(
        all.len() >= 4,
        "a daemon, a monitor, an init and a server should run: {all:?}"
    );

    process::signal(runner.id(), signal);
    runner.wait().context("collecting the runner")?;
    wait_until("everything is gone", Duration::from_secs(20), || {
        Ok(!record.directory.exists()
            && !Path::new("/run/netns").join(&place.namespace).exists()
            && !Path::new("/run/netns").join(&record.hub).exists()
            && !all.iter().any(|pid| process::is_alive(*pid)))
    })?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").context("reading mounts")?;
    ensure!(!mounts.contains(&record.id), "a mount remains: {mounts}");
    Ok(())
}
