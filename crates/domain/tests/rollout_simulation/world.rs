//! The world of the simulation: Incus, the fleet store and the clock in memory, and what happens to them.
//!
//! Before: the events of a test. After: the invariants, checked on every decision.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::app::{AppSpec, AppType, Check, Health, Image, ImageReference, Template, key};
use domain::moment::Moment;
use domain::observation::{self, Member, MemberStatus, Observation, Power, Probe, Seen};
use domain::rollout::step::{Reason, Step};
use domain::rollout::{Next, decide, to_probe};
use domain::work::Work;

const APP: &str = "web";
pub(crate) const GOOD: [&str; 2] = ["good/1", "good/2"];

/// An instance of the world.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) member: String,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) running: bool,
    pub(crate) started: bool,
}

/// Incus, the fleet store and the clock.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) spec: AppSpec,
    pub(crate) instances: BTreeMap<String, Instance>,
    pub(crate) dead: BTreeSet<String>,
    pub(crate) offline: BTreeSet<String>,
    pub(crate) work: Work,
    pub(crate) outputs: BTreeMap<String, String>,
    /// What the present executor has started, and of that what it has seen stopped.
    pub(crate) started: BTreeSet<String>,
    pub(crate) ended: BTreeSet<String>,
    pub(crate) now: Moment,
    /// The highest generation that was ever made, by ordinal.
    pub(crate) highest: BTreeMap<u32, u64>,
    pub(crate) trace: Vec<String>,
}

