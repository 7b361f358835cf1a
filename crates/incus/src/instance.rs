//! Instances: `/1.0/instances`, containers and virtual machines.
//!
//! Their files are in `file.rs`, and `exec.rs` runs a command from start to end. Moving between
//! members is not here yet. Lists are read with `recursion=1` and never with 2, which asks every
//! running instance for its state.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::envelope;
use crate::lenient::{Devices, KeysOf};
use crate::operation::Operation;
use crate::request::{Request, path};

mod state;

pub use state::{Address, InstanceState, InterfaceState};

/// A container or virtual machine.
///
/// Of an instance whose member cannot be asked, only name, location, project and type are known:
/// configuration, devices and profiles are `None`, which is not the same as empty. `Debug` prints
/// no values: they may be secrets.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// The name.
    pub name: String,
    /// `Running`, `Stopped`, `Error` and so on.
    pub status: String,
    /// The status as a number.
    pub status_code: u16,
    /// The member that it is on; `none` on a server without cluster.
    pub location: String,
    /// The project that it is in.
    pub project: String,
    /// `container` or `virtual-machine`.
    pub r#type: String,
    /// The architecture.
    pub architecture: String,
    /// When it was made.
    pub created_at: String,
    /// When it was last started; the year 1970, or nothing, if it never was.
    pub last_used_at: String,
    /// What the operator says about it.
    pub description: String,
    /// Its own configuration.
    pub config: Option<BTreeMap<String, String>>,
    /// Its own devices.
    pub devices: Option<Devices>,
    /// The configuration with that of its profiles.
    pub expanded_config: Option<BTreeMap<String, String>>,
    /// The devices with those of its profiles.
    pub expanded_devices: Option<Devices>,
    /// Its profiles, the last one counting most.
    pub profiles: Option<Vec<String>>,
}

/// What an instance is made from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Nothing: an empty instance.
    Empty,
    /// The image with this fingerprint, which the server has.
    Fingerprint(String),
    /// The image to which this alias leads on the server.
    Alias(String),
}

/// An instance to be made. `Debug` prints no values.
#[derive(Clone, PartialEq)]
pub struct InstancePost {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
    /// `container` or `virtual-machine`; empty means container.
    pub r#type: String,
    /// What it is made from.
    pub source: Source,
    /// Its configuration.
    pub config: BTreeMap<String, String>,
    /// Its devices.
    pub devices: Devices,
    /// Its profiles; `None` leaves the choice to the server, which takes `default`.
    pub profiles: Option<Vec<String>>,
    /// Whether to start it, too.
    pub start: bool,
}

/// What to do with a running or stopped instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Start it.
    Start,
    /// Stop it.
    Stop,
    /// Stop and start it.
    Restart,
    /// Let it pause.
    Freeze,
    /// Let it go on.
    Unfreeze,
}

