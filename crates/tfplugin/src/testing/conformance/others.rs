//! One case of what is no managed object: a data source, an ephemeral resource, a function, the provider block.

use std::fmt;

use proptest::prelude::*;

use super::Rule;
use super::calls::{capabilities, encoded, heed, not_deferred, typed, value};
use super::case::Case;
use super::finding::{Finding, short};
use super::generate::{self, Hints};
use super::plan_valid::plan_valid;
use super::walk::{Reached, Stop, errors, unless_refused};
use crate::testing::client::Client;
use crate::testing::from_wire;
use crate::wire::tfplugin6::{self as message, DynamicValue};
use crate::{Diagnostics, Schema, Type, Value};

/// Something with a configuration, as the provider describes it.
pub(super) struct Described {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) schema: Schema,
    pub(super) is: Is,
}

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    DataSource,
    Ephemeral,
    Provider,
}

impl Described {
    pub(super) async fn run(&self, case: &Case) -> (Reached, Option<Finding>) {
        let mut reached = Reached::default();
        match self.ask(case, &mut reached).await {
            Err(Stop::Found(finding)) => (reached, Some(finding)),
            Ok(()) | Err(Stop::Refused) => (reached, None),
        }
    }

    async fn ask(&self, case: &Case, reached: &mut Reached) -> Result<(), Stop> {
        let config = &case.first;
        let step = "validating";
        let said = self.validate(config).await.map_err(|one| one.after(step))?;
        let known_first = self.validate(&case.as_known_first(config)).await;
        let known_first = known_first.map_err(|one| one.after(step))?;
        unless_refused(&said)?;
        if known_first.has_errors() {
            let finding = Finding::new(Rule::UnknownRefused, errors(&known_first));
            return Err(finding.after(step).into());
        }
        reached.validated = true;
        match self.is {
            Is::DataSource => self.read(config).await?,
            Is::Ephemeral => self.open(config).await?,
            Is::Provider => {
                let configured = self.configure(config).await;
                let said = configured.map_err(|one| one.after("configuring"))?;
                unless_refused(&said)?;
            }
        }
        reached.planned = true;
        Ok(())
    }

    fn encode(&self, config: &Value) -> Result<Option<DynamicValue>, Finding> {
        encoded(config, &self.schema.object_type())
    }

    async fn validate(&self, config: &Value) -> Result<Diagnostics, Finding> {
        let (config, type_name) = (self.encode(config)?, self.name.clone());
        let mut provider = self.client.provider();
        let schema = &self.schema;
        let (_, said) = match self.is {
            Is::DataSource => {
                let request = message::validate_data_resource_config::Request { type_name, config };
                let answer = provider.validate_data_resource_config(request).await;
                let (_, said) = heed(schema, answer, |answer| {
                    std::mem::take(&mut answer.diagnostics)
                })?;
                ((), said)
            }
            Is::Ephemeral => {
                let request =
                    message::validate_ephemeral_resource_config::Request { type_name, config };
                let answer = provider.validate_ephemeral_resource_config(request).await;
                let (_, said) = heed(schema, answer, |answer| {
                    std::mem::take(&mut answer.diagnostics)
                })?;
                ((), said)
            }
            Is::Provider => {
                let request = message::validate_provider_config::Request { config };
                let answer = provider.validate_provider_config(request).await;
                let (_, said) = heed(schema, answer, |answer| {
                    std::mem::take(&mut answer.diagnostics)
                })?;
                ((), said)
            }
        };
        Ok(said)
    }

