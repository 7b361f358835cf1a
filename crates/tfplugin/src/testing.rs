//! The host's side, for tests: what OpenTofu does with a provider, without OpenTofu.
//!
//! Two ways lead here. A unit test of one resource asks [`plan`] what would be planned for a configuration, in its own
//! process. A test of a whole program starts it with [`Host::start`], which behaves as OpenTofu does (cookie, client
//! certificate, socket), and calls it with values. Nothing of this is in a provider that is shipped: it is behind the
//! feature `testing`.

mod client;
pub mod codec;
mod conformance;
mod from_wire;
mod identity;
mod modern;
mod process;
mod proposed;
mod raw;

pub use client::{Client, ClientError};
pub use conformance::{Conformance, Failure, Finding, Report, Rule, Tally, Walk};
pub use identity::HostIdentity;
pub use process::{Ended, Host, HostError, Launch};
pub use proposed::proposed_new_state;
pub use raw::{RawBytes, field};

pub use crate::apply::ApplyRequest;
pub use crate::planning::{PlanRequest, Planned};

use crate::{Diagnostic, Diagnostics, Provider, Resource, Value, planning, validate};

/// What a resource would plan for a configuration: the host's proposal, the schema's rules and the resource's own.
///
/// `prior` is null for a creation, `config` is null for a destruction. What is left out of either becomes null.
///
/// # Errors
///
/// When `config` or `prior` do not fit the resource's schema.
pub fn plan(
    resource: &dyn Resource,
    config: Value,
    prior: Value,
    private: Vec<u8>,
) -> Result<Planned, crate::ConformError> {
    let schema = resource.schema();
    let of = schema.object_type();
    let (config, prior) = (config.conform(&of)?, prior.conform(&of)?);
    let proposed = proposed_new_state(&schema, &prior, &config);
    Ok(planning::plan(
        resource,
        &schema,
        PlanRequest {
            config,
            prior,
            proposed,
            private,
        },
    ))
}

/// What is said about a configuration: by the schema's validators, then by the resource.
///
/// # Errors
///
/// When `config` does not fit the resource's schema.
pub fn validate(
    resource: &dyn Resource,
    config: Value,
) -> Result<Diagnostics, crate::ConformError> {
    let schema = resource.schema();
    let config = config.conform(&schema.object_type())?;
    let mut diagnostics = validate::validate(&schema, &config);
    resource.validate(&config, &mut diagnostics);
    Ok(diagnostics)
}

/// Every fault in every schema that a provider registers, each with the name of what it belongs to; empty when all are
/// sound.
pub fn check(provider: &dyn Provider) -> Vec<(String, Diagnostic)> {
    let own = ("the provider".to_owned(), provider.schema());
    let resources = provider
        .resources()
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind.schema()));
    let data_sources = provider
        .data_sources()
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind.schema()));
    let ephemeral = provider
        .ephemeral_resources()
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind.schema()));
    // Only managed objects have anything to write.
    let others = std::iter::once(own).chain(data_sources).chain(ephemeral);
    let others = others.map(|(name, schema)| {
        let mut faults = schema.check();
        if holds_write_only(&schema.attributes) {
            faults.push(Diagnostic::error("It has a write-only attribute"));
        }
        (name, faults)
    });
    let identities = provider.resources().into_iter().filter_map(|(name, kind)| {
        let identity = kind.identity()?;
        Some((format!("the identity of {name}"), identity.check()))
    });
    let functions = provider.functions().into_iter();
    let functions =
        functions.map(|(name, function)| (name.to_owned(), function.signature().check()));
    resources
        .map(|(name, schema)| (name, schema.check()))
        .chain(others)
        .chain(identities)
        .chain(functions)
        .flat_map(|(name, faults)| faults.into_iter().map(move |fault| (name.clone(), fault)))
        .collect()
}

fn holds_write_only(attributes: &[crate::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let nested = attribute.nested_attributes();
        attribute.write_only || nested.is_some_and(|(_, nested)| holds_write_only(nested))
    })
}
