//! The world of the simulation: Incus, the fleet store and the clock in memory.
//!
//! Before: `executor.rs` performs steps here, `event.rs` disturbs. After: what the executor observes, as
//! `reconcile/src/observe.rs` would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::app::{AppSpec, AppType, Check, Health, Image, ImageReference, Template, key};
use domain::moment::Moment;
use domain::observation::{self, Member, MemberStatus, Observation, Power, Seen};
use domain::rollout::step::Step;
use domain::work::Work;

use crate::executor::Executor;

pub(crate) const APP: &str = "web";
const EVACUATED: &str = "volatile.evacuate.origin";

/// An Incus instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) member: String,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) running: bool,
    pub(crate) started: bool,
}

/// Incus, the fleet store, the clock, and who works on them.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) spec: AppSpec,
    pub(crate) revision: u64,
    pub(crate) instances: BTreeMap<String, Instance>,
    /// What is not ours, as it was made.
    pub(crate) foreign: BTreeMap<String, Instance>,
    /// Members that do not answer.
    pub(crate) dead: BTreeSet<String>,
    /// Those of them of which Incus knows it.
    pub(crate) offline: BTreeSet<String>,
    pub(crate) evacuated: BTreeSet<String>,
    /// The work record in the fleet store.
    pub(crate) stored: Work,
    /// What a killed executor has set going inside of Incus.
    pub(crate) in_flight: Vec<Step>,
    pub(crate) executor: Option<Executor>,
    pub(crate) now: Moment,
    /// Whether the record was lost: then less can be told about what served.
    pub(crate) lost_record: bool,
    pub(crate) trace: Vec<String>,
}

/// The app with one of the images of this world: "good/1" and "good/2" are healthy while they run, "crash" ends at once,
/// "unstartable" does not start, "never" is never healthy, "flap" every other second.
pub(crate) fn spec(image: &str, replicas: u32) -> AppSpec {
    AppSpec {
        name: APP.to_owned(),
        r#type: AppType::GenericStateless,
        replicas,
        image: Image {
            reference: ImageReference::Alias(image.to_owned()),
            digest: Some(format!("digest of {image}")),
        },
        workload: Template::default(),
        health: Health {
            check: Check::Running {},
            min_healthy_time: Duration::from_secs(2),
            healthy_deadline: Duration::from_secs(10),
        },
    }
}

impl World {
    pub(crate) fn new(image: &str, replicas: u32) -> Self {
        let mut world = Self {
            spec: spec(image, replicas),
            revision: 1,
            instances: BTreeMap::new(),
            foreign: BTreeMap::new(),
            dead: BTreeSet::new(),
            offline: BTreeSet::new(),
            evacuated: BTreeSet::new(),
            stored: Work::default(),
            in_flight: Vec::new(),
            executor: None,
            now: Moment(1_000_000),
            lost_record: false,
            trace: Vec::new(),
        };
        world.make_by_hand("web-by-hand");
        world
    }

    pub(crate) fn make_by_hand(&mut self, name: &str) {
        let instance = Instance {
            member: "m1".to_owned(),
            config: BTreeMap::new(),
            running: true,
            started: true,
        };
        self.instances.insert(name.to_owned(), instance.clone());
        self.foreign.insert(name.to_owned(), instance);
    }

    fn members(&self) -> Vec<Member> {
        let member = |name: &str| Member {
            name: name.to_owned(),
            status: match (self.offline.contains(name), self.evacuated.contains(name)) {
                (true, _) => MemberStatus::Offline,
                (false, true) => MemberStatus::Other,
                (false, false) => MemberStatus::Online,
            },
            architecture: "x86_64".to_owned(),
            schedulable: true,
        };
        ["m1", "m2", "m3"].map(member).to_vec()
    }

