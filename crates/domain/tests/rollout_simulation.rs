//! The rollout state machine in a world that goes wrong: executors that are killed between any two steps, workloads
//! that crash, members that die, declarations that change half-way. The invariants are checked after every event.
//!
//! Here `decide` is driven the way `reconcile/src/rollout/pass.rs` drives it: observe, probe, decide, record, execute.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::app::{AppSpec, AppType, Check, Health, Image, ImageReference, Template, key};
use domain::moment::Moment;
use domain::observation::{self, Member, MemberStatus, Observation, Power, Probe, Seen};
use domain::rollout::step::{Reason, Step};
use domain::rollout::{Decision, Next, decide, to_probe};
use domain::work::Work;
use proptest::prelude::*;

const APP: &str = "web";
const GOOD: [&str; 2] = ["good/1", "good/2"];

/// An instance of the world.
#[derive(Debug, Clone)]
struct Instance {
    member: String,
    config: BTreeMap<String, String>,
    running: bool,
    started: bool,
}

/// Incus, the fleet store and the clock.
#[derive(Debug, Clone)]
struct World {
    spec: AppSpec,
    instances: BTreeMap<String, Instance>,
    dead: BTreeSet<String>,
    offline: BTreeSet<String>,
    work: Work,
    outputs: BTreeMap<String, String>,
    now: Moment,
    /// The highest generation that was ever made, by ordinal.
    highest: BTreeMap<u32, u64>,
    trace: Vec<String>,
}

