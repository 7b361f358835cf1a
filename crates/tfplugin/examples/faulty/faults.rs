//! The faults, by the call whose answer they damage. Plans are in `faults/plan.rs`, states in `faults/state.rs`, and what
//! is no managed object in `faults/others.rs`.

mod others;
mod plan;
mod state;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use prost::{DecodeError, Message};

use crate::wire::{
    AttributePath, Diagnostic, attribute_path::Step, attribute_path::step::Selector,
};

/// The one fault of this process, and what it needs to remember for it.
pub(crate) struct Faults {
    fault: String,
    memory: Mutex<Memory>,
}

/// What a fault needs to know of earlier calls.
#[derive(Default)]
struct Memory {
    configured: bool,
    calls: u64,
    /// States that were destroyed, and what was closed.
    gone: BTreeSet<Vec<u8>>,
}

impl Faults {
    pub(crate) fn new(fault: String) -> Faults {
        Faults {
            fault,
            memory: Mutex::default(),
        }
    }

    /// The answer to a call, damaged if it is the fault's turn.
    pub(crate) fn damage(
        &self,
        call: &str,
        request: &[u8],
        answer: &[u8],
    ) -> Result<Vec<u8>, DecodeError> {
        let fault = self.fault.as_str();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.calls += 1;
        match call {
            "PlanResourceChange" => both(request, answer, |request, answer| {
                plan::damage(fault, request, answer, &memory);
            }),
            "ApplyResourceChange" => both(request, answer, |request, answer| {
                state::apply(fault, request, answer, &mut memory);
            }),
            "ReadResource" => both(request, answer, |request, answer| {
                state::read(fault, request, answer);
            }),
            "UpgradeResourceState" => both(request, answer, |request, answer| {
                state::upgrade(fault, request, answer);
            }),
            "ValidateResourceConfig" => both(request, answer, |request, answer| {
                others::validate(fault, request, answer, &memory);
            }),
            "ConfigureProvider" => both(request, answer, |request, answer| {
                memory.configured = true;
                others::configure(fault, request, answer);
            }),
            "GetProviderSchema" => both(request, answer, |_: &(), answer| {
                others::schema(fault, answer);
            }),
            "GetMetadata" => both(request, answer, |_: &(), answer| {
                others::metadata(fault, answer);
            }),
            "ReadDataSource" => both(request, answer, |_: &(), answer| {
                others::read_data(fault, answer);
            }),
            "OpenEphemeralResource" => both(request, answer, |_: &(), answer| {
                others::open(fault, answer);
            }),
            "CloseEphemeralResource" => both(request, answer, |request, answer| {
                others::close(fault, request, answer, &mut memory);
            }),
            "CallFunction" => both(request, answer, |_: &(), answer| {
                others::call(fault, answer, &memory);
            }),
            _ => Ok(answer.to_vec()),
        }
    }
}

fn both<Q: Message + Default, A: Message + Default>(
    request: &[u8],
    answer: &[u8],
    damage: impl FnOnce(&Q, &mut A),
) -> Result<Vec<u8>, DecodeError> {
    let (request, mut answer) = (Q::decode(request)?, A::decode(answer)?);
    damage(&request, &mut answer);
    Ok(answer.encode_to_vec())
}

fn error(summary: &str) -> Diagnostic {
    Diagnostic {
        severity: 1,
        summary: summary.to_owned(),
        ..Diagnostic::default()
    }
}

fn warning(detail: String) -> Diagnostic {
    Diagnostic {
        severity: 2,
        summary: "Mind this".to_owned(),
        detail,
        ..Diagnostic::default()
    }
}

fn path<const N: usize>(steps: [Selector; N]) -> AttributePath {
    let steps = steps.map(|selector| Step {
        selector: Some(selector),
    });
    AttributePath {
        steps: steps.into(),
    }
}
