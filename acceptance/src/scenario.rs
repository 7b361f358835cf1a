//! What a scenario declares about itself, what it is given, and the runner (HO-CI-02 to HO-CI-05, HO-CI-23).
//!
//! The scenarios themselves are in `scenarios/`. A scenario is a function that returns an error when what it proves
//! does not hold; one whose needs this machine does not meet is skipped, and that is said, never counted as a pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::lab::{self, Incus, Lab, Registry, Tunnel};
use crate::proxy::Proxy;
use crate::tofu::{self, Programs};
use crate::workspace::Workspace;

/// What a scenario needs of the machine. What every scenario needs (root, Incus, OpenTofu) is not listed: without it
/// nothing runs at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// OpenTofu itself: what no other host of providers can do. Another host runs when `TOFU` names one.
    OpenTofu,
    /// Terraform on the PATH, a second host of providers.
    Terraform,
    /// The newer Incus in a root file system of its own: `acceptance/rootfs-7.0` makes it.
    Incus7,
    /// A registry of OCI images, which comes with the newer Incus.
    Registry,
    /// WireGuard in user space, and a kernel that gives it a network card.
    WireGuard,
    /// Loop devices: files that are disks to the kernel.
    LoopDevices,
}

impl Need {
    /// The tag that `--allow-skip` takes.
    pub fn tag(self) -> &'static str {
        match self {
            Need::OpenTofu => "opentofu",
            Need::Terraform => "terraform",
            Need::Incus7 => "incus-7.0",
            Need::Registry => "registry",
            Need::WireGuard => "wireguard",
            Need::LoopDevices => "loop-devices",
        }
    }

    fn is_met(self) -> bool {
        match self {
            Need::OpenTofu => tofu::is_opentofu(),
            Need::Terraform => tofu::on_path("terraform").is_some(),
            Need::Incus7 => Incus::V7.check().is_ok(),
            Need::Registry => Registry::check().is_ok(),
            Need::WireGuard => Tunnel::check().is_ok(),
            Need::LoopDevices => Path::new("/dev/loop-control").exists(),
        }
    }
}

/// A scenario and what it declares.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The behaviour, as a name.
    pub name: &'static str,
    /// What it proves, in a sentence.
    pub proves: &'static str,
    /// Where it belongs.
    pub group: &'static str,
    /// What it needs of the machine.
    pub needs: &'static [Need],
    /// About how long it takes, in seconds.
    pub seconds: u32,
    /// The scenario.
    pub run: fn(&Context) -> Result<()>,
}

/// What scenarios are given: the programs under test, and labs that several of them share.
#[derive(Debug)]
pub struct Context {
    /// The programs under test.
    pub programs: Programs,
    single: Mutex<Option<Arc<Lab>>>,
    cluster: Mutex<Option<Arc<Lab>>>,
}

impl Context {
    /// Nothing is brought up yet.
    pub fn new(programs: Programs) -> Context {
        Context {
            programs,
            single: Mutex::default(),
            cluster: Mutex::default(),
        }
    }

    /// A single server that scenarios share; each uses names of its own.
    pub fn single(&self) -> Result<Arc<Lab>> {
        shared(&self.single, "single", 1)
    }

    /// A cluster of three that scenarios share; nobody kills its members.
    pub fn cluster(&self) -> Result<Arc<Lab>> {
        shared(&self.cluster, "cluster", 3)
    }

    /// A user's folder for a scenario.
    pub fn workspace(&self, name: &str) -> Result<Workspace> {
        Workspace::new(&self.programs, name)
    }

    /// A proxy before the first member of a lab.
    pub fn proxy(&self, name: &str, lab: &Lab) -> Result<Proxy> {
        Proxy::start(&self.file(&format!("{name}.socket")), &lab.first().socket())
    }

    /// A file name in the folder of this run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.programs.folder.path().join(name)
    }
}

fn shared(place: &Mutex<Option<Arc<Lab>>>, slug: &str, members: usize) -> Result<Arc<Lab>> {
    let mut lab = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lab) = lab.as_ref() {
        return Ok(Arc::clone(lab));
    }
    let up = Arc::new(Lab::up(slug, members)?);
    *lab = Some(Arc::clone(&up));
    Ok(up)
}

/// How the runner was called.
#[derive(Debug, Default)]
pub struct Options {
    /// Print what the scenarios declare, and run none.
    pub describe: bool,
    /// A skip that is not allowed by name is a failure.
    pub strict: bool,
    /// Tags of needs that may be unmet in strict mode.
    pub allowed_skips: BTreeSet<String>,
    /// What is left for the test runner: filters, `--list`, `--test-threads`, …
    pub rest: Vec<String>,
}

impl Options {
    /// Reads the runner's own options and leaves the rest.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--describe" => options.describe = true,
                "--strict" => options.strict = true,
                "--allow-skip" => {
                    let tag = arguments.next().context("--allow-skip wants a tag")?;
                    options.allowed_skips.insert((*tag).to_owned());
                }
                other => options.rest.push(other.to_owned()),
            }
        }
        Ok(options)
    }
}

/// How many scenarios passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// They hold.
    pub passed: u64,
    /// They do not.
    pub failed: u64,
    /// Nobody knows, because the machine lacks something.
    pub skipped: u64,
    /// Skipped ones that strict mode does not allow.
    pub refused_skips: u64,
}

impl Tally {
    /// Counts those of another one as well.
    pub fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.refused_skips += other.refused_skips;
    }

    /// 0 pass, 1 an assertion failed or a skip was not allowed, 3 something was skipped; 2 is for [`process::Missing`].
    ///
    /// [`process::Missing`]: crate::process::Missing
    pub fn exit_code(self, strict: bool) -> u8 {
        match self {
            Tally { failed: 1.., .. } => 1,
            Tally {
                refused_skips: 1.., ..
            } if strict => 1,
            Tally { skipped: 1.., .. } if !strict => 3,
            _ => 0,
        }
    }
}

