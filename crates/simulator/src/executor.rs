//! An executor: one apply or destroy, a request at a time, with the real decisions of `domain::rollout`.
//!
//! ```text
//! Snapshot → Publish → Confirm → Look → Decide → Record → ConfirmRecord → Perform ⇄ Operation → Sleep → Look … → Ended
//! ```
//!
//! Before: `event.rs` advances one, or kills it between any two requests. After: `fleet.rs`. It does what `reconcile`
//! does (`store.rs`, `rollout/pass.rs`, `execute.rs`), and remembers what that remembers; `executor/pass.rs` has the
//! passes. `invariants.rs` looks over its shoulder, and `fault.rs` names the mistakes that can be planted in it.

mod pass;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::app::AppSpec;
use domain::entry::{self, Entry, Kind, RevisionName};
use domain::moment::Moment;
use domain::observation::Seen;
use domain::rollout::Next;
use domain::rollout::learned::Learned;
use domain::rollout::step::Step;
use domain::work::Work;

use crate::fault::Fault;
use crate::fleet::store::{Content, Written, name};
use crate::fleet::{Fleet, Instance};
use crate::invariants::{self, Judged};
use crate::ledger::Ledger;
use crate::random::Luck;

/// Whose the app is; there is one configuration, which may be applied twice at once.
const OWNER: &str = "me";

/// One apply or destroy.
#[derive(Debug, Clone)]
pub struct Executor {
    /// Which one, for the story.
    pub who: char,
    /// What it was asked to bring about.
    pub spec: AppSpec,
    /// How far its clock is ahead of the true time, in milliseconds.
    pub clock: i64,
    /// The steps that it began, as a plan tells them.
    pub told: Vec<String>,
    removes: bool,
    /// Whether it has won a record: until then, what it finds on record is another one's.
    recorded: bool,
    fault: Option<Fault>,
    revision: u64,
    work: Work,
    work_revision: u64,
    /// The last decision before this executor; only a faulty one looks at it.
    found_decided: Vec<String>,
    read_at: Moment,
    learned: Learned,
    stage: Stage,
}

/// Where an executor is.
#[derive(Debug, Clone)]
enum Stage {
    Snapshot,
    Publish(Box<Entry>),
    Confirm,
    Prune(Vec<RevisionName>, Box<Stage>),
    Look,
    Decide(Look),
    Record(Box<Pass>),
    ConfirmRecord(Box<Pass>),
    Perform(Box<Pass>),
    Operation(u64, Box<Pass>),
    Sleep(Moment),
    Finish,
    Ended(End),
}

/// How an executor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything is as declared.
    Converged,
    /// Nothing is left.
    Removed,
    /// The rollout failed; what serves goes on.
    Failed,
    /// Another one has published or recorded something newer.
    Overtaken,
    /// Something was in the way.
    Stopped(String),
}

/// The list of instances, and the truth at that moment.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) seen: Vec<Seen>,
    pub(crate) truth: BTreeMap<String, Instance>,
    /// Members that did not answer, and of which Incus did not say so.
    pub(crate) silent: BTreeSet<String>,
}

/// A decision on its way.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) look: Look,
    pub(crate) steps: Vec<Step>,
    pub(crate) next: Next,
    /// The record as it is to be stored.
    pub(crate) work: Work,
    /// Whose deletion was on record before.
    pub(crate) doomed: BTreeSet<String>,
    /// The answers of this pass, when they were given, and whether there was a stamp.
    pub(crate) answers: Vec<(String, bool, bool)>,
    pub(crate) asked_at: Moment,
    done: usize,
    part: Part,
}

/// How far a step has come; only deletes have several parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Begin,
    Stopping,
    Forcing,
    Deleting,
}

impl Executor {
    /// An apply of `spec`.
    pub fn new(who: char, spec: AppSpec, fault: Option<Fault>) -> Self {
        Self {
            who,
            spec,
            clock: 0,
            told: Vec::new(),
            removes: false,
            recorded: false,
            fault,
            revision: 0,
            work: Work::default(),
            work_revision: 0,
            found_decided: Vec::new(),
            read_at: Moment(0),
            learned: Learned::default(),
            stage: Stage::Snapshot,
        }
    }

