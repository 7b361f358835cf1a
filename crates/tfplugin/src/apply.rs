//! What surrounds a resource's own work: which of its methods is called, and what its answer must look like.
//!
//! Before this file stands the server (`server.rs`). The rules here are the host's, and each answers to an accident
//! that has happened to providers: a creation that failed half-way and left nothing in the state, an update that failed
//! and was recorded as done, an unknown value that survived its apply, a deletion that failed and was forgotten.

use crate::debug::debug_without_private;
use crate::plan_rules::{forget_write_only, keep_spelling};
use crate::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest, Imported,
    Moved, Path, ReadRequest, ReadState, Resource, Schema, Type, UpdateRequest, Value,
};

/// A planned change that is to be made.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only `testing` shows it")
)]
pub struct ApplyRequest {
    /// What the user wrote; null when the object is to be destroyed.
    pub config: Value,
    /// The state before; null when the object is to be created.
    pub prior: Value,
    /// What was planned; null when the object is to be destroyed.
    pub planned: Value,
    /// What the plan noted.
    pub private: Vec<u8>,
}

/// Makes a planned change: without a prior state a creation, without a planned one a deletion, else an update.
pub(crate) async fn apply(
    resource: &dyn Resource,
    schema: &Schema,
    request: ApplyRequest,
    call: &Call,
) -> Applied {
    let ApplyRequest {
        config,
        prior,
        planned,
        private,
    } = request;
    if planned.is_null() {
        return delete(resource, prior, private, call).await;
    }
    let (before, noted) = (prior.clone(), private.clone());
    let applied = if prior.is_null() {
        let planned = planned.clone();
        resource
            .create(
                CreateRequest {
                    config,
                    planned,
                    private,
                },
                call,
            )
            .await
    } else {
        let planned = planned.clone();
        resource
            .update(
                UpdateRequest {
                    config,
                    prior,
                    planned,
                    private,
                },
                call,
            )
            .await
    };
    settle(schema, applied, before, planned, noted)
}

/// Looks over what a creation or an update came to.
fn settle(
    schema: &Schema,
    applied: Applied,
    prior: Value,
    planned: Value,
    noted: Vec<u8>,
) -> Applied {
    let Applied {
        state,
        private,
        mut diagnostics,
    } = applied;
    // A failure that has nothing to note does not mean that what was noted is wrong.
    let forgotten = diagnostics.has_errors() && private.is_empty();
    let private = if forgotten { noted } else { private };
    if state.is_null() {
        if !diagnostics.has_errors() {
            diagnostics.push(bug(
                "The provider returned no state for an object that exists",
                "The state is null.",
            ));
        }
        // Of a creation nothing is left then; after an update the old state is still the best one known.
        return Applied {
            state: prior,
            private,
            diagnostics,
        };
    }
    let mut state = finish(schema, state, &mut diagnostics).unwrap_or_else(|| {
        // A creation has made something that must not be forgotten, though nobody can say what.
        if prior.is_null() {
            without_unknown(planned.clone())
        } else {
            prior
        }
    });
    keep_spelling(&schema.attributes, &planned, &mut state);
    Applied {
        state,
        private,
        diagnostics,
    }
}

async fn delete(resource: &dyn Resource, prior: Value, private: Vec<u8>, call: &Call) -> Applied {
    let request = DeleteRequest {
        prior: prior.clone(),
        private: private.clone(),
    };
    let applied = resource.delete(request, call).await;
    if applied.diagnostics.has_errors() {
        let private = if applied.private.is_empty() {
            private
        } else {
            applied.private
        };
        return Applied {
            state: prior,
            private,
            diagnostics: applied.diagnostics,
        };
    }
    Applied {
        state: Value::Null,
        private: Vec::new(),
        diagnostics: applied.diagnostics,
    }
}

/// Observes an object.
pub(crate) async fn read(
    resource: &dyn Resource,
    schema: &Schema,
    request: ReadRequest,
    call: &Call,
) -> ReadState {
    let (current, noted) = (request.current.clone(), request.private.clone());
    let ReadState {
        state,
        private,
        mut diagnostics,
    } = resource.read(request, call).await;
    if diagnostics.has_errors() {
        // Whatever could not be observed is not gone.
        let private = if private.is_empty() { noted } else { private };
        return ReadState {
            state: current,
            private,
            diagnostics,
        };
    }
    if state.is_null() {
        return ReadState {
            state: Value::Null,
            private: Vec::new(),
            diagnostics,
        };
    }
    let Some(mut state) = finish(schema, state, &mut diagnostics) else {
        return ReadState {
            state: current,
            private: noted,
            diagnostics,
        };
    };
    keep_spelling(&schema.attributes, &current, &mut state);
    ReadState {
        state,
        private,
        diagnostics,
    }
}

