//! What a provider can compute for an expression: functions, which know nothing but their arguments.
//!
//! The walk: the server (`server/functions.rs`) decodes the arguments by the signature, calls, and brings the result
//! into the promised type. A function works without a configured provider, answers alike whenever it is asked alike, and
//! touches nothing in the world. It has no warnings to give: the host has no place for them.

use crate::{Diagnostic, Type, Value};

/// A function, called in expressions as `provider::<provider>::<name>(…)`.
pub trait Function: Send + Sync + 'static {
    /// What it takes and gives.
    fn signature(&self) -> Signature;

    /// Computes the result from the arguments: one for each parameter, then those for the variadic one.
    ///
    /// An argument is null only where the parameter allows it, and unknown or with unknown parts likewise.
    ///
    /// # Errors
    ///
    /// What is wrong with the arguments, told to the one who wrote the expression. A panic is such an error too.
    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError>;
}

/// What a function takes and gives.
///
/// ```
/// use tfplugin::{Parameter, Signature, Type};
/// let signature = Signature::new("Joins words.", Type::String)
///     .describe("Joins words with a separator between each two.")
///     .parameter(Parameter::new("separator", Type::String, "What stands between two words."))
///     .variadic(Parameter::new("words", Type::String, "The words."));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// One line on what it does.
    pub summary: String,
    /// What it does, in Markdown.
    pub description: String,
    /// What to use instead; a function with this text is deprecated.
    pub deprecation: Option<String>,
    /// What it takes, by position.
    pub parameters: Vec<Parameter>,
    /// What any number of further arguments are.
    pub variadic: Option<Parameter>,
    /// What it gives.
    pub returns: Type,
}

impl Signature {
    /// A function without parameters.
    pub fn new(summary: impl Into<String>, returns: Type) -> Signature {
        Signature {
            summary: summary.into(),
            description: String::new(),
            deprecation: None,
            parameters: Vec::new(),
            variadic: None,
            returns,
        }
    }

    /// What it does, in Markdown.
    pub fn describe(mut self, description: impl Into<String>) -> Signature {
        self.description = description.into();
        self
    }

    /// It should not be used any more, and what should be.
    pub fn deprecated(mut self, instead: impl Into<String>) -> Signature {
        self.deprecation = Some(instead.into());
        self
    }

    /// Takes one more argument.
    pub fn parameter(mut self, parameter: Parameter) -> Signature {
        self.parameters.push(parameter);
        self
    }

    /// Takes any number of arguments after the others.
    pub fn variadic(mut self, parameter: Parameter) -> Signature {
        self.variadic = Some(parameter);
        self
    }

    /// The parameter that an argument belongs to.
    pub fn parameter_of(&self, argument: usize) -> Option<&Parameter> {
        self.parameters.get(argument).or(self.variadic.as_ref())
    }

    /// Every fault of it; empty when it is sound.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        if self.summary.is_empty() || self.description.is_empty() {
            faults.push(Diagnostic::error("The function is not described"));
        }
        let mut names = Vec::new();
        for parameter in self.parameters.iter().chain(&self.variadic) {
            let name = parameter.name.as_str();
            if parameter.description.is_empty() {
                faults.push(Diagnostic::error("The parameter has no description").at(name));
            }
            if names.contains(&name) {
                faults.push(Diagnostic::error("Two parameters have the same name").at(name));
            }
            if !crate::schema_check::is_name(name) {
                faults.push(Diagnostic::error("The parameter's name is no name").at(name));
            }
            names.push(name);
        }
        faults
    }
}

/// One thing that a function takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, for documentation and messages: arguments have positions only.
    pub name: String,
    /// Its type. The host converts to it, where it can.
    pub of: Type,
    /// What it means, in Markdown.
    pub description: String,
    /// Whether the function wants to see null. Otherwise null is an error before it is called.
    pub allow_null: bool,
    /// Whether the function wants to see unknown values. Otherwise the result is unknown as long as an argument is.
    pub allow_unknown: bool,
}

impl Parameter {
    /// A parameter that takes only known values.
    pub fn new(name: impl Into<String>, of: Type, description: impl Into<String>) -> Parameter {
        Parameter {
            name: name.into(),
            of,
            description: description.into(),
            allow_null: false,
            allow_unknown: false,
        }
    }

    /// The function wants to see null.
    pub fn allow_null(mut self) -> Parameter {
        self.allow_null = true;
        self
    }

    /// The function wants to see unknown values.
    pub fn allow_unknown(mut self) -> Parameter {
        self.allow_unknown = true;
        self
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FunctionError {
    /// What is wrong and what would be right, for the one who wrote the expression.
    pub message: String,
    /// The argument it is about, counted from 0 over all of them.
    pub argument: Option<usize>,
}

impl FunctionError {
    /// About the call as a whole.
    pub fn new(message: impl Into<String>) -> FunctionError {
        FunctionError {
            message: message.into(),
            argument: None,
        }
    }

    /// About one argument, counted from 0.
    pub fn at(argument: usize, message: impl Into<String>) -> FunctionError {
        FunctionError {
            message: message.into(),
            argument: Some(argument),
        }
    }
}