    /// A destroy.
    pub fn removing(who: char, spec: AppSpec, fault: Option<Fault>) -> Self {
        Self {
            removes: true,
            ..Self::new(who, spec, fault)
        }
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<&End> {
        match &self.stage {
            Stage::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Where it is, in a word.
    pub fn is_at(&self) -> String {
        match &self.stage {
            Stage::Snapshot => "reads the fleet store".to_owned(),
            Stage::Publish(entry) => format!("publishes r{}", entry.revision),
            Stage::Confirm => format!("makes sure of r{}", self.revision),
            Stage::Prune(..) => "deletes old revisions".to_owned(),
            Stage::Look => "lists instances".to_owned(),
            Stage::Decide(_) => "lists members, asks and decides".to_owned(),
            Stage::Record(pass) => format!("records {:?}", pass.work.decided),
            Stage::ConfirmRecord(_) => "makes sure of the record".to_owned(),
            Stage::Perform(pass) => match pass.steps.get(pass.done) {
                Some(step) => format!("{step} ({:?})", pass.part),
                None => format!("{:?}", pass.next),
            },
            Stage::Operation(id, _) => format!("waits for operation {id}"),
            Stage::Sleep(_) => "waits".to_owned(),
            Stage::Finish => "marks its revision".to_owned(),
            Stage::Ended(end) => format!("ended: {end:?}"),
        }
    }

    /// What its clock shows.
    fn now(&self, fleet: &Fleet) -> Moment {
        Moment(fleet.now.0 + self.clock)
    }

    /// The next request, or the end of a wait.
    ///
    /// # Errors
    /// If it does something that nobody would forgive.
    pub fn advance(&mut self, fleet: &mut Fleet, ledger: &mut Ledger, luck: Luck) -> Judged {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Look) {
            Stage::Snapshot => self.snapshot(fleet, luck),
            Stage::Publish(entry) => self.publish(fleet, entry, luck),
            Stage::Confirm => self.confirm(fleet, luck),
            Stage::Prune(names, then) => Self::prune(fleet, names, then, luck),
            Stage::Look => Stage::Decide(Self::look(fleet, luck)),
            Stage::Decide(look) => self.decide(fleet, ledger, look, luck)?,
            Stage::Record(pass) => self.record(fleet, pass, luck),
            Stage::ConfirmRecord(pass) => self.confirm_record(fleet, ledger, pass, luck)?,
            Stage::Perform(pass) => self.perform(fleet, ledger, pass, luck)?,
            Stage::Operation(id, pass) => self.wait_for(fleet, id, pass),
            Stage::Sleep(until) => {
                fleet.pass_time(until);
                Stage::Look
            }
            Stage::Finish => {
                fleet.finish(self.revision, luck);
                Stage::Ended(End::Converged)
            }
            Stage::Ended(end) => Stage::Ended(end),
        };
        Ok(())
    }

    fn snapshot(&mut self, fleet: &mut Fleet, luck: Luck) -> Stage {
        fleet.request(luck);
        let (highest, work, work_revision) = fleet.store.snapshot();
        self.found_decided.clone_from(&work.decided);
        (self.work, self.work_revision, self.read_at) = (work, work_revision, fleet.now);
        let buried = highest
            .as_ref()
            .is_some_and(|entry| entry.deleted.is_some());
        let revision = match (&highest, self.removes) {
            (None, true) => return Stage::Ended(End::Removed),
            (Some(entry), false) if !buried => entry::admit_change(Some(entry), OWNER),
            (Some(entry), true) => Ok(entry.revision + 1),
            (_, false) => entry::admit_create(highest.as_ref()),
        };
        let Ok(revision) = revision else {
            return Stage::Ended(End::Stopped("refused".to_owned()));
        };
        (self.revision, self.work.revision) = (revision, revision);
        let deleted = highest.as_ref().and_then(|entry| entry.deleted);
        Stage::Publish(Box::new(Entry {
            revision,
            spec: Some(self.spec.clone()),
            owner: OWNER.to_owned(),
            created: highest.filter(|_| !buried).and_then(|entry| entry.created),
            applied: None,
            executor: entry::Executor::Provider,
            deleted: self.removes.then_some(deleted.unwrap_or(fleet.now)),
        }))
    }

    fn publish(&self, fleet: &mut Fleet, entry: Box<Entry>, luck: Luck) -> Stage {
        let name = name(Kind::App, entry.revision);
        let writer = format!("{}-{}", self.who, self.read_at.0);
        match fleet.post(&name, &Content::App(entry.clone(), writer), luck) {
            Written::Done => Stage::Confirm,
            Written::Taken => Stage::Ended(End::Overtaken),
            Written::Unclear => Stage::Publish(entry),
        }
    }

    fn confirm(&mut self, fleet: &mut Fleet, luck: Luck) -> Stage {
        fleet.request(luck);
        if fleet.store.highest(Kind::App) != self.revision {
            return Stage::Ended(End::Overtaken);
        }
        if self.removes {
            // From here on nobody else records anything; what was recorded in between tells of workloads, too.
            (_, self.work, self.work_revision) = fleet.store.snapshot();
            self.work.revision = self.revision;
        }
        let old = old(fleet, Kind::App, self.revision);
        Stage::Prune(old, Box::new(Stage::Look))
    }

    fn prune(
        fleet: &mut Fleet,
        mut names: Vec<RevisionName>,
        then: Box<Stage>,
        luck: Luck,
    ) -> Stage {
        if names.is_empty() {
            return *then;
        }
        let name = names.remove(0);
        fleet.delete_profile(&name, luck);
        Stage::Prune(names, then)
    }

    fn look(fleet: &mut Fleet, luck: Luck) -> Look {
        let seen = fleet.list_instances(luck);
        let unsaid = |standing: crate::fleet::Standing| standing == crate::fleet::Standing::Silent;
        let silent = fleet.members.iter().filter(|(_, one)| unsaid(**one));
        Look {
            seen,
            truth: fleet.instances.clone(),
            silent: silent.map(|(name, _)| name.clone()).collect(),
        }
    }

    fn record(&mut self, fleet: &mut Fleet, pass: Box<Pass>, luck: Luck) -> Stage {
        let text = serde_json::to_string(&pass.work).unwrap_or_default();
        let content = Content::Work(text);
        let written = match self.fault {
            Some(Fault::GuardsByEtag) => {
                fleet.put_if_unchanged(&name(Kind::Work, 1), &content, self.read_at, luck)
            }
            _ => fleet.post(&name(Kind::Work, self.work_revision + 1), &content, luck),
        };
        match written {
            Written::Done => Stage::ConfirmRecord(pass),
            Written::Taken => Stage::Ended(End::Overtaken),
            Written::Unclear => Stage::Record(pass),
        }
    }

    fn confirm_record(
        &mut self,
        fleet: &mut Fleet,
        ledger: &mut Ledger,
        pass: Box<Pass>,
        luck: Luck,
    ) -> Result<Stage, invariants::Violation> {
        fleet.request(luck);
        let number = self.work_revision + 1;
        let overtaken = fleet.store.highest(Kind::Work) != number
            || fleet.store.highest(Kind::App) != self.revision;
        if overtaken && self.fault != Some(Fault::GuardsByEtag) {
            return Ok(Stage::Ended(End::Overtaken));
        }
        invariants::two_executors_never_both_take_a_step(ledger, number, self.revision, self.who)?;
        ledger.confirm(number, self.revision, self.who, &pass.work.decided);
        (self.work, self.work_revision) = (pass.work.clone(), number);
        (self.read_at, self.recorded) = (fleet.now, true);
        self.enter(fleet, ledger, &pass)?;
        let then = Box::new(Stage::Perform(pass));
        Ok(Stage::Prune(old(fleet, Kind::Work, number), then))
    }
}

/// What the winner of a number deletes.
fn old(fleet: &Fleet, kind: Kind, revision: u64) -> Vec<RevisionName> {
    let of_kind = fleet
        .store
        .names()
        .into_iter()
        .filter(|name| name.kind == kind);
    let numbers = of_kind.map(|name| name.revision).collect();
    let old = entry::to_prune(numbers, revision).into_iter();
    old.map(|revision| name(kind, revision)).collect()
}

/// No wait is shorter, whatever the clocks say.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);
