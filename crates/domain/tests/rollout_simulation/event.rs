//! What happens to the world of the simulation, by weight.
//!
//! Before: proptest draws a list of events. After: each is carried out on `world.rs`.

use std::time::Duration;

use domain::rollout::step::{Reason, Step};
use domain::work::Work;
use proptest::prelude::*;

use crate::executor::Until;
use crate::world::{World, spec};

/// Every image there is.
const IMAGES: [&str; 6] = ["good/1", "good/2", "crash", "unstartable", "never", "flap"];

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// An executor runs one pass, or a part of it.
    Pass(Until),
    /// The executor is killed while it waits.
    Killed,
    /// What a killed executor has set going comes to its end.
    Lands,
    /// The user declares something else; whoever works on the old declaration is overtaken.
    Declare {
        image: &'static str,
        replicas: u32,
    },
    StopByHand(usize),
    StartByHand(usize),
    DeleteByHand(usize),
    /// Somebody takes the name that the next generation of ordinal 0 would have.
    NameTaken,
    /// And gives it back.
    NamesFreed,
    MemberDies(usize),
    MemberIsOffline(usize),
    /// It answers again; its workloads have kept running, or not.
    MemberReturns {
        member: usize,
        rebooted: bool,
    },
    Evacuated(usize),
    Restored(usize),
    /// Somebody deletes the work record.
    RecordLost,
    TimePasses(u64),
}

/// A story: mostly passes, and everything else often enough to meet in the middle of them.
pub(crate) fn story() -> impl Strategy<Value = Vec<Event>> {
    let image = prop::sample::select(&IMAGES[..]);
    let workload = || 0_usize..6;
    let member = || 0_usize..3;
    let event = prop_oneof![
        24 => Just(Event::Pass(Until::End)),
        2 => Just(Event::Pass(Until::EndTwice)),
        1 => Just(Event::Pass(Until::Decided)),
        5 => (0_usize..3).prop_map(|steps| Event::Pass(Until::Step(steps))),
        2 => Just(Event::Killed),
        3 => Just(Event::Lands),
        4 => (image, 1_u32..4).prop_map(|(image, replicas)| Event::Declare { image, replicas }),
        2 => workload().prop_map(Event::StopByHand),
        1 => workload().prop_map(Event::StartByHand),
        2 => workload().prop_map(Event::DeleteByHand),
        1 => Just(Event::NameTaken),
        1 => Just(Event::NamesFreed),
        2 => member().prop_map(Event::MemberDies),
        1 => member().prop_map(Event::MemberIsOffline),
        3 => (member(), any::<bool>())
            .prop_map(|(member, rebooted)| Event::MemberReturns { member, rebooted }),
        1 => member().prop_map(Event::Evacuated),
        2 => member().prop_map(Event::Restored),
        1 => Just(Event::RecordLost),
        8 => (0_u64..4_000).prop_map(Event::TimePasses),
        1 => (10_000_u64..100_000).prop_map(Event::TimePasses),
    ];
    prop::collection::vec(event, 1..70)
}

impl World {
    /// Carries an event out.
    pub(crate) fn happen(&mut self, event: &Event) {
        self.trace.push(format!("{event:?}"));
        let name_of = |member: &usize| format!("m{}", member + 1);
        match event {
            Event::Pass(until) => {
                self.pass(*until);
            }
            Event::Killed => self.executor = None,
            Event::Lands => self.land(),
            Event::Declare { image, replicas } => {
                self.spec = spec(image, *replicas);
                self.executor = None;
            }
            Event::StopByHand(index) => {
                self.by_hand(*index, |world, name| {
                    world.change(name, |instance| instance.running = false);
                });
            }
            Event::StartByHand(index) => self.by_hand(*index, |world, name| {
                // Whether it starts is between Incus and whoever does it.
                let _ = world.perform(&Step::Start {
                    ordinal: 0,
                    generation: 0,
                    name: name.to_owned(),
                });
            }),
            Event::DeleteByHand(index) => self.by_hand(*index, World::remove),
            Event::NameTaken => self.take_name(),
            Event::NamesFreed => self.free_names(),
            Event::MemberDies(member) => {
                self.dead.insert(name_of(member));
            }
            Event::MemberIsOffline(member) => {
                if self.dead.contains(&name_of(member)) {
                    self.offline.insert(name_of(member));
                }
            }
            Event::MemberReturns { member, rebooted } => {
                let member = name_of(member);
                if self.dead.remove(&member) && *rebooted {
                    self.change_all_on(&member, |instance| instance.running = false);
                }
                self.offline.remove(&member);
            }
            Event::Evacuated(member) => {
                let member = name_of(member);
                if !self.dead.contains(&member) {
                    self.evacuate(&member);
                }
            }
            Event::Restored(member) => {
                let member = name_of(member);
                if !self.dead.contains(&member) {
                    self.restore(&member);
                }
            }
            Event::RecordLost => self.lose_record(),
            Event::TimePasses(milliseconds) => {
                self.now = self.now.plus(Duration::from_millis(*milliseconds));
            }
        }
    }

    /// Everything is well again: what is left is what an apply has to bring into order.
    pub(crate) fn recover(&mut self) {
        self.trace.push("everything is well again".to_owned());
        self.dead.clear();
        self.offline.clear();
        for member in ["m1", "m2", "m3"] {
            self.restore(member);
        }
        self.land();
        self.free_names();
        self.executor = None;
    }

    fn by_hand(&mut self, index: usize, act: impl FnOnce(&mut World, &str)) {
        if let Some(name) = self.ours().get(index) {
            act(self, name);
        }
    }

    fn remove(&mut self, name: &str) {
        if self.answers(name) {
            self.instances.remove(name);
        }
    }

    /// Of a delete only the stop was on its way: the executor asks for the rest when that is done.
    fn land(&mut self) {
        for step in std::mem::take(&mut self.in_flight) {
            self.trace.push(format!("  lands: {step}"));
            match &step {
                Step::Delete { name, reason, .. } if *reason != Reason::Failed => {
                    self.change(name, |instance| instance.running = false);
                }
                Step::KeepOutput { .. } | Step::Delete { .. } => {}
                // Nobody is left to be told of a failure.
                _ => {
                    let _ = self.perform(&step);
                }
            }
        }
    }

    fn take_name(&mut self) {
        let generation = self.highest(0).map_or(0, |highest| highest + 1);
        let name = self.spec.workload_name(0, generation);
        if !self.instances.contains_key(&name) {
            self.make_by_hand(&name);
        }
    }

    fn free_names(&mut self) {
        for name in self.foreign.keys().cloned().collect::<Vec<_>>() {
            if name != "web-by-hand" {
                self.instances.remove(&name);
                self.foreign.remove(&name);
            }
        }
    }

    fn lose_record(&mut self) {
        self.stored = Work::default();
        self.executor = None;
        self.in_flight.clear();
        self.lost_record = true;
    }
}