/// What happens to the world.
#[derive(Debug, Clone)]
enum Event {
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

fn events() -> impl Strategy<Value = Vec<Event>> {
    let image = prop_oneof![
        Just("good/1"),
        Just("good/2"),
        Just("crash"),
        Just("never"),
        Just("flap")
    ];
    let event = prop_oneof![
        12 => Just(Event::Pass { steps: usize::MAX, records: true, twice: false }),
        3 => (0_usize..3).prop_map(|steps| Event::Pass { steps, records: true, twice: false }),
        1 => Just(Event::Pass { steps: 0, records: false, twice: false }),
        1 => Just(Event::Pass { steps: usize::MAX, records: true, twice: true }),
        2 => (image, 1_u32..4).prop_map(|(image, replicas)| Event::Declare { image, replicas }),
        1 => (0_usize..8).prop_map(Event::StopByHand),
        1 => (0_usize..8).prop_map(Event::DeleteByHand),
        1 => (0_usize..3).prop_map(Event::MemberDies),
        1 => (0_usize..3).prop_map(Event::MemberIsOffline),
        2 => (0_usize..3).prop_map(Event::MemberReturns),
        4 => (0_u64..5_000).prop_map(Event::TimePasses),
    ];
    prop::collection::vec(event, 1..80)
}

fn spec(image: &str, replicas: u32) -> AppSpec {
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
    fn new() -> Self {
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

    fn observe(&self) -> Observation {
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

    fn pass(&mut self, steps: usize, records: bool, twice: bool) -> Next {
        let observation = self.observe();
        let decision = decide(&self.spec, &observation, &self.work, self.now);
        invariant_decisions_are_sound(self, &observation, &decision);
        if !records {
            return decision.next;
        }
        self.work = decision.work.clone();
        for step in decision.steps.iter().take(steps) {
            for _ in 0..=usize::from(twice) {
                self.trace.push(format!("  {step}"));
                self.perform(step);
            }
        }
        decision.next
    }

    /// What Incus does with a step; a step on a dead member fails and changes nothing.
    fn perform(&mut self, step: &Step) {
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

    fn ours(&self) -> Vec<String> {
        let ours = |(_, instance): &(&String, &Instance)| instance.config.contains_key(key::APP);
        self.instances
            .iter()
            .filter(ours)
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn happen(&mut self, event: &Event) {
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
    fn settle(&mut self) -> Result<(), String> {
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

/// Invariants 5 and 6 of docs/architecture.md, and what else a decision must never do.
fn invariant_decisions_are_sound(world: &World, observation: &Observation, decision: &Decision) {
    invariant_what_is_decided_is_in_the_record(decision);
    invariant_a_generation_never_goes_down(world, decision);
    invariant_nothing_foreign_or_unseen_is_touched(observation, decision);
    invariant_what_serves_is_deleted_only_with_a_successor(world, observation, decision);
    invariant_one_slot_is_acted_upon(decision);
}

/// What is decided is recorded before it is executed: every create is in the record that is stored first.
fn invariant_what_is_decided_is_in_the_record(decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            name,
            ..
        } = step
        {
            let made = decision.work.made(*ordinal, *generation);
            assert_eq!(made.map(|made| &made.name), Some(name), "{decision:?}");
        }
    }
}

/// A create takes a generation above all that were ever made in its place (a lost record must not matter).
fn invariant_a_generation_never_goes_down(world: &World, decision: &Decision) {
    for step in &decision.steps {
        if let Step::Create {
            ordinal,
            generation,
            ..
        } = step
        {
            let highest = world.highest.get(ordinal);
            assert!(
                highest.is_none_or(|highest| generation > highest),
                "{step:?} after {highest:?}"
            );
        }
    }
}

/// Steps concern workloads that are ours and whose member answers.
fn invariant_nothing_foreign_or_unseen_is_touched(observation: &Observation, decision: &Decision) {
    for step in &decision.steps {
        let name = match step {
            Step::Create { name, .. } => {
                assert!(
                    name.len() <= 63 && !observation.foreign.contains_key(name),
                    "{step:?}"
                );
                continue;
            }
            Step::Start { name, .. }
            | Step::StampHealthy { name, .. }
            | Step::ClearHealthy { name }
            | Step::KeepOutput { name, .. }
            | Step::Delete { name, .. } => name,
        };
        let workload = observation
            .workloads
            .iter()
            .find(|workload| workload.name == *name);
        assert!(
            workload.is_some_and(|workload| workload.status.is_live()),
            "{step:?}"
        );
    }
}

/// What was healthy goes only when a newer one is healthy in its place, when it is not wanted, or when it is a leftover
/// behind another that serves.
fn invariant_what_serves_is_deleted_only_with_a_successor(
    world: &World,
    observation: &Observation,
    decision: &Decision,
) {
    for step in &decision.steps {
        let Step::Delete { ordinal, name, .. } = step else {
            continue;
        };
        let here = || {
            observation
                .workloads
                .iter()
                .filter(|one| one.ordinal == *ordinal && one.status.is_live())
        };
        let serves = here().find(|one| {
            one.name == *name && one.healthy_since.is_some() && world.instances[name].running
        });
        let another = here().any(|one| one.name != *name && world.instances[&one.name].running);
        let unwanted = *ordinal >= world.spec.replicas;
        let judged_unhealthy = matches!(
            step,
            Step::Delete {
                reason: Reason::Failed,
                ..
            }
        );
        assert!(
            serves.is_none() || another || unwanted || judged_unhealthy,
            "{step:?}\n{observation:?}"
        );
    }
}

/// HO-APP-30: never two members of one app in one pass; bookkeeping about health is not an act.
fn invariant_one_slot_is_acted_upon(decision: &Decision) {
    let acted: BTreeSet<u32> = decision
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Create { ordinal, .. }
            | Step::Start { ordinal, .. }
            | Step::Delete { ordinal, .. } => Some(*ordinal),
            Step::StampHealthy { .. } | Step::ClearHealthy { .. } | Step::KeepOutput { .. } => None,
        })
        .collect();
    assert!(acted.len() <= 1, "{decision:?}");
}

/// One workload per replica, of the declared spec, running; and what is not ours is as it was.
fn invariant_converged_means_as_declared(world: &World) -> Result<(), TestCaseError> {
    let mut ordinals = Vec::new();
    for name in world.ours() {
        let instance = &world.instances[&name];
        prop_assert!(
            instance.running,
            "{name} does not run\n{}",
            world.trace.join("\n")
        );
        prop_assert_eq!(&instance.config[key::SPEC], &world.spec.hash());
        let ordinal = instance
            .config
            .get(key::MEMBER)
            .map_or(0, |text| text.parse().expect("a number"));
        ordinals.push(ordinal);
    }
    ordinals.sort_unstable();
    let expected: Vec<u32> = (0..world.spec.replicas).collect();
    prop_assert_eq!(ordinals, expected, "{}", world.trace.join("\n"));
    prop_assert!(world.instances["web-by-hand"].running);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// HO-APP-24…40, HF-33: whatever happened, a good image and an undisturbed executor end as declared.
    #[test]
    fn every_disturbance_is_survived(events in events()) {
        let mut world = World::new();
        for event in &events {
            world.happen(event);
        }
        if let Err(why) = world.settle() {
            prop_assert!(false, "{why}\n{}", world.trace.join("\n"));
        }
        invariant_converged_means_as_declared(&world)?;
    }

    /// HO-APP-52 in kind: an image that fails takes nothing down that served.
    #[test]
    fn a_failing_image_takes_nothing_down(image in prop_oneof![Just("crash"), Just("never"), Just("flap")], replicas in 1_u32..4) {
        let mut world = World::new();
        world.spec = spec(GOOD[0], replicas);
        world.settle().map_err(TestCaseError::fail)?;
        let served = world.ours();
        world.spec = spec(image, replicas);
        let mut failed = 0;
        for _ in 0..60 {
            match world.pass(usize::MAX, true, false) {
                Next::Wait(time) => world.now = world.now.plus(time),
                Next::Failed(_) => failed += 1,
                Next::Again => {}
                other => prop_assert!(false, "{other:?}\n{}", world.trace.join("\n")),
            }
            for name in &served {
                prop_assert!(world.instances.get(name).is_some_and(|one| one.running), "{name}\n{}", world.trace.join("\n"));
            }
        }
        prop_assert!(failed > 0);
    }
}
