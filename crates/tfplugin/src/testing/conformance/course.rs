//! The course of a run: the process, everything that it registers, and the cases of each.
//!
//! Functions and validation come before the provider is configured, since they have to work then. What may leave the
//! provider without its settings comes last.

use std::fmt;
use std::time::Instant;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::case::Case;
use super::finding::Finding;
use super::others::Arguments;
use super::registered::{Registered, registered};
use super::report::{Failure, Report, Tally};
use super::walk::{self, Reached, errors};
use super::{Rule, Settings, Walk};
use crate::Value;
use crate::testing::{Host, HostError, Launch};

/// One of so many cases is tried before the provider is configured, and again after it.
const EARLY_SHARE: u32 = 16;
/// One of so many cases is tried while a setting of the provider is not known.
const UNKNOWN_SHARE: u32 = 32;

pub(super) async fn run(launch: Launch, settings: Settings) -> Result<Report, HostError> {
    let begun = Instant::now();
    let mut course = Course {
        settings,
        report: Report::default(),
    };
    // What is logged is looked through for secrets.
    let host = match launch.with("TF_LOG", "trace").start().await {
        Ok(host) => host,
        Err(HostError::NoHandshake(said) | HostError::Handshake(said)) => {
            course.process(Finding::new(
                Rule::NoHandshake,
                format!("It said {said:?}."),
            ));
            return Ok(course.report);
        }
        Err(error) => return Err(error),
    };
    match registered(&host.client()).await {
        Ok(registered) => {
            if let Err(finding) = course.run(&registered).await {
                course.process(finding);
            }
        }
        Err(finding) => course.process(finding),
    }
    course.end(host).await;
    course.report.time = begun.elapsed();
    Ok(course.report)
}

struct Course {
    settings: Settings,
    report: Report,
}

impl Course {
    fn process(&mut self, finding: Finding) {
        self.report.failures.push(Failure {
            name: "the process".to_owned(),
            seed: self.settings.seed,
            case: 0,
            finding,
            shown: String::new(),
        });
    }

    /// Whether it still makes sense to go on.
    fn is_alive(&self) -> Result<(), Finding> {
        let mut broken = self
            .report
            .failures
            .iter()
            .map(|failure| failure.finding.rule);
        match broken.any(|rule| rule == Rule::CallBrokeOff) {
            true => Err(Finding::new(Rule::CallBrokeOff, "The rest was not tried.")),
            false => Ok(()),
        }
    }

    async fn run(&mut self, registered: &Registered) -> Result<(), Finding> {
        let Registered {
            provider,
            resources,
            others,
            functions,
        } = registered;
        for function in functions {
            let calls = function.calls(self.settings.hints(&function.name));
            self.cases(&function.name, &calls, async |call: &Arguments| {
                function.run(call).await
            })
            .await;
        }
        self.is_alive()?;
        let early = self.early(registered).await;
        let config = self.settings.provider_config.clone();
        let config = config.conform(&provider.schema.object_type());
        let config = config.map_err(|error| Finding::new(Rule::DoesNotFit, error.to_string()))?;
        let said = provider.configure(&config).await?;
        if said.has_errors() {
            return Err(Finding::new(Rule::TooFewCases, errors(&said)).after("configuring"));
        }
        if self.early(registered).await != early {
            return Err(Finding::new(Rule::NeedsConfiguration, ""));
        }
        for kind in resources {
            let cases = Case::of(&kind.schema, self.settings.hints(&kind.name));
            let walk = self
                .settings
                .walks
                .get(&kind.name)
                .copied()
                .unwrap_or_default();
            self.cases(&kind.name, &cases, async |case: &Case| {
                walk::run(kind, case, walk).await
            })
            .await;
            self.check_share(&kind.name, walk);
            self.is_alive()?;
        }
        for other in others {
            let cases = Case::of(&other.schema, self.settings.hints(&other.name));
            self.cases(&other.name, &cases, async |case: &Case| {
                other.run(case).await
            })
            .await;
            self.is_alive()?;
        }
        if self.settings.only.is_some() && !self.report.is_sound() {
            // What was asked for has been found.
            return Ok(());
        }
        self.unknown_settings(registered, &config).await?;
        let cases = Case::of(&provider.schema, self.settings.hints(&provider.name));
        self.cases(&provider.name, &cases, async |case: &Case| {
            provider.run(case).await
        })
        .await;
        self.is_alive()
    }

    /// What validation and functions say of the first cases. What is wrong with it is found later, with its case.
    async fn early(&self, registered: &Registered) -> Vec<String> {
        let mut heard = Vec::new();
        for kind in &registered.resources {
            let cases = Case::of(&kind.schema, self.settings.hints(&kind.name));
            for index in 0..self.settings.cases.div_ceil(EARLY_SHARE) {
                if let Some(tree) = self.tree(&cases, &kind.name, index) {
                    let said = kind.validate(&tree.current().first).await;
                    heard.push(format!("{said:?}"));
                }
            }
        }
        for function in &registered.functions {
            let calls = function.calls(self.settings.hints(&function.name));
            for index in 0..self.settings.cases.div_ceil(EARLY_SHARE) {
                if let Some(tree) = self.tree(&calls, &function.name, index) {
                    heard.push(format!("{:?}", function.call(&tree.current()).await));
                }
            }
        }
        heard
    }