    /// Configures the provider.
    pub(super) async fn configure(&self, config: &Value) -> Result<Diagnostics, Finding> {
        let request = message::configure_provider::Request {
            terraform_version: "1.12.6".to_owned(),
            config: self.encode(config)?,
            client_capabilities: capabilities(),
        };
        let answer = self.client.provider().configure_provider(request).await;
        let (_, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })?;
        Ok(said)
    }

    async fn read(&self, config: &Value) -> Result<(), Stop> {
        let step = "reading";
        let request = message::read_data_source::Request {
            type_name: self.name.clone(),
            config: self.encode(config)?,
            client_capabilities: capabilities(),
            ..Default::default()
        };
        let answer = self.client.provider().read_data_source(request).await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })
        .map_err(|one| one.after(step))?;
        not_deferred(&answer.deferred)?;
        unless_refused(&said)?;
        let state = value(
            &self.schema,
            &self.schema.object_type(),
            answer.state.as_ref(),
        )
        .map_err(|one| one.after(step))?;
        self.check_answer(config, &state)
            .map_err(|one| one.after(step))?;
        Ok(())
    }

    async fn open(&self, config: &Value) -> Result<(), Stop> {
        let step = "opening";
        let request = message::open_ephemeral_resource::Request {
            type_name: self.name.clone(),
            config: self.encode(config)?,
            client_capabilities: capabilities(),
        };
        let answer = self
            .client
            .provider()
            .open_ephemeral_resource(request)
            .await;
        let (answer, said) = heed(&self.schema, answer, |answer| {
            std::mem::take(&mut answer.diagnostics)
        })
        .map_err(|one| one.after(step))?;
        not_deferred(&answer.deferred)?;
        unless_refused(&said)?;
        let result = value(
            &self.schema,
            &self.schema.object_type(),
            answer.result.as_ref(),
        )
        .map_err(|one| one.after(step))?;
        self.check_answer(config, &result)
            .map_err(|one| one.after(step))?;
        let mut private = answer.private;
        if answer.renew_at.is_some() {
            let request = message::renew_ephemeral_resource::Request {
                type_name: self.name.clone(),
                private: private.clone(),
            };
            let answer = self
                .client
                .provider()
                .renew_ephemeral_resource(request)
                .await;
            let (answer, said) = heed(&self.schema, answer, |answer| {
                std::mem::take(&mut answer.diagnostics)
            })?;
            succeeded(&said, "renewing")?;
            private = answer.private;
        }
        for step in ["closing", "closing what is closed"] {
            let request = message::close_ephemeral_resource::Request {
                type_name: self.name.clone(),
                private: private.clone(),
            };
            let answer = self
                .client
                .provider()
                .close_ephemeral_resource(request)
                .await;
            let (_, said) = heed(&self.schema, answer, |answer| {
                std::mem::take(&mut answer.diagnostics)
            })?;
            succeeded(&said, step)?;
        }
        Ok(())
    }

    /// An answer is there, it is wholly known, and where the provider had no say it is the configuration.
    fn check_answer(&self, config: &Value, answer: &Value) -> Result<(), Finding> {
        if answer.is_null() || !answer.is_wholly_known() {
            return Err(Finding::new(Rule::AnswerNotKnown, short(answer)));
        }
        let judged = plan_valid(&self.schema.attributes, &Value::Null, config, answer);
        judged.map_err(|finding| Finding {
            rule: Rule::AnswerDiffersFromConfig,
            ..finding
        })
    }
}

fn succeeded(said: &Diagnostics, step: &'static str) -> Result<(), Stop> {
    match said.has_errors() {
        true => Err(Finding::new(Rule::CloseNotRepeatable, errors(said))
            .after(step)
            .into()),
        false => Ok(()),
    }
}

/// A function, as the provider describes it.
pub(super) struct Function {
    client: Client,
    pub(super) name: String,
    parameters: Vec<Parameter>,
    variadic: Option<Parameter>,
    returns: Type,
}

struct Parameter {
    name: String,
    of: Type,
    allow_null: bool,
    allow_unknown: bool,
}

/// The arguments of a call, each with its type.
#[derive(Clone, Debug)]
pub(super) struct Arguments(Vec<(Value, Type)>);

impl fmt::Display for Arguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.0.iter().map(|(value, _)| short(value)).collect();
        write!(formatter, "({})", values.join(", "))
    }
}

/// What a call came to: a result, or the text of an error.
pub(super) type Called = Result<Value, String>;

