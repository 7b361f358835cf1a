//! Makes a process of a provider. (Skeleton.)

use std::process::ExitCode;

use crate::Provider;

/// Serves a provider until its host has no further use for it, and says how the process is to end.
pub fn serve(_provider: impl Provider) -> ExitCode {
    ExitCode::FAILURE
}
