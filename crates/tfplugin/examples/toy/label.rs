//! The function: what to write on a box. `provider::toy::label("kitchen", null, "cups", "plates")`.

use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

/// Writes labels.
pub(crate) struct Label;

/// What fits on a box.
const LONGEST: usize = 60;

impl Function for Label {
    fn signature(&self) -> Signature {
        Signature::new("Writes a label.", Type::String)
            .describe("Joins what a box holds into one line that fits on it.")
            .parameter(Parameter::new(
                "room",
                Type::String,
                "Where the box belongs.",
            ))
            .parameter(
                Parameter::new(
                    "separator",
                    Type::String,
                    "Between two things; `, ` when null.",
                )
                .allow_null(),
            )
            .variadic(Parameter::new(
                "things",
                Type::String,
                "What is in the box.",
            ))
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let texts: Vec<Option<&str>> = arguments.iter().map(Value::as_str).collect();
        let [room, separator, things @ ..] = texts.as_slice() else {
            return Err(FunctionError::new("A label needs a room."));
        };
        let room = room.unwrap_or_default();
        if room.is_empty() {
            return Err(FunctionError::at(0, "The room must not be empty."));
        }
        // The crate turns a panic into an error of the call; this one is there to be tried.
        assert!(room != "panic", "the label is cursed");
        let things: Vec<&str> = things.iter().flatten().copied().collect();
        let label = format!("{room}: {}", things.join(separator.unwrap_or(", ")));
        if label.chars().count() > LONGEST {
            let last = arguments.len() - 1;
            let message = format!("The label would be longer than {LONGEST} characters.");
            return Err(FunctionError::at(last, message));
        }
        Ok(label.into())
    }
}
