//! Attempts: what steps have taught about one member, in memory only.
//!
//! Incus shows some things in no list: that a daemon still uses a volume, that an image is nowhere else. A refusal says so
//! once, and the next decision has to know. Nor does anything show that a member was not told when it was removed.

use std::collections::BTreeSet;
use std::time::Instant;

use domain::membership::history::History;
use domain::membership::observation::{Candidate, Cluster as Seen, Observation};
use domain::membership::spec::MemberSpec;
use domain::membership::step::Step;
use incus::cluster::join;
use incus::cluster::member::still_has;

use crate::error::Error;

/// What is remembered of one member while it is changed.
#[derive(Debug, Clone, Default)]
pub struct Attempts {
    pub(super) history: History,
    busy_volumes: BTreeSet<String>,
    sole_images: BTreeSet<String>,
    outside_since: Option<Instant>,
}

impl Attempts {
    /// A new pass: what may be the same as before may also have changed.
    pub(super) fn begin(&mut self) {
        self.history.misfit = None;
    }

    /// Notes for how long the machine has been without a database, and not listed.
    pub(super) fn saw(&mut self, spec: &MemberSpec, observation: &Observation) {
        let is_listed = |seen: &Seen| seen.member(&spec.name).is_some();
        let is_outside = matches!(observation.candidate, Candidate::Stranded { .. })
            && !observation.cluster.as_ref().is_some_and(is_listed);
        let now = Instant::now();
        self.outside_since = is_outside.then(|| self.outside_since.unwrap_or(now));
        let since = self.outside_since.unwrap_or(now);
        self.history.outside_for = now.duration_since(since);
    }

    /// Adds what no list shows.
    pub(super) fn complete(&self, seen: &mut Seen, name: &str) {
        if let Some(member) = seen.members.iter_mut().find(|member| member.name == name) {
            member.busy_volumes = self.busy_volumes.clone();
            member.sole_images = self.sole_images.clone();
        }
    }

    /// A step is about to be taken: its answer may be lost, so what it means is kept before.
    pub(super) fn note(&mut self, step: &Step) {
        match step {
            Step::Join(_) => self.history.asked_to_join = true,
            Step::Remove { force: true, .. } => self.history.forced_out = true,
            _ => {}
        }
    }

    /// Learns from a step that failed. What teaches nothing is an error; the caller knows how long to try again.
    pub(super) fn learn(&mut self, step: &Step, error: Error) -> Result<(), Error> {
        let said = error.told();
        match step {
            Step::Join(join) => self.join_failed(&join.server_fingerprint, &error, said),
            Step::DeleteVolume { volume, .. } if said.contains("in use") => {
                self.busy_volumes.insert(volume.clone());
            }
            Step::Remove { .. } if self.sole(&said) => {}
            _ => return Err(error),
        }
        Ok(())
    }

    /// Whether the refusal of a removal tells of images that are nowhere else.
    fn sole(&mut self, said: &str) -> bool {
        let images = still_has(said).filter(|still| still.what.contains("image"));
        let names = images.map(|still| still.names).unwrap_or_default();
        self.sole_images.extend(names.iter().cloned());
        !names.is_empty()
    }

    /// HO-JOIN-08: a version that differs is no failed join; it is waited for.
    fn join_failed(&mut self, machine: &str, error: &Error, said: String) {
        if join::failure(&said) == join::Failure::Version {
            self.history.misfit = Some(said);
            return;
        }
        // Where the answer was lost the join may well go on.
        if !error.is_interrupted() {
            self.history.failed_joins += 1;
            self.history.tried = Some(machine.to_owned());
            self.history.last_failure = said;
        }
    }
}
