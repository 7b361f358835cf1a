//! Faults of what is registered, of validation, and of what is no managed object.

use super::{Memory, error, path, warning};
use crate::values::{Members, change, holds_unknown, unknown};
use crate::wire::attribute_path::step::Selector;
use crate::wire::{
    Diagnostic, FunctionError, call_function, close_ephemeral_resource, configure_provider,
    get_metadata, get_provider_schema, open_ephemeral_resource, read_data_source,
    validate_resource_config,
};

pub(super) fn validate(
    fault: &str,
    request: &validate_resource_config::Request,
    answer: &mut validate_resource_config::Response,
    memory: &Memory,
) {
    match fault {
        "refuses-what-is-not-known" if holds_unknown(request.config.as_ref()) => {
            answer.diagnostics = vec![error("The box is not known")];
        }
        "judges-with-its-settings" if !memory.configured => {
            answer.diagnostics = vec![error("The folder is not known")];
        }
        "points-nowhere" => {
            let nowhere = Selector::AttributeName("nowhere".to_owned());
            answer.diagnostics = vec![Diagnostic {
                attribute: Some(path([nowhere])),
                ..warning(String::new())
            }];
        }
        "tells-a-secret" => {
            let config = Members::of(request.config.as_ref());
            if let Some(key) = config.and_then(|config| config.text("key")) {
                answer.diagnostics = vec![warning(format!("The key is {key}."))];
            }
        }
        _ => {}
    }
}

pub(super) fn configure(
    fault: &str,
    request: &configure_provider::Request,
    answer: &mut configure_provider::Response,
) {
    if fault == "needs-all-settings" && holds_unknown(request.config.as_ref()) {
        answer.diagnostics = vec![error("The folder is not known")];
    }
}

pub(super) fn schema(fault: &str, answer: &mut get_provider_schema::Response) {
    let Some(block) = answer
        .resource_schemas
        .get_mut("toy_box")
        .and_then(|schema| schema.block.as_mut())
    else {
        return;
    };
    match fault {
        "takes-a-reserved-name" => block.attributes[0].name = "count".to_owned(),
        "has-an-attribute-that-nobody-gives" => block.attributes[0].required = false,
        _ => {}
    }
}

pub(super) fn metadata(fault: &str, answer: &mut get_metadata::Response) {
    if fault == "lists-less" {
        answer.data_sources.clear();
    }
}

pub(super) fn read_data(fault: &str, answer: &mut read_data_source::Response) {
    match fault {
        "answers-another-question" => change(&mut answer.state, |state| {
            state.set("prefix", "other".into());
        }),
        "answers-with-what-is-not-known" => change(&mut answer.state, |state| {
            state.set("count_of_boxes", unknown());
        }),
        _ => {}
    }
}

pub(super) fn open(fault: &str, answer: &mut open_ephemeral_resource::Response) {
    if fault == "opens-something-else" {
        change(&mut answer.result, |result| {
            result.set("lasts", "7h".into())
        });
    }
}

pub(super) fn close(
    fault: &str,
    request: &close_ephemeral_resource::Request,
    answer: &mut close_ephemeral_resource::Response,
    memory: &mut Memory,
) {
    let private = request.private.clone().unwrap_or_default();
    if fault == "cannot-close-twice" && !memory.gone.insert(private) {
        answer.diagnostics = vec![error("The key is not there")];
    }
}

pub(super) fn call(fault: &str, answer: &mut call_function::Response, memory: &Memory) {
    match fault {
        "computes-something-else-each-time" => {
            let text = memory.calls.to_string();
            answer.error = Some(FunctionError {
                text,
                function_argument: None,
            });
        }
        "blames-an-argument-that-is-not-there" => {
            answer.error = Some(FunctionError {
                text: "It is wrong".to_owned(),
                function_argument: Some(70),
            });
        }
        _ => {}
    }
}