    /// What the lists of Incus show.
    pub(crate) fn observe(&self, work: &Work) -> Observation {
        let seen = |(name, instance): (&String, &Instance)| {
            let config = (!self.dead.contains(&instance.member)).then(|| instance.config.clone());
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
                healthy_since: stamp.map(|at| Moment(at.parse().expect("a number"))),
                config,
                ever_started: instance.started,
            }
        };
        let seen: Vec<Seen> = self.instances.iter().map(seen).collect();
        observation::of_app(APP, &seen, &self.members(), work)
    }

    /// The truth about a workload, which an executor only gets to know by asking.
    pub(crate) fn is_healthy(&self, instance: &Instance) -> bool {
        let healthy = match instance.config.get(key::IMAGE).map(String::as_str) {
            Some("never" | "crash" | "unstartable") => false,
            Some("flap") => self.now.0 / 1_000 % 2 == 0,
            _ => true,
        };
        instance.running && healthy
    }

    /// What Incus does with a step; a step on a member that does not answer fails and changes nothing.
    ///
    /// # Errors
    /// If Incus would say that the instance could not be started.
    pub(crate) fn perform(&mut self, step: &Step) -> Result<(), &'static str> {
        match step {
            Step::Create {
                ordinal,
                generation,
                name,
                member,
            } => {
                let member = member.clone().expect("the world is clustered");
                if self.dead.contains(&member) || self.instances.contains_key(name) {
                    return Ok(());
                }
                let instance = Instance {
                    member,
                    config: self.spec.workload_keys(*ordinal, *generation),
                    running: false,
                    started: false,
                };
                self.instances.insert(name.clone(), instance);
                return self.start(name);
            }
            Step::Start { name, .. } => return self.start(name),
            Step::StampHealthy { name, since } => self.change(name, |instance| {
                let stamp = since.0.to_string();
                instance.config.insert(key::HEALTHY_SINCE.to_owned(), stamp);
            }),
            Step::ClearHealthy { name } => self.change(name, |instance| {
                instance.config.remove(key::HEALTHY_SINCE);
            }),
            Step::KeepOutput { .. } => {}
            Step::Delete { name, .. } => {
                if self.answers(name) {
                    self.instances.remove(name);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, name: &str) -> Result<(), &'static str> {
        let mut outcome = Ok(());
        self.change(name, |instance| {
            match instance.config[key::IMAGE].as_str() {
                "unstartable" => outcome = Err("forkstart: exit status 1"),
                image => {
                    instance.started = true;
                    instance.running = image != "crash";
                    instance.config.remove(EVACUATED);
                }
            }
        });
        outcome
    }

    /// Whether the member of an instance can do anything with it.
    pub(crate) fn answers(&self, name: &str) -> bool {
        self.instances
            .get(name)
            .is_some_and(|instance| !self.dead.contains(&instance.member))
    }

    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Instance)) {
        if self.answers(name)
            && let Some(instance) = self.instances.get_mut(name)
        {
            change(instance);
        }
    }

    pub(crate) fn change_all_on(&mut self, member: &str, mut change: impl FnMut(&mut Instance)) {
        let ours = |instance: &&mut Instance| {
            instance.member == member && instance.config.contains_key(key::APP)
        };
        self.instances
            .values_mut()
            .filter(ours)
            .for_each(&mut change);
    }

    pub(crate) fn evacuate(&mut self, member: &str) {
        self.evacuated.insert(member.to_owned());
        let origin = member.to_owned();
        self.change_all_on(member, |instance| {
            if instance.running {
                instance.running = false;
                instance.config.insert(EVACUATED.to_owned(), origin.clone());
            }
        });
    }

    pub(crate) fn restore(&mut self, member: &str) {
        self.evacuated.remove(member);
        self.change_all_on(member, |instance| {
            if instance.config.remove(EVACUATED).is_some() {
                instance.running = true;
            }
        });
    }

    /// The names of all workloads that carry our keys.
    pub(crate) fn ours(&self) -> Vec<String> {
        let ours = |(_, instance): &(&String, &Instance)| instance.config.contains_key(key::APP);
        let names = self.instances.iter().filter(ours);
        names.map(|(name, _)| name.clone()).collect()
    }

    /// The workloads of one ordinal, whatever their members say.
    pub(crate) fn slot(&self, ordinal: u32) -> impl Iterator<Item = (&String, &Instance)> {
        self.instances.iter().filter(move |(_, instance)| {
            let keyed = instance.config.get(key::MEMBER);
            let here = keyed.map_or(0, |text| text.parse().expect("a number"));
            instance.config.contains_key(key::APP) && here == ordinal
        })
    }

    /// The highest generation of an ordinal that anything still tells of: the record, or a workload, seen or not.
    pub(crate) fn highest(&self, ordinal: u32) -> Option<u64> {
        let generation = |instance: &Instance| {
            let text = &instance.config[key::GENERATION];
            text.parse().expect("a number")
        };
        let made = self.slot(ordinal).map(|(_, instance)| generation(instance));
        let recorded = self.stored.slots.get(&ordinal).map(|slot| slot.generation);
        made.chain(recorded).max()
    }

    /// What happened so far, for a failure.
    pub(crate) fn story(&self) -> String {
        self.trace.join("\n")
    }
}
