//! The resource: a box. Schema, plan, create, read, update, delete, import, upgrade, identity, move, in this order.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics,
    IdentitySchema, ImportRequest, Imported, MoveRequest, Moved, Plan, ReadRequest, ReadState,
    Resource, Schema, Timeouts, Type, UpdateRequest, Value, log, parse_duration, same_duration,
    timeouts_attribute, validate_duration,
};

use crate::provider::Folder;

/// The kind of boxes.
pub(crate) struct Boxes {
    folder: Folder,
}

impl Boxes {
    /// Keeps them in this folder.
    pub(crate) fn new(folder: Folder) -> Boxes {
        Boxes { folder }
    }

    fn file(&self, name: &str) -> Result<PathBuf, Diagnostic> {
        Ok(self.folder.path()?.join(name))
    }

    /// Stores the state as the box itself, and with it the lock that the key fits. A write-only value is in the
    /// configuration only: the world has to know it, the state must not.
    fn write(&self, state: &Value, config: &Value) -> Result<(), Diagnostic> {
        let name = state.attr("name").as_str().unwrap_or_default();
        let mut content = state.to_json().unwrap_or_default();
        content["lock"] = Json::from(config.attr("key").as_str());
        std::fs::write(self.file(name)?, content.to_string())
            .map_err(|error| failed("written", name, &error))
    }

    /// The box, or null when it is gone.
    fn look(&self, name: &str) -> Result<Value, Diagnostic> {
        let content = match std::fs::read(self.file(name)?) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Value::Null),
            Err(error) => return Err(failed("read", name, &error)),
        };
        let json =
            serde_json::from_slice(&content).map_err(|error| failed("understood", name, &error))?;
        Value::from_json(&json, &self.schema().object_type())
            .map_err(|error| failed("understood", name, &error))
    }

    /// Does the work of a change in steps, and stops between two of them when it has to.
    async fn work(&self, config: &Value, call: &Call) -> Result<(), Diagnostic> {
        assert_ne!(
            config.attr("note").as_str(),
            Some("panic"),
            "the box is cursed"
        );
        let time = config
            .attr("work_time")
            .as_str()
            .and_then(|text| parse_duration(text).ok());
        // A stubborn box cannot be left alone for longer.
        let stubborn = config.attr("note").as_str() == Some("stubborn");
        let step_time = Duration::from_millis(if stubborn { 1_500 } else { 10 });
        let steps = time.unwrap_or_default().as_millis() / step_time.as_millis();
        for _ in 0..steps {
            if call.stopped() {
                log::info("stopped between two steps of work", &[]);
                return Err(Diagnostic::error("The work on the box was stopped")
                    .detail("Apply again to go on."));
            }
            tokio::time::sleep(step_time).await;
        }
        Ok(())
    }

    /// The same on a box that is there already, with a note beside it for those who look on.
    async fn rework(&self, config: &Value, call: &Call) -> Result<(), Diagnostic> {
        let name = config.attr("name").as_str().unwrap_or_default();
        let note = self.file(&format!(".{name}-is-changed"))?;
        std::fs::write(&note, "").map_err(|error| failed("changed", name, &error))?;
        let worked = self.work(config, call).await;
        std::fs::remove_file(&note).map_err(|error| failed("changed", name, &error))?;
        worked
    }

    /// What the provider itself knows of a box.
    fn fill(mut state: Value, config: &Value, revision: i64) -> Value {
        let name = state.attr("name").as_str().unwrap_or_default().to_owned();
        state.set_attr("id", format!("box/{name}"));
        state.set_attr("revision", revision);
        state.set_attr("locked", !config.attr("key").is_null());
        if let Some(parts) = state.attr("parts").as_map().cloned() {
            let filled = parts.into_iter().map(|(key, mut part)| {
                part.set_attr("serial", format!("{name}-{key}"));
                (key, part)
            });
            state.set_attr("parts", Value::Map(filled.collect()));
        }
        state
    }
}

fn failed(what: &str, name: &str, error: &dyn std::error::Error) -> Diagnostic {
    Diagnostic::error(format!("The box {name:?} could not be {what}")).detail(error.to_string())
}

