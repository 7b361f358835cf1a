//! Following operations to their end, however a server tells it.
//!
//! `client.rs` has sent the request that started one; the traps are listed in `operation.rs`.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::error::Error;
use crate::operation::{self, Operation, Progress};
use crate::request::Request;

use super::Client;

/// A wait that comes back too early is not asked again before so long.
const WAIT_PAUSE: Duration = Duration::from_millis(200);

/// How `Client::finish_until` came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The operation has done its work.
    Finished(Operation),
    /// It still runs: follow it later, or cancel it.
    Running(Operation),
}

impl Client {
    /// Sends a request and follows the operation that it starts to its end.
    pub async fn finish(&self, request: Request<Operation>) -> Result<Operation, Error> {
        let doing = request.doing().to_owned();
        let operation = self.send(request).await?;
        self.follow(&doing, &operation).await
    }

    /// Like `finish`, but comes back when `stop` completes. The request itself is never cut off by
    /// that, and the operation goes on: it is handed back.
    pub async fn finish_until(
        &self,
        request: Request<Operation>,
        stop: impl Future<Output = ()>,
    ) -> Result<Outcome, Error> {
        let doing = request.doing().to_owned();
        let operation = self.send(request).await?;
        tokio::select! {
            biased;
            ended = self.follow(&doing, &operation) => ended.map(Outcome::Finished),
            () = stop => Ok(Outcome::Running(operation)),
        }
    }

    /// Follows an operation to its end, however long it takes. Safe to drop: it only looks.
    ///
    /// `doing` is what the operation is for, as in `Request::doing`; errors say it.
    pub async fn follow(&self, doing: &str, operation: &Operation) -> Result<Operation, Error> {
        let lost = |cause: Error| Error::OperationLost {
            doing: doing.to_owned(),
            id: operation.id.clone(),
            cause: Box::new(cause),
        };
        if operation.progress() != Progress::Running {
            return ended(doing, operation.clone());
        }
        loop {
            let wait = operation::wait(operation, self.limits.wait_slice);
            let not_before = Instant::now() + WAIT_PAUSE;
            let current = match self.send(wait).await {
                Ok(current) => current,
                // Older servers say "failed" and "not yet" alike: only the operation itself tells.
                Err(told @ Error::Refused { .. }) => {
                    match self.send(operation::get(operation)).await {
                        Ok(current) => current,
                        Err(gone) if gone.is_not_found() => {
                            return Err(failed_as_told(doing, operation, told).unwrap_or_else(lost));
                        }
                        Err(error) => return Err(lost(error)),
                    }
                }
                Err(error) => return Err(lost(error)),
            };
            if current.progress() != Progress::Running {
                return ended(doing, current);
            }
            sleep_until(not_before).await;
        }
    }
}

/// The outcome of an operation that has ended.
fn ended(doing: &str, operation: Operation) -> Result<Operation, Error> {
    match operation.progress() {
        Progress::Succeeded => Ok(operation),
        Progress::Running | Progress::Failed | Progress::Cancelled => {
            let message = match operation.err.as_str() {
                "" => operation.status.clone(),
                told => told.to_owned(),
            };
            Err(Error::OperationFailed {
                doing: doing.to_owned(),
                code: operation.status_code,
                message,
                operation: Box::new(operation),
            })
        }
    }
}

/// What a wait told before the operation was forgotten: a failure, unless it told only that its
/// own time was over or that the operation was gone already. Those come back as they are.
fn failed_as_told(doing: &str, operation: &Operation, told: Error) -> Result<Error, Error> {
    match told {
        Error::Refused { code, message, .. }
            if !message.contains("deadline exceeded")
                && !message.contains("peration not found") =>
        {
            Ok(Error::OperationFailed {
                doing: doing.to_owned(),
                code,
                message,
                operation: Box::new(operation.clone()),
            })
        }
        told => Err(told),
    }
}
