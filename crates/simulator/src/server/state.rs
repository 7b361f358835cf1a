//! Everything that the server knows, under one lock.
//!
//! Before: `server.rs` makes it. After: the files named after Incus's objects read and change it. Which project an object
//! is kept in, and what an instance takes over from its profiles, is worked out here.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Options;
use super::answer::Refusal;
use super::image::{Alias, Image};
use super::instance::Instance;
use super::operation::Operations;
use super::others;
use super::storage::{Pool, Volume};

/// Project and name.
pub(super) type Key = (String, String);

/// Configuration.
pub(super) type Config = BTreeMap<String, String>;

/// Devices, by name.
pub(super) type Devices = BTreeMap<String, Config>;

/// The pool on every member; it is also the provider's default.
pub(super) const POOL: &str = "local";

/// What every member is.
pub(super) const ARCHITECTURE: &str = "x86_64";

#[derive(Default)]
pub(super) struct State {
    /// The members' names; one alone is a server without cluster.
    pub(super) members: Vec<Member>,
    /// The groups of members that hold none, beside `default`, which holds all.
    pub(super) groups: BTreeMap<String, String>,
    /// The server's configuration.
    pub(super) config: Config,
    pub(super) projects: BTreeMap<String, Project>,
    pub(super) profiles: BTreeMap<Key, Profile>,
    pub(super) images: BTreeMap<Key, Image>,
    pub(super) aliases: BTreeMap<Key, Alias>,
    pub(super) pools: BTreeMap<String, Pool>,
    pub(super) volumes: Vec<Volume>,
    pub(super) instances: BTreeMap<Key, Instance>,
    pub(super) operations: Operations,
}

pub(super) struct Member {
    pub(super) name: String,
    pub(super) config: Config,
}

#[derive(Clone)]
pub(super) struct Project {
    pub(super) description: String,
    pub(super) config: Config,
}

