//! The world: a fleet, up to two executors, and the ledger; carries events out, and brings every story to its end.
//!
//! Before: `event.rs` tells what happens. After: `trace.rs` runs whole stories.

use domain::app::{AppSpec, AppType};
use domain::place::Place;
use domain::rollout::forecast;

use crate::event::Event;
use crate::executor::{End, Executor};
use crate::fault::Fault;
use crate::fleet::{self, APP, Fleet, IMAGES, MEMBERS, Standing, stands_at};
use crate::invariants::{self, Judged};
use crate::ledger::Ledger;
use crate::random::Luck;

/// How many requests an apply that nobody disturbs may need; a rollout of three replicas needs a tenth.
const MOST_REQUESTS: usize = 3_000;

/// Everything.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// The fleet.
    pub fleet: Fleet,
    /// What has really happened.
    pub ledger: Ledger,
    /// What executors do wrong.
    pub fault: Option<Fault>,
    /// What happened so far, a line each.
    pub told: Vec<String>,
    executors: [Option<Executor>; 2],
    /// Whether only one workload may run at each place.
    pub exclusive: bool,
    /// What was applied last.
    declared: Option<(&'static str, u32)>,
}

impl World {
    /// The app with one of the images.
    pub fn spec(&self, image: &str, replicas: u32) -> AppSpec {
        let r#type = match self.exclusive {
            true => AppType::GenericExclusive,
            false => AppType::GenericStateless,
        };
        fleet::spec(r#type, image, replicas)
    }

    /// An event happens, and everything is looked at after it.
    ///
    /// # Errors
    /// If an invariant does not hold.
    pub fn happen(&mut self, event: &Event) -> Judged {
        self.carry_out(event)?;
        invariants::nothing_unmanaged_has_changed(&self.fleet)
    }

    fn carry_out(&mut self, event: &Event) -> Judged {
        if let Event::Advance(who, luck) = event {
            return self.advance(*who, *luck);
        }
        self.told.push(format!("{event:?}"));
        match event {
            Event::Advance(..) => {}
            Event::Exclusive => self.exclusive = true,
            Event::Apply(who, image, replicas) => self.apply(*who, image, *replicas),
            Event::Destroy(who) => self.destroy(*who),
            Event::Kill(who) => self.executors[*who] = None,
            Event::Stopped(index) => self.by_hand(*index, |fleet, name| {
                fleet.change(name, |instance| instance.running = false);
            }),
            Event::Started(index) => self.by_hand(*index, |fleet, name| {
                // Whether it starts is between Incus and whoever does it.
                let _ = fleet.ask(name, crate::fleet::requests::What::Start, Luck(0));
            }),
            Event::Deleted(index) => self.by_hand(*index, |fleet, name| {
                if fleet.answers(name) {
                    fleet.instances.remove(name);
                }
            }),
            Event::NameTaken => self.take_name(),
            Event::NamesFreed => self.free_names(),
            Event::MemberSilent(member) => self.becomes(*member, Standing::Silent),
            Event::MemberOffline(member) => {
                if !self.fleet.member_answers(MEMBERS[*member]) {
                    self.becomes(*member, Standing::Offline);
                }
            }
            Event::MemberReturns(member, rebooted) => {
                if !self.fleet.member_answers(MEMBERS[*member]) {
                    self.fleet.restore(MEMBERS[*member], *rebooted);
                }
            }
            Event::Evacuated(member) => {
                if self.fleet.member_answers(MEMBERS[*member]) {
                    self.fleet.evacuate(MEMBERS[*member]);
                }
            }
            Event::Restored(member) => {
                if self.fleet.member_answers(MEMBERS[*member]) {
                    self.fleet.restore(MEMBERS[*member], false);
                }
            }
            Event::ImageGone(index) => {
                let gone = self
                    .spec(IMAGES[*index], 1)
                    .image
                    .digest
                    .unwrap_or_default();
                self.fleet.images.remove(&gone);
            }
            Event::ImagesBack => self.fleet.images = Fleet::default().images,
            Event::RecordLost => {
                self.executors = [None, None];
                self.fleet
                    .pass_time(domain::moment::Moment(self.fleet.now.0 + 120_000));
                self.fleet.store.lose_record();
                self.ledger.lose_record();
            }
            Event::ClockJumps(who, by) => {
                self.ledger.clocks_differ = true;
                if let Some(executor) = &mut self.executors[*who] {
                    executor.clock += by;
                }
            }
            Event::TimePasses(time) => {
                let until = domain::moment::Moment(self.fleet.now.0 + time);
                self.fleet.pass_time(until);
            }
        }
        Ok(())
    }

    fn advance(&mut self, who: usize, luck: Luck) -> Judged {
        let Some(executor) = &mut self.executors[who] else {
            return Ok(());
        };
        if executor.end().is_some() {
            return Ok(());
        }
        let at = self.fleet.now.0 - Fleet::default().now.0;
        self.told
            .push(format!("  {at:>7} {}: {}", executor.who, executor.is_at()));
        executor.advance(&mut self.fleet, &mut self.ledger, luck)
    }