/// A command to run in an instance. `Debug` prints no values: they may be secrets.
#[derive(Clone, Default, PartialEq)]
pub struct Command {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables beside those that the instance has.
    pub environment: BTreeMap<String, String>,
    /// The working folder; empty means root's home.
    pub folder: String,
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

/// Lists a project's instances, everything but their state. On a member that is cut off but not
/// yet offline this takes 20 seconds.
pub fn list(project: &str) -> Request<Vec<Instance>> {
    let doing = format!("listing the instances of project {project}");
    Request::get(path(&["instances"]), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Lists the instances of all projects.
pub fn list_everywhere() -> Request<Vec<Instance>> {
    let doing = "listing the instances of all projects";
    Request::get(path(&["instances"]), doing, envelope::list)
        .query("all-projects", "true")
        .recursive()
}

/// Lists the names of a project's instances.
pub fn names(project: &str) -> Request<Vec<String>> {
    let doing = format!("listing the instances of project {project}");
    Request::get(path(&["instances"]), doing, envelope::names).project(project)
}

/// Reads an instance.
pub fn get(project: &str, name: &str) -> Request<Instance> {
    let doing = format!("reading instance {name}");
    Request::get(path(&["instances", name]), doing, envelope::metadata).project(project)
}

/// Creates an instance; add `Request::target` to choose the member.
pub fn create(project: &str, post: &InstancePost) -> Request<Operation> {
    let doing = format!("creating instance {}", post.name);
    Request::post(path(&["instances"]), doing, envelope::operation)
        .project(project)
        .json(post.to_json())
}

/// Sets these keys of an instance's configuration and leaves the others; an empty value removes
/// one. `description` is what is said about it already: Incus 6.0.4 empties it when it is not said again.
pub fn patch_config(
    project: &str,
    name: &str,
    config: &BTreeMap<String, String>,
    description: &str,
) -> Request<()> {
    let doing = format!("changing the configuration of instance {name}");
    Request::patch(path(&["instances", name]), doing, envelope::nothing)
        .project(project)
        .json(json!({ "config": config, "description": description }))
}

/// Starts or stops an instance. `timeout` is how long it may take to go down by itself; with
/// `force` it is not asked.
pub fn set_state(
    project: &str,
    name: &str,
    action: Action,
    timeout: Duration,
    force: bool,
) -> Request<Operation> {
    let doing = match action {
        Action::Start => format!("starting instance {name}"),
        Action::Stop => format!("stopping instance {name}"),
        Action::Restart => format!("restarting instance {name}"),
        Action::Freeze => format!("freezing instance {name}"),
        Action::Unfreeze => format!("unfreezing instance {name}"),
    };
    Request::put(
        path(&["instances", name, "state"]),
        doing,
        envelope::operation,
    )
    .project(project)
    .json(json!({ "action": action, "timeout": timeout.as_secs(), "force": force }))
}

/// Reads what runs in an instance, and its addresses.
pub fn state(project: &str, name: &str) -> Request<InstanceState> {
    let doing = format!("reading the state of instance {name}");
    Request::get(
        path(&["instances", name, "state"]),
        doing,
        envelope::metadata,
    )
    .project(project)
}

/// Deletes an instance, which must be stopped.
pub fn delete(project: &str, name: &str) -> Request<Operation> {
    let doing = format!("deleting instance {name}");
    Request::delete(path(&["instances", name]), doing, envelope::operation).project(project)
}

/// Renames an instance, which must be stopped.
pub fn rename(project: &str, name: &str, new_name: &str) -> Request<Operation> {
    let doing = format!("renaming instance {name} to {new_name}");
    Request::post(path(&["instances", name]), doing, envelope::operation)
        .project(project)
        .json(json!({ "name": new_name }))
}

/// Reads what a container last wrote to its console, also when it is stopped. The next start may
/// replace it.
pub fn console_log(project: &str, name: &str) -> Request<String> {
    let doing = format!("reading the console log of instance {name}");
    Request::get(path(&["instances", name, "console"]), doing, envelope::text).project(project)
}

/// Reads one of an instance's log files, such as `lxc.log`, which says why a start failed.
pub fn log_file(project: &str, name: &str, file: &str) -> Request<String> {
    let doing = format!("reading log {file} of instance {name}");
    Request::get(
        path(&["instances", name, "logs", file]),
        doing,
        envelope::text,
    )
    .project(project)
}

/// Runs a command and keeps its output in log files: `exec.rs` reads and removes them.
pub fn exec(project: &str, name: &str, command: &Command) -> Request<Operation> {
    let doing = format!("running a command in instance {name}");
    Request::post(
        path(&["instances", name, "exec"]),
        doing,
        envelope::operation,
    )
    .project(project)
    .json(json!({
        "command": command.command,
        "environment": command.environment,
        "cwd": command.folder,
        "user": command.user,
        "group": command.group,
        "record-output": true,
        "interactive": false,
        "wait-for-websocket": false,
    }))
}

impl InstancePost {
    /// A container of this name, made from this.
    pub fn new(name: impl Into<String>, source: Source) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            r#type: String::new(),
            source,
            config: BTreeMap::new(),
            devices: BTreeMap::new(),
            profiles: None,
            start: false,
        }
    }

    fn to_json(&self) -> Value {
        let source = match &self.source {
            Source::Empty => json!({ "type": "none" }),
            Source::Fingerprint(fingerprint) => {
                json!({ "type": "image", "fingerprint": fingerprint })
            }
            Source::Alias(alias) => json!({ "type": "image", "alias": alias }),
        };
        let kind = match self.r#type.as_str() {
            "" => "container",
            kind => kind,
        };
        let mut body = json!({
            "name": self.name,
            "description": self.description,
            "type": kind,
            "source": source,
            "config": self.config,
            "devices": self.devices,
            "start": self.start,
        });
        if let Some(profiles) = &self.profiles {
            body["profiles"] = json!(profiles);
        }
        body
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("name", &self.name)
            .field("status", &self.status)
            .field("location", &self.location)
            .field("project", &self.project)
            .field("config", &self.config.as_ref().map(KeysOf))
            .field("devices", &self.devices.as_ref().map(KeysOf))
            .field("profiles", &self.profiles)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for InstancePost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstancePost")
            .field("name", &self.name)
            .field("source", &self.source)
            .field("config", &KeysOf(&self.config))
            .field("devices", &KeysOf(&self.devices))
            .field("profiles", &self.profiles)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.command.first())
            .field("environment", &KeysOf(&self.environment))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
