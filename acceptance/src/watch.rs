//! Looks at an app all the time while something happens to it.
//!
//! Used by scenarios and the demo to tell what was true in between, not only at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::observer::{Observer, Workload};

/// Between two looks; a step of a rollout takes several times as long.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// What was seen of an app.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The fewest workloads that ran at one moment.
    pub fewest: usize,
    /// What was listed at that moment.
    pub then: Vec<String>,
    /// The most.
    pub most: usize,
    /// The fewest of those that ran and had been found healthy.
    pub fewest_healthy: usize,
    /// How often it was looked.
    pub looks: usize,
}

/// Looks at an app from outside while something happens.
pub fn watch<T>(
    observer: &Observer,
    app: &str,
    happens: impl FnOnce() -> Result<T>,
) -> Result<(T, Watched)> {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| -> Result<Watched> {
            let mut watched = Watched {
                fewest: usize::MAX,
                then: Vec::new(),
                most: 0,
                fewest_healthy: usize::MAX,
                looks: 0,
            };
            while !ended.load(Ordering::Relaxed) {
                let workloads = observer.workloads(app)?;
                // A busy Incus lists what runs as something else at times. The first process of a workload decides.
                let runs = |workload: &&Workload| {
                    workload.is_running() || observer.has_process(&workload.name)
                };
                let running: Vec<&Workload> = workloads.iter().filter(runs).collect();
                let healthy = |one: &&&Workload| !one.healthy_since.is_empty();
                let healthy = running.iter().filter(healthy).count();
                watched.fewest_healthy = watched.fewest_healthy.min(healthy);
                let running = running.len();
                if running < watched.fewest {
                    watched.fewest = running;
                    let told = |one: &Workload| format!("{} {}", one.name, one.status);
                    watched.then = workloads.iter().map(told).collect();
                }
                watched.most = watched.most.max(running);
                watched.looks += 1;
                thread::sleep(LOOK_EVERY);
            }
            Ok(watched)
        });
        let happened = happens();
        ended.store(true, Ordering::Relaxed);
        let watched = watcher
            .join()
            .map_err(|_| anyhow!("the watcher panicked"))?;
        Ok((happened?, watched?))
    })
}
