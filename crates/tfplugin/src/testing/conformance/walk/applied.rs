//! The second half of the walk: what happens to an object that is really made, changed, replaced and destroyed.

use super::{Reached, Stop, errors, unless_refused};
use crate::Value;
use crate::testing::conformance::Rule;
use crate::testing::conformance::calls::{Kind, Object, Plan};
use crate::testing::conformance::case::{Case, filled};
use crate::testing::conformance::compatible::compatible;
use crate::testing::conformance::finding::{Finding, short};
use crate::testing::proposed_new_state;

impl Kind {
    /// The whole life of an object.
    pub(super) async fn live(&self, case: &Case, reached: &mut Reached) -> Result<(), Stop> {
        self.judge_configuration(case, &case.first).await?;
        reached.validated = true;
        let planned = self.plan_twice(case, &case.first, &Object::none()).await?;
        reached.planned = true;
        let made = self.make(&case.first, &planned).await?;
        reached.applied = true;
        let mut object = self.come_to_rest(&case.first, made).await?;
        self.check_stored(&object.state).await?;

        match self.change(case, object.clone(), reached).await {
            Ok(changed) => object = changed,
            // Whatever a refused change has left is there to be read.
            Err(Stop::Refused) => {
                let (left, said) = self.read(&object).await?;
                unless_refused(&said)?;
                object = left;
            }
            Err(found) => return Err(found),
        }
        if object.state.is_null() {
            return Ok(());
        }
        self.check_stored_by_another(&object.state).await?;
        self.check_import(&object).await?;
        self.destroy(&object).await?;
        Ok(())
    }

    async fn change(
        &self,
        case: &Case,
        object: Object,
        reached: &mut Reached,
    ) -> Result<Object, Stop> {
        let config = &case.second;
        self.judge_configuration(case, config).await?;
        let planned = self.plan_twice(case, config, &object).await?;
        if planned.object.state == object.state {
            return Ok(object);
        }
        let changed = if self.replaces(&planned, &object.state) {
            let planned = self.plan_replacement(config, &planned).await?;
            self.destroy(&object).await?;
            let made = self.make(config, &planned).await?;
            reached.replaced = true;
            made
        } else {
            let updated = self.update(config, &planned, &object).await?;
            reached.updated = true;
            updated
        };
        self.come_to_rest(config, changed).await
    }

    async fn make(&self, config: &Value, planned: &Plan) -> Result<Object, Stop> {
        let step = "creating";
        let nothing = Object::none();
        let applied = self.apply(config, &planned.object, &nothing).await;
        let (made, said) = applied.map_err(|one| one.after(step))?;
        if said.has_errors() {
            self.clean_up(config, planned, made)
                .await
                .map_err(|one| one.after(step))?;
            return Err(Stop::Refused);
        }
        self.check_result(&planned.object, &made, &Value::Null)
            .map_err(|one| one.after(step))?;
        Ok(made)
    }

    /// A creation that failed. What it made is in the state, and is replaced by the next plan, which knows nothing of it.
    async fn clean_up(&self, config: &Value, planned: &Plan, made: Object) -> Result<(), Finding> {
        if made.state.is_null() {
            let guess = Object {
                state: filled(&planned.object.state, &Value::Null),
                ..Object::none()
            };
            let (seen, said) = self.read(&guess).await?;
            // Who only repeats what is asked has seen nothing.
            if !said.has_errors() && !seen.state.is_null() && seen.state != guess.state {
                let seen = format!(
                    "The state is null, and a read finds {}.",
                    short(&seen.state)
                );
                return Err(Finding::new(Rule::ForgottenAfterFailure, seen));
            }
            return Ok(());
        }
        if !made.state.is_wholly_known() {
            return Err(Finding::new(Rule::UnknownAfterApply, short(&made.state)));
        }
        let replacement = self.plan_checked(config, &Object::none()).await?;
        let tainted = Object {
            private: replacement.object.private.clone(),
            ..made
        };
        self.destroy(&tainted).await
    }

    async fn update(
        &self,
        config: &Value,
        planned: &Plan,
        object: &Object,
    ) -> Result<Object, Stop> {
        let step = "updating";
        let applied = self.apply(config, &planned.object, object).await;
        let (updated, said) = applied.map_err(|one| one.after(step))?;
        if said.has_errors() {
            let proposed = proposed_new_state(&self.schema, &updated.state, config);
            let next = self
                .plan(config, &proposed, &updated)
                .await
                .map_err(|one| one.after(step))?;
            if !next.said.has_errors() && next.object.state == updated.state {
                let seen = format!("The state is {}.", short(&updated.state));
                return Err(Finding::new(Rule::FailureRecordedAsDone, seen)
                    .after(step)
                    .into());
            }
            return Err(Stop::Refused);
        }
        self.check_result(&planned.object, &updated, &object.identity)
            .map_err(|one| one.after(step))?;
        let noted = !object.private.is_empty() || !planned.object.private.is_empty();
        if noted && updated.private.is_empty() {
            return Err(Finding::new(Rule::ApplyLosesPrivate, "").after(step).into());
        }
        Ok(updated)
    }

