//! Status: what the executor of an app says about it, for display alone.
//!
//! Before: the end of a rollout, or its failure. After: `reconcile/src/store/status.rs` writes it as `status.<app>`, where
//! the last write wins. Nothing is ever decided by it.

use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::work::bounded;

/// What is said about one app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppStatus {
    /// The revision that the executor was at.
    pub revision: u64,
    /// Where its rollout was, as the state shows it.
    pub phase: String,
    /// Why it failed; at most [`LONGEST_ERROR`](crate::work::LONGEST_ERROR) bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When this was written.
    pub heartbeat: Moment,
}

impl AppStatus {
    /// What is said now.
    pub fn new(revision: u64, phase: &str, error: Option<&str>, now: Moment) -> Self {
        Self {
            revision,
            phase: phase.to_owned(),
            last_error: error.map(bounded),
            heartbeat: now,
        }
    }
}

/// The name of the profile that holds it.
pub fn profile_name(app: &str) -> String {
    format!("status.{app}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::RevisionName;
    use crate::work::LONGEST_ERROR;

    #[test]
    fn a_status_is_bounded_and_no_revision_of_anything() {
        let told = "x".repeat(2 * LONGEST_ERROR);
        let status = AppStatus::new(3, "reverted", Some(&told), Moment(7));
        assert_eq!(
            status.last_error.map(|error| error.len()),
            Some(LONGEST_ERROR)
        );
        let quiet = AppStatus::new(3, "serving", None, Moment(7));
        let text = serde_json::to_string(&quiet).expect("plain texts and numbers");
        assert_eq!(text, r#"{"revision":3,"phase":"serving","heartbeat":7}"#);
        assert_eq!(RevisionName::parse(&profile_name("web")), None);
    }
}