/// What happens to the world.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// The executor runs one pass, and is killed after so many of its steps (and before the record, if so).
    Pass {
        steps: usize,
        records: bool,
        twice: bool,
    },
    Declare {
        image: &'static str,
        replicas: u32,
    },
    StopByHand(usize),
    DeleteByHand(usize),
    MemberDies(usize),
    MemberIsOffline(usize),
    MemberReturns(usize),
    TimePasses(u64),
}

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
    pub(crate) fn new() -> Self {
        let foreign = Instance {
            member: "m1".to_owned(),
            config: BTreeMap::new(),
            running: true,
            started: true,
        };
        Self {
            spec: spec("good/1", 2),
            instances: BTreeMap::from([("web-by-hand".to_owned(), foreign)]),
            dead: BTreeSet::new(),
            offline: BTreeSet::new(),
            work: Work::default(),
            outputs: BTreeMap::new(),
            started: BTreeSet::new(),
            ended: BTreeSet::new(),
            now: Moment(1_000_000),
            highest: BTreeMap::new(),
            trace: Vec::new(),
        }
    }

    fn members(&self) -> Vec<Member> {
        let member = |name: &str| Member {
            name: name.to_owned(),
            status: match self.offline.contains(name) {
                true => MemberStatus::Offline,
                false => MemberStatus::Online,
            },
            architecture: "x86_64".to_owned(),
            schedulable: true,
        };
        ["m1", "m2", "m3"].map(member).to_vec()
    }

    pub(crate) fn observe(&self) -> Observation {
        let seen: Vec<Seen> = self
            .instances
            .iter()
            .map(|(name, instance)| Seen {
                name: name.clone(),
                member: Some(instance.member.clone()),
                power: match (self.dead.contains(&instance.member), instance.running) {
                    (true, _) => Power::Other,
                    (false, true) => Power::Running,
                    (false, false) => Power::Stopped,
                },
                config: (!self.dead.contains(&instance.member)).then(|| instance.config.clone()),
                healthy_since: instance
                    .config
                    .get(key::HEALTHY_SINCE)
                    .map(|at| Moment(at.parse().expect("a number"))),
                ever_started: instance.started,
            })
            .collect();
        let mut observation = observation::of_app(APP, &seen, &self.members(), &self.work);
        observation.outputs = self.outputs.clone();
        let (ended, unfinished): (BTreeSet<_>, BTreeSet<_>) = observation
            .stopped()
            .cloned()
            .partition(|name| self.started.contains(name));
        observation.unfinished = unfinished;
        observation.ended = &ended | &self.ended;
        let probes: BTreeMap<String, Probe> =
            to_probe(&self.spec, &observation, &self.work, self.now)
                .into_iter()
                .map(|workload| (workload.name.clone(), self.probe(&workload.image)))
                .collect();
        observation.probes = probes;
        observation
    }

    fn probe(&self, image: &str) -> Probe {
        let healthy = match image {
            "never" => false,
            "flap" => self.now.0 / 1_000 % 2 == 0,
            _ => true,
        };
        match healthy {
            true => Probe::Healthy,
            false => Probe::Unhealthy("not now".to_owned()),
        }
    }

    pub(crate) fn pass(&mut self, steps: usize, records: bool, twice: bool) -> Next {
        let observation = self.observe();
        self.ended.clone_from(&observation.ended);
        let decision = decide(&self.spec, &observation, &self.work, self.now);
        crate::invariant_decisions_are_sound(self, &observation, &decision);
        if !records {
            return decision.next;
        }
        self.work = decision.work.clone();
        for step in decision.steps.iter().take(steps) {
            for _ in 0..=usize::from(twice) {
                self.trace.push(format!("  {step}"));
                self.perform(step);
                if let Step::Create { name, .. } | Step::Start { name, .. } = step {
                    self.started.insert(name.clone());
                }
            }
        }
        decision.next
    }

    /// What Incus does with a step; a step on a dead member fails and changes nothing.
    pub(crate) fn perform(&mut self, step: &Step) {
        match step {
            Step::Create {
                ordinal,
                generation,
                name,
                member,
            } => {
                let member = member.clone().expect("the world is clustered");
                if self.dead.contains(&member) || self.instances.contains_key(name) {
                    return;
                }
                let instance = Instance {
                    member,
                    config: self.spec.workload_keys(*ordinal, *generation),
                    running: self.spec.image.reference.written() != "crash",
                    started: true,
                };
                self.instances.insert(name.clone(), instance);
                self.highest.insert(*ordinal, *generation);
            }
            Step::Start { name, .. } => self.change(name, |instance| {
                instance.running = instance.config[key::IMAGE] != "crash";
                instance.started = true;
            }),
            Step::StampHealthy { name, since } => self.change(name, |instance| {
                instance
                    .config
                    .insert(key::HEALTHY_SINCE.to_owned(), since.0.to_string());
            }),
            Step::ClearHealthy { name } => self.change(name, |instance| {
                instance.config.remove(key::HEALTHY_SINCE);
            }),
            Step::KeepOutput { name, .. } => {
                self.outputs
                    .insert(name.clone(), "cannot open /etc/app.conf".to_owned());
            }
            Step::Delete { name, .. } => {
                if self
                    .instances
                    .get(name)
                    .is_some_and(|one| !self.dead.contains(&one.member))
                {
                    self.instances.remove(name);
                }
            }
        }
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Instance)) {
        if let Some(instance) = self.instances.get_mut(name)
            && !self.dead.contains(&instance.member)
        {
            change(instance);
        }
    }

    pub(crate) fn ours(&self) -> Vec<String> {
        let ours = |(_, instance): &(&String, &Instance)| instance.config.contains_key(key::APP);
        self.instances
            .iter()
            .filter(ours)
            .map(|(name, _)| name.clone())
            .collect()
    }

    pub(crate) fn happen(&mut self, event: &Event) {
        self.trace.push(format!("{event:?}"));
        let member = |index: &usize| format!("m{}", index + 1);
        match event {
            Event::Pass {
                steps,
                records,
                twice,
            } => {
                self.pass(*steps, *records, *twice);
                // A killed executor forgets what only it knew.
                if *steps != usize::MAX {
                    self.outputs.clear();
                    self.started.clear();
                    self.ended.clear();
                }
            }
            Event::Declare { image, replicas } => self.spec = spec(image, *replicas),
            Event::StopByHand(index) => {
                if let Some(name) = self.ours().get(*index) {
                    self.change(name, |instance| instance.running = false);
                }
            }
            Event::DeleteByHand(index) => {
                if let Some(name) = self.ours().get(*index) {
                    self.perform(&Step::Delete {
                        ordinal: 0,
                        generation: 0,
                        name: name.clone(),
                        grace: Duration::ZERO,
                        reason: Reason::Destroyed,
                    });
                }
            }
            Event::MemberDies(index) => {
                self.dead.insert(member(index));
            }
            Event::MemberIsOffline(index) => {
                if self.dead.contains(&member(index)) {
                    self.offline.insert(member(index));
                }
            }
            Event::MemberReturns(index) => {
                self.dead.remove(&member(index));
                self.offline.remove(&member(index));
            }
            Event::TimePasses(milliseconds) => {
                self.now = self.now.plus(Duration::from_millis(*milliseconds));
            }
        }
    }

    /// Everything is well again, and the executor runs undisturbed.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        self.dead.clear();
        self.offline.clear();
        let replicas = self.spec.replicas;
        self.spec = spec("good/2", replicas);
        for _ in 0..400 {
            self.trace.push("settling".to_owned());
            match self.pass(usize::MAX, true, false) {
                Next::Converged => return Ok(()),
                Next::Wait(time) => self.now = self.now.plus(time.max(Duration::from_millis(1))),
                Next::Again | Next::Failed(_) => {}
                stuck @ (Next::Conflict(_) | Next::NoMember(_)) => {
                    return Err(format!("{stuck:?}"));
                }
            }
        }
        Err("did not converge".to_owned())
    }
}
