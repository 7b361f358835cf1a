//! What a provider registers, by all the calls that tell: they have to agree, and the schemas to be sound.
//!
//! The course (`course.rs`) asks once, at its beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use super::calls::Kind;
use super::finding::Finding;
use super::others::{Described, Function, Is};
use crate::testing::client::Client;
use crate::testing::from_wire;
use crate::wire::tfplugin6 as message;
use crate::{Schema, Type};

/// What is registered.
pub(super) struct Registered {
    pub(super) provider: Described,
    pub(super) resources: Vec<Kind>,
    pub(super) others: Vec<Described>,
    pub(super) functions: Vec<Function>,
}

/// Asks what is registered, by all calls that tell.
pub(super) async fn registered(client: &Client) -> Result<Registered, Finding> {
    let broke_off = |status: tonic::Status| Finding::new(Rule::CallBrokeOff, status.to_string());
    let request = message::get_provider_schema::Request {};
    let schemas = client
        .provider()
        .get_provider_schema(request)
        .await
        .map_err(broke_off)?
        .into_inner();
    let request = message::get_resource_identity_schemas::Request {};
    let identities = client
        .provider()
        .get_resource_identity_schemas(request)
        .await
        .map_err(broke_off)?
        .into_inner();
    let request = message::get_functions::Request {};
    let functions = client
        .provider()
        .get_functions(request)
        .await
        .map_err(broke_off)?
        .into_inner();

    let provider_schema = schemas.provider.clone().unwrap_or_default();
    let mut registered = Registered {
        provider: Described {
            client: client.clone(),
            name: "provider".to_owned(),
            schema: sound("the provider block", &provider_schema)?,
            is: Is::Provider,
        },
        resources: Vec::new(),
        others: Vec::new(),
        functions: Vec::new(),
    };
    // Messages hold maps, whose order is another one each time.
    let mut names = BTreeSet::new();
    let resources: BTreeMap<_, _> = schemas.resource_schemas.iter().collect();
    for (name, wire) in resources {
        names.insert(name.clone());
        let schema = sound(name, wire)?;
        registered.resources.push(Kind {
            client: client.clone(),
            name: name.clone(),
            of: schema.object_type(),
            schema,
            identity: identities
                .identity_schemas
                .get(name)
                .and_then(identity_type),
        });
    }
    for (is, schemas) in [
        (Is::DataSource, &schemas.data_source_schemas),
        (Is::Ephemeral, &schemas.ephemeral_resource_schemas),
    ] {
        let schemas: BTreeMap<_, _> = schemas.iter().collect();
        for (name, wire) in schemas {
            names.insert(name.clone());
            registered.others.push(Described {
                client: client.clone(),
                name: name.clone(),
                schema: sound(name, wire)?,
                is,
            });
        }
    }
    let described: BTreeMap<_, _> = schemas.functions.iter().collect();
    for (name, wire) in described {
        names.insert(name.clone());
        let function = Function::described(client, name, wire);
        let unsound = || Finding::new(Rule::SchemaUnsound, format!("The function {name}."));
        registered.functions.push(function.ok_or_else(unsound)?);
    }
    let listed = client.metadata().await;
    let listed = listed.map_err(|error| Finding::new(Rule::CallBrokeOff, error.to_string()))?;
    let listed: BTreeSet<String> = listed.into_iter().collect();
    if listed != names || functions.functions != schemas.functions {
        let seen = format!("Described are {names:?}, listed {listed:?}.");
        return Err(Finding::new(Rule::RegistryDisagrees, seen));
    }
    Ok(registered)
}

/// The schema, if it has no fault.
fn sound(name: &str, wire: &message::Schema) -> Result<Schema, Finding> {
    let unsound = |what: String| Finding::new(Rule::SchemaUnsound, format!("{name}: {what}."));
    let schema = from_wire::schema(wire).ok_or_else(|| unsound("A host refuses it".to_owned()))?;
    let faults = schema.check();
    match faults.first() {
        None => Ok(schema),
        Some(fault) => {
            let at = fault.path.clone().unwrap_or_default();
            Err(unsound(fault.summary.clone()).at(&at))
        }
    }
}

fn identity_type(wire: &message::ResourceIdentitySchema) -> Option<Type> {
    let attributes = wire.identity_attributes.iter().map(|attribute| {
        Some((
            attribute.name.clone(),
            from_wire::type_of(&attribute.r#type)?,
        ))
    });
    attributes.collect::<Option<_>>().map(Type::Object)
}