impl Function {
    /// Reads a description; `None` when a host would refuse it.
    pub(super) fn described(
        client: &Client,
        name: &str,
        wire: &message::Function,
    ) -> Option<Function> {
        let parameter = |wire: &message::function::Parameter| {
            Some(Parameter {
                name: wire.name.clone(),
                of: from_wire::type_of(&wire.r#type)?,
                allow_null: wire.allow_null_value,
                allow_unknown: wire.allow_unknown_values,
            })
        };
        let parameters = wire.parameters.iter().map(parameter);
        let variadic = wire.variadic_parameter.as_ref();
        Some(Function {
            client: client.clone(),
            name: name.to_owned(),
            parameters: parameters.collect::<Option<_>>()?,
            variadic: match variadic {
                Some(variadic) => Some(parameter(variadic)?),
                None => None,
            },
            returns: from_wire::type_of(&wire.r#return.as_ref()?.r#type)?,
        })
    }

    /// Calls as a host makes them: null and unknown only where the parameter takes them.
    pub(super) fn calls(&self, hints: &Hints) -> BoxedStrategy<Arguments> {
        let one = |parameter: &Parameter| {
            let of = parameter.of.clone();
            let mut value = generate::argument(&of, &parameter.name, hints);
            if parameter.allow_null {
                value = prop_oneof![1 => Just(Value::Null), 4 => value].boxed();
            }
            if parameter.allow_unknown {
                value = prop_oneof![1 => Just(Value::Unknown), 4 => value].boxed();
            }
            value.prop_map(move |value| (value, of.clone())).boxed()
        };
        let fixed: Vec<_> = self.parameters.iter().map(one).collect();
        let rest = match &self.variadic {
            Some(variadic) => proptest::collection::vec(one(variadic), 0..=3).boxed(),
            None => Just(Vec::new()).boxed(),
        };
        let join = |(fixed, rest): (Vec<_>, Vec<_>)| Arguments([fixed, rest].concat());
        (fixed, rest).prop_map(join).boxed()
    }

    pub(super) async fn run(&self, arguments: &Arguments) -> (Reached, Option<Finding>) {
        let reached = |planned| Reached {
            validated: true,
            planned,
            ..Reached::default()
        };
        let (first, again) = (self.call(arguments).await, self.call(arguments).await);
        match (first, again) {
            (Ok(first), Ok(again)) if first == again => (reached(first.is_ok()), None),
            (Ok(first), Ok(again)) => {
                let seen = format!("First {first:?}, then {again:?}.");
                (
                    reached(false),
                    Some(Finding::new(Rule::FunctionNotRepeatable, seen)),
                )
            }
            (Err(finding), _) | (_, Err(finding)) => {
                (reached(false), Some(finding.after("calling")))
            }
        }
    }

    pub(super) async fn call(&self, arguments: &Arguments) -> Result<Called, Finding> {
        let encode = |(value, of): &(Value, Type)| match value {
            // A host sends null without any encoding.
            Value::Null => Ok(DynamicValue::default()),
            value => Ok(encoded(value, of)?.unwrap_or_default()),
        };
        let request = message::call_function::Request {
            name: self.name.clone(),
            arguments: arguments
                .0
                .iter()
                .map(encode)
                .collect::<Result<_, Finding>>()?,
        };
        let answer = self.client.provider().call_function(request).await;
        let none = Schema::new(0, "");
        let (answer, _) = heed(&none, answer, |_| Vec::new())?;
        if let Some(error) = answer.error {
            let count = arguments.0.len() as i64;
            let misplaced = error
                .function_argument
                .is_some_and(|at| !(0..count).contains(&at));
            if misplaced || error.text.is_empty() {
                let seen = format!("It is about {:?}: {}", error.function_argument, error.text);
                return Err(Finding::new(Rule::FunctionErrorMisplaced, seen));
            }
            if error.text.contains(crate::panics::SUMMARY) {
                return Err(Finding::new(Rule::Panicked, error.text));
            }
            return Ok(Err(error.text));
        }
        let result = typed(answer.result.as_ref(), &self.returns)?;
        let known = arguments.0.iter().all(|(value, _)| value.is_wholly_known());
        if known && !result.is_wholly_known() {
            return Err(Finding::new(Rule::AnswerNotKnown, short(&result)));
        }
        Ok(Ok(result))
    }
}
