//! Faults of states: what apply, read and upgrade answer.

use rmpv::Value;

use super::{Memory, error};
use crate::values::{self, Members, change, is_null, unknown};
use crate::wire::{apply_resource_change, read_resource, upgrade_resource_state};

pub(super) fn apply(
    fault: &str,
    request: &apply_resource_change::Request,
    answer: &mut apply_resource_change::Response,
    memory: &mut Memory,
) {
    let creates = is_null(request.prior_state.as_ref());
    let destroys = is_null(request.planned_state.as_ref());
    let state = &mut answer.new_state;
    match fault {
        "makes-something-else" => change(state, |state| state.set("id", "box/other".into())),
        "makes-a-longer-list" => change(state, |state| {
            if let Value::Array(mut stickers) = state.get("stickers").clone() {
                stickers.push("new".into());
                state.set("stickers", Value::Array(stickers));
            }
        }),
        "leaves-something-unknown" => change(state, |state| state.set("revision", unknown())),
        "answers-nothing" if !destroys => answer.new_state = values::null(),
        "keeps-what-is-destroyed" if destroys => answer.new_state = request.prior_state.clone(),
        "forgets-a-failed-creation" if creates => {
            answer.new_state = values::null();
            answer.diagnostics = vec![error("The box has no bottom")];
        }
        // What follows is how it should be done, and breaks no rule.
        "fails-in-good-order" if creates => {
            answer.diagnostics = vec![error("The box has no bottom")];
        }
        "fails-an-update-in-good-order" if !creates && !destroys => {
            answer.new_state = request.prior_state.clone();
            answer.diagnostics = vec![error("The box is nailed up")];
        }
        "records-a-failed-update-as-done" if !creates && !destroys => {
            answer.diagnostics = vec![error("The box is nailed up")];
        }
        "cannot-destroy-twice" if destroys => {
            let prior = request.prior_state.clone().unwrap_or_default().msgpack;
            if !memory.gone.insert(prior) {
                answer.new_state = request.prior_state.clone();
                answer.diagnostics = vec![error("The box is not there")];
            }
        }
        "drops-private-state-in-an-update" if !creates => answer.private = Vec::new(),
        "drops-the-identity-in-an-apply" => answer.new_identity = None,
        "stores-a-write-only-value" => {
            let key = Members::of(request.config.as_ref()).and_then(|config| config.text("key"));
            if let Some(key) = key {
                change(state, |state| state.set("key", key.into()));
            }
        }
        "switches-checks-off-in-an-apply" => answer.legacy_type_system = true,
        _ => {}
    }
    // Boxes of the same name come back.
    if creates {
        memory.gone.clear();
    }
}

pub(super) fn read(
    fault: &str,
    request: &read_resource::Request,
    answer: &mut read_resource::Response,
) {
    let gone = is_null(answer.new_state.as_ref());
    let imported = Members::of(request.current_state.as_ref())
        .is_some_and(|current| current.get("id").is_nil());
    match fault {
        "takes-a-lost-connection-for-a-lost-box" => answer.new_state = values::null(),
        "cannot-read-what-is-gone" if gone => {
            answer.diagnostics = vec![error("The box is not there")];
        }
        "reads-half-of-it" => change(&mut answer.new_state, |state| {
            state.set("revision", Value::Nil);
        }),
        "reads-half-of-what-is-imported" if imported => change(&mut answer.new_state, |state| {
            state.set("locked", Value::Nil);
        }),
        "drops-private-state-in-a-read" => answer.private = Vec::new(),
        "drops-the-identity-in-a-read" => answer.new_identity = None,
        _ => {}
    }
}

pub(super) fn upgrade(
    fault: &str,
    request: &upgrade_resource_state::Request,
    answer: &mut upgrade_resource_state::Response,
) {
    let stored = request.raw_state.clone().unwrap_or_default().json;
    let foreign = String::from_utf8_lossy(&stored).contains("of_the_past");
    match fault {
        "upgrades-what-is-new" => change(&mut answer.upgraded_state, |state| {
            state.set("colour", "blue".into());
        }),
        "refuses-what-it-does-not-know" if foreign => {
            answer.upgraded_state = None;
            answer.diagnostics = vec![error("The state has an attribute too many")];
        }
        _ => {}
    }
}
