//! Signatures of functions on the wire, and their errors. `server/functions.rs` calls these.

use super::tfplugin6::{self as message, StringKind};
use crate::{FunctionError, Parameter, Signature};

/// Encodes a signature.
pub(crate) fn to_wire(signature: &Signature) -> message::Function {
    message::Function {
        parameters: signature.parameters.iter().map(parameter_to_wire).collect(),
        variadic_parameter: signature.variadic.as_ref().map(parameter_to_wire),
        r#return: Some(message::function::Return {
            r#type: signature.returns.to_json().to_string().into_bytes(),
        }),
        summary: signature.summary.clone(),
        description: signature.description.clone(),
        description_kind: StringKind::Markdown.into(),
        deprecation_message: signature.deprecation.clone().unwrap_or_default(),
    }
}

fn parameter_to_wire(parameter: &Parameter) -> message::function::Parameter {
    message::function::Parameter {
        name: parameter.name.clone(),
        r#type: parameter.of.to_json().to_string().into_bytes(),
        allow_null_value: parameter.allow_null,
        allow_unknown_values: parameter.allow_unknown,
        description: parameter.description.clone(),
        description_kind: StringKind::Markdown.into(),
    }
}

/// Encodes an error.
pub(crate) fn error_to_wire(error: FunctionError) -> message::FunctionError {
    message::FunctionError {
        // Hosts put a full stop behind it.
        text: error
            .message
            .strip_suffix('.')
            .unwrap_or(&error.message)
            .to_owned(),
        // No call has more arguments than fit.
        function_argument: error.argument.map(|argument| argument as i64),
    }
}
