//! What a provider is: a configuration of its own and the kinds of things it knows.
//!
//! `serve` (`serve.rs`) takes one and makes a process of it. Resources and data sources share what they need with the
//! provider through an `Arc` of their own; the crate passes nothing between them.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Call, DataSource, Diagnostics, EphemeralResource, Function, Resource, Schema, Value};

/// A provider.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The attributes of the provider block.
    fn schema(&self) -> Schema;

    /// Judges the provider block beyond its types. It may hold unknown values.
    fn validate(&self, _config: &Value, _diagnostics: &mut Diagnostics) {}

    /// Takes the provider block in. It may hold values that are unknown while planning; it is never called while only
    /// validating, and an error here stops everything. So what cannot be reached yet is no error here but at first use.
    async fn configure(&self, config: Value, call: &Call) -> Diagnostics;

    /// The kinds of managed objects, by their full names.
    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)>;

    /// The kinds of observations, by their full names.
    fn data_sources(&self) -> Vec<(&'static str, Arc<dyn DataSource>)> {
        Vec::new()
    }

    /// The kinds of what exists only while it is used, by their full names.
    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        Vec::new()
    }

    /// The functions, by their names without the provider's.
    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        Vec::new()
    }
}
