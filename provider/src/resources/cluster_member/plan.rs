//! The plan of `homelab_cluster_member`: a pure function of configuration and prior state.
//!
//! Before: `tfplugin` has applied the rules of the schema. After: OpenTofu shows what changes; warnings that need to know
//! of the other members are `outlook.rs`'s. It is called twice, in plan and in apply, and both answers must agree.

use domain::membership::declared::{Declared, NotASpec, parse_address};
use domain::membership::spec::MemberSpec;
use tfplugin::{Diagnostic, Plan, Value};

use super::model::{asks_the_same, declared, name};
use super::private;
use crate::diagnose;

/// What every change of a member makes unknown.
const CHANGING: [&str; 3] = ["status", "roles", "server_version"];

/// Everything that is computed.
const COMPUTED: [&str; 7] = [
    "missing",
    "owner",
    "status",
    "roles",
    "server_version",
    "architecture",
    "location",
];

/// Completes a plan.
pub(super) fn plan(plan: &mut Plan<'_>) {
    if plan.is_destroy() {
        return;
    }
    let declared = declared(plan.config);
    let spec = match declared.spec() {
        Ok(spec) => Some(spec),
        Err(NotASpec::Unknown) => None,
        Err(NotASpec::Refused(issues)) => {
            plan.diagnostics.extend(diagnose::issues(&issues));
            return;
        }
    };
    // Of a create everything that is computed is unknown, and the schema has seen to that.
    if plan.is_update() {
        update(plan, spec.as_ref());
        plan.diagnostics
            .extend(other_address(&declared, plan.prior));
        plan.diagnostics.extend(other_role(plan));
    }
}

/// Whether an apply has anything to do in the cluster; else only the state changes.
pub(super) fn is_change(planned: &Value) -> bool {
    planned.attr("status").is_unknown()
}

fn update(plan: &mut Plan<'_>, spec: Option<&MemberSpec>) {
    // A null is a value to keep, too: only a change of the member makes anything unknown.
    for name in COMPUTED {
        plan.set(name, plan.prior.attr(name).clone());
    }
    if nothing_to_do(plan.prior, spec) && !private::is_unsettled(&plan.private) {
        return;
    }
    for name in CHANGING {
        plan.set_unknown(name);
    }
    // One that was imported without an entry gets one with its first change, and an owner.
    if plan.prior.attr("owner").is_null() {
        plan.set_unknown("owner");
    }
    let missing = match (spec, plan.prior.attr("missing").is_null()) {
        // It may turn out that there is nothing to do, and then the null stays.
        (None, true) => Value::Unknown,
        // An apply that ends without an error leaves nothing missing.
        _ => Value::List(Vec::new()),
    };
    plan.set("missing", missing);
}

fn nothing_to_do(prior: &Value, spec: Option<&MemberSpec>) -> bool {
    let lacks = prior.attr("missing").as_list();
    let complete = lacks.is_none_or(<[Value]>::is_empty);
    let before = declared(prior).spec();
    let same = matches!((&before, spec), (Ok(before), Some(spec)) if asks_the_same(before, spec));
    complete && same
}

/// Where the cluster reaches a member is what counts: after an import the state has nothing else.
fn other_address(declared: &Declared, prior: &Value) -> Option<Diagnostic> {
    let wanted = parse_address(declared.address.known()?).ok()?;
    let listed = parse_address(prior.attr("location").as_str()?).ok()?;
    listed.contradicts(&wanted).then(|| {
        Diagnostic::warning(format!("The address of member {} cannot change", name(prior)))
            .detail(format!(
                "The cluster reaches it at {listed}, and {wanted} is declared. Incus does not move a member to another \
                 address, so the apply will be refused. Declare {listed}, or give the machine its new address and let it \
                 leave and join again: `tofu apply -replace=ADDRESS`, with the address of this resource."
            ))
            .at("address")
    })
}

/// HO-CLUS-05. An import knows no role, so declaring one afterwards is no change.
fn other_role(plan: &Plan<'_>) -> Option<Diagnostic> {
    let (before, after) = (plan.prior.attr("role").as_str()?, plan.planned.attr("role"));
    let after = match after.is_unknown() {
        true => return None,
        false => after.as_str().unwrap_or("join"),
    };
    (before != after).then(|| {
        Diagnostic::warning(format!("The role of member {} counts only when it is made", name(plan.prior)))
            .detail(format!(
                "It was {before:?} and is {after:?} now, which changes the state and nothing else: the machine is a member. One \
                 that began a cluster cannot join another before it is installed anew with a seed for that. \
                 If this is another machine, replace the member: `tofu apply -replace=ADDRESS`, with the address of \
                 this resource."
            ))
            .at("role")
    })
}

#[cfg(test)]
mod tests;
