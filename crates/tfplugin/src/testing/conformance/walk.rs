//! The walk of one case of a resource: what a host does with an object from its first plan to its end.
//!
//! ```text
//! validate ── plan, plan again ── final plan ── apply ── upgrade, read ── plan: nothing to do
//!                  │                                          │
//!              made up state                          change or replace, then once more
//!              (without apply)                                │
//!                                                      import, destroy
//! ```
//!
//! The first half is here, as far as nothing is touched; what touches the world is in `walk/applied.rs`.

mod applied;

use std::collections::BTreeMap;

use super::calls::{Kind, Object, Plan, exists};
use super::case::{Case, filled};
use super::compatible::compatible;
use super::finding::{Finding, short};
use super::plan_valid::plan_valid;
use super::{Rule, Walk};
use crate::testing::proposed_new_state;
use crate::{Diagnostics, Path, PathStep, Value};

/// How far a case got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) validated: bool,
    pub(super) planned: bool,
    pub(super) applied: bool,
    pub(super) updated: bool,
    pub(super) replaced: bool,
}

/// How the walk ends before its end: with what was found, or because the provider refused, as it may.
pub(super) enum Stop {
    Found(Finding),
    Refused,
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Stop {
        Stop::Found(finding)
    }
}

/// Goes on if there was no error.
pub(super) fn unless_refused(said: &Diagnostics) -> Result<(), Stop> {
    match said.has_errors() {
        true => Err(Stop::Refused),
        false => Ok(()),
    }
}

pub(super) fn errors(said: &Diagnostics) -> String {
    let errors = said.iter().filter(|one| one.is_error());
    let texts: Vec<String> = errors
        .map(|one| format!("{}: {}", one.summary, one.detail))
        .collect();
    format!("It said: {}", texts.join("; "))
}

/// Runs a case.
pub(super) async fn run(kind: &Kind, case: &Case, walk: Walk) -> (Reached, Option<Finding>) {
    let mut reached = Reached::default();
    let ended = match walk {
        Walk::ValidateAndPlan => kind.look(case, &mut reached).await,
        Walk::WithApply => kind.live(case, &mut reached).await,
    };
    match ended {
        Err(Stop::Found(finding)) => (reached, Some(finding)),
        Ok(()) | Err(Stop::Refused) => (reached, None),
    }
}

impl Kind {
    /// Everything that can be asked about objects that do not exist.
    async fn look(&self, case: &Case, reached: &mut Reached) -> Result<(), Stop> {
        self.judge_configuration(case, &case.first).await?;
        reached.validated = true;
        let planned = self.plan_twice(case, &case.first, &Object::none()).await?;
        reached.planned = true;
        // No object was made, so one is made up that fits the plan.
        let object = Object {
            state: filled(&planned.object.state, &case.filling),
            private: Vec::new(),
            identity: Value::Null,
        };
        self.check_stored(&object.state).await?;
        self.judge_configuration(case, &case.second).await?;
        let planned = self.plan_twice(case, &case.second, &object).await?;
        if self.replaces(&planned, &object.state) {
            reached.replaced = true;
            self.plan_replacement(&case.second, &planned).await?;
        } else {
            reached.updated = true;
        }
        self.plan_destruction(&object).await?;
        Ok(())
    }

    /// A valid configuration is valid while parts of it are unknown.
    async fn judge_configuration(&self, case: &Case, config: &Value) -> Result<(), Stop> {
        let step = "validating";
        let said = self.validate(config).await.map_err(|one| one.after(step))?;
        unless_refused(&said)?;
        let known_first = case.as_known_first(config);
        if &known_first == config {
            return Ok(());
        }
        let judged = self.validate(&known_first).await;
        let judged = judged.map_err(|one| one.after(step))?;
        if judged.has_errors() {
            return Err(Finding::new(Rule::UnknownRefused, errors(&judged))
                .after(step)
                .into());
        }
        Ok(())
    }

