//! Waiting for a member: with a deadline, until the user stops it, and with a log line that says what is awaited.
//!
//! Before: `change.rs` has made a pass that could not go on. After: it makes the next one, or gives up.

use core::time::Duration;

use domain::membership::answer::Waiting;
use reconcile::error::Error;
use reconcile::member;
use tfplugin::{Call, log};
use tokio::time::Instant;

use super::change::Trouble;

/// A cluster that loses its database leader refuses for some seconds; one that does so for longer is not waited for.
const DISTURBANCE: Duration = Duration::from_secs(30);

/// Waiting for one member: until when, and what was said about it.
pub(super) struct Wait<'a> {
    call: &'a Call,
    member: &'a str,
    limit: Duration,
    ends_at: Option<Instant>,
    said: &'static str,
    disturbed_at: Option<Instant>,
}

impl<'a> Wait<'a> {
    pub(super) fn new(call: &'a Call, member: &'a str, limit: Duration) -> Self {
        Self {
            call,
            member,
            limit,
            // One that no clock can reach does not end.
            ends_at: Instant::now().checked_add(limit),
            said: "",
            disturbed_at: None,
        }
    }

    /// Waits a moment. What is awaited is logged when it changes; the host shows it under `TF_LOG`.
    pub(super) async fn for_(
        &mut self,
        waiting: &Waiting,
        word: &'static str,
    ) -> Result<(), Trouble> {
        self.disturbed_at = None;
        self.pause(waiting, word).await
    }

    /// Waits a moment after an error that may pass by itself; one that stays, or that will not pass, is handed back.
    pub(super) async fn for_calm(&mut self, error: Error) -> Result<(), Trouble> {
        match may_pass(&error) && !self.is_disturbed_for_long() {
            true => self.pause(&Waiting::Cluster, "waiting-for-cluster").await,
            false => Err(Trouble::Failed(error)),
        }
    }

    /// Waits a moment for somebody who answers for the cluster. It may be choosing whose word counts; it may also be gone.
    pub(super) async fn for_cluster(&mut self) -> Result<(), Trouble> {
        match self.is_disturbed_for_long() {
            true => Err(Trouble::NoCluster),
            false => self.pause(&Waiting::Cluster, "waiting-for-cluster").await,
        }
    }

    fn is_disturbed_for_long(&mut self) -> bool {
        let since = *self.disturbed_at.get_or_insert_with(Instant::now);
        since.elapsed() >= DISTURBANCE
    }

    async fn pause(&mut self, waiting: &Waiting, word: &'static str) -> Result<(), Trouble> {
        if self.said != word {
            self.said = word;
            log::info(
                "a member is awaited",
                &[("member", &self.member), ("state", &word)],
            );
        }
        member::pause(waiting, &self.call.stop_token()).await;
        let awaited = waiting.to_string();
        if self.call.stopped() {
            return Err(Trouble::Stopped { awaited });
        }
        if self.ends_at.is_some_and(|end| Instant::now() >= end) {
            return Err(Trouble::TimedOut {
                limit: self.limit,
                awaited,
            });
        }
        Ok(())
    }
}

/// Whether an error may go away by itself: a server that is busy with itself, or an answer that was lost.
fn may_pass(error: &Error) -> bool {
    let Error::Incus(error) = error else {
        return false;
    };
    let busy = error.status().is_some_and(|code| code >= 500);
    busy || error.is_interrupted() || error.is_unreachable()
}
