//! Faults of plans.

use rmpv::Value;

use super::{Memory, error, path};
use crate::values::{self, Members, change, holds_unknown, is_null, is_unknown, unknown};
use crate::wire::attribute_path::step::Selector;
use crate::wire::plan_resource_change::{Request, Response};
use crate::wire::{Deferred, Diagnostic};

pub(super) fn damage(fault: &str, request: &Request, answer: &mut Response, memory: &Memory) {
    let creates = is_null(request.prior_state.as_ref());
    let destroys = is_null(request.proposed_new_state.as_ref());
    let config = Members::of(request.config.as_ref());
    let prior = Members::of(request.prior_state.as_ref());
    let changes = answer.planned_state != request.prior_state;
    let name = || Selector::AttributeName("name".to_owned());
    match fault {
        "plans-a-value-of-its-own" => change(&mut answer.planned_state, |planned| {
            if planned.get("note").is_nil() {
                planned.set("note", "none".into());
            }
        }),
        "respells-a-text" => change(&mut answer.planned_state, |planned| {
            if let Some(note) = planned.text("note") {
                planned.set("note", note.to_uppercase().into());
            }
        }),
        "sorts-a-list" => change(&mut answer.planned_state, |planned| {
            if let Value::Array(mut stickers) = planned.get("stickers").clone() {
                stickers.reverse();
                planned.set("stickers", Value::Array(stickers));
            }
        }),
        "empties-what-is-null" => change(&mut answer.planned_state, |planned| {
            if planned.get("labels").is_nil() {
                planned.set("labels", Value::Map(Vec::new()));
            }
        }),
        "leaves-an-attribute-out" => change(&mut answer.planned_state, |planned| {
            planned.remove("weight");
        }),
        "rounds-a-number" => change(&mut answer.planned_state, |planned| {
            let number = planned
                .text("weight")
                .and_then(|text| text.parse::<f64>().ok());
            if let Some(number) = number {
                planned.set("weight", Value::F64(number));
            }
        }),
        "keeps-what-will-change" => change(&mut answer.planned_state, |planned| {
            if let Some(prior) = prior
                .as_ref()
                .filter(|_| is_unknown(planned.get("revision")))
            {
                planned.set("revision", prior.get("revision").clone());
            }
        }),
        "is-never-sure" => change(&mut answer.planned_state, |planned| {
            planned.set("revision", unknown());
        }),
        "always-wants-to-change" if !creates && !changes => {
            change(&mut answer.planned_state, |planned| {
                planned.set("id", "box/other".into());
            });
        }
        "forgets-the-object" if !destroys => answer.planned_state = values::null(),
        "plans-a-destruction-as-a-change" if destroys => {
            answer.planned_state = request.prior_state.clone();
        }
        "rolls-dice" => change(&mut answer.planned_state, |planned| {
            planned.set("id", format!("box/{}", memory.calls).into());
        }),
        "changes-its-mind" if holds_unknown(request.config.as_ref()) => {
            change(&mut answer.planned_state, |planned| {
                planned.set("id", "box/for-now".into());
            });
        }
        "replaces-always" if !creates && !destroys => {
            answer.requires_replace = vec![path([name()])];
        }
        "replaces-a-creation" if creates => answer.requires_replace = vec![path([name()])],
        "replaces-because-of-a-sets-element" if !creates && changes => {
            let steps = [
                Selector::AttributeName("stamps".to_owned()),
                Selector::ElementKeyInt(0),
                Selector::AttributeName("country".to_owned()),
            ];
            answer.requires_replace = vec![path(steps)];
        }
        "needs-a-prior-state" if creates && !request.prior_private.is_empty() => {
            answer.diagnostics = vec![error("The prior state is missing")];
        }
        "drops-private-state-in-a-plan" => answer.planned_private = Vec::new(),
        "drops-the-identity-in-a-plan" if !creates => answer.planned_identity = None,
        "switches-checks-off" => answer.legacy_type_system = true,
        "puts-off" => answer.deferred = Some(Deferred::default()),
        "panics" => {
            answer.diagnostics = vec![Diagnostic {
                detail: "It panicked.".to_owned(),
                ..error("The provider failed unexpectedly")
            }];
        }
        "dies" if creates => std::process::exit(101),
        "prints-while-it-plans" => {
            // Whoever cannot print has no fault.
            let _ = crate::print("planning\n");
        }
        "logs-a-secret" => {
            let key = config.and_then(|config| config.text("key"));
            eprintln!("the key is {key:?}");
        }
        _ => {}
    }
}