/// Prints what scenarios declare.
#[allow(clippy::print_stdout, reason = "this is what was asked for")]
pub fn describe(scenarios: &[Scenario]) {
    for scenario in scenarios {
        let needs: Vec<&str> = scenario.needs.iter().map(|need| need.tag()).collect();
        println!("{}", scenario.name);
        println!("  PROVES    {}", scenario.proves);
        println!("  GROUP     {}", scenario.group);
        println!(
            "  NEEDS     {}",
            if needs.is_empty() {
                "-".to_owned()
            } else {
                needs.join(", ")
            }
        );
        println!("  DURATION  about {} s", scenario.seconds);
    }
}

/// Runs scenarios and counts.
#[allow(clippy::print_stdout, reason = "this is the runner's way to speak")]
pub fn run(scenarios: &[Scenario], options: &Options) -> Result<Tally> {
    let arguments = Arguments::from_iter(
        std::iter::once("acceptance".to_owned()).chain(options.rest.iter().cloned()),
    );
    let context = if arguments.list {
        None
    } else {
        Some(Arc::new(prepare()?))
    };
    let unmet = |scenario: &Scenario| scenario.needs.iter().copied().find(|need| !need.is_met());
    let trials = scenarios
        .iter()
        .map(|scenario| trial(*scenario, context.clone(), unmet(scenario).is_some()))
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut tally = Tally {
        passed: conclusion.num_passed,
        failed: conclusion.num_failed,
        ..Tally::default()
    };
    if arguments.list {
        return Ok(tally);
    }
    for scenario in scenarios
        .iter()
        .filter(|scenario| is_chosen(scenario, &arguments))
    {
        if let Some(need) = unmet(scenario) {
            tally.skipped += 1;
            let allowed = options.allowed_skips.contains(need.tag());
            tally.refused_skips += u64::from(!allowed);
            println!(
                "SKIPPED {}: this machine has no {}",
                scenario.name,
                need.tag()
            );
        }
    }
    Ok(tally)
}

fn prepare() -> Result<Context> {
    lab::check_machine()?;
    let programs = Programs::find()?;
    eprintln!("Scenarios run with {}.", programs.told);
    Ok(Context::new(programs))
}

fn trial(scenario: Scenario, context: Option<Arc<Context>>, unmet: bool) -> Trial {
    let run = move || match &context {
        Some(context) => {
            (scenario.run)(context).map_err(|error| Failed::from(format!("{error:#}")))
        }
        None => Err(Failed::from("scenarios are only listed")),
    };
    Trial::test(scenario.name, run)
        .with_kind(scenario.group)
        .with_ignored_flag(unmet)
}

/// As the test runner chooses, to which the group belongs to the name.
fn is_chosen(scenario: &Scenario, arguments: &Arguments) -> bool {
    let with_group = format!("[{}] {}", scenario.group, scenario.name);
    let matches = |filter: &String| {
        if arguments.exact {
            scenario.name == filter || with_group == *filter
        } else {
            with_group.contains(filter.as_str())
        }
    };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-CI-02, HO-CI-03, HO-CI-04.
    #[test]
    fn the_exit_code_tells_failures_and_skips_apart() {
        let tally = |passed, failed, skipped, refused_skips| Tally {
            passed,
            failed,
            skipped,
            refused_skips,
        };
        for (tally, plain, strict) in [
            (tally(5, 0, 0, 0), 0, 0),
            (tally(5, 1, 0, 0), 1, 1),
            (tally(5, 1, 1, 1), 1, 1),
            (tally(5, 0, 1, 0), 3, 0),
            (tally(5, 0, 1, 1), 3, 1),
        ] {
            assert_eq!(
                (tally.exit_code(false), tally.exit_code(true)),
                (plain, strict),
                "{tally:?}"
            );
        }
    }

    #[test]
    fn options_of_the_runner_are_taken_out() {
        let options = Options::parse(&[
            "--strict",
            "network",
            "--allow-skip",
            "terraform",
            "--exact",
        ])
        .expect("good");
        assert!(options.strict && !options.describe);
        assert!(options.allowed_skips.contains("terraform"));
        assert_eq!(options.rest, ["network", "--exact"]);
        Options::parse(&["--allow-skip"]).expect_err("a tag is missing");
    }

    #[test]
    fn scenarios_are_chosen_by_name_or_group() {
        let scenario = crate::scenarios::all()[0];
        let chosen = |words: &[&str]| {
            let words = ["acceptance"].iter().chain(words);
            is_chosen(&scenario, &Arguments::from_iter(words))
        };
        let with_group = format!("[{}] {}", scenario.group, scenario.name);
        assert!(chosen(&[]) && chosen(&[scenario.group]) && chosen(&[scenario.name]));
        assert!(chosen(&["--exact", &with_group]) && !chosen(&["--exact", scenario.group]));
        assert!(!chosen(&["--skip", scenario.group]) && !chosen(&["no such group"]));
    }

    /// HO-CI-05, HO-CI-06.
    #[test]
    fn every_scenario_declares_itself() {
        let scenarios = crate::scenarios::all();
        let names: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len(), "two scenarios have one name");
        for scenario in scenarios {
            assert!(
                scenario.proves.ends_with('.') && scenario.proves.len() > 20,
                "{}",
                scenario.name
            );
            assert!(
                scenario.seconds > 0 && !scenario.group.is_empty(),
                "{}",
                scenario.name
            );
            let is_plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(
                scenario.name.chars().all(is_plain),
                "{} names an issue?",
                scenario.name
            );
        }
    }
}
