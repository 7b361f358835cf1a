//! Incus instances: what the server keeps of each, and how it shows it.
//!
//! Before: `route.rs`. Here: the record, and reading it. After: `instance/create.rs`, `instance/power.rs`,
//! `instance/change.rs` for what changes one, `instance/inside.rs` for what is in one. Each record carries the JSON that
//! lists are made of, so that a list of ten thousand is one copy.

pub(super) mod change;
mod check;
pub(super) mod create;
pub(super) mod inside;
mod look;
pub(super) mod power;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;

use super::Incus;
use super::answer::{Answer, Refusal, Told};
use super::call::{Call, address};
use super::operation::now;
use super::state::{ARCHITECTURE, Config, Devices, Key, State, key};

/// An instance.
#[derive(Clone, Default)]
pub(super) struct Instance {
    /// `container` or `virtual-machine`.
    pub(super) kind: String,
    pub(super) location: String,
    pub(super) description: String,
    pub(super) config: Config,
    pub(super) devices: Devices,
    pub(super) profiles: Vec<String>,
    pub(super) created_at: String,
    pub(super) last_used_at: String,
    pub(super) power: Power,
    /// What it is busy with, as Incus calls it.
    pub(super) busy: Option<&'static str>,
    /// Its first process, as the member numbers it; 0 when stopped.
    pub(super) pid: u64,
    /// How often it was started.
    pub(super) starts: u64,
    /// What was written into it, by path.
    pub(super) files: BTreeMap<String, inside::File>,
    /// What commands have written, by the name of the record.
    pub(super) outputs: BTreeMap<String, Bytes>,
    /// What its console shows.
    pub(super) console: String,
    /// Its configuration and devices with those of its profiles.
    pub(super) expanded: (Config, Devices),
    rendered: Bytes,
}

/// When an instance was last used that never was.
const NEVER_USED: &str = "1970-01-01T00:00:00Z";

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Power {
    #[default]
    Stopped,
    Running,
    Frozen,
}

#[derive(Serialize)]
struct Shown<'a> {
    architecture: &'a str,
    config: &'a Config,
    devices: &'a Devices,
    ephemeral: bool,
    profiles: &'a [String],
    stateful: bool,
    description: &'a str,
    created_at: &'a str,
    expanded_config: &'a Config,
    expanded_devices: &'a Devices,
    name: &'a str,
    status: &'a str,
    status_code: u16,
    last_used_at: &'a str,
    location: &'a str,
    r#type: &'a str,
    project: &'a str,
}

impl Power {
    /// The word and the number that Incus has for it.
    pub(super) fn shown(self) -> (&'static str, u16) {
        match self {
            Self::Stopped => ("Stopped", 102),
            Self::Running => ("Running", 103),
            Self::Frozen => ("Frozen", 110),
        }
    }
}

impl Instance {
    /// A fresh instance, which does not run.
    pub(super) fn new(kind: &str, location: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            location: location.to_owned(),
            created_at: now(),
            last_used_at: NEVER_USED.to_owned(),
            ..Self::default()
        }
    }

    /// Notes what it takes over from its profiles, and renders it.
    pub(super) fn render(&mut self, (project, name): &Key, config: Config, devices: Devices) {
        self.expanded = (config, devices);
        let (status, status_code) = self.power.shown();
        let shown = Shown {
            architecture: ARCHITECTURE,
            config: &self.config,
            devices: &self.devices,
            ephemeral: false,
            profiles: &self.profiles,
            stateful: false,
            description: &self.description,
            created_at: &self.created_at,
            expanded_config: &self.expanded.0,
            expanded_devices: &self.expanded.1,
            name,
            status,
            status_code,
            last_used_at: &self.last_used_at,
            location: &self.location,
            r#type: &self.kind,
            project,
        };
        // Maps with texts as keys can always be serialised.
        self.rendered = serde_json::to_vec(&shown).unwrap_or_default().into();
    }

    /// Takes it for one piece of work at a time.
    fn seize(&mut self, work: &'static str) -> Result<(), Refusal> {
        if let Some(busy) = self.busy {
            let text = format!(
                "Failed to create instance {work} operation: Instance is busy running a \"{busy}\" operation"
            );
            return Err(Refusal::new(500, text));
        }
        self.busy = Some(work);
        Ok(())
    }
}

impl State {
    /// An instance that must be there.
    pub(super) fn instance(&mut self, of: &Key) -> Result<&mut Instance, Refusal> {
        let found = self.instances.get_mut(of);
        found.ok_or_else(not_found)
    }
}

pub(super) fn not_found() -> Refusal {
    Refusal::new(404, "Instance not found")
}

/// Which instance a request is about.
pub(super) fn meant(call: &Call, name: &str) -> Key {
    key(call.project(), name)
}

/// Lists the instances of a project, or of all. A project that does not exist holds none.
pub(super) fn list(incus: &Incus, call: &Call) -> Told {
    let project = (!call.all_projects()).then(|| call.project());
    let state = incus.state();
    let instances = state.instances_of(project);
    Ok(match call.is_recursive() {
        true => Answer::list(instances.map(|(_, instance)| &instance.rendered[..])),
        false => {
            let of = |(project, name): &Key| address("instances", name, project);
            Answer::sync(&instances.map(|(key, _)| of(key)).collect::<Vec<_>>())
        }
    })
}

pub(super) fn get(incus: &Incus, of: &Key) -> Told {
    let mut state = incus.state();
    let instance = state.instance(of)?;
    Ok(Answer::rendered(&[&instance.rendered]))
}

pub(super) use look::state;
