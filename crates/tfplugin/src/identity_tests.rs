//! Tests of `identity.rs`: which identity goes with a state, and what must not happen to it.

use async_trait::async_trait;

use super::*;
use crate::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostics, ReadRequest, ReadState,
    Schema, UpdateRequest,
};

/// Something with a name of two parts. Only its identity is of interest.
struct Named;

#[async_trait]
impl Resource for Named {
    fn schema(&self) -> Schema {
        Schema::new(0, "Something.").attributes([
            Attribute::string("name").required(),
            Attribute::string("place").optional_computed(),
        ])
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(
            IdentitySchema::new(2)
                .required("name", Type::String, "What it is called.")
                .optional("place", Type::String, "Where it is."),
        )
    }

    fn upgrade_identity(&self, version: i64, raw: Json) -> Result<Json, Diagnostic> {
        assert_eq!(version, 1);
        Ok(serde_json::json!({ "name": raw }))
    }

    async fn create(&self, request: CreateRequest, _: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn read(&self, request: ReadRequest, _: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: Vec::new(),
            diagnostics: Diagnostics::new(),
        }
    }

    async fn update(&self, request: UpdateRequest, _: &Call) -> Applied {
        Applied::new(request.planned)
    }

    async fn delete(&self, _: DeleteRequest, _: &Call) -> Applied {
        Applied::new(Value::Null)
    }
}

fn named(name: impl Into<Value>, place: impl Into<Value>) -> Value {
    Value::object([("name", name.into()), ("place", place.into())])
}

fn of(state: &Value, before: &Value) -> Result<Value, String> {
    let schema = Named.identity().expect("an identity");
    of_state(&Named, &schema, state, before).map_err(|diagnostic| diagnostic.summary)
}

#[test]
fn an_identity_is_taken_from_the_state() {
    assert_eq!(of(&named("a", "x"), &Value::Null), Ok(named("a", "x")));
    // A part that is null is a part.
    assert_eq!(
        of(&named("a", Value::Null), &Value::Null),
        Ok(named("a", Value::Null))
    );
    assert_eq!(of(&Value::Null, &named("a", "x")), Ok(Value::Null), "gone");
}

#[test]
fn what_is_not_known_yet_is_no_identity_and_no_change() {
    assert_eq!(
        of(&named("a", Value::Unknown), &Value::Null),
        Ok(Value::Null)
    );
    let before = named("a", "x");
    assert_eq!(of(&named("a", Value::Unknown), &before), Ok(before.clone()));
    assert_eq!(
        of(&named(Value::Null, Value::Null), &Value::Null),
        Ok(Value::Null)
    );
}

#[test]
fn an_identity_may_become_more_complete_and_never_another() {
    assert_eq!(
        of(&named("a", "x"), &named("a", Value::Null)),
        Ok(named("a", "x"))
    );
    let error = of(&named("b", "x"), &named("a", "x")).expect_err("another object");
    assert!(error.contains("\"name\""), "{error}");
    assert!(
        of(&named("a", Value::Null), &named("a", "x")).is_err(),
        "a part went away"
    );
}

#[test]
fn stored_identities_are_read_as_they_are_and_older_ones_are_upgraded() {
    let schema = Named.identity().expect("an identity");
    let present = upgrade(&Named, &schema, 2, br#"{"name":"a","gone":1}"#);
    assert_eq!(present, Ok(named("a", Value::Null)));
    assert_eq!(
        upgrade(&Named, &schema, 1, br#""a""#),
        Ok(named("a", Value::Null))
    );
    assert!(upgrade(&Named, &schema, 2, b"{").is_err());
}

#[test]
fn faults_of_an_identity_are_named() {
    assert!(Named.identity().expect("an identity").check().is_empty());
    let map = Type::map(Type::String);
    let faults = IdentitySchema::new(0).optional("labels", map, "").check();
    assert_eq!(faults.len(), 3, "{faults:?}");
}
