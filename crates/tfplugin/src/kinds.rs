//! What a provider registers, ready to be found: each kind with its schema, which is asked for when first needed.
//!
//! The server (`server.rs`) looks kinds up here and lets them decode and encode by their schema. Hosts may skip the
//! schema call and start several processes for one command, so no schema is built before a call needs it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::wire::dynamic;
use crate::wire::tfplugin6::DynamicValue;
use crate::{DataSource, Diagnostic, EphemeralResource, Provider, Resource, Schema, Type, Value};

/// Something with a schema.
pub(crate) trait Described: Send + Sync + 'static {
    fn describe(&self) -> Schema;
}

impl Described for dyn Provider {
    fn describe(&self) -> Schema {
        self.schema()
    }
}

impl Described for dyn Resource {
    fn describe(&self) -> Schema {
        self.schema()
    }
}

impl Described for dyn EphemeralResource {
    fn describe(&self) -> Schema {
        self.schema()
    }
}

impl Described for dyn DataSource {
    fn describe(&self) -> Schema {
        self.schema()
    }
}

/// A kind of thing.
pub(crate) struct Kind<T: Described + ?Sized> {
    pub(crate) name: String,
    pub(crate) handler: Arc<T>,
    described: OnceLock<(Schema, Type)>,
}

impl<T: Described + ?Sized> Kind<T> {
    pub(crate) fn new(name: impl Into<String>, handler: Arc<T>) -> Kind<T> {
        Kind {
            name: name.into(),
            handler,
            described: OnceLock::new(),
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.described().0
    }

    /// Decodes a value of this kind; `what` says which one it is.
    pub(crate) fn decode(
        &self,
        value: Option<&DynamicValue>,
        what: &str,
    ) -> Result<Value, Diagnostic> {
        dynamic::from_wire(value, &self.described().1).map_err(|error| {
            let summary = format!("OpenTofu sent {what} of {} that cannot be read", self.name);
            let detail = format!("{error}. The provider and OpenTofu do not understand each other; please report this.");
            Diagnostic::error(summary).detail(detail).at(error.path)
        })
    }

    /// Encodes a value that conforms to this kind's schema.
    pub(crate) fn encode(&self, value: &Value) -> DynamicValue {
        dynamic::to_wire(value, &self.described().1)
    }

    fn described(&self) -> &(Schema, Type) {
        self.described.get_or_init(|| {
            let schema = self.handler.describe();
            let of = schema.object_type();
            (schema, of)
        })
    }
}

/// Kinds by their names.
pub(crate) struct Kinds<T: Described + ?Sized> {
    by_name: BTreeMap<&'static str, Arc<Kind<T>>>,
    /// What these kinds are called in messages.
    noun: &'static str,
}

impl<T: Described + ?Sized> Kinds<T> {
    pub(crate) fn new(noun: &'static str, registered: Vec<(&'static str, Arc<T>)>) -> Kinds<T> {
        let kinds = registered
            .into_iter()
            .map(|(name, handler)| (name, Arc::new(Kind::new(name, handler))));
        Kinds {
            by_name: kinds.collect(),
            noun,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Kind<T>>, Diagnostic> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            Diagnostic::error(format!("The provider has no {} named {name}", self.noun))
                .detail("Its version may be older than the configuration.")
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Kind<T>>> {
        self.by_name.values()
    }
}
