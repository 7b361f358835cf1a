//! A provider that has one of everything, for the tests of the generator.

use std::sync::Arc;

use async_trait::async_trait;
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DataSource, DeleteRequest, Diagnostics,
    EphemeralResource, Function, FunctionError, IdentitySchema, Opened, Parameter, Provider,
    ReadRequest, ReadState, Resource, Schema, Signature, Type, UpdateRequest, Value,
};

/// One of everything.
pub(super) struct Sample;

#[async_trait]
impl Provider for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Shows `everything`.\n\nTwice.")
    }

    async fn configure(&self, _config: Value, _call: &Call) -> Diagnostics {
        Diagnostics::new()
    }

    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
        vec![("homelab_thing", Arc::new(Sample))]
    }

    fn data_sources(&self) -> Vec<(&'static str, Arc<dyn DataSource>)> {
        vec![("homelab_view", Arc::new(Sample))]
    }

    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        vec![("homelab_secret", Arc::new(Sample))]
    }

    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        vec![("join", Arc::new(Sample))]
    }
}

#[async_trait]
impl Resource for Sample {
    fn schema(&self) -> Schema {
        let inner = [
            Attribute::single("empty", [])
                .optional()
                .describe("Nothing inside."),
            Attribute::nested_map(
                "deep",
                [Attribute::list("leaf", Type::map(Type::Number))
                    .computed()
                    .describe("A leaf.")],
            )
            .computed()
            .describe("Deep."),
        ];
        Schema::new(0, "Manages a thing.").attributes([
            Attribute::string("name")
                .required()
                .replace()
                .describe("Its name."),
            Attribute::single("outer", inner)
                .optional()
                .describe("Outer."),
            Attribute::number("size")
                .optional_computed()
                .default(3_u64)
                .describe("Its size."),
            Attribute::string("key")
                .optional()
                .sensitive()
                .write_only()
                .describe("A key.\n\nKept secret."),
            Attribute::bool("old")
                .optional()
                .deprecated("Use `size`.")
                .describe("Old."),
            Attribute::of("shape", Type::object([("a", Type::set(Type::Bool))]))
                .computed()
                .describe("A shape."),
        ])
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new(0).required("name", Type::String, "Its name."))
    }

    async fn create(&self, request: CreateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        }
    }

    async fn update(&self, request: UpdateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn delete(&self, _request: DeleteRequest, _call: &Call) -> Applied {
        Applied::new(Value::Null)
    }
}

#[async_trait]
impl DataSource for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Looks.")
    }

    async fn read(&self, config: Value, _call: &Call) -> (Value, Diagnostics) {
        (config, Diagnostics::new())
    }
}

#[async_trait]
impl EphemeralResource for Sample {
    fn schema(&self) -> Schema {
        Schema::new(0, "Opens.").deprecated("Use another.")
    }

    async fn open(&self, config: Value, _call: &Call) -> Opened {
        Opened::new(config)
    }
}

impl Function for Sample {
    fn signature(&self) -> Signature {
        Signature::new("Joins words.", Type::String)
            .describe("Joins words with a separator.")
            .parameter(Parameter::new("separator", Type::String, "What is between.").allow_null())
            .variadic(Parameter::new(
                "words",
                Type::list(Type::String),
                "The words.",
            ))
    }

    fn call(&self, _arguments: Vec<Value>) -> Result<Value, FunctionError> {
        Ok(Value::Null)
    }
}