    /// What an apply without errors has to answer.
    fn check_result(
        &self,
        planned: &Object,
        result: &Object,
        identity_before: &Value,
    ) -> Result<(), Finding> {
        if result.state.is_null() {
            return Err(Finding::new(Rule::StateMissing, ""));
        }
        if !result.state.is_wholly_known() {
            return Err(Finding::new(Rule::UnknownAfterApply, short(&result.state)));
        }
        compatible(&planned.state, &result.state, Rule::ResultDiffersFromPlan)?;
        if self.identity.is_some() {
            let before = [identity_before, &planned.identity];
            let mut before = before.into_iter().filter(|identity| !identity.is_null());
            let changed = before.any(|identity| {
                compatible(identity, &result.identity, Rule::ApplyLosesIdentity).is_err()
            });
            if changed || result.identity.is_null() || !result.identity.is_wholly_known() {
                let seen = format!("It is {}.", short(&result.identity));
                return Err(Finding::new(Rule::ApplyLosesIdentity, seen));
            }
        }
        Ok(())
    }

    /// Whatever was just applied is stored, read and planned without anything to do.
    async fn come_to_rest(&self, config: &Value, object: Object) -> Result<Object, Stop> {
        let step = "reading what was applied";
        let (read, said) = self.read(&object).await.map_err(|one| one.after(step))?;
        unless_refused(&said)?;
        let found = |rule, seen: String| Err(Finding::new(rule, seen).after(step).into());
        if read.state.is_null() {
            return found(Rule::ReadLosesObject, String::new());
        }
        compatible(&object.state, &read.state, Rule::ReadDrifts).map_err(|one| one.after(step))?;
        if !object.private.is_empty() && read.private.is_empty() {
            return found(Rule::ReadLosesPrivate, String::new());
        }
        if read.identity != object.identity {
            let seen = format!("It is {}.", short(&read.identity));
            return found(Rule::ReadLosesIdentity, seen);
        }
        let step = "planning what was applied";
        let plan = self
            .plan_checked(config, &read)
            .await
            .map_err(|one| one.after(step))?;
        unless_refused(&plan.said)?;
        if plan.object.state != read.state {
            let (rule, seen) = match plan.object.state.is_wholly_known() {
                true => (Rule::NeverSettles, "Planned is"),
                false => (Rule::UnknownWithoutChange, "Planned is"),
            };
            let seen = format!(
                "{seen} {}, there is {}.",
                short(&plan.object.state),
                short(&read.state)
            );
            return Err(Finding::new(rule, seen).after(step).into());
        }
        Ok(read)
    }

    /// What has an identity can be imported by it, and is complete once it has been read.
    async fn check_import(&self, object: &Object) -> Result<(), Stop> {
        if self.identity.is_none() {
            return Ok(());
        }
        let step = "importing";
        let imported = self.import("", &object.identity).await;
        let (imported, said) = imported.map_err(|one| one.after(step))?;
        unless_refused(&said)?;
        let (read, said) = self.read(&imported).await.map_err(|one| one.after(step))?;
        if said.has_errors() {
            let finding = Finding::new(Rule::ImportIncomplete, errors(&said));
            return Err(finding.after(step).into());
        }
        compatible(&object.state, &read.state, Rule::ImportIncomplete)
            .map_err(|one| one.after(step))?;
        Ok(())
    }

    /// Plans the end and makes it; then there is nothing, which can be destroyed and read once more.
    pub(super) async fn destroy(&self, object: &Object) -> Result<(), Finding> {
        let plan = self.plan_destruction(object).await?;
        let planned = Object {
            state: Value::Null,
            ..plan.object
        };
        for (step, rule) in [
            ("destroying", Rule::StateLeft),
            ("destroying what is gone", Rule::DeleteOfAbsentFails),
        ] {
            let applied = self.apply(&Value::Null, &planned, object).await;
            let (left, said) = applied.map_err(|one| one.after(step))?;
            if said.has_errors() && rule == Rule::StateLeft {
                // It refused, and the object is still there.
                return Ok(());
            }
            if said.has_errors() || !left.state.is_null() {
                let seen = match said.has_errors() {
                    true => errors(&said),
                    false => format!("It is {}.", short(&left.state)),
                };
                return Err(Finding::new(rule, seen).after(step));
            }
        }
        let step = "reading what is gone";
        let (_, said) = self.read(object).await.map_err(|one| one.after(step))?;
        match said.has_errors() {
            true => Err(Finding::new(Rule::ReadOfAbsentFails, errors(&said)).after(step)),
            false => Ok(()),
        }
    }
}
