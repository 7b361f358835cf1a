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
    /// Whether it was asked to join before the step that is being taken.
    asked_before: bool,
    steps: u32,
}

impl Attempts {
    /// How many steps were taken, as a measure of whether anything comes about. Revoking a token is no progress, since a join
    /// that does not come about makes the next one.
    pub fn steps(&self) -> u32 {
        self.steps
    }

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
        self.asked_before = self.history.asked_to_join;
        self.steps += counted(step);
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
            Step::Join(join) if matches!(error, Error::MemberStep { .. }) => {
                self.join_failed(&join.server_fingerprint, &error, said);
            }
            Step::DeleteVolume { volume, .. } if said.contains("in use") => {
                self.busy_volumes.insert(volume.clone());
            }
            Step::Remove { .. } if self.sole(&said) => {}
            _ => {
                // A join that was not asked for is no try.
                self.history.asked_to_join = self.asked_before;
                self.steps = self.steps.saturating_sub(counted(step));
                return Err(error);
            }
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

fn counted(step: &Step) -> u32 {
    u32::from(!matches!(step, Step::RevokeToken { .. }))
}

#[cfg(test)]
mod tests {
    use domain::membership::declared::parse_address;
    use domain::membership::step::Join;

    use super::*;

    fn join() -> Step {
        Step::Join(Box::new(Join {
            name: "b".to_owned(),
            address: parse_address("10.0.0.2").expect("an address"),
            cluster_fingerprint: "cc".to_owned(),
            server_fingerprint: "bb".to_owned(),
            through: None,
            member_config: Vec::new(),
        }))
    }

    fn refused() -> Box<incus::Error> {
        Box::new(incus::Error::Refused {
            doing: "joining".to_owned(),
            endpoint: incus::Endpoint::parse("https://10.0.0.2").expect("an endpoint"),
            code: 500,
            message: "no".to_owned(),
        })
    }

    fn not_begun() -> Error {
        let (doing, cause) = ("join b".to_owned(), refused());
        Error::JoinNotBegun { doing, cause }
    }

    fn failed() -> Error {
        let (doing, cause) = ("join b".to_owned(), refused());
        Error::MemberStep { doing, cause }
    }

    /// HO-JOIN-12: what a machine has is taken for left over by a try only if there was one.
    #[test]
    fn a_join_counts_as_a_try_once_the_machine_was_asked() {
        let mut attempts = Attempts::default();
        let mut take = |error: Error| {
            attempts.note(&join());
            let is_error = attempts.learn(&join(), error).is_err();
            let History {
                failed_joins,
                asked_to_join,
                tried,
                ..
            } = attempts.history.clone();
            (is_error, failed_joins, asked_to_join, tried.is_some())
        };
        assert_eq!(take(not_begun()), (true, 0, false, false));
        assert_eq!(take(failed()), (false, 1, true, true));
        // One that was asked before stays so.
        assert_eq!(take(not_begun()), (true, 1, true, true));
    }

    #[test]
    fn what_was_done_is_progress_and_a_step_that_failed_is_none() {
        let mut attempts = Attempts::default();
        let name = || "b".to_owned();
        let evacuate = Step::Evacuate { name: name() };
        attempts.note(&evacuate);
        assert_eq!(attempts.steps(), 1);
        attempts.note(&evacuate);
        assert!(attempts.learn(&evacuate, failed()).is_err());
        let operation = "token".to_owned();
        attempts.note(&Step::RevokeToken { operation });
        assert_eq!(attempts.steps(), 1);
    }
}
