//! `assign_addresses`: the address plan of `homelab_network`, in an expression.
//!
//! Before: `tfplugin` decoded the arguments. After: `domain::network` decides, as it does for the resource: same
//! arguments, same addresses. What the resource has and this has not is a memory; `held` stands in for it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use domain::given::Given;
use domain::issue::{Issue, Step};
use domain::network::{self, Config, Held};
use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

use crate::given::{given, text, texts};

/// The function `assign_addresses`.
pub(crate) struct AssignAddresses;

/// The arguments by position, named as the attributes of the resource.
const NAMES: [&str; 6] = ["cidr", "gateway", "dns", "static_range", "claims", "held"];
/// Those that a LAN has and an overlay has not.
const ONLY_LAN: std::ops::Range<usize> = 1..4;
const HELD: usize = 5;

impl Function for AssignAddresses {
    fn signature(&self) -> Signature {
        let text = |name, description| Parameter::new(name, Type::String, description);
        let lan = |parameter: Parameter| parameter.allow_null().allow_unknown();
        Signature::new(
            "Gives each machine of a network its IPv4 address.",
            Type::map(Type::String),
        )
        .describe(
            "Gives each machine of a network its IPv4 address, by the rules of the resource `homelab_network`: pins first, \
             then machines in ascending order of their names take the lowest free address. The result is machine → \
             address.\n\n\
             It remembers nothing: when a machine is added, others may move. To keep the addresses that machines have, give \
             them as `held`, or use the resource, whose state is that memory. An unknown pin leaves unknown only what \
             depends on it.\n\n\
             `gateway`, `dns` and `static_range` belong to a LAN, all three. With null for all three it is an overlay: its \
             first address is the hub's, its last usable one is reserved.\n\n\
             ```terraform\n\
             provider::homelab::assign_addresses(\n  \
               \"192.168.1.0/24\", \"192.168.1.1\", [\"192.168.1.1\"], \"192.168.1.210-192.168.1.239\",\n  \
               { node-a = \"192.168.1.210\", node-b = null },\n\
             ) # { node-a = \"192.168.1.210\", node-b = \"192.168.1.211\" }\n\n\
             provider::homelab::assign_addresses(\"10.100.0.0/24\", null, null, null, { node-a = null })\n\
             ```",
        )
        .parameter(
            text("cidr", "The IPv4 network, such as `192.168.1.0/24`, with a prefix length from 8 to 30 and no host bits.")
                .allow_unknown(),
        )
        .parameter(lan(text(
            "gateway",
            "The router's address inside of `cidr`, which no machine gets; null for an overlay.",
        )))
        .parameter(lan(Parameter::new(
            "dns",
            Type::list(Type::String),
            "The addresses of the resolvers, which machines get by a pin only; `[]` for none, null for an overlay.",
        )))
        .parameter(lan(text(
            "static_range",
            "The addresses that the DHCP server of the LAN leaves alone, `first-last`; machines get theirs from it. Null \
             for an overlay.",
        )))
        .parameter(
            Parameter::new(
                "claims",
                Type::map(Type::String),
                "Machine → the address that it is pinned to, or null for the next free one.",
            )
            .allow_unknown(),
        )
        .variadic(Parameter::new(
            "held",
            Type::map(Type::String),
            "Machine → the address that it has already and keeps, as in an earlier result or in `assignments` of a network. \
             At most one such map; machines without a claim in it are passed over.",
        ))
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        if arguments.len() > NAMES.len() {
            let message = "The argument held was given more than once. Expected one map of machine → address. Join several \
                           with merge()";
            return Err(FunctionError::at(NAMES.len(), message));
        }
        let held = held(arguments.get(HELD).unwrap_or(&Value::Null))?;
        let config = config(&arguments)?;
        let assignments = network::plan(&config, &held).map_err(|issues| refusal(&issues))?;
        let address = |(machine, address): (String, Option<Ipv4Addr>)| {
            let address = address.map(|address| Value::from(address.to_string()));
            (machine, address.unwrap_or(Value::Unknown))
        };
        let addresses = assignments.addresses.map(|addresses| {
            let addresses: BTreeMap<String, Value> = addresses.into_iter().map(address).collect();
            Value::Map(addresses)
        });
        Ok(addresses.unwrap_or(Value::Unknown))
    }
}

fn config(arguments: &[Value]) -> Result<Config, FunctionError> {
    let argument = |position: usize| arguments.get(position).unwrap_or(&Value::Null);
    let [cidr, gateway, dns, static_range, claims] = [0, 1, 2, 3, 4].map(argument);
    Ok(Config {
        // What has no name has no name to be wrong.
        name: Given::Absent,
        kind: kind(arguments)?,
        cidr: text(cidr),
        gateway: text(gateway),
        dns: given(dns, |entries| {
            entries.as_list().into_iter().flatten().map(text).collect()
        }),
        static_range: text(static_range),
        claims: given(claims, texts),
    })
}

/// LAN or overlay, by what is given: all of a LAN's own arguments or none of them.
fn kind(arguments: &[Value]) -> Result<Given<String>, FunctionError> {
    let own = arguments.get(ONLY_LAN).unwrap_or_default();
    let place = |wanted: fn(&Value) -> bool| own.iter().position(wanted);
    let missing = place(Value::is_null);
    let set = place(|value| !value.is_null() && !value.is_unknown());
    Ok(match (missing, set) {
        (Some(missing), Some(set)) => {
            let position = ONLY_LAN.start + missing;
            let message = format!(
                "The argument {} is null, and {} is given. Expected gateway, dns and static_range together for a LAN, or \
                 null for all three for an overlay",
                NAMES[position],
                NAMES[ONLY_LAN.start + set]
            );
            return Err(FunctionError::at(position, message));
        }
        (None, Some(_)) => Given::Known("lan".to_owned()),
        (Some(_), None) if own.iter().all(Value::is_null) => Given::Known("overlay".to_owned()),
        (_, None) => Given::Unknown,
    })
}

/// Who has which address already. A machine with null has none.
fn held(value: &Value) -> Result<Held, FunctionError> {
    let mut held = Held::new();
    for (machine, address) in value.as_map().into_iter().flatten() {
        let Some(text) = address.as_str() else {
            continue;
        };
        let address = text.parse::<Ipv4Addr>().map_err(|_| {
            let message = format!(
                "In held, machine {machine:?} has {text:?}. Expected the IPv4 address that it has, such as \"192.168.1.210\", \
                 or null if it has none"
            );
            FunctionError::at(HELD, message)
        })?;
        held.insert(machine.clone(), address);
    }
    Ok(held)
}

/// All issues in one message, at the argument of the first.
fn refusal(issues: &[Issue]) -> FunctionError {
    let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
    let first = issues.first().and_then(|issue| issue.path.first());
    let argument = first.and_then(|step| match step {
        Step::Attribute(name) => NAMES.iter().position(|known| known == name),
        Step::Key(_) | Step::Index(_) => None,
    });
    FunctionError {
        message: lines.join("\n"),
        argument,
    }
}

#[cfg(test)]
mod tests;
