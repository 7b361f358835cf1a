//! Panics: a fault in a handler is an error for its user, not the end of the process and all other calls.
//!
//! The hook logs where and why, and leaves a note for `catch`, which the call's runner (`calls.rs`) wraps around every
//! handler. No backtrace is shown to users; the location is what a report needs.

use std::any::Any;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::task::Poll;

use crate::{Diagnostic, log};

/// What a user is told of a panic, in one line.
pub(crate) const SUMMARY: &str = "The provider failed unexpectedly";

thread_local! {
    /// Where the last panic of this thread happened. A panic is caught on the thread that it happened on.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics log lines. Without it the default hook writes plain text.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let location = panic
            .location()
            .map_or_else(|| "unknown".to_owned(), ToString::to_string);
        log::error(
            "the provider panicked",
            &[
                ("reason", &reason(panic.payload())),
                ("location", &location),
            ],
        );
        LOCATION.with_borrow_mut(|noted| *noted = Some(location));
    }));
}

/// Runs a future to its end; a panic in it is an error.
pub(crate) async fn catch<T>(future: impl Future<Output = T>) -> Result<T, Diagnostic> {
    let mut future = Box::pin(future);
    // After a panic the future is never polled again, so nothing half-done is seen.
    poll_fn(
        move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(payload) => Poll::Ready(Err(diagnose(payload.as_ref()))),
        },
    )
    .await
}

fn diagnose(payload: &(dyn Any + Send)) -> Diagnostic {
    let location = LOCATION
        .take()
        .map(|location| format!(" at {location}"))
        .unwrap_or_default();
    Diagnostic::error(SUMMARY).detail(format!(
        "It panicked{location}: {}\n\nThis is a bug in the provider. Please report it with the text above.",
        reason(payload)
    ))
}

/// A panic's reason is a text, unless someone took pains that it is not.
fn reason(payload: &dyn Any) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_reason() {
        let caught = catch(async { panic!("the disk is {}", "gone") }).await;
        let error: Diagnostic = caught.map(|(): ()| ()).expect_err("an error");
        assert!(
            error.detail.contains("the disk is gone"),
            "{}",
            error.detail
        );
    }
}
