//! The plan of `homelab_app`: a pure function of configuration, prior state and private state.
//!
//! Before: `tfplugin` has applied the rules of the schema, which leaves the computed attributes as they were. After:
//! OpenTofu shows `rollout_steps`. It is called twice, in plan and in apply, and both answers must agree: time is the
//! moment of the last Read.

use domain::adoption::{self, Refusal};
use domain::app::declared::NotASpec;
use domain::app::{self, AppSpec, Replicas, Track};
use domain::entry;
use domain::moment::Moment;
use domain::observation::Observation;
use domain::rollout::forecast;
use domain::rollout::phase::{self, Phase};
use domain::work::Work;
use tfplugin::{Plan, Value};

use super::import;
use super::model::declared;
use super::private::Private;
use super::schema::no_steps;
use crate::diagnose;

/// What every change makes unknown, as a whole.
const CHANGING: [&str; 4] = ["workloads", "phase", "revision", "last_error"];

/// Everything that is computed.
const COMPUTED: [&str; 9] = [
    "owner",
    "update_strategy",
    "executor",
    "revision",
    "phase",
    "last_error",
    "image_digest",
    "rollout_steps",
    "workloads",
];

/// Completes a plan.
pub(super) fn plan(plan: &mut Plan<'_>) {
    if plan.is_destroy() {
        return;
    }
    let spec = match declared(plan.config).spec() {
        Ok(spec) => Some(spec),
        Err(NotASpec::Unknown) => None,
        Err(NotASpec::Refused(issues)) => {
            plan.diagnostics.extend(diagnose::issues(&issues));
            return;
        }
    };
    if plan.is_create() {
        plan_create(plan, spec.as_ref());
    } else {
        plan_update(plan, spec);
    }
}

/// There was no Read before a create, so the steps are those for an empty fleet.
fn plan_create(plan: &mut Plan<'_>, spec: Option<&AppSpec>) {
    // Something was noted about what was there before: this is the second half of a replacement.
    if let Some(before) = Private::read(&plan.private) {
        let noted = Private {
            replaced: true,
            ..before
        };
        plan.private = noted.write();
    }
    plan.set("executor", "provider");
    let Some(spec) = spec else { return };
    plan.set("update_strategy", spec.r#type.update_strategy());
    // Which machines there are was not seen either.
    if spec.replicas == Replicas::PerNode {
        plan.set("rollout_steps", Value::Unknown);
        return;
    }
    let nothing = Observation::default();
    let steps = forecast::steps(spec, &nothing, &Work::default(), Moment(0));
    plan.set("rollout_steps", texts(steps));
}

fn plan_update(plan: &mut Plan<'_>, spec: Option<AppSpec>) {
    // A null is a value to keep, too: only a change of the app makes anything unknown.
    for name in COMPUTED {
        plan.set(name, plan.prior.attr(name).clone());
    }
    let prior = declared(plan.prior).spec().ok();
    let private = Private::read(&plan.private);
    complete(plan, spec.as_ref());
    let Some(spec) = spec else {
        change(plan, Value::Unknown);
        plan.set_unknown("image_digest");
        return;
    };
    let new_image = !prior
        .as_ref()
        .is_some_and(|prior| prior.names_same_image(&spec));
    let same = prior.is_some_and(|prior| prior.declares_same(&spec));
    let spec = pinned(spec, plan.prior, new_image, private.as_ref());
    let digest = spec.image.digest.clone();
    if same
        && private
            .as_ref()
            .is_none_or(|seen| nothing_to_do(&spec, seen))
    {
        return;
    }
    let moved = private.as_ref().map(|seen| {
        let published = seen.spec.as_ref().map(|spec| &spec.volumes);
        let seen = &seen.observation.volumes;
        app::moved(&spec.volumes, published.unwrap_or(&spec.volumes), seen)
    });
    if let Some(moved) = moved.filter(|moved| !moved.is_empty()) {
        return plan.diagnostics.extend(diagnose::issues(&moved));
    }
    let steps = match private {
        Some(seen) => match steps(&spec, &seen) {
            Ok(steps) => texts(steps),
            Err(refused) => {
                let refused = import::spoilt(&spec.name, &refused);
                return plan.diagnostics.push(refused);
            }
        },
        // The cache was lost and no Read has filled it since (`-refresh=false`): the steps cannot be told.
        None => Value::Unknown,
    };
    change(plan, steps);
    if new_image || plan.prior.attr("image_digest").is_null() {
        plan.set_unknown("image_digest");
    } else if digest.is_some() {
        plan.set("image_digest", digest);
    }
}

/// What an import of instances made by hand could not tell, because it knew no declaration.
fn complete(plan: &mut Plan<'_>, spec: Option<&AppSpec>) {
    if plan.prior.attr("executor").is_null() {
        plan.set("executor", "provider");
    }
    if plan.prior.attr("update_strategy").is_null() {
        let strategy = spec.map(|spec| Value::from(spec.r#type.update_strategy()));
        plan.set("update_strategy", strategy.unwrap_or(Value::Unknown));
    }
}

/// What an apply does to what was seen; what is taken over comes first.
fn steps(spec: &AppSpec, seen: &Private) -> Result<Vec<String>, Vec<Refusal>> {
    let (mut steps, after) = adoption::foresee(spec, &seen.adopts, &seen.observation, seen.at)?;
    steps.extend(forecast::steps(spec, &after, &seen.work, seen.at));
    Ok(steps)
}

/// The declaration with the digest that it already stands for: in the state, unless its name is followed and has moved
/// (the apply then rolls out what this plan has shown); or, for another image, in the last
/// revision, whose apply may have been cut off; if that one failed, what it stood for at the last Read.
fn pinned(mut spec: AppSpec, prior: &Value, new_image: bool, seen: Option<&Private>) -> AppSpec {
    spec.image.digest = match new_image {
        false => {
            let followed = seen.and_then(|seen| seen.followed.clone());
            let followed = followed.filter(|_| spec.image.track == Track::Follow);
            followed.or_else(|| prior.attr("image_digest").as_str().map(str::to_owned))
        }
        true => seen.and_then(|seen| {
            let published = seen.spec.as_ref();
            entry::looked_up(published, &seen.work, &spec).or_else(|| seen.failed_digest(&spec))
        }),
    };
    spec
}

/// The fleet holds what is declared, it has converged, nothing is to be taken over, and the workloads are as they should be.
fn nothing_to_do(spec: &AppSpec, seen: &Private) -> bool {
    let published = seen
        .spec
        .as_ref()
        .is_some_and(|published| published.declares_same(spec));
    let converged = seen.applied_revision == seen.revision && seen.adopts.is_empty();
    let as_declared = match phase::of(spec, &seen.observation, &seen.work, seen.at) {
        Phase::Serving => true,
        // Only members that do not answer could tell; a dead member is a warning, not a change.
        Phase::Unknown => forecast::steps(spec, &seen.observation, &seen.work, seen.at).is_empty(),
        _ => false,
    };
    published && converged && as_declared
}

fn change(plan: &mut Plan<'_>, steps: Value) {
    for name in CHANGING {
        plan.set_unknown(name);
    }
    plan.set("rollout_steps", steps);
}

fn texts(steps: Vec<String>) -> Value {
    match steps.is_empty() {
        true => no_steps(),
        false => Value::List(steps.into_iter().map(Value::from).collect()),
    }
}

#[cfg(test)]
mod tests;
