//! Tests of `apply.rs`: what becomes of a resource's answer, good or bad.

use async_trait::async_trait;

use super::*;
use crate::{Attribute, same_duration};

/// A resource that answers everything alike.
struct Answering(Value, Vec<u8>, Diagnostics);

#[async_trait]
impl Resource for Answering {
    fn schema(&self) -> Schema {
        Schema::new(0, "Anything.").attributes([
            Attribute::string("name").required(),
            Attribute::string("period")
                .optional()
                .same_meaning(same_duration),
            Attribute::string("secret").optional().write_only(),
            Attribute::single("inner", [Attribute::string("id").computed()]).computed(),
        ])
    }

    async fn create(&self, _: CreateRequest, _: &Call) -> Applied {
        Applied {
            state: self.0.clone(),
            private: self.1.clone(),
            diagnostics: self.2.clone(),
        }
    }

    async fn read(&self, _: ReadRequest, _: &Call) -> ReadState {
        ReadState {
            state: self.0.clone(),
            private: self.1.clone(),
            diagnostics: self.2.clone(),
        }
    }

    async fn update(&self, _: UpdateRequest, _: &Call) -> Applied {
        Applied {
            state: self.0.clone(),
            private: self.1.clone(),
            diagnostics: self.2.clone(),
        }
    }

    async fn delete(&self, _: DeleteRequest, _: &Call) -> Applied {
        Applied {
            state: self.0.clone(),
            private: self.1.clone(),
            diagnostics: self.2.clone(),
        }
    }

    async fn import(&self, _: ImportRequest, _: &Call) -> Imported {
        Imported {
            state: self.0.clone(),
            private: self.1.clone(),
            diagnostics: self.2.clone(),
        }
    }
}

fn thing(name: &str, period: &str) -> Value {
    let value = Value::object([("name", name.into()), ("period", period.into())]);
    value
        .conform(
            &Answering(Value::Null, vec![], Diagnostics::new())
                .schema()
                .object_type(),
        )
        .expect("a fit")
}

fn failure() -> Diagnostics {
    Diagnostic::error("the disk is gone").into()
}

async fn apply_with(
    answer: Value,
    diagnostics: Diagnostics,
    prior: Value,
    planned: Value,
) -> Applied {
    let resource = Answering(answer, b"new".to_vec(), diagnostics);
    let request = ApplyRequest {
        config: planned.clone(),
        prior,
        planned,
        private: b"planned".to_vec(),
    };
    apply(&resource, &resource.schema(), request, &Call::default()).await
}

#[tokio::test]
async fn a_success_is_passed_on_in_shape_and_in_the_planned_spelling() {
    let answer = Value::object([
        ("name", "a".into()),
        ("period", "60s".into()),
        ("secret", "s3cret".into()),
    ]);
    let applied = apply_with(answer, Diagnostics::new(), Value::Null, thing("a", "1m")).await;
    assert_eq!(applied.state, thing("a", "1m"));
    assert_eq!(applied.private, b"new");
    assert!(applied.diagnostics.is_empty());
}

#[tokio::test]
async fn what_is_still_unknown_is_an_error_and_null() {
    let unknown = Value::object([
        ("name", "a".into()),
        ("inner", Value::object([("id", Value::Unknown)])),
    ]);
    let applied = apply_with(
        unknown.clone(),
        Diagnostics::new(),
        Value::Null,
        thing("a", "1m"),
    )
    .await;
    let places: Vec<_> = applied
        .diagnostics
        .iter()
        .filter_map(|one| one.path.clone())
        .collect();
    assert_eq!(places, [Path::new("inner").attr("id")]);
    assert!(
        applied.state.attr("inner").attr("id").is_null() && !applied.state.attr("inner").is_null()
    );
    // After a failure it needs no error of its own.
    let applied = apply_with(unknown, failure(), Value::Null, thing("a", "1m")).await;
    assert_eq!(applied.diagnostics, failure());
    assert!(applied.state.is_wholly_known() && !applied.state.is_null());
}

#[tokio::test]
async fn a_failed_creation_keeps_what_there_is() {
    let applied = apply_with(thing("a", "1m"), failure(), Value::Null, thing("a", "1m")).await;
    assert_eq!(
        (applied.state, applied.diagnostics),
        (thing("a", "1m"), failure())
    );
    let applied = apply_with(Value::Null, failure(), Value::Null, thing("a", "1m")).await;
    assert_eq!(
        (applied.state, applied.diagnostics),
        (Value::Null, failure())
    );
}

