//! `workload_name`: what the Incus instance of one generation of an app is called.
//!
//! Before: `tfplugin` decoded the arguments. After: `domain::workload` puts the name together.

use domain::workload::{self, Error};
use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

/// The function `workload_name`.
pub(crate) struct WorkloadName;

/// The positions of the arguments.
const APP: usize = 0;
const GENERATION: usize = 1;
const MEMBER: usize = 2;

impl Function for WorkloadName {
    fn signature(&self) -> Signature {
        Signature::new(
            "Names the Incus instance that runs one generation of an app.",
            Type::String,
        )
        .describe(
            "Names the Incus instance that runs one generation of an app, in the words of the rollout: `<app>-g<N>` for an \
             app of one replica, `<app>-<ordinal>-g<N>` for one of several, `<app>-<machine>-g<N>` for a per-node app. It \
             asks no cluster: whether there is such an instance is another question, which `workloads` of the app \
             answers.\n\n\
             ```terraform\n\
             provider::homelab::workload_name(\"web\", 3)           # \"web-g3\"\n\
             provider::homelab::workload_name(\"web\", 3, 0)        # \"web-0-g3\"\n\
             ```",
        )
        .parameter(Parameter::new("app", Type::String, "The name of the app."))
        .parameter(Parameter::new(
            "generation",
            Type::Number,
            "The generation, counted from 0.",
        ))
        .variadic(
            Parameter::new(
                "member",
                Type::String,
                "Which of the app's workloads: the ordinal (counted from 0) for an app of several replicas, the name of the \
                 machine for a per-node app. At most one; without it or with null it is an app of one replica.",
            )
            .allow_null(),
        )
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let text = |position: usize| arguments.get(position).and_then(Value::as_str);
        if arguments.len() > MEMBER + 1 {
            let message = "The argument member was given more than once. Expected one ordinal or one machine. For the names \
                           of several workloads, call the function for each, as in [for m in members : …]";
            return Err(FunctionError::at(MEMBER + 1, message));
        }
        let generation = arguments.get(GENERATION).and_then(Value::as_i64);
        let Some(generation) = generation.and_then(|number| u64::try_from(number).ok()) else {
            let message = "The generation is not a whole number from 0 on. Expected the number behind \"-g\" in the name of \
                           an instance, as in `workloads` of the app";
            return Err(FunctionError::at(GENERATION, message));
        };
        let name = workload::name(text(APP).unwrap_or_default(), text(MEMBER), generation);
        name.map(Value::from).map_err(|error| {
            let argument = match error {
                Error::App { .. } | Error::TooLong { .. } => APP,
                Error::Member { .. } => MEMBER,
            };
            FunctionError::at(argument, error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &[Value]) -> Result<Value, FunctionError> {
        WorkloadName.call(arguments.to_vec())
    }

    /// HO-APP-14, HO-APP-27.
    #[test]
    fn a_workload_is_named_as_by_the_rollout() {
        let (app, generation) = (Value::from("web"), Value::from(3_u64));
        for (member, expected) in [
            (None, "web-g3"),
            (Some(Value::Null), "web-g3"),
            (Some("0".into()), "web-0-g3"),
            (Some("node-a".into()), "web-node-a-g3"),
        ] {
            let arguments: Vec<Value> = [app.clone(), generation.clone()]
                .into_iter()
                .chain(member)
                .collect();
            assert_eq!(call(&arguments), Ok(expected.into()));
        }
    }

    #[test]
    fn what_is_wrong_is_told_at_its_argument() {
        let half: Value = tfplugin::Number::parse("1.5").expect("a number").into();
        for (arguments, argument, part) in [
            (vec!["Web".into(), 0_u64.into()], 0, "contains 'W'"),
            (vec!["web".into(), (-1_i64).into()], 1, "from 0 on"),
            (vec!["web".into(), half], 1, "whole number"),
            (
                vec!["web".into(), 0_u64.into(), "a b".into()],
                2,
                "contains ' '",
            ),
            (
                vec!["web".into(), 0_u64.into(), "a".into(), "b".into()],
                3,
                "more than once",
            ),
            (
                vec!["a".repeat(48).into(), 0_u64.into(), "b".repeat(48).into()],
                0,
                "100 characters",
            ),
        ] {
            let error = call(&arguments).expect_err(part);
            assert_eq!(error.argument, Some(argument), "{error}");
            assert!(error.message.contains(part), "{part}: {error}");
        }
    }
}