/// Takes an object over.
pub(crate) async fn import(
    resource: &dyn Resource,
    schema: &Schema,
    request: ImportRequest,
    call: &Call,
) -> Imported {
    let Imported {
        state,
        private,
        mut diagnostics,
    } = resource.import(request, call).await;
    if diagnostics.has_errors() {
        return Imported {
            state: Value::Null,
            private: Vec::new(),
            diagnostics,
        };
    }
    if state.is_null() {
        diagnostics.push(bug(
            "The provider returned no state for an imported object",
            "The state is null.",
        ));
    }
    let state = finish(schema, state, &mut diagnostics).unwrap_or(Value::Null);
    Imported {
        state,
        private,
        diagnostics,
    }
}

/// Looks over what was taken over from another kind.
pub(crate) fn moved(schema: &Schema, moved: Moved) -> (Value, Vec<u8>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    if moved.state.is_null() {
        diagnostics.push(bug(
            "The provider returned no state for a moved object",
            "The state is null.",
        ));
    }
    let state = finish(schema, moved.state, &mut diagnostics).unwrap_or(Value::Null);
    (state, moved.private, diagnostics)
}

/// Looks the answer of a data source or an ephemeral resource over.
pub(crate) fn answer(
    schema: &Schema,
    state: Value,
    mut diagnostics: Diagnostics,
) -> (Value, Diagnostics) {
    if diagnostics.has_errors() {
        return (Value::Null, diagnostics);
    }
    if state.is_null() {
        diagnostics.push(bug(
            "The provider returned nothing and no error",
            "The answer is null.",
        ));
    }
    let state = finish(schema, state, &mut diagnostics).unwrap_or(Value::Null);
    (state, diagnostics)
}

/// Brings a state into the schema's shape, without unknown and without write-only values. `None`, with an error, when
/// it does not fit.
fn finish(schema: &Schema, state: Value, diagnostics: &mut Diagnostics) -> Option<Value> {
    let mut state = match state.conform(&schema.object_type()) {
        Ok(state) => state,
        Err(error) => {
            let summary = "The provider returned a state that does not fit its schema";
            diagnostics.push(bug(summary, &format!("{error}.")).at(error.path));
            return None;
        }
    };
    forget_write_only(&schema.attributes, &mut state);
    if !state.is_wholly_known() {
        // A failure explains itself why something is not known.
        if !diagnostics.has_errors() {
            for path in unknown_paths(&state) {
                diagnostics.push(
                    bug(
                        "The provider left a value unknown after apply",
                        "The value is null now.",
                    )
                    .at(path),
                );
            }
        }
        state = without_unknown(state);
    }
    Some(state)
}

fn bug(summary: &str, detail: &str) -> Diagnostic {
    Diagnostic::error(summary).detail(format!("{detail} This is a bug in the provider."))
}

fn unknown_paths(value: &Value) -> Vec<Path> {
    fn find(value: &Value, path: &Path, found: &mut Vec<Path>) {
        match value {
            Value::Unknown => found.push(path.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Object(members) => {
                members
                    .iter()
                    .for_each(|(name, member)| find(member, &path.clone().attr(name), found));
            }
            Value::Map(members) => {
                members
                    .iter()
                    .for_each(|(key, member)| find(member, &path.clone().key(key), found));
            }
            Value::List(elements) => {
                let elements = elements.iter().enumerate();
                elements.for_each(|(index, element)| {
                    find(element, &path.clone().index(index as i64), found)
                });
            }
            // Elements of sets have no paths.
            Value::Set(elements) if elements.iter().all(Value::is_wholly_known) => {}
            Value::Set(_) => found.push(path.clone()),
            Value::Dynamic(_, value) => find(value, path, found),
        }
    }
    let mut found = Vec::new();
    find(value, &Path::root(), &mut found);
    found
}

fn without_unknown(value: Value) -> Value {
    let members = |members: std::collections::BTreeMap<String, Value>| {
        members
            .into_iter()
            .map(|(name, member)| (name, without_unknown(member)))
            .collect()
    };
    match value {
        Value::Unknown => Value::Null,
        Value::List(elements) => Value::List(elements.into_iter().map(without_unknown).collect()),
        Value::Set(elements) => Value::Set(elements.into_iter().map(without_unknown).collect()),
        Value::Map(map) => Value::Map(members(map)),
        Value::Object(object) => Value::Object(members(object)),
        Value::Dynamic(of, value) => match *value {
            // A null of any type can do without one.
            Value::Unknown if *of == Type::Dynamic => Value::Null,
            value => Value::Dynamic(of, Box::new(without_unknown(value))),
        },
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
    }
}

debug_without_private! {
    ApplyRequest { config, prior, planned }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