#[tokio::test]
async fn a_failure_without_a_note_keeps_the_plans() {
    let resource = Answering(thing("a", "1m"), Vec::new(), failure());
    let (prior, planned) = (thing("a", "1m"), thing("a", "2m"));
    let request = ApplyRequest {
        config: planned.clone(),
        prior,
        planned,
        private: b"planned".to_vec(),
    };
    let failed = apply(&resource, &resource.schema(), request, &Call::default()).await;
    assert_eq!(failed.private, b"planned");
}

#[tokio::test]
async fn no_state_without_an_error_is_an_error() {
    let applied = apply_with(
        Value::Null,
        Diagnostics::new(),
        Value::Null,
        thing("a", "1m"),
    )
    .await;
    assert!(applied.diagnostics.has_errors());
    let applied = apply_with(
        Value::Null,
        Diagnostics::new(),
        thing("a", "1m"),
        thing("a", "2m"),
    )
    .await;
    assert!(applied.diagnostics.has_errors());
    assert_eq!(
        applied.state,
        thing("a", "1m"),
        "the old state is the best one known"
    );
}

#[tokio::test]
async fn a_state_out_of_shape_is_an_error_and_nothing_is_forgotten() {
    let wrong = || Value::object([("name", true.into())]);
    let created = apply_with(wrong(), Diagnostics::new(), Value::Null, thing("a", "1m")).await;
    assert!(created.diagnostics.has_errors());
    assert_eq!(created.state, thing("a", "1m"));
    let updated = apply_with(
        wrong(),
        Diagnostics::new(),
        thing("a", "1m"),
        thing("a", "2m"),
    )
    .await;
    assert_eq!(updated.state, thing("a", "1m"));
}

#[tokio::test]
async fn a_deletion_forgets_only_when_it_succeeded() {
    let deleted = apply_with(
        thing("x", "9m"),
        Diagnostics::new(),
        thing("a", "1m"),
        Value::Null,
    )
    .await;
    assert!(deleted.state.is_null() && deleted.private.is_empty());
    let kept = apply_with(Value::Null, failure(), thing("a", "1m"), Value::Null).await;
    assert_eq!(
        (kept.state, kept.private),
        (thing("a", "1m"), b"new".to_vec())
    );
    let resource = Answering(Value::Null, Vec::new(), failure());
    let private = b"planned".to_vec();
    let request = ApplyRequest {
        config: Value::Null,
        prior: thing("a", "1m"),
        planned: Value::Null,
        private,
    };
    let kept = apply(&resource, &resource.schema(), request, &Call::default()).await;
    assert_eq!(
        kept.private, b"planned",
        "a private state that nobody replaced stays"
    );
}

#[tokio::test]
async fn what_cannot_be_observed_is_not_gone() {
    let observe = async |state: Value, diagnostics: Diagnostics| {
        let resource = Answering(state, Vec::new(), diagnostics);
        let request = ReadRequest {
            current: thing("a", "1m"),
            private: b"noted".to_vec(),
        };
        read(&resource, &resource.schema(), request, &Call::default()).await
    };
    let failed = observe(Value::Null, failure()).await;
    assert_eq!(
        (failed.state, failed.private),
        (thing("a", "1m"), b"noted".to_vec())
    );
    let gone = observe(Value::Null, Diagnostics::new()).await;
    assert!(gone.state.is_null() && gone.diagnostics.is_empty());
    let respelled = observe(thing("a", "60s"), Diagnostics::new()).await;
    assert_eq!(respelled.state, thing("a", "1m"));
    let drifted = observe(thing("a", "61s"), Diagnostics::new()).await;
    assert_eq!(drifted.state, thing("a", "61s"));
}

#[tokio::test]
async fn an_import_has_a_state_or_an_error() {
    let take_over = async |state: Value, diagnostics: Diagnostics| {
        let resource = Answering(state, Vec::new(), diagnostics);
        let request = ImportRequest {
            id: "a".to_owned(),
            identity: None,
        };
        import(&resource, &resource.schema(), request, &Call::default()).await
    };
    let imported = take_over(Value::object([("name", "a".into())]), Diagnostics::new()).await;
    assert_eq!(imported.state.attr("name").as_str(), Some("a"));
    assert!(
        take_over(Value::Null, Diagnostics::new())
            .await
            .diagnostics
            .has_errors()
    );
    let refused = take_over(thing("a", "1m"), failure()).await;
    assert!(refused.state.is_null() && refused.diagnostics.has_errors());
}