    /// An executor begins, unless it is at something.
    pub fn apply(&mut self, who: usize, image: &'static str, replicas: u32) {
        self.declared = Some((image, replicas));
        if self.is_idle(who) {
            let executor = Executor::new(letter(who), self.spec(image, replicas), self.fault);
            self.executors[who] = Some(executor);
        }
    }

    fn destroy(&mut self, who: usize) {
        if self.is_idle(who) {
            let executor = Executor::removing(letter(who), self.spec("good/1", 1), self.fault);
            self.executors[who] = Some(executor);
        }
    }

    /// How an executor ended, if it has.
    pub fn end(&self, who: usize) -> Option<&End> {
        self.executors[who].as_ref()?.end()
    }

    fn is_idle(&self, who: usize) -> bool {
        self.executors[who]
            .as_ref()
            .is_none_or(|executor| executor.end().is_some())
    }

    fn becomes(&mut self, member: usize, standing: Standing) {
        self.fleet
            .members
            .insert(MEMBERS[member].to_owned(), standing);
    }

    fn by_hand(&mut self, index: usize, act: impl FnOnce(&mut Fleet, &str)) {
        if let Some(name) = self.fleet.ours().get(index) {
            act(&mut self.fleet, name);
        }
    }

    /// The next name of place 0: one that is about to be used, and none that was in use a moment ago.
    fn take_name(&mut self) {
        let places = self.fleet.instances.values().filter_map(stands_at);
        let here = places.filter(|(place, _)| *place == Place::FIRST);
        let there = here.map(|(_, generation)| generation).max();
        let highest = there.max(self.ledger.highest(&Place::FIRST));
        let replicas = self.declared.map_or(1, |(_, replicas)| replicas);
        let next = highest.map_or(0, |highest| highest + 1);
        let name = self
            .spec("good/1", replicas)
            .workload_name(&Place::FIRST, next);
        if !self.fleet.instances.contains_key(&name) {
            self.fleet.make_by_hand(&name);
        }
    }

    fn free_names(&mut self) {
        let names: Vec<String> = self.fleet.foreign.keys().cloned().collect();
        for name in names.iter().filter(|name| *name != "web-by-hand") {
            self.fleet.instances.remove(name);
            self.fleet.foreign.remove(name);
        }
    }

    /// Faults stop, and everybody lets go. A good image converges from what is there, by just the steps that its plan has
    /// told, at once as well as after what was applied last has come to an end; a second apply of it has nothing to do.
    ///
    /// # Errors
    /// If an invariant does not hold.
    pub fn settle(&mut self) -> Judged {
        self.told.push("faults stop".to_owned());
        self.executors = [None, None];
        for member in MEMBERS {
            self.fleet.restore(member, false);
        }
        self.fleet
            .pass_time(domain::moment::Moment(self.fleet.now.0 + 120_000));
        self.free_names();
        self.fleet.images = Fleet::default().images;
        let (image, replicas) = self.declared.unwrap_or(("good/1", 2));
        self.clone().converge("good/2", replicas)?;
        self.to_its_end(image, replicas)?;
        self.converge("good/2", replicas)?;
        let (_, done) = self.to_its_end("good/2", replicas)?;
        invariants::a_plan_tells_what_is_done(&[], &done)
    }

    /// An apply that nobody disturbs, of an image that is good.
    ///
    /// # Errors
    /// If an invariant does not hold.
    pub fn converge(&mut self, image: &'static str, replicas: u32) -> Judged {
        let planned = self.plan(image, replicas);
        let (end, done) = self.to_its_end(image, replicas)?;
        invariants::an_apply_ends(end == End::Converged, || format!("{end:?}"))?;
        invariants::converged_means_as_declared(&self.fleet, &self.spec(image, replicas))?;
        invariants::a_plan_tells_what_is_done(&planned, &done)
    }

    /// As a Read sees it for a plan: everything that is stopped may have been left in the middle of its start.
    fn plan(&self, image: &str, replicas: u32) -> Vec<String> {
        let (_, work, _) = self.fleet.store.snapshot();
        let seen = self.fleet.clone().list_instances(Luck(0));
        let members = self.fleet.list_members();
        let mut observation = domain::observation::of_app(APP, &seen, &members, &work);
        observation.unfinished = observation.stopped().cloned().collect();
        forecast::steps(
            &self.spec(image, replicas),
            &observation,
            &work,
            self.fleet.now,
        )
    }

    /// An apply that nobody disturbs, and its steps.
    ///
    /// # Errors
    /// If an invariant does not hold.
    pub fn to_its_end(
        &mut self,
        image: &'static str,
        replicas: u32,
    ) -> Result<(End, Vec<String>), invariants::Violation> {
        self.executors = [None, None];
        self.told.push(format!("undisturbed: {image} x {replicas}"));
        self.apply(0, image, replicas);
        for _ in 0..MOST_REQUESTS {
            self.happen(&Event::Advance(0, Luck(0)))?;
            if let Some(executor) = &self.executors[0]
                && let Some(end) = executor.end()
            {
                return Ok((end.clone(), executor.told.clone()));
            }
        }
        invariants::an_apply_ends(false, || format!("{image} x {replicas} has no end"))?;
        Ok((End::Stopped(String::new()), Vec::new()))
    }
}

fn letter(who: usize) -> char {
    if who == 0 { 'A' } else { 'B' }
}
