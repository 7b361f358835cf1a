//! What is only looked at: a kind of observation that a configuration can ask for.

use async_trait::async_trait;

use crate::{Call, Diagnostics, Schema, Value};

/// A kind of observation.
#[async_trait]
pub trait DataSource: Send + Sync + 'static {
    /// Its attributes: those of the question, and the computed ones of the answer.
    fn schema(&self) -> Schema;

    /// Judges a configuration beyond its types. It may hold unknown values, and the provider may not be configured.
    fn validate(&self, _config: &Value, _diagnostics: &mut Diagnostics) {}

    /// Answers the question, which is wholly known. It may be asked in a plan and changes nothing in the world.
    async fn read(&self, config: Value, call: &Call) -> (Value, Diagnostics);
}
