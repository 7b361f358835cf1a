//! Waiting: until something happens to a workload, or the time is over.
//!
//! Before: `domain::rollout` says how long nothing will change by itself. After: the next pass observes again. Events
//! only wake; what happened is read from the lists, because events get lost.

use core::time::Duration;

use incus::event::{EventFilter, EventStream, Happening};
use tokio::time::sleep;

use crate::cluster::Cluster;

/// What can change the situation of a workload from outside; our own reads and patches make other events.
const WAKING: [&str; 5] = [
    "instance-started",
    "instance-ready",
    "instance-shutdown",
    "instance-stopped",
    "instance-deleted",
];

/// A listener for the workloads of one app.
pub(crate) struct Wake {
    events: Option<EventStream>,
}

impl Wake {
    /// Listens from now on; without a stream of events it is the timer alone that wakes.
    pub(crate) async fn listen(cluster: &Cluster) -> Self {
        let filter = EventFilter {
            project: Some(cluster.project.clone()),
            lifecycle: true,
            operations: false,
        };
        Self {
            events: cluster.client.events(filter).await.ok(),
        }
    }

    /// Waits for `time`, or less if something happens to an instance that `concerns` us.
    pub(crate) async fn wait(&mut self, time: Duration, concerns: impl Fn(&str) -> bool) {
        let timer = sleep(time);
        tokio::pin!(timer);
        loop {
            let Some(events) = &mut self.events else {
                return timer.await;
            };
            let event = tokio::select! {
                () = &mut timer => return,
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) if wakes(&event.happening, &concerns) => return,
                Some(Ok(_)) => {}
                // The stream is gone, and events with it: look at once, and keep to the timer from now on.
                Some(Err(_)) | None => {
                    self.events = None;
                    return;
                }
            }
        }
    }
}

fn wakes(happening: &Happening, concerns: impl Fn(&str) -> bool) -> bool {
    let Happening::Lifecycle(lifecycle) = happening else {
        return false;
    };
    // Older servers tell the name only as the end of the source, which may carry a query.
    let source = lifecycle.source.split('?').next().unwrap_or_default();
    let name = source.rsplit('/').next().unwrap_or_default();
    WAKING.contains(&lifecycle.action.as_str()) && concerns(name)
}
