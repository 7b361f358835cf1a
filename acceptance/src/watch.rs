//! Looks at an app all the time while something happens to it.
//!
//! Used by scenarios and the demo to tell what was true in between, not only at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::observer::Observer;

/// Between two looks; a step of a rollout takes several times as long.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// What was seen of an app.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The fewest workloads that ran at one moment.
    pub fewest: usize,
    /// The most.
    pub most: usize,
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
                most: 0,
                looks: 0,
            };
            while !ended.load(Ordering::Relaxed) {
                let running = observer
                    .workloads(app)?
                    .iter()
                    .filter(|workload| workload.is_running())
                    .count();
                watched.fewest = watched.fewest.min(running);
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
