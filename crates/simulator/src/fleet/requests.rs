//! The requests about instances: what is answered at once, what becomes an operation, and how that ends.
//!
//! Before: `executor.rs`. After: `fleet.rs` lands operations when their time has come, whoever waits for them.

use std::collections::BTreeMap;

use domain::app::key;
use domain::moment::Moment;
use domain::observation::{Power, Seen};

use super::{EVACUATED, Fleet, Instance, Standing, digest};
use crate::random::Luck;

/// How long a list takes while a member is silent, as measured; then it is shown without its keys.
const SILENCE: i64 = 20_000;
/// How long the death of the database's leader holds everything up.
const NEW_LEADER: i64 = 9_000;

/// Something that Incus does in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The instance that it is about.
    pub name: String,
    /// What is done.
    pub what: What,
    /// When it is done.
    pub due: Moment,
    /// Whether it goes wrong.
    fails: bool,
    /// How it ended; none until then.
    pub outcome: Option<Result<(), &'static str>>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Make and start.
    Create,
    /// Start.
    Start,
    /// Stop.
    Stop,
    /// Delete.
    Delete,
}

impl Operation {
    /// Whether it comes to its end by then.
    pub(super) fn is_due(&self, until: Moment) -> bool {
        self.outcome.is_none() && self.due <= until
    }
}

impl Fleet {
    /// Every request takes time, and now and then the whole database does.
    pub fn request(&mut self, luck: Luck) {
        let hang = if luck.strikes(1, 200) { NEW_LEADER } else { 0 };
        let took = 5 + i64::try_from(luck.below(2, 60)).unwrap_or(0) + hang;
        self.pass_time(Moment(self.now.0 + took));
    }

    /// The list of instances: those of members that do not answer come without their keys, and late.
    pub fn list_instances(&mut self, luck: Luck) -> Vec<Seen> {
        self.request(luck);
        if self.members.values().any(|one| *one == Standing::Silent) {
            self.pass_time(Moment(self.now.0 + SILENCE));
        }
        let seen = |(name, instance): (&String, &Instance)| {
            let config = self
                .member_answers(&instance.member)
                .then(|| instance.config.clone());
            let stamp = config
                .as_ref()
                .and_then(|config| config.get(key::HEALTHY_SINCE));
            Seen {
                name: name.clone(),
                member: Some(instance.member.clone()),
                power: match (&config, instance.running) {
                    (None, _) => Power::Other,
                    (Some(_), true) => Power::Running,
                    (Some(_), false) => Power::Stopped,
                },
                healthy_since: stamp.and_then(|at| at.parse().ok()).map(Moment),
                config,
                started_at: instance.started_at(),
                ever_started: instance.starts > 0,
                description: String::new(),
            }
        };
        self.instances.iter().map(seen).collect()
    }

    /// Asks Incus to make and start an instance.
    ///
    /// # Errors
    /// What Incus refuses at once: the name is taken, there is no such image, the member does not answer.
    pub fn create(
        &mut self,
        name: &str,
        member: &str,
        config: BTreeMap<String, String>,
        luck: Luck,
    ) -> Result<u64, &'static str> {
        self.request(luck);
        let image = config.get(key::IMAGE).map(|image| digest(image));
        if image.is_none_or(|image| !self.images.contains(&image)) {
            return Err("Image not found");
        }
        if self.members.get(member) != Some(&Standing::Online) {
            return Err("The member cannot take an instance");
        }
        if self.instances.contains_key(name) {
            return Err("UNIQUE constraint failed");
        }
        let instance = Instance {
            member: member.to_owned(),
            config,
            running: false,
            starts: 0,
        };
        self.instances.insert(name.to_owned(), instance);
        Ok(self.begin(name, What::Create, luck))
    }

    /// Asks Incus to start, stop or delete an instance.
    ///
    /// # Errors
    /// What Incus refuses at once.
    pub fn ask(&mut self, name: &str, what: What, luck: Luck) -> Result<u64, &'static str> {
        self.request(luck);
        let Some(instance) = self.instances.get(name) else {
            return Err("Instance not found");
        };
        if !self.member_answers(&instance.member) {
            return Err("The member does not answer");
        }
        let busy = |one: &Operation| one.name == name && one.outcome.is_none();
        if self.operations.values().any(busy) {
            return Err("Instance is busy");
        }
        match (what, instance.running) {
            (What::Start, true) => Err("The instance is already running"),
            (What::Stop, false) => Err("The instance is already stopped"),
            (What::Delete, true) => Err("The instance is running"),
            _ => Ok(self.begin(name, what, luck)),
        }
    }

    fn begin(&mut self, name: &str, what: What, luck: Luck) -> u64 {
        let id = self
            .operations
            .keys()
            .next_back()
            .map_or(1, |last| last + 1);
        let longest = match what {
            // An image that is not on the member yet, a disk that is slow.
            What::Create if luck.strikes(3, 8) => 60_000,
            What::Create | What::Start => 2_000,
            What::Stop => 5_000,
            What::Delete => 1_000,
        };
        let takes = 100 + i64::try_from(luck.below(4, longest)).unwrap_or(0);
        let operation = Operation {
            name: name.to_owned(),
            what,
            due: Moment(self.now.0 + takes),
            fails: luck.strikes(5, 40),
            outcome: None,
        };
        self.operations.insert(id, operation);
        id
    }

    /// An operation comes to its end.
    pub(super) fn land(&mut self, id: u64) {
        let Some(mut operation) = self.operations.remove(&id) else {
            return;
        };
        operation.outcome = Some(self.end(&operation));
        self.operations.insert(id, operation);
    }

    fn end(&mut self, operation: &Operation) -> Result<(), &'static str> {
        let name = &operation.name;
        let gone = operation.what == What::Delete;
        let Some(instance) = self.instances.get(name) else {
            return if gone {
                Ok(())
            } else {
                Err("Instance not found")
            };
        };
        if !self.member_answers(&instance.member) {
            return Err("The member does not answer");
        }
        if operation.fails {
            return Err("The operation failed");
        }
        match operation.what {
            What::Create | What::Start => self.start(name),
            What::Stop => {
                self.change(name, |instance| instance.running = false);
                Ok(())
            }
            What::Delete if instance.running => Err("The instance is running"),
            What::Delete => {
                self.instances.remove(name);
                Ok(())
            }
        }
    }

    fn start(&mut self, name: &str) -> Result<(), &'static str> {
        let mut outcome = Ok(());
        self.change(name, |instance| {
            match instance.config.get(key::IMAGE).map(String::as_str) {
                Some("unstartable") => outcome = Err("forkstart: exit status 1"),
                image => {
                    instance.starts += 1;
                    instance.running = image != Some("crash");
                    instance.config.remove(EVACUATED);
                }
            }
        });
        outcome
    }

    /// Sets keys of an instance, or takes them away.
    ///
    /// # Errors
    /// If it is not there, or its member does not answer.
    pub fn patch(
        &mut self,
        name: &str,
        keys: &[(&str, Option<String>)],
        luck: Luck,
    ) -> Result<(), &'static str> {
        self.request(luck);
        if !self.answers(name) {
            return Err("The member does not answer");
        }
        self.change(name, |instance| {
            for (key, value) in keys {
                match value {
                    Some(value) => instance.config.insert((*key).to_owned(), value.clone()),
                    None => instance.config.remove(*key),
                };
            }
        });
        Ok(())
    }

    /// Changes an instance if its member answers.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut Instance)) {
        if self.answers(name)
            && let Some(instance) = self.instances.get_mut(name)
        {
            change(instance);
        }
    }
}