    /// The plan of a configuration that is partly unknown, asked for twice, then the final one.
    async fn plan_twice(&self, case: &Case, config: &Value, prior: &Object) -> Result<Plan, Stop> {
        let known_first = case.as_known_first(config);
        let first = self.plan_checked(&known_first, prior).await;
        let first = first.map_err(|one| one.after("planning"))?;
        let again = self.plan_checked(&known_first, prior).await;
        let again = again.map_err(|one| one.after("planning"))?;
        if let Some(seen) = difference(&first, &again) {
            return Err(Finding::new(Rule::PlanNotRepeatable, seen)
                .after("planning")
                .into());
        }
        unless_refused(&first.said)?;
        if &known_first == config {
            return Ok(first);
        }
        let step = "planning with everything known";
        let last = self
            .plan_checked(config, prior)
            .await
            .map_err(|one| one.after(step))?;
        // What was unknown may turn out to be wrong.
        unless_refused(&last.said)?;
        self.check_final(&first, &last, &prior.state)
            .map_err(|one| one.after(step))?;
        Ok(last)
    }

    /// One plan, by every rule for plans.
    async fn plan_checked(&self, config: &Value, prior: &Object) -> Result<Plan, Finding> {
        let proposed = proposed_new_state(&self.schema, &prior.state, config);
        let plan = self.plan(config, &proposed, prior).await?;
        if plan.said.has_errors() {
            return Ok(plan);
        }
        plan_valid(
            &self.schema.attributes,
            &prior.state,
            config,
            &plan.object.state,
        )?;
        self.check_replacements(&plan, &prior.state)?;
        let replaces = self.replaces(&plan, &prior.state);
        if !prior.private.is_empty() && plan.object.private.is_empty() && !replaces {
            return Err(Finding::new(Rule::PlanLosesPrivate, ""));
        }
        if !prior.identity.is_null() && plan.object.identity != prior.identity && !replaces {
            let seen = format!("It is {}.", short(&plan.object.identity));
            return Err(Finding::new(Rule::PlanLosesIdentity, seen));
        }
        Ok(plan)
    }

    fn check_replacements(&self, plan: &Plan, prior: &Value) -> Result<(), Finding> {
        let planned = &plan.object.state;
        for path in &plan.requires_replace {
            let rule = if !exists(&self.schema.attributes, path) {
                Rule::ReplacePathMissing
            } else if prior.is_null() || planned.is_null() {
                Rule::ReplacesAtCreate
            } else if find(prior, path) == find(planned, path) {
                Rule::ReplacesWithoutChange
            } else {
                continue;
            };
            return Err(Finding::new(rule, "").at(path));
        }
        Ok(())
    }

    /// Whether a plan replaces: the host does so only for what really differs.
    fn replaces(&self, plan: &Plan, prior: &Value) -> bool {
        !prior.is_null() && plan.object.state != *prior && !plan.requires_replace.is_empty()
    }

    /// Between plan and apply more becomes known, and nothing else happens.
    fn check_final(&self, first: &Plan, last: &Plan, prior: &Value) -> Result<(), Finding> {
        let inconsistent = |seen: &str| Err(Finding::new(Rule::InconsistentFinalPlan, seen));
        let action = |plan: &Plan| (plan.object.state != *prior, self.replaces(plan, prior));
        match (action(first), action(last)) {
            // An update may turn out to be none, and a replacement to be an update or none.
            ((false, _), (true, _)) => return inconsistent("At first nothing was to be done."),
            ((true, false), (true, true)) => {
                return inconsistent("At first nothing was to be replaced.");
            }
            _ => {}
        }
        compatible(
            &first.object.state,
            &last.object.state,
            Rule::InconsistentFinalPlan,
        )
    }

    /// The second plan of a replacement: it has no prior state, and what the first one noted.
    async fn plan_replacement(&self, config: &Value, first: &Plan) -> Result<Plan, Stop> {
        let step = "planning a replacement once more";
        let nothing = Object {
            private: first.object.private.clone(),
            ..Object::none()
        };
        let plan = self
            .plan_checked(config, &nothing)
            .await
            .map_err(|one| one.after(step))?;
        if plan.said.has_errors() {
            let finding = Finding::new(Rule::ReplacementPlanFails, errors(&plan.said));
            return Err(finding.after(step).into());
        }
        Ok(plan)
    }