#[async_trait]
impl Resource for Boxes {
    fn schema(&self) -> Schema {
        Schema::new(1, "A box: a file in the provider's folder.").attributes([
            Attribute::string("name")
                .required()
                .replace()
                .describe("What it is called."),
            Attribute::string("note")
                .optional()
                .describe("What is written on it."),
            Attribute::number("weight")
                .optional()
                .describe("What it weighs."),
            Attribute::string("colour")
                .optional_computed()
                .default("brown")
                .describe("What it looks like."),
            Attribute::map("labels", Type::String)
                .optional()
                .describe("What it is sorted by."),
            Attribute::list("stickers", Type::String)
                .optional()
                .describe("What is stuck on it, from the left."),
            Attribute::set("owners", Type::String)
                .optional()
                .describe("Whose it is."),
            Attribute::of("content", Type::Dynamic)
                .optional()
                .describe("What is in it."),
            Attribute::string("key")
                .optional()
                .write_only()
                .sensitive()
                .describe("What opens it. It is stored nowhere; raise `key_version` to have a new one taken."),
            Attribute::number("key_version")
                .optional()
                .describe("Changes with the key, which cannot be seen to change."),
            Attribute::string("work_time")
                .optional()
                .same_meaning(same_duration)
                .validate(validate_duration)
                .describe("How long the work on it takes."),
            Attribute::single(
                "lid",
                [
                    Attribute::string("kind")
                        .required()
                        .describe("How it closes."),
                    Attribute::string("period")
                        .optional()
                        .same_meaning(same_duration)
                        .validate(validate_duration)
                        .describe("How often it is opened."),
                ],
            )
            .optional()
            .describe("Its lid."),
            Attribute::nested_map(
                "parts",
                [
                    Attribute::number("size")
                        .required()
                        .describe("How large it is."),
                    Attribute::string("serial")
                        .computed()
                        .keep_prior()
                        .describe("Its number."),
                ],
            )
            .optional()
            .describe("Its parts, by name."),
            Attribute::nested_list(
                "layers",
                [
                    Attribute::string("material")
                        .required()
                        .describe("What it is made of."),
                    Attribute::bool("soft")
                        .optional_computed()
                        .default(false)
                        .describe("Whether it gives."),
                ],
            )
            .optional()
            .describe("What it is lined with, from the bottom."),
            Attribute::nested_set(
                "stamps",
                [
                    Attribute::string("country")
                        .required()
                        .describe("Where it has been."),
                    Attribute::number("year")
                        .optional()
                        .describe("When it has been there."),
                ],
            )
            .optional()
            .describe("Where it has been, in no order."),
            Attribute::of("size", Type::object([("width", Type::Number), ("height", Type::Number)]))
                .optional()
                .describe("How large it is: a plain object, which is compared as a whole."),
            Attribute::bool("locked")
                .computed()
                .describe("Whether it needs a key."),
            timeouts_attribute(&["create", "update"]),
            Attribute::string("id")
                .computed()
                .keep_prior()
                .describe("What the provider calls it."),
            Attribute::number("revision")
                .computed()
                .describe("How often it was changed."),
        ])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if config
            .attr("name")
            .as_str()
            .is_some_and(|name| name.contains('/') || name.is_empty())
        {
            let error = Diagnostic::error("The name of a box is a file name")
                .detail("It is not empty and has no /.");
            diagnostics.push(error.at("name"));
        }
    }

    fn plan(&self, plan: &mut Plan<'_>) {
        // Known in the plan already, because only the name decides it.
        if plan.is_create()
            && let Some(name) = plan.config.attr("name").as_str()
        {
            plan.set("id", format!("box/{name}"));
        }
        // The same for what the key decides: whether there is one, never which. An unknown key may still be null.
        let key = plan.config.attr("key");
        let locked = match key.is_unknown() {
            true => Value::Unknown,
            false => Value::Bool(!key.is_null()),
        };
        plan.set("locked", locked);
        // What is planned here comes after the schema's rules, so what changes along with it has to be said too.
        if plan.attr_changed("locked") {
            plan.set_unknown("revision");
        }
    }