#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Profile {
    pub(super) description: String,
    pub(super) config: Config,
    pub(super) devices: Devices,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        let members = (1..=options.members.max(1)).map(|number| Member {
            name: format!("m{number}"),
            config: Config::new(),
        });
        let mut state = Self {
            members: members.collect(),
            ..Self::default()
        };
        state.make_project("default", "Default Incus project", all_features());
        state.pools.insert(POOL.to_owned(), Pool::new("dir"));
        if let Some(name) = &options.shared_pool {
            state.pools.insert(name.clone(), Pool::new("ceph"));
        }
        others::settle(&mut state, options.instances_of_others);
        state
    }

    /// Adds a project, with the profile that each has of its own.
    pub(super) fn make_project(&mut self, name: &str, description: &str, config: Config) {
        let has_profiles = is_on(&config, "features.profiles");
        let project = Project {
            description: description.to_owned(),
            config,
        };
        self.projects.insert(name.to_owned(), project);
        if has_profiles {
            let description = match name {
                "default" => "Default Incus profile".to_owned(),
                name => format!("Default Incus profile for project {name}"),
            };
            let profile = Profile {
                description,
                ..Profile::default()
            };
            self.profiles.insert(key(name, "default"), profile);
        }
    }

    /// The project in which another one keeps objects of a kind, such as `profiles`.
    pub(super) fn home<'a>(&self, project: &'a str, kind: &str) -> Result<&'a str, Refusal> {
        let Some(found) = self.projects.get(project) else {
            let text = format!("Failed loading project \"{project}\": Project not found");
            return Err(Refusal::new(404, text));
        };
        Ok(match is_on(&found.config, &format!("features.{kind}")) {
            true => project,
            false => "default",
        })
    }

    pub(super) fn is_clustered(&self) -> bool {
        self.members.len() > 1
    }

    pub(super) fn has_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// The member that is asked; it passes on what concerns others.
    pub(super) fn first(&self) -> &str {
        self.members.first().map_or("", |member| &member.name)
    }

    /// Whether another member than the one that is asked does what has to be done at this place.
    pub(super) fn is_elsewhere(&self, place: &str) -> bool {
        self.is_clustered() && place != self.first()
    }

    /// How a member is named as the place of something.
    pub(super) fn place(&self, member: &str) -> String {
        match self.is_clustered() {
            true => member.to_owned(),
            false => "none".to_owned(),
        }
    }

    /// The profiles of an instance, by the names that are known.
    pub(super) fn profiles_of<'a>(
        &'a self,
        project: &str,
        names: &'a [String],
    ) -> impl Iterator<Item = &'a Profile> {
        let home = self.home(project, "profiles").unwrap_or("default");
        let home = home.to_owned();
        names
            .iter()
            .filter_map(move |name| self.profiles.get(&key(&home, name)))
    }

    /// Changes an instance and renders it anew.
    pub(super) fn change(&mut self, of: &Key, change: impl FnOnce(&mut Instance)) {
        if let Some(mut instance) = self.instances.remove(of) {
            change(&mut instance);
            self.put(of.clone(), instance);
        }
    }

    /// Puts an instance in its place, as it is from now on.
    pub(super) fn put(&mut self, of: Key, mut instance: Instance) {
        let mut config = Config::new();
        let mut devices = Devices::new();
        for profile in self.profiles_of(&of.0, &instance.profiles) {
            config.extend(profile.config.clone());
            devices.extend(profile.devices.clone());
        }
        config.extend(instance.config.clone());
        devices.extend(instance.devices.clone());
        instance.render(&of, config, devices);
        self.instances.insert(of, instance);
    }

    /// The instances of a project, or of all.
    pub(super) fn instances_of(
        &self,
        project: Option<&str>,
    ) -> impl Iterator<Item = (&Key, &Instance)> {
        let from = key(project.unwrap_or_default(), "");
        self.instances
            .range(from..)
            .take_while(move |(of, _)| project.is_none_or(|project| of.0 == project))
    }

    /// The member with the fewest instances.
    pub(super) fn emptiest(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in self.instances.values() {
            *counts.entry(instance.location.as_str()).or_default() += 1;
        }
        let count = |member: &&Member| counts.get(member.name.as_str()).copied().unwrap_or(0);
        let emptiest = self.members.iter().min_by_key(count);
        emptiest.map_or_else(String::new, |member| member.name.clone())
    }
}

pub(super) fn key(project: &str, name: &str) -> Key {
    (project.to_owned(), name.to_owned())
}

pub(super) fn is_on(config: &Config, key: &str) -> bool {
    config.get(key).map(String::as_str) == Some("true")
}

/// The groups of keys that instances and profiles have; which keys are in them is not known here, nor what they may be.
const GROUPS: [&str; 17] = [
    "agent",
    "boot",
    "cloud-init",
    "cluster",
    "environment",
    "image",
    "limits",
    "linux",
    "migration",
    "nvidia",
    "oci",
    "raw",
    "security",
    "snapshots",
    "systemd",
    "user",
    "volatile",
];

/// Checks the keys of an instance or a profile.
pub(super) fn check_keys(config: &Config) -> Result<(), Refusal> {
    let is_known = |key: &str| {
        key.split_once('.')
            .is_some_and(|(group, _)| GROUPS.contains(&group))
    };
    match config.keys().find(|key| !is_known(key)) {
        Some(key) => Err(Refusal::new(
            400,
            format!("Unknown configuration key: {key}"),
        )),
        None => Ok(()),
    }
}

/// Sets these keys and leaves the others; an empty value removes one.
pub(super) fn merge(config: &mut Config, changes: Config) {
    for (key, value) in changes {
        match value.is_empty() {
            true => config.remove(&key),
            false => config.insert(key, value),
        };
    }
}

fn all_features() -> Config {
    [
        "images",
        "networks",
        "networks.zones",
        "profiles",
        "storage.buckets",
        "storage.volumes",
    ]
    .map(|feature| (format!("features.{feature}"), "true".to_owned()))
    .into()
}

/// The beginning of time, for whatever has not happened.
pub(super) const NEVER: &str = "0001-01-01T00:00:00Z";