    async fn plan_destruction(&self, object: &Object) -> Result<Plan, Finding> {
        let step = "planning the destruction";
        let null = Value::Null;
        let plan = self
            .plan(&null, &null, object)
            .await
            .map_err(|one| one.after(step))?;
        let state = &plan.object.state;
        if !state.is_null() || plan.said.has_errors() {
            let seen = match state.is_null() {
                true => errors(&plan.said),
                false => format!("It is {}.", short(state)),
            };
            return Err(Finding::new(Rule::DestroyPlanned, seen).after(step));
        }
        self.check_replacements(&plan, &object.state)
            .map_err(|one| one.after(step))?;
        Ok(plan)
    }

    /// A state is read as it was stored.
    async fn check_stored(&self, state: &Value) -> Result<(), Finding> {
        match stored(state) {
            Some(text) => {
                self.check_upgrade(state, text, Rule::UpgradeChangesState)
                    .await
            }
            None => Ok(()),
        }
    }

    /// A state is read, too, with an attribute that the schema has lost, and without one that it has gained.
    async fn check_stored_by_another(&self, state: &Value) -> Result<(), Finding> {
        let mut other = state.clone();
        if let Value::Object(members) = &mut other {
            members.retain(|_, member| !member.is_null());
        }
        other.set_attr("an_attribute_of_the_past", "x");
        match stored(&other) {
            Some(text) => {
                self.check_upgrade(state, text, Rule::UpgradeRefusesState)
                    .await
            }
            None => Ok(()),
        }
    }

    async fn check_upgrade(&self, state: &Value, text: String, rule: Rule) -> Result<(), Finding> {
        let step = "reading a stored state";
        let upgraded = self.upgrade(text).await;
        let (upgraded, said) = upgraded.map_err(|one| one.after(step))?;
        if said.has_errors() {
            return Err(Finding::new(rule, errors(&said)).after(step));
        }
        compatible(state, &upgraded, rule).map_err(|one| one.after(step))
    }
}

fn difference(one: &Plan, other: &Plan) -> Option<String> {
    if one.object.state != other.object.state {
        let (one, other) = (short(&one.object.state), short(&other.object.state));
        return Some(format!("First {one}, then {other}."));
    }
    if one.requires_replace != other.requires_replace {
        return Some("The reasons to replace differ.".to_owned());
    }
    None
}

/// The text that a host stores of a state: JSON with all digits. `None` when something is unknown.
fn stored(value: &Value) -> Option<String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let members = |members: &BTreeMap<String, Value>| {
        let members = members.iter();
        let members: Option<Vec<_>> = members
            .map(|(name, member)| Some(format!("{}:{}", quoted(name), stored(member)?)))
            .collect();
        Some(format!("{{{}}}", members?.join(",")))
    };
    match value {
        Value::Unknown => None,
        Value::Null => Some("null".to_owned()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.as_str().to_owned()),
        Value::String(text) => Some(quoted(text)),
        Value::List(elements) | Value::Set(elements) => {
            let elements: Option<Vec<_>> = elements.iter().map(stored).collect();
            Some(format!("[{}]", elements?.join(",")))
        }
        Value::Map(map) => members(map),
        Value::Object(object) => members(object),
        Value::Dynamic(of, value) => {
            let (of, value) = (of.to_json(), stored(value)?);
            Some(format!(r#"{{"type":{of},"value":{value}}}"#))
        }
    }
}

/// What is at a path.
fn find<'a>(value: &'a Value, path: &Path) -> &'a Value {
    path.steps.iter().fold(value, |value, step| match step {
        PathStep::Attribute(name) | PathStep::Key(name) => value.attr(name),
        PathStep::Index(index) => {
            let index = usize::try_from(*index).ok();
            let element = index.and_then(|index| value.as_list()?.get(index));
            element.unwrap_or_else(|| value.attr(""))
        }
    })
}
