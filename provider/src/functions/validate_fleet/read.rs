//! Reads a fleet out of a value of any shape: whole resources, or objects with the same attributes, in maps or lists.
//!
//! Before: `validate_fleet.rs`. After: `domain::fleet`. Only what counts there is looked at, so that whole resources with
//! unknown parts can be passed; but what is looked at must have its shape, or a misspelt argument would pass as sound.

use domain::fleet::{App, Entries, Fleet, Machine, Network};
use domain::given::Given;
use domain::issue::Step;
use tfplugin::Value;

use crate::given::{given, texts};

const KINDS: [&str; 3] = ["networks", "machines", "apps"];

/// The fleet.
///
/// # Errors
/// Everything that is not of the documented shape.
pub(super) fn fleet(value: &Value) -> Result<Fleet, Vec<String>> {
    let mut faults = Vec::new();
    if !value.is_unknown() {
        match value.as_map() {
            None => faults.push(format!(
                "The fleet is {}. Expected an object of networks, machines and apps",
                noun(value)
            )),
            Some(members) => faults.extend(
                members
                    .keys()
                    .filter(|name| !KINDS.contains(&name.as_str()))
                    .map(|name| {
                        format!("The fleet has {name:?}. Expected networks, machines and apps only; correct the name")
                    }),
            ),
        }
    }
    let [networks, machines, apps] = KINDS;
    let fleet = Fleet {
        networks: entries(networks, value, network, &mut faults),
        machines: entries(machines, value, machine, &mut faults),
        apps: entries(apps, value, app, &mut faults),
    };
    match faults.is_empty() {
        true => Ok(fleet),
        false => Err(faults),
    }
}

fn entries<T>(
    kind: &str,
    fleet: &Value,
    read: fn(&Value, &mut Entry<'_>) -> T,
    faults: &mut Vec<String>,
) -> Entries<T> {
    let value = fleet.attr(kind);
    if value.is_unknown() {
        return Given::Unknown;
    }
    if value.is_null() {
        return Given::Absent;
    }
    let all: Vec<(Step, &Value)> = match (value.as_map(), value.as_list()) {
        (Some(members), _) => {
            let place = |(key, member)| (Step::Key(String::clone(key)), member);
            members.iter().map(place).collect()
        }
        (None, Some(elements)) => {
            let place = |(index, element)| (Step::Index(index), element);
            elements.iter().enumerate().map(place).collect()
        }
        (None, None) => {
            faults.push(format!(
                "{kind} is {}. Expected a map or a list of {kind}",
                noun(value)
            ));
            return Given::Absent;
        }
    };
    if let Some(fault) = all
        .iter()
        .find_map(|(step, entry)| no_object(kind, step, entry))
    {
        faults.push(fault);
        return Given::Absent;
    }
    let read = |(step, value): (Step, &Value)| {
        let mut entry = Entry {
            told: told(kind, &step),
            faults,
        };
        let read = given(value, |value| read(value, &mut entry));
        (step, read)
    };
    Given::Known(all.into_iter().map(read).collect())
}

/// Why an entry cannot be one; a single resource in place of a map of them is the usual reason.
fn no_object(kind: &str, step: &Step, entry: &Value) -> Option<String> {
    let may_be = entry.is_null() || entry.is_unknown() || entry.as_map().is_some();
    (!may_be).then(|| {
        format!(
            "{} is {}. Expected an object, such as a whole resource; {kind} is a map or a list of them, so put a single one \
             into brackets, as in {kind} = [ … ]",
            told(kind, step),
            noun(entry)
        )
    })
}

fn told(kind: &str, step: &Step) -> String {
    match step {
        Step::Key(key) => format!("{kind}[{key:?}]"),
        Step::Index(index) => format!("{kind}[{index}]"),
        Step::Attribute(name) => format!("{kind}.{name}"),
    }
}

/// What is read at the moment, and what was found wrong so far.
struct Entry<'a> {
    told: String,
    faults: &'a mut Vec<String>,
}

impl Entry<'_> {
    /// A text; a number is one too, as everywhere in OpenTofu.
    fn text(&mut self, object: &Value, name: &str) -> Given<String> {
        let value = object.attr(name);
        if !self.is(value, name, "a text", |value| {
            value.as_str().is_some() || value.as_number().is_some()
        }) {
            return Given::Absent;
        }
        given(value, |value| match value.as_number() {
            Some(number) => number.to_string(),
            None => value.as_str().unwrap_or_default().to_owned(),
        })
    }

    /// An object inside of the entry; null where it is none.
    fn object<'a>(&mut self, object: &'a Value, name: &str) -> &'a Value {
        let value = object.attr(name);
        match self.is(value, name, "an object", |value| value.as_map().is_some()) {
            true => value,
            false => &Value::Null,
        }
    }

    fn is(&mut self, value: &Value, name: &str, expected: &str, is: fn(&Value) -> bool) -> bool {
        let fits = value.is_null() || value.is_unknown() || is(value);
        if !fits {
            let fault = format!(
                "{}.{name} is {}. Expected {expected}",
                self.told,
                noun(value)
            );
            self.faults.push(fault);
        }
        fits
    }
}

fn network(value: &Value, entry: &mut Entry<'_>) -> Network {
    Network {
        name: entry.text(value, "name"),
        cidr: entry.text(value, "cidr"),
        gateway: entry.text(value, "gateway"),
    }
}

fn machine(value: &Value, entry: &mut Entry<'_>) -> Machine {
    let own = entry.object(value, "network");
    Machine {
        name: entry.text(value, "name"),
        mac: entry.text(value, "mac"),
        role: entry.text(value, "role"),
        address: entry.text(value, "address"),
        network: given(own, |own| network(own, entry)),
    }
}

fn app(value: &Value, entry: &mut Entry<'_>) -> App {
    let placement = entry.object(value, "placement");
    let workload = entry.object(value, "workload");
    let devices = entry.object(workload, "devices");
    App {
        name: entry.text(value, "name"),
        r#type: entry.text(value, "type"),
        replicas: entry.text(value, "replicas"),
        primary: entry.text(value, "primary"),
        group: entry.text(placement, "group"),
        devices: given(devices, |devices| {
            let device = |(name, device): (&String, &Value)| (name.clone(), given(device, texts));
            devices.as_map().into_iter().flatten().map(device).collect()
        }),
    }
}

/// What kind of value it is, for messages.
fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Unknown => "unknown",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::List(_) | Value::Set(_) => "a list",
        Value::Map(_) | Value::Object(_) => "an object",
        Value::Dynamic(_, value) => noun(value),
    }
}
