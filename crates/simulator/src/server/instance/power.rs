//! Starting and stopping.
//!
//! Before: `route.rs`, or `create.rs` for an instance that is to run at once. What an instance does while it runs is its
//! image's affair: one with the property `simulator.ends` ends by itself soon after, and its console shows that text.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Incus;
use super::super::answer::{Refusal, Told};
use super::super::call::{Call, address};
use super::super::operation::{self, Job, now};
use super::super::state::Key;
use super::{Instance, Power};

/// How user ids inside of a container are those of its member.
pub(super) const ID_MAP: &str = r#"[{"Isuid":true,"Isgid":false,"Hostid":1000000,"Nsid":0,"Maprange":1000000000},{"Isuid":false,"Isgid":true,"Hostid":1000000,"Nsid":0,"Maprange":1000000000}]"#;

/// The property of an image whose instances end by themselves; its value is what they print before.
const ENDS: &str = "image.simulator.ends";

/// So long such an instance runs, as an init that exits at once was measured.
const LAST_BREATH: Duration = Duration::from_millis(600);

/// Any number will do that no other start of the same instance has.
const FIRST_PID: u64 = 1_000;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Put {
    action: String,
    force: bool,
}

/// One change of the power.
#[derive(Clone, Copy)]
struct Act {
    /// As instances are busy with it.
    work: &'static str,
    description: &'static str,
    /// What is said of it when it is done.
    event: &'static str,
}

pub(in super::super) fn set(incus: &Arc<Incus>, of: &Key, call: &Call) -> Told {
    let put: Put = call.json()?;
    let (work, description, event) = match (put.action.as_str(), put.force) {
        ("start", _) => ("start", "Starting instance", "instance-started"),
        ("stop", false) => ("stop", "Stopping instance", "instance-shutdown"),
        ("stop", true) => ("stop", "Stopping instance", "instance-stopped"),
        ("restart", _) => ("restart", "Restarting instance", "instance-restarted"),
        ("freeze", _) => ("freeze", "Freezing instance", "instance-paused"),
        ("unfreeze", _) => ("unfreeze", "Unfreezing instance", "instance-resumed"),
        (action, _) => return Err(Refusal::new(400, format!("Unknown action: '{action}'"))),
    };
    let act = Act {
        work,
        description,
        event,
    };
    let location = incus.state().instance(of)?.location.clone();
    let job = job(of, location, act.description);
    let (at, of) = (Arc::clone(incus), of.clone());
    Ok(operation::begin(incus, job, |_| switch(at, of, act)))
}

/// An operation about one instance.
pub(super) fn job((project, name): &Key, location: String, description: &'static str) -> Job {
    Job {
        description,
        project: project.clone(),
        location,
        resources: json!({ "instances": [address("instances", name, project)] }),
        names_project: false,
    }
}

async fn switch(incus: Arc<Incus>, of: Key, act: Act) -> Result<Value, Refusal> {
    {
        let mut state = incus.state();
        let instance = state.instance(&of)?;
        match (act.work, instance.power) {
            ("start", Power::Running | Power::Frozen) => {
                return Err(Refusal::new(500, "The instance is already running"));
            }
            ("stop" | "restart" | "freeze" | "unfreeze", Power::Stopped) => {
                return Err(Refusal::new(400, "The instance is already stopped"));
            }
            _ => instance.seize(act.work)?,
        }
    }
    incus.work().await;
    incus.state().change(&of, |instance| {
        instance.busy = None;
        match act.work {
            "start" => instance.start(),
            "restart" => {
                instance.stop();
                instance.start();
            }
            "stop" => instance.stop(),
            "freeze" => instance.power = Power::Frozen,
            _ => instance.power = Power::Running,
        }
    });
    tell(&incus, act.event, &of);
    watch(&incus, &of);
    Ok(Value::Null)
}

/// Starts a new instance.
pub(super) fn switch_on(incus: &Arc<Incus>, of: &Key) -> Result<(), Refusal> {
    incus.state().instance(of)?;
    incus.state().change(of, Instance::start);
    tell(incus, "instance-started", of);
    watch(incus, of);
    Ok(())
}

/// Sees to it that an instance ends whose image does not last.
fn watch(incus: &Arc<Incus>, of: &Key) {
    let (last_words, pid) = match incus.state().instance(of) {
        Ok(instance) if instance.power == Power::Running => {
            let Some(words) = instance.config.get(ENDS) else {
                return;
            };
            (words.clone(), instance.pid)
        }
        _ => return,
    };
    let (incus, of) = (Arc::clone(incus), of.clone());
    tokio::spawn(async move {
        tokio::time::sleep(LAST_BREATH).await;
        // Somebody may have stopped it before, and started it again.
        if incus.state().instance(&of).map(|instance| instance.pid) != Ok(pid) {
            return;
        }
        incus.state().change(&of, |instance| {
            instance.stop();
            instance.console = format!("{last_words}\n");
        });
        tell(&incus, "instance-shutdown", &of);
    });
}

/// Says that something happened to an instance.
pub(super) fn tell(incus: &Incus, action: &str, of: &Key) {
    let location = incus
        .state()
        .instances
        .get(of)
        .map(|one| one.location.clone());
    let (project, name) = of;
    incus.events.lifecycle(
        action,
        &address("instances", name, project),
        (project, &location.unwrap_or_default()),
        Some(name),
    );
}

impl Instance {
    /// What a start changes.
    pub(in super::super) fn start(&mut self) {
        self.power = Power::Running;
        self.last_used_at = now();
        self.starts += 1;
        self.pid = FIRST_PID + self.starts;
        self.console.clear();
        self.config.remove("volatile.apply_template");
        self.config.remove("volatile.last_state.ready");
        self.set("volatile.last_state.power", "RUNNING");
        if self.kind == "container" {
            self.set("volatile.idmap.current", ID_MAP);
        }
    }

    fn stop(&mut self) {
        self.power = Power::Stopped;
        self.pid = 0;
        self.set("volatile.last_state.power", "STOPPED");
        self.set("volatile.last_state.ready", "false");
    }

    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.config.insert(key.to_owned(), value.to_owned());
    }
}