    /// A provider block that is not known yet does no harm: what can be planned is, and the rest says why not.
    async fn unknown_settings(
        &mut self,
        registered: &Registered,
        config: &Value,
    ) -> Result<(), Finding> {
        let mut unknown = config.clone();
        for attribute in &registered.provider.schema.attributes {
            if !config.attr(&attribute.name).is_null() {
                unknown.set_attr(&attribute.name, Value::Unknown);
            }
        }
        if unknown == *config {
            return Ok(());
        }
        let step = "configuring with what is not known yet";
        let said = registered
            .provider
            .configure(&unknown)
            .await
            .map_err(|one| one.after(step))?;
        if said.has_errors() {
            return Err(Finding::new(Rule::UnknownSettingRefused, errors(&said)).after(step));
        }
        for kind in &registered.resources {
            let cases = Case::of(&kind.schema, self.settings.hints(&kind.name));
            for index in 0..self.settings.cases.div_ceil(UNKNOWN_SHARE) {
                let Some(tree) = self.tree(&cases, &kind.name, index) else {
                    continue;
                };
                let case = tree.current();
                let (_, found) = walk::run(kind, &case, Walk::ValidateAndPlan).await;
                if let Some(finding) = found {
                    return Err(finding.after(step));
                }
            }
        }
        Ok(())
    }

    fn check_share(&mut self, name: &str, walk: Walk) {
        let Some(tally) = self
            .report
            .tally(name)
            .filter(|_| self.settings.hints.contains_key(name))
        else {
            return;
        };
        let arrived = match walk {
            Walk::WithApply => tally.applied,
            Walk::ValidateAndPlan => tally.planned,
        };
        let failed = self
            .report
            .failures
            .iter()
            .any(|failure| failure.name == name);
        let share = f64::from(arrived) / f64::from(tally.cases.max(1));
        if !failed && share < self.settings.minimum_share && self.settings.case.is_none() {
            let seen = format!("{name}: {arrived} of {} did.", tally.cases);
            self.process(Finding::new(Rule::TooFewCases, seen));
        }
    }

    /// Runs the cases of one thing until one breaks a rule, which is then made smaller.
    async fn cases<C: fmt::Debug + fmt::Display>(
        &mut self,
        name: &str,
        cases: &BoxedStrategy<C>,
        run: impl AsyncFn(&C) -> (Reached, Option<Finding>),
    ) {
        if self.settings.only.as_ref().is_some_and(|only| only != name) {
            return;
        }
        let mut tally = Tally {
            name: name.to_owned(),
            ..Tally::default()
        };
        let mut failure = None;
        for index in 0..self.settings.cases {
            if self.settings.case.is_some_and(|case| case != index) {
                continue;
            }
            let Some(tree) = self.tree(cases, name, index) else {
                continue;
            };
            let case = tree.current();
            let (reached, found) = run(&case).await;
            tally.count(reached);
            if let Some(finding) = found {
                let (case, finding) =
                    smaller(tree, case, finding, self.settings.smaller_forms, run).await;
                failure = Some(Failure {
                    name: name.to_owned(),
                    seed: self.settings.seed,
                    case: index,
                    finding,
                    shown: case.to_string(),
                });
                break;
            }
        }
        self.report.tallies.push(tally);
        self.report.failures.extend(failure);
    }

    /// The case of a number, always the same one. A strategy that only maps never fails to make one.
    fn tree<C: fmt::Debug>(
        &self,
        cases: &BoxedStrategy<C>,
        name: &str,
        index: u32,
    ) -> Option<Box<dyn ValueTree<Value = C>>> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.settings.seed.to_le_bytes());
        seed[8..12].copy_from_slice(&index.to_le_bytes());
        // So that no two kinds share their cases; which one begins with which bytes does not matter.
        for (place, byte) in name.bytes().enumerate() {
            seed[12 + place % 20] ^= byte.wrapping_add(place as u8);
        }
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(config, rng);
        cases.new_tree(&mut runner).ok()
    }

    /// Ends the process and looks at what it left.
    async fn end(&mut self, host: Host) {
        let ended = match host.shutdown().await {
            Ok(ended) => ended,
            Err(error) => {
                if self.is_alive().is_ok() {
                    self.process(Finding::new(Rule::EndsBadly, error.to_string()));
                }
                return;
            }
        };
        if !ended.status.success() {
            self.process(Finding::new(Rule::EndsBadly, ended.status.to_string()));
        }
        if !ended.output.is_empty() {
            self.process(Finding::new(
                Rule::OutputUsed,
                format!("{:?}", ended.output),
            ));
        }
        let secret = ended
            .errors
            .lines()
            .find(|line| line.contains(super::generate::SECRET));
        if let Some(line) = secret {
            self.process(Finding::new(Rule::SecretTold, line));
        }
    }
}

/// Tries smaller forms of a failing case, as long as the same rule is broken.
async fn smaller<C: fmt::Debug>(
    mut tree: Box<dyn ValueTree<Value = C>>,
    case: C,
    finding: Finding,
    forms: u32,
    run: impl AsyncFn(&C) -> (Reached, Option<Finding>),
) -> (C, Finding) {
    let mut best = (case, finding);
    // A process that died answers nothing any more.
    if best.1.rule == Rule::CallBrokeOff || forms == 0 || !tree.simplify() {
        return best;
    }
    for _ in 0..forms {
        let case = tree.current();
        let (_, found) = run(&case).await;
        let goes_on = match found.filter(|finding| finding.rule == best.1.rule) {
            Some(finding) => {
                best = (case, finding);
                tree.simplify()
            }
            None => tree.complicate(),
        };
        if !goes_on {
            break;
        }
    }
    best
}
