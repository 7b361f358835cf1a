//! A resource whose stored states are read: an attribute of each kind and nesting, and an upgrade that renames one.

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value as Json;
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostic, ReadRequest, ReadState,
    Resource, Schema, Type, UpdateRequest, Value,
};

/// The version of its schema.
pub(crate) const VERSION: i64 = 1;

/// Its schema and the type that this implies.
pub(crate) static SHAPE: LazyLock<(Schema, Type)> = LazyLock::new(|| {
    let schema = Thing.schema();
    let of = schema.object_type();
    (schema, of)
});

/// A kind of thing that is only ever read from a state.
pub(crate) struct Thing;

#[async_trait]
impl Resource for Thing {
    fn schema(&self) -> Schema {
        let inner = || {
            [
                Attribute::string("name").required().describe("A text."),
                Attribute::number("id").optional().describe("A number."),
            ]
        };
        Schema::new(VERSION, "A thing.").attributes([
            Attribute::string("name").required().describe("A text."),
            Attribute::number("id").optional().describe("A number."),
            Attribute::bool("b").optional().describe("A bool."),
            Attribute::of("a", Type::Dynamic)
                .optional()
                .describe("Anything."),
            Attribute::map("map", Type::Number)
                .optional()
                .describe("A map."),
            Attribute::set("set", Type::String)
                .optional()
                .describe("A set."),
            Attribute::single("single", inner())
                .optional()
                .describe("One."),
            Attribute::nested_list("list", inner())
                .optional()
                .describe("Some."),
            Attribute::nested_set("nested_set", inner())
                .optional()
                .describe("Some."),
            Attribute::nested_map("nested_map", inner())
                .optional()
                .describe("Some."),
            Attribute::string("secret")
                .optional()
                .write_only()
                .describe("Never stored."),
        ])
    }

    fn upgrade(&self, _: i64, mut raw: Json) -> Result<Json, Diagnostic> {
        if let Some(state) = raw.as_object_mut()
            && let Some(name) = state.remove("type")
        {
            state.insert("name".to_owned(), name);
        }
        Ok(raw)
    }

    async fn create(&self, _: CreateRequest, _: &Call) -> Applied {
        Applied::new(Value::Null)
    }

    async fn read(&self, request: ReadRequest, _: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Default::default(),
        }
    }

    async fn update(&self, _: UpdateRequest, _: &Call) -> Applied {
        Applied::new(Value::Null)
    }

    async fn delete(&self, _: DeleteRequest, _: &Call) -> Applied {
        Applied::new(Value::Null)
    }
}
