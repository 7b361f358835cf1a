//! `homelab_seed`: the install seed of a machine, rendered offline, with keys that stay.
//!
//! ```text
//! seed.rs ──┬─> seed/model.rs    what is declared        ─> domain::seed checks and renders
//!           ├─> seed/schema.rs   every attribute, once
//!           ├─> seed/plan.rs     pure: which files change
//!           ├─> seed/keys.rs     made once, found again in the state
//!           └─> seed/output.rs   the file                ─> media packs, encrypts, writes
//! ```
//!
//! Not here: what a seed says (`domain::seed`), how an archive or a volume is laid out (`media`).

mod keys;
mod model;
mod output;
mod plan;
mod schema;

use std::sync::Arc;

use async_trait::async_trait;
use domain::given::Given;
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest, Imported,
    Path, Plan, ReadRequest, ReadState, Resource, Schema, UpdateRequest, Value,
};

use crate::diagnose;
use keys::Kept;
use model::{declared, machine_name};
pub(crate) use output::Outputs;

// Model.

/// The resource `homelab_seed`.
#[derive(Debug, Default)]
pub(crate) struct Seed {
    outputs: Arc<Outputs>,
}

impl Seed {
    /// Seeds whose files are noted here.
    pub(crate) fn new(outputs: Arc<Outputs>) -> Self {
        Self { outputs }
    }
}

#[async_trait]
impl Resource for Seed {
    // Schema.

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(diagnose::issues(&declared(config).check()));
        diagnostics.extend(output::check(config));
    }

    // Plan.

    fn plan(&self, plan: &mut Plan<'_>) {
        plan::plan(plan);
        if let Some(path) = output::path(plan.config)
            && let Some(other) = self.outputs.plan(path, plan.config)
        {
            plan.diagnostics.push(
                Diagnostic::error("Two seeds have the same output")
                    .detail(format!(
                        "The seeds of machine {other} and of another machine {} are both written to {path:?}, so that one \
                         would be installed with the other's seed. Expected a file for each, such as \
                         \"seeds/${{each.key}}.tar\".",
                        machine_name(plan.config)
                    ))
                    .at(Path::new("output").attr("path")),
            );
        }
    }

    // Create.

    /// With an error the state has the seed all the same: its keys were made.
    async fn create(&self, request: CreateRequest, _call: &Call) -> Applied {
        self.render(&request.config, request.planned, None)
    }

    // Read.

    /// Of a seed only its file can be gone, or be another one than what was written.
    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        let mut state = request.current;
        if let Some(path) = output::path(&state) {
            let written = output::is_there(path, noted(&request.private));
            state.set_attr("written", written);
        }
        ReadState {
            state,
            private: request.private,
            diagnostics: Diagnostics::new(),
        }
    }

    // Update.

    async fn update(&self, request: UpdateRequest, _call: &Call) -> Applied {
        let (config, prior) = (request.config, request.prior);
        let kept = match config.attr("rotate") == prior.attr("rotate") {
            true => Kept::of(&prior, &declared(&config)),
            false => Ok(None),
        };
        let mut applied = match kept {
            Ok(kept) => self.render(&config, request.planned, kept),
            Err(diagnostic) => Applied::failed(prior.clone(), diagnostic),
        };
        if applied.diagnostics.has_errors() {
            applied.state = prior;
            return applied.private(request.private);
        }
        let left = self.left_behind(&prior, &request.private, &applied.state);
        applied.diagnostics.extend(left);
        applied
    }

    // Delete.

    async fn delete(&self, request: DeleteRequest, _call: &Call) -> Applied {
        let mut applied = Applied::new(Value::Null);
        applied.diagnostics.extend(self.left_behind(
            &request.prior,
            &request.private,
            &Value::Null,
        ));
        applied
    }

    // Import.

    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        let summary = format!("The seed {:?} cannot be imported", request.id);
        Imported {
            state: Value::Null,
            private: Vec::new(),
            diagnostics: Diagnostic::error(summary)
                .detail(
                    "A seed's keys are in its state only, and an import would make new ones that nobody knows. Expected the \
                     state that it was made in; restore a backup of it. Where the machine is installed already no seed is \
                     needed.",
                )
                .into(),
        }
    }
}

impl Seed {
    /// Makes what is missing, renders, and writes.
    fn render(&self, config: &Value, planned: Value, kept: Option<Kept>) -> Applied {
        let seed = declared(config);
        // What was unknown in the plan is judged here, before anything is written.
        let mut refused = diagnose::issues(&seed.check());
        refused.extend(output::check(config));
        if refused.has_errors() {
            return Applied {
                diagnostics: refused,
                ..Applied::new(Value::Null)
            };
        }
        let name = machine_name(config);
        let kept = match Kept::complete(kept, name, seed.wireguard.is_set()) {
            Ok(kept) => kept,
            Err(diagnostic) => return Applied::failed(Value::Null, diagnostic),
        };
        let rendered = plan::files(&seed, Some(&kept));
        let mut state = planned;
        state.set_attr("files", plan::map(rendered.as_ref(), String::clone));
        state.set_attr(
            "sha256",
            plan::map(rendered.as_ref(), |content| plan::sha256(content)),
        );
        let of_keys = plan::of_keys(&seed, Some(&kept));
        for (attribute, value) in schema::OF_KEYS.into_iter().zip(of_keys) {
            state.set_attr(attribute, value);
        }
        let written = self.outputs.write(config, name, &known(rendered));
        state.set_attr("written", output::path(config).map(|_| written.is_ok()));
        match written {
            Ok(digest) => Applied::new(state).private(digest.unwrap_or_default().into_bytes()),
            Err(diagnostic) => Applied::failed(state, diagnostic),
        }
    }

    /// Takes the old file away once the new one is written.
    fn left_behind(&self, prior: &Value, private: &[u8], state: &Value) -> Option<Diagnostic> {
        let old = output::path(prior)?;
        let is_same = output::path(state).map(output::file) == Some(output::file(old));
        match is_same {
            true => None,
            false => self
                .outputs
                .remove(old, noted(private), machine_name(prior)),
        }
    }
}

/// What was noted of the file that was written: its digest. Nothing where the note was lost.
fn noted(private: &[u8]) -> Option<&str> {
    let text = str::from_utf8(private).ok();
    text.filter(|text| !text.is_empty())
}

/// Everything is known when it is applied.
fn known(files: Option<plan::Files>) -> media::Files {
    let known = |(name, content): (String, Given<String>)| Some((name, content.known()?.clone()));
    let files = files.unwrap_or_default();
    files.into_iter().filter_map(known).collect()
}

// Tests.

#[cfg(test)]
mod tests;
