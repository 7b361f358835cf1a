//! The state of `homelab_cluster_member`: what was observed, as OpenTofu keeps it.
//!
//! Before: a Read, an import, or the end of an apply. After: `tfplugin` encodes it. Of what is declared only what Incus has in
//! one spelling comes from the server, and only where the state has it already; the rest shows in `missing`.

use std::collections::BTreeMap;

use domain::membership::observation::{Member, Status};
use reconcile::member::{self, View};
use tfplugin::Value;

use super::model::declared;

/// Refreshes all that a look at the cluster shows. What a member that does not answer would have to say itself stays as it
/// was, and so does what is declared of it: it could not be changed now.
pub(super) fn refresh(state: &mut Value, member: &Member, view: &View) {
    observe(state, member, view);
    if member.server.is_none() {
        return;
    }
    if let Ok(mut spec) = declared(state).spec() {
        // What is different of these shows at its attribute, and is not missing a second time.
        spec.groups = None;
        spec.config.clear();
        spec.failure_domain = None;
        spec.state = None;
        state.set_attr("missing", list(member::missing(&spec, &view.seen)));
    }
    drift(state, member);
}

/// What is only observed.
pub(super) fn observe(state: &mut Value, member: &Member, view: &View) {
    let listed = view.members.get(&member.name);
    if let Some(listed) = listed {
        state.set_attr("status", listed.status.as_str());
        state.set_attr("roles", list(listed.roles.clone()));
        state.set_attr("architecture", listed.architecture.as_str());
    }
    if let Some(server) = &member.server {
        state.set_attr("server_version", server.version.text.as_str());
    }
    if let Some(address) = &member.address {
        state.set_attr("location", address.to_string());
    }
    // What nobody tells is null and not unknown.
    for name in [
        "status",
        "roles",
        "architecture",
        "server_version",
        "location",
    ] {
        if state.attr(name).is_unknown() {
            state.set_attr(name, Value::Null);
        }
    }
}

/// What was changed by others, of what is declared.
fn drift(state: &mut Value, member: &Member) {
    if let Some(declared) = state.attr("groups").as_list() {
        let mut before: Vec<&str> = declared.iter().filter_map(Value::as_str).collect();
        before.sort_unstable();
        if !before
            .into_iter()
            .eq(member.groups.iter().map(String::as_str))
        {
            state.set_attr("groups", list(member.groups.iter().cloned().collect()));
        }
    }
    if let Some(declared) = state.attr("config").as_map() {
        let config = config(declared, member);
        state.set_attr("config", Value::Map(config));
    }
    if !state.attr("failure_domain").is_null() {
        state.set_attr("failure_domain", member.failure_domain.as_str());
    }
    if !state.attr("state").is_null() {
        match member.status {
            Status::Online => state.set_attr("state", "online"),
            Status::Evacuated => state.set_attr("state", "evacuated"),
            // On its way, or held up: what it will be is not known yet.
            Status::Offline | Status::Evacuating | Status::Restoring | Status::Blocked => {}
        }
    }
}

/// The declared keys as the member has them. One that it lacks is left out, unless that is what is declared.
fn config(declared: &BTreeMap<String, Value>, member: &Member) -> BTreeMap<String, Value> {
    let one = |(key, before): (&String, &Value)| {
        let value = match member.config.get(key) {
            Some(value) => Value::from(value),
            None if before.as_str() == Some("") => before.clone(),
            None => return None,
        };
        Some((key.clone(), value))
    };
    declared.iter().filter_map(one).collect()
}

/// A list of texts.
pub(super) fn list(texts: Vec<String>) -> Value {
    Value::List(texts.into_iter().map(Value::from).collect())
}

#[cfg(test)]
mod tests;