    async fn create(&self, request: CreateRequest, call: &Call) -> Applied {
        let state = Boxes::fill(request.planned, &request.config, 1);
        if let Err(diagnostic) = self.write(&state, &request.config) {
            // Nothing was made, so nothing is to be remembered.
            return Applied::failed(Value::Null, diagnostic);
        }
        let limit = Timeouts::from(request.config.attr("timeouts"))
            .create
            .unwrap_or(Duration::from_secs(600));
        let worked = tokio::time::timeout(limit, self.work(&request.config, call)).await;
        let late = || Err(Diagnostic::error("The work on the box took too long").at("timeouts"));
        match worked.unwrap_or_else(|_| late()) {
            Ok(()) => Applied::new(state).private(b"made".to_vec()),
            // The box exists by now: its state goes along with the error.
            Err(diagnostic) => Applied::failed(state, diagnostic).private(b"half made".to_vec()),
        }
    }

    async fn read(&self, request: ReadRequest, call: &Call) -> ReadState {
        let name = request.current.attr("name").as_str().unwrap_or_default();
        let reached = self.folder.reach(call).await;
        match reached.and_then(|()| self.look(name)) {
            Ok(state) => ReadState {
                state,
                private: request.private,
                diagnostics: Diagnostics::new(),
            },
            Err(diagnostic) => ReadState {
                state: request.current,
                private: request.private,
                diagnostics: diagnostic.into(),
            },
        }
    }

    async fn update(&self, request: UpdateRequest, call: &Call) -> Applied {
        if let Err(diagnostic) = self.rework(&request.config, call).await {
            return Applied::failed(request.prior, diagnostic).private(request.private);
        }
        let revision = request.prior.attr("revision").as_i64().unwrap_or_default() + 1;
        let state = Boxes::fill(request.planned, &request.config, revision);
        match self.write(&state, &request.config) {
            Ok(()) => Applied::new(state).private(request.private),
            Err(diagnostic) => Applied::failed(request.prior, diagnostic).private(request.private),
        }
    }

    async fn delete(&self, request: DeleteRequest, call: &Call) -> Applied {
        let name = request.prior.attr("name").as_str().unwrap_or_default();
        let reached = self.folder.reach(call).await;
        let removed = reached.and_then(|()| self.file(name)).and_then(|file| {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(failed("removed", name, &error))
                }
                // One that is gone already is as good as removed.
                _ => Ok(()),
            }
        });
        match removed {
            Ok(()) => Applied::new(Value::Null),
            Err(diagnostic) => Applied::failed(request.prior.clone(), diagnostic),
        }
    }

    async fn import(&self, request: ImportRequest, _: &Call) -> Imported {
        // The host reads next, and finds everything else by the name.
        let name = request.identity.map_or_else(
            || request.id.into(),
            |identity| identity.attr("name").clone(),
        );
        let state = Value::object([("name", name)]);
        Imported {
            state,
            private: Vec::new(),
            diagnostics: Diagnostics::new(),
        }
    }

    fn upgrade(&self, version: i64, mut raw: Json) -> Result<Json, Diagnostic> {
        if version != 0 {
            return Err(Diagnostic::error(format!(
                "A box of schema version {version} is from the future"
            )));
        }
        // Version 0 called the note a text.
        if let Some(state) = raw.as_object_mut()
            && let Some(text) = state.remove("text")
        {
            state.insert("note".to_owned(), text);
        }
        Ok(raw)
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new(0).required("name", Type::String, "What it is called."))
    }

    fn move_state(&self, request: MoveRequest) -> Option<Result<Moved, Diagnostic>> {
        // Boxes were called crates once, and their note was a text, as in version 0.
        if request.source_type != "toy_crate" || !request.source_provider.ends_with("/toy") {
            return None;
        }
        let upgraded = self.upgrade(0, request.state).and_then(|raw| {
            Value::from_json(&raw, &self.schema().object_type())
                .map_err(|error| failed("understood", "of a crate", &error))
        });
        Some(upgraded.map(|state| Moved {
            state,
            private: request.private,
        }))
    }
}
