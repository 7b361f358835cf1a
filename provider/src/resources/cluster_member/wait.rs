//! Waiting for a member: with a deadline, until the user stops it, and with a log line that says what is awaited.
//!
//! Before: `change.rs` has made a pass that could not go on. After: it makes the next one, or gives up.

use core::fmt;
use core::time::Duration;

use domain::membership::removal;
use reconcile::error::Error;
use reconcile::member;
use tfplugin::{Call, log};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::change::Trouble;

/// A cluster that loses its database leader refuses for some seconds; one that does so for longer is not waited for.
const DISTURBANCE: Duration = Duration::from_secs(30);

/// Waiting for one member: until when, and what was said about it.
pub(super) struct Wait<'a> {
    call: &'a Call,
    /// What passes are stopped by: the user, or the end of the time.
    pub(super) stop: CancellationToken,
    member: &'a str,
    limit: Duration,
    ends_at: Option<Instant>,
    said: &'static str,
    disturbed_at: Option<Instant>,
    /// How many steps had been taken after the last pass.
    steps: u32,
}

impl<'a> Wait<'a> {
    pub(super) fn new(call: &'a Call, member: &'a str, limit: Duration) -> Self {
        Self {
            call,
            stop: call.stop_token().child_token(),
            member,
            limit,
            // One that no clock can reach does not end.
            ends_at: Instant::now().checked_add(limit),
            said: "",
            disturbed_at: None,
            steps: 0,
        }
    }

    /// Lets a pass run. When time is over it is told to stop, and does so between two steps.
    pub(super) async fn within<T>(&self, pass: impl Future<Output = T>) -> T {
        tokio::pin!(pass);
        tokio::select! {
            done = &mut pass => done,
            () = self.over() => {
                self.stop.cancel();
                pass.await
            }
        }
    }

    /// Notes how many steps were taken so far. Whoever takes one is not disturbed by what happened before it, however long
    /// the step has taken.
    pub(super) fn came_to(&mut self, steps: u32) {
        if steps > self.steps {
            self.disturbed_at = None;
        }
        self.steps = steps;
    }

    async fn over(&self) {
        match self.ends_at {
            Some(end) => sleep_until(end).await,
            None => core::future::pending().await,
        }
    }

    /// Waits a moment. What is awaited is logged when it changes; the host shows it under `TF_LOG`.
    pub(super) async fn for_(
        &mut self,
        awaited: &impl fmt::Display,
        word: &'static str,
        time: Duration,
    ) -> Result<(), Trouble> {
        self.disturbed_at = None;
        self.pause(awaited, word, time).await
    }

    /// Waits a moment after an error that may pass by itself; one that stays, or that will not pass, is handed back.
    pub(super) async fn for_calm(&mut self, error: Error) -> Result<(), Trouble> {
        if let Error::MemberStopped { before, .. } = &error {
            let awaited = format!("the next step was to {before}");
            return Err(match self.call.stopped() {
                true => Trouble::Stopped { awaited },
                false => Trouble::TimedOut {
                    limit: self.limit,
                    awaited,
                },
            });
        }
        match error.may_pass() && !self.is_disturbed_for_long() {
            true => self.pause(&error, "disturbed", member::PAUSE).await,
            false => Err(Trouble::Failed(error)),
        }
    }

    /// Waits a moment for somebody who answers for the cluster. It may be choosing whose word counts; it may also be gone.
    pub(super) async fn for_cluster(&mut self) -> Result<(), Trouble> {
        match self.is_disturbed_for_long() {
            true => Err(Trouble::NoCluster),
            false => {
                let waiting = removal::Waiting::Cluster;
                self.pause(&waiting, waiting.word(), member::PAUSE).await
            }
        }
    }

    fn is_disturbed_for_long(&mut self) -> bool {
        let since = *self.disturbed_at.get_or_insert_with(Instant::now);
        since.elapsed() >= DISTURBANCE
    }

    async fn pause(
        &mut self,
        awaited: &impl fmt::Display,
        word: &'static str,
        time: Duration,
    ) -> Result<(), Trouble> {
        if self.said != word {
            self.said = word;
            log::info(
                "a member is awaited",
                &[("member", &self.member), ("state", &word)],
            );
        }
        tokio::select! {
            () = sleep(time) => {}
            () = self.stop.cancelled() => {}
            // The last pass was the last one.
            () = self.over() => {}
        }
        let awaited = awaited.to_string();
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

#[cfg(test)]
mod tests;
