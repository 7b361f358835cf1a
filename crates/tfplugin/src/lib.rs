//! The OpenTofu plugin protocol, version 6.

mod call;
mod conform;
mod data_source;
mod diagnostic;
mod number;
mod path;
mod plan;
mod provider;
mod resource;
mod schema;
mod schema_check;
mod serve;
mod timeouts;
mod types;
mod value;

pub use call::Call;
pub use conform::ConformError;
pub use data_source::DataSource;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use number::{Number, ParseNumberError};
pub use path::{Path, PathStep};
pub use plan::Plan;
pub use provider::Provider;
pub use resource::{
    Applied, CreateRequest, DeleteRequest, ImportRequest, Imported, ReadRequest, ReadState,
    Resource, UpdateRequest,
};
pub use schema::{Attribute, Kind, Nesting, Replace, SameMeaning, Schema, Validator};
pub use serve::serve;
pub use timeouts::{
    GoDuration, ParseDurationError, Timeouts, parse_duration, same_duration, timeouts_attribute,
    validate_duration,
};
pub use types::{ParseTypeError, Type};
pub use value::Value;
