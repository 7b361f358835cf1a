//! What a run came to: how far the cases got, and the first broken rule of each registered thing.

use std::fmt;
use std::time::Duration;

use super::finding::Finding;
use super::walk::Reached;

/// A whole run.
#[derive(Debug, Default)]
pub struct Report {
    /// How far the cases of each registered thing got.
    pub tallies: Vec<Tally>,
    /// The first broken rule of each registered thing, and those of the process.
    pub failures: Vec<Failure>,
    /// How long it took.
    pub time: Duration,
}

/// How far the cases of one registered thing got.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// What it is called.
    pub name: String,
    /// How many were tried.
    pub cases: u32,
    /// How many of them are valid.
    pub validated: u32,
    /// How many of those could be planned, answered or opened.
    pub planned: u32,
    /// How many of those could be made.
    pub applied: u32,
    /// How many of those were changed.
    pub updated: u32,
    /// How many were replaced.
    pub replaced: u32,
}

/// A broken rule, with the case that shows it.
#[derive(Debug)]
pub struct Failure {
    /// The registered thing, or `the process`.
    pub name: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the case, for [`super::Conformance::case`].
    pub case: u32,
    /// What was found.
    pub finding: Finding,
    /// The case, as small as it could be made.
    pub shown: String,
}

impl Report {
    /// Whether no rule was broken.
    pub fn is_sound(&self) -> bool {
        self.failures.is_empty()
    }

    /// How far the cases of a registered thing got.
    pub fn tally(&self, name: &str) -> Option<&Tally> {
        self.tallies.iter().find(|tally| tally.name == name)
    }
}

impl Tally {
    pub(super) fn count(&mut self, reached: Reached) {
        self.cases += 1;
        self.validated += u32::from(reached.validated);
        self.planned += u32::from(reached.planned);
        self.applied += u32::from(reached.applied);
        self.updated += u32::from(reached.updated);
        self.replaced += u32::from(reached.replaced);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tally in &self.tallies {
            let Tally {
                name,
                cases,
                validated,
                planned,
                applied,
                updated,
                replaced,
            } = tally;
            writeln!(
                formatter,
                "{name}: {cases} cases, {validated} valid, {planned} planned, {applied} applied, {updated} updated, {replaced} replaced"
            )?;
        }
        for failure in &self.failures {
            writeln!(formatter, "\n{failure}")?;
        }
        write!(
            formatter,
            "\n{} rules broken, in {:.1} s",
            self.failures.len(),
            self.time.as_secs_f64()
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure {
            name,
            seed,
            case,
            finding,
            shown,
        } = self;
        write!(formatter, "{name} breaks {finding}")?;
        if !shown.is_empty() {
            write!(formatter, "\n  {shown}\n  seed {seed}, case {case}")?;
        }
        Ok(())
    }
}
