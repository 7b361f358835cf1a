//! The calls about functions. Behind it stands `function.rs`, in front of it the list of all calls (`server.rs`).
//!
//! A function's failure is no diagnostic but a text and the number of an argument; a panic becomes such a text too.

use std::collections::HashMap;
use std::sync::Arc;

use super::Server;
use crate::wire::tfplugin6 as message;
use crate::wire::{dynamic, function};
use crate::{Diagnostic, Function, FunctionError, Signature, Value};

/// Functions by their names.
pub(super) type Functions = HashMap<&'static str, Arc<dyn Function>>;

/// All signatures as the host reads them.
pub(super) fn described(functions: &Functions) -> HashMap<String, message::Function> {
    functions
        .iter()
        .map(|(name, handler)| ((*name).to_owned(), function::to_wire(&handler.signature())))
        .collect()
}

impl Server {
    /// Calls a function with what the host sent.
    pub(super) async fn call(
        &self,
        request: message::call_function::Request,
    ) -> message::call_function::Response {
        let shared = self.shared.clone();
        let called = self.shared.calls.run(move |_| async move {
            let Some(handler) = shared.functions.get(request.name.as_str()) else {
                let message = format!("The provider has no function named {}.", request.name);
                return Ok(Err(FunctionError::new(message)));
            };
            Ok(run(&**handler, &request.arguments))
        });
        let result = called.await.unwrap_or_else(|failure: Diagnostic| {
            let message = format!("{}. {}", failure.summary, failure.detail);
            Err(FunctionError::new(message))
        });
        match result {
            Ok(result) => message::call_function::Response {
                result: Some(result),
                error: None,
            },
            Err(error) => message::call_function::Response {
                result: None,
                error: Some(function::error_to_wire(error)),
            },
        }
    }
}

/// Decodes the arguments, calls, and encodes the result.
fn run(
    handler: &dyn Function,
    arguments: &[message::DynamicValue],
) -> Result<message::DynamicValue, FunctionError> {
    let signature = handler.signature();
    let arguments = decode(&signature, arguments)?;
    let known = arguments.iter().all(Value::is_wholly_known);
    if !known && refuses_unknown(&signature, &arguments) {
        return Ok(dynamic::to_wire(&Value::Unknown, &signature.returns));
    }
    let result = handler.call(arguments)?.conform(&signature.returns);
    let bug = |what: String| FunctionError::new(format!("{what}. This is a bug in the provider."));
    let result = result.map_err(|error| bug(error.to_string()))?;
    if known && !result.is_wholly_known() {
        return Err(bug("The result for known arguments is not known".to_owned()));
    }
    Ok(dynamic::to_wire(&result, &signature.returns))
}

fn decode(
    signature: &Signature,
    arguments: &[message::DynamicValue],
) -> Result<Vec<Value>, FunctionError> {
    if arguments.len() < signature.parameters.len() {
        return Err(FunctionError::new(format!(
            "The function takes {} arguments, and {} were given.",
            signature.parameters.len(),
            arguments.len()
        )));
    }
    let decode = |(position, argument)| {
        let at = |message: String| FunctionError::at(position, message);
        let parameter = signature
            .parameter_of(position)
            .ok_or_else(|| at("The function takes fewer arguments.".to_owned()))?;
        let value = dynamic::from_wire(Some(argument), &parameter.of)
            .map_err(|error| at(format!("{error}.")))?;
        if value.is_null() && !parameter.allow_null {
            return Err(at(format!(
                "The argument {} must not be null.",
                parameter.name
            )));
        }
        Ok(value)
    };
    arguments.iter().enumerate().map(decode).collect()
}

/// Whether an argument is not wholly known whose parameter wants only what is.
fn refuses_unknown(signature: &Signature, arguments: &[Value]) -> bool {
    arguments.iter().enumerate().any(|(position, argument)| {
        let allowed = signature
            .parameter_of(position)
            .is_some_and(|parameter| parameter.allow_unknown);
        !argument.is_wholly_known() && !allowed
    })
}
