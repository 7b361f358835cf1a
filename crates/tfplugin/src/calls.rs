//! Runs the host's calls: each in a task of its own, each with its own token to be stopped by.
//!
//! The server (`server.rs`) waits for the task here. When the host goes away, the waiting ends (the transport drops it)
//! but the task does not: it is asked to stop and comes to its next safe point by itself. So no handler is ever dropped
//! between two steps, and the process (`serve.rs`) ends only when the last task has.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Call, Diagnostic, panics};

/// All calls of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Cancelled when the process ends: the parent of all others.
    process: CancellationToken,
    /// The parent of all tokens since the provider was last configured. The lock is held for an exchange only.
    stop: Mutex<CancellationToken>,
    tasks: TaskTracker,
    /// The host went away while a call was running.
    abandoned: AtomicBool,
}

impl Calls {
    /// Runs a handler to its end. If nobody waits for the end any more, the handler is asked to stop.
    pub(crate) async fn run<T, F>(
        &self,
        handler: impl FnOnce(Call) -> F + Send + 'static,
    ) -> Result<T, Diagnostic>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Diagnostic>> + Send + 'static,
    {
        self.under(&self.current(), handler).await
    }

    /// The same for what has to be done after a stop too, as giving back what was opened.
    pub(crate) async fn run_also_when_stopped<T, F>(
        &self,
        handler: impl FnOnce(Call) -> F + Send + 'static,
    ) -> Result<T, Diagnostic>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Diagnostic>> + Send + 'static,
    {
        let current = self.current();
        let stopped = current.is_cancelled();
        let parent = if stopped {
            &self.shared.process
        } else {
            &current
        };
        self.under(parent, handler).await
    }

    async fn under<T, F>(
        &self,
        parent: &CancellationToken,
        handler: impl FnOnce(Call) -> F + Send + 'static,
    ) -> Result<T, Diagnostic>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Diagnostic>> + Send + 'static,
    {
        let token = parent.child_token();
        let call = Call::new(token.clone());
        // The handler is called inside, so that a panic before its first await is caught too.
        let task = self
            .shared
            .tasks
            .spawn(panics::catch(async move { handler(call).await }));
        let waiting = Waiting {
            token,
            shared: &self.shared,
            over: false,
        };
        let ended = task.await;
        waiting.end();
        match ended {
            Ok(outcome) => outcome.and_then(|result| result),
            Err(_) => {
                Err(Diagnostic::error("The provider is ending")
                    .detail("The call was not finished."))
            }
        }
    }

    /// Asks all present calls to stop, and those that come until the provider is configured again: a call that the host
    /// had decided on before the user's Ctrl-C, and that arrives after it, would else run to its end.
    pub(crate) fn stop(&self) {
        self.current().cancel();
    }

    /// The provider is configured, which a host does once in each command: an earlier command's stop is over.
    pub(crate) fn begin(&self) {
        let mut stop = self.stop_token();
        if stop.is_cancelled() {
            *stop = self.shared.process.child_token();
        }
    }

    /// Asks all present and all later calls to stop: the process is ending.
    pub(crate) fn close(&self) {
        self.current().cancel();
        self.shared.process.cancel();
        self.shared.tasks.close();
    }

    /// Waits until no call is running, after [`Calls::close`].
    pub(crate) async fn finished(&self) {
        self.shared.tasks.wait().await;
    }

    /// Whether the host went away while a call was running.
    pub(crate) fn abandoned(&self) -> bool {
        self.shared.abandoned.load(Ordering::Relaxed)
    }

    /// The host is there again.
    pub(crate) fn taken_up(&self) {
        self.shared.abandoned.store(false, Ordering::Relaxed);
    }

    fn current(&self) -> CancellationToken {
        self.stop_token().clone()
    }

    fn stop_token(&self) -> MutexGuard<'_, CancellationToken> {
        let stop = self.shared.stop.lock();
        stop.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Someone who waits for a call. Dropped before the end, it stops the call.
struct Waiting<'a> {
    token: CancellationToken,
    shared: &'a Shared,
    over: bool,
}

impl Waiting<'_> {
    fn end(mut self) {
        self.over = true;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.shared.abandoned.store(true, Ordering::Relaxed);
            self.token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn until_stopped(call: Call) -> Result<&'static str, Diagnostic> {
        call.until_stopped().await;
        Ok("stopped")
    }

    #[tokio::test]
    async fn a_stop_holds_until_the_provider_is_configured_again() {
        let calls = Calls::default();
        let running = tokio::spawn({
            let calls = calls.clone();
            async move { calls.run(until_stopped).await }
        });
        tokio::task::yield_now().await;
        calls.stop();
        assert_eq!(running.await.expect("no panic"), Ok("stopped"));
        let later = calls.run(|call| async move { Ok(call.stopped()) }).await;
        assert_eq!(later, Ok(true));
        let closing = calls.run_also_when_stopped(|call| async move { Ok(call.stopped()) });
        assert_eq!(closing.await, Ok(false));
        calls.begin();
        let next = calls.run(|call| async move { Ok(call.stopped()) }).await;
        assert_eq!(next, Ok(false));
        calls.close();
        calls.begin();
        let last = calls.run(|call| async move { Ok(call.stopped()) }).await;
        assert_eq!(last, Ok(true));
        let closing = calls.run_also_when_stopped(|call| async move { Ok(call.stopped()) });
        assert_eq!(closing.await, Ok(true));
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_is_stopped_and_not_dropped() {
        let calls = Calls::default();
        let (said, mut heard) = tokio::sync::mpsc::channel(1);
        let waiting = calls.run(move |call| async move {
            call.until_stopped().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = said.send("a safe point").await;
            Ok(())
        });
        let cut_off = tokio::time::timeout(Duration::from_millis(20), waiting).await;
        assert!(cut_off.is_err() && calls.abandoned());
        assert_eq!(heard.recv().await, Some("a safe point"));
        calls.close();
        calls.finished().await;
    }
}
