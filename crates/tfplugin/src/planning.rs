//! One plan from beginning to end: the schema's rules, the resource's own, and a last look.
//!
//! Before this file stands the server (`server.rs`), which decodes and encodes; the rules are in `plan_rules.rs`.

use crate::debug::debug_without_private;
use crate::plan_rules::{apply_rules, forget_write_only};
use crate::{Diagnostic, Diagnostics, Path, Plan, Resource, Schema, Value};

/// What is asked about a change.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only `testing` shows it")
)]
pub struct PlanRequest {
    /// What the user wrote.
    pub config: Value,
    /// The state before.
    pub prior: Value,
    /// What the host makes of the two.
    pub proposed: Value,
    /// What the last call noted.
    pub private: Vec<u8>,
}

/// What is answered.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only `testing` shows it")
)]
pub struct Planned {
    /// What the object will be.
    pub state: Value,
    /// What apply shall get.
    pub private: Vec<u8>,
    /// What makes a replacement of the update.
    pub requires_replace: Vec<Path>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

/// Plans a change.
pub(crate) fn plan(resource: &dyn Resource, schema: &Schema, request: PlanRequest) -> Planned {
    let PlanRequest {
        config,
        prior,
        proposed,
        private,
    } = request;
    let destroys = proposed.is_null();
    let (planned, requires_replace) = apply_rules(schema, &config, &prior, proposed);
    let diagnostics = Diagnostics::new();
    let mut plan = Plan {
        config: &config,
        prior: &prior,
        planned,
        private,
        requires_replace,
        diagnostics,
    };
    resource.plan(&mut plan);
    let Plan {
        planned,
        private,
        mut requires_replace,
        mut diagnostics,
        ..
    } = plan;
    let state = if destroys {
        Value::Null
    } else {
        look_over(schema, planned, &mut diagnostics)
    };
    requires_replace.sort();
    requires_replace.dedup();
    if prior.is_null() || destroys {
        requires_replace.clear();
    }
    Planned {
        state,
        private,
        requires_replace,
        diagnostics,
    }
}

/// Brings what the resource planned into the schema's shape. A plan that has none is an error of the provider.
fn look_over(schema: &Schema, planned: Value, diagnostics: &mut Diagnostics) -> Value {
    let mut planned = match planned.conform(&schema.object_type()) {
        Ok(planned) => planned,
        Err(error) => {
            let path = error.path.clone();
            let diagnostic =
                Diagnostic::error("The provider planned a value that does not fit its schema");
            diagnostics.push(
                diagnostic
                    .detail(format!("{error}. This is a bug in the provider."))
                    .at(path),
            );
            return Value::Null;
        }
    };
    forget_write_only(&schema.attributes, &mut planned);
    planned
}

debug_without_private! {
    PlanRequest { config, prior, proposed }
    Planned { state, requires_replace, diagnostics }
}

#[cfg(test)]
#[path = "planning_tests.rs"]
mod tests;
