//! The folder of one scenario: what a user has on disk, and the commands that a user types there.
//!
//! Everything is isolated: home, plugin configuration, data. What the commands should say is the scenario's business.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::interrupt::Running;
use crate::process::{self, wait_until};
use crate::tofu::Programs;

/// A command that takes longer hangs; nothing here is slower than a rollout with its deadline.
const LONGEST_COMMAND: Duration = Duration::from_secs(240);

/// Where configurations find the provider.
const HOMELAB: &str = "homelab-ops/homelab";

/// Where they find the toy. With its host, so that every program takes it from the same one.
const TOY: &str = "registry.opentofu.org/example/toy";

/// A user's folder.
#[derive(Debug)]
pub struct Workspace {
    tofu: PathBuf,
    folder: PathBuf,
    /// Name and source of the provider that `main.tf` requires.
    provider: (&'static str, &'static str),
    environment: Vec<(String, String)>,
    /// The network namespace to type in, if it is not the machine's own.
    namespace: Option<String>,
}

/// What a command did.
#[derive(Debug)]
pub struct Run {
    /// What was typed.
    pub typed: String,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it printed, both streams.
    pub output: String,
    /// How long it took.
    pub took: Duration,
}

/// A command that still runs.
#[derive(Debug)]
pub struct Started {
    typed: String,
    child: Child,
    output: PathBuf,
    since: Instant,
    _running: Running,
}

impl Workspace {
    /// Makes a folder for a scenario; it goes away with the run's folder.
    pub fn new(programs: &Programs, name: &str) -> Result<Workspace> {
        let folder = programs.folder.path().join("scenarios").join(name);
        let making = || format!("making {}", folder.display());
        fs::create_dir_all(folder.join("home")).with_context(making)?;
        let provider = programs.folder.path().display();
        let settings = format!(
            "provider_installation {{\n  dev_overrides {{\n    \"{HOMELAB}\" = \"{provider}\"\n    \"{TOY}\" = \"{provider}\"\n  }}\n  \
             direct {{}}\n}}\n"
        );
        fs::write(folder.join("home/tofu.rc"), settings).with_context(making)?;
        Ok(Workspace {
            tofu: programs.tofu.clone(),
            folder,
            provider: ("homelab", HOMELAB),
            environment: Vec::new(),
            namespace: None,
        })
    }

    /// The same for a scenario with the toy provider.
    pub fn with_toy(programs: &Programs, name: &str) -> Result<Workspace> {
        programs.toy()?;
        let workspace = Workspace::new(programs, name)?;
        Ok(Workspace {
            provider: ("toy", TOY),
            ..workspace
        })
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Types all further commands inside a network namespace.
    pub fn inside(&mut self, namespace: &str) {
        self.namespace = Some(namespace.to_owned());
    }

    /// Sets an environment variable for all further commands.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Writes `main.tf`: the provider requirement, and this.
    pub fn main(&self, text: &str) -> Result<()> {
        let (name, source) = self.provider;
        let requirement = format!(
            "terraform {{\n  required_providers {{\n    {name} = {{ source = \"{source}\" }}\n  }}\n}}\n"
        );
        self.write("main.tf", &format!("{requirement}\n{text}"))
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.folder.join(name), text).with_context(|| format!("writing {name}"))
    }

    /// Types a command and waits for its end.
    pub fn run(&self, arguments: &[&str]) -> Result<Run> {
        self.start(arguments)?.wait()
    }

    /// Types a command.
    pub fn start(&self, arguments: &[&str]) -> Result<Started> {
        let typed = format!("tofu {}", arguments.join(" "));
        let output = tempfile::Builder::new()
            .prefix("output-")
            .tempfile_in(&self.folder)?
            .into_temp_path()
            .keep()?;
        let file = File::create(&output).context("keeping the output")?;
        let mut command = match &self.namespace {
            None => Command::new(&self.tofu),
            Some(namespace) => {
                let mut inside = Command::new("nsenter");
                inside.arg(format!("--net=/run/netns/{namespace}"));
                inside.arg(&self.tofu);
                inside
            }
        };
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.folder.join("home"))
            .env("TF_CLI_CONFIG_FILE", self.folder.join("home/tofu.rc"));
        command
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_IN_AUTOMATION", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        // A group of its own, as a shell gives it: Ctrl-C then reaches OpenTofu and the provider, and not us.
        let child = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("typing {typed}"))?;
        Ok(Started {
            typed,
            _running: Running::note(child.id()),
            child,
            output,
            since: Instant::now(),
        })
    }

    /// `tofu validate`.
    pub fn validate(&self) -> Result<Run> {
        self.run(&["validate", "-no-color"])
    }

    /// `tofu plan`, saved to a file: exit code 0 without changes, 2 with.
    pub fn plan(&self) -> Result<Run> {
        self.run(&[
            "plan",
            "-no-color",
            "-input=false",
            "-detailed-exitcode",
            "-out=plan",
        ])
    }

    /// `tofu apply` without asking.
    pub fn apply(&self) -> Result<Run> {
        self.run(&["apply", "-no-color", "-input=false", "-auto-approve"])
    }

    /// Starts `tofu apply` without asking.
    pub fn start_apply(&self) -> Result<Started> {
        self.start(&["apply", "-no-color", "-input=false", "-auto-approve"])
    }

    /// `tofu destroy` without asking.
    pub fn destroy(&self) -> Result<Run> {
        self.run(&["destroy", "-no-color", "-input=false", "-auto-approve"])
    }

    /// `tofu import`.
    pub fn import(&self, address: &str, id: &str) -> Result<Run> {
        self.run(&["import", "-no-color", "-input=false", address, id])
    }

    /// A plan that must find nothing to do.
    pub fn expect_empty_plan(&self) -> Result<Run> {
        let plan = self.plan()?;
        ensure!(
            plan.code == Some(0),
            "expected an empty plan: {}",
            plan.told()
        );
        Ok(plan)
    }

    /// A plan that must find something to do.
    pub fn expect_changes(&self) -> Result<Run> {
        let plan = self.plan()?;
        ensure!(
            plan.code == Some(2),
            "expected a plan with changes: {}",
            plan.told()
        );
        Ok(plan)
    }

    /// What is in the file of the last saved plan: a compressed archive, in which nothing could be found as it is.
    pub fn plan_file(&self) -> Result<String> {
        let file = self.folder.join("plan");
        process::run(&mut process::tool(
            "busybox",
            &["unzip", "-p", &file.to_string_lossy()],
        ))
    }

    /// The last saved plan as JSON.
    pub fn planned(&self) -> Result<Value> {
        self.show(&["show", "-json", "plan"])
    }

    /// The change that the last saved plan has for an address.
    pub fn planned_change(&self, address: &str) -> Result<Value> {
        let plan = self.planned()?;
        let changes = plan["resource_changes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let change = changes
            .into_iter()
            .find(|change| change["address"] == address);
        Ok(change.with_context(|| format!("the plan has nothing for {address}"))?["change"].take())
    }

    /// The state as JSON.
    pub fn state(&self) -> Result<Value> {
        self.show(&["show", "-json"])
    }

    /// The attributes that the state holds for an address; `None` when it has none.
    pub fn state_of(&self, address: &str) -> Result<Option<Value>> {
        let state = self.state()?;
        let resources = state["values"]["root_module"]["resources"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let resource = resources
            .into_iter()
            .find(|resource| resource["address"] == address);
        Ok(resource.map(|mut resource| resource["values"].take()))
    }

    /// The attributes of an address that must be in the state.
    pub fn attributes(&self, address: &str) -> Result<Value> {
        self.state_of(address)?
            .with_context(|| format!("the state has no {address}"))
    }

    fn show(&self, arguments: &[&str]) -> Result<Value> {
        let run = self.run(arguments)?.succeeded()?;
        // Warnings of the command line may come first; the document is one line.
        let line = run
            .output
            .lines()
            .find(|line| line.starts_with('{'))
            .unwrap_or("{}");
        serde_json::from_str(line)
            .with_context(|| format!("understanding what {} printed", run.typed))
    }
}

impl Started {
    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// Whether it has come to its end.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self
            .child
            .try_wait()
            .context("looking for its end")?
            .is_some())
    }

    /// Presses Ctrl-C: everything in the group gets SIGINT.
    pub fn interrupt(&self) -> Result<()> {
        let group = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .context("a process id")?;
        rustix::process::kill_process_group(group, Signal::INT).context("pressing Ctrl-C")
    }

    /// Kills the command and everything below it, at once.
    pub fn kill(self) -> Result<Run> {
        process::end(&process::with_descendants(&[self.child.id()]))?;
        self.wait()
    }

    /// Waits for its end; a command that hangs is killed and an error.
    pub fn wait(mut self) -> Result<Run> {
        let mut code = None;
        let child = &mut self.child;
        let ended = wait_until(&format!("{} ends", self.typed), LONGEST_COMMAND, || {
            let status = child.try_wait()?;
            code = status.and_then(|status| status.code());
            Ok(status.is_some())
        });
        if let Err(error) = ended {
            process::end(&process::with_descendants(&[self.child.id()]))?;
            self.child.wait()?;
            bail!("{error:#}; it printed:\n{}", self.printed());
        }
        Ok(Run {
            output: self.printed(),
            took: self.since.elapsed(),
            typed: self.typed,
            code,
        })
    }
}

impl Run {
    /// An error that shows everything, unless the command succeeded.
    pub fn succeeded(self) -> Result<Run> {
        ensure!(self.code == Some(0), "expected success: {}", self.told());
        Ok(self)
    }

    /// An error that shows everything, unless the command failed with a diagnostic.
    pub fn failed(self) -> Result<Run> {
        ensure!(self.code == Some(1), "expected an error: {}", self.told());
        Ok(self)
    }

    /// Checks that it printed this, wherever its lines were broken.
    pub fn says(self, text: &str) -> Result<Run> {
        ensure!(
            flat(&self.output).contains(&flat(text)),
            "expected {text:?}: {}",
            self.told()
        );
        Ok(self)
    }

    /// Checks that it did not print this.
    pub fn says_not(self, text: &str) -> Result<Run> {
        ensure!(
            !flat(&self.output).contains(&flat(text)),
            "did not expect {text:?}: {}",
            self.told()
        );
        Ok(self)
    }

    /// What it printed from its first error on; everything if there is none.
    pub fn error(&self) -> &str {
        let start = self.output.find("Error: ").unwrap_or(0);
        self.output[start..].trim_end()
    }

    /// The command, its exit code, and what matters of its output.
    pub fn told(&self) -> String {
        let code = self
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        let output = if self.code == Some(1) {
            self.error()
        } else {
            &self.output
        };
        format!(
            "{} ended with {code} after {:.1?}:\n{output}",
            self.typed, self.took
        )
    }
}

/// Diagnostics are broken into lines with a bar before each; what counts is the words.
fn flat(text: &str) -> String {
    let words = text
        .split_whitespace()
        .filter(|word| !matches!(*word, "│" | "╷" | "╵"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_the_lines_break() {
        let output = "╷\n│ Error: a range that\n│ holds nobody\n╵\n".to_owned();
        let run = || Run {
            typed: "tofu".into(),
            code: Some(1),
            output: output.clone(),
            took: Duration::ZERO,
        };
        run().says("a range that holds nobody").expect("said");
        run()
            .says("a range that holds somebody")
            .expect_err("not said");
        run().says_not("holds nobody").expect_err("said after all");
        run().failed().expect("failed");
        run().succeeded().expect_err("did not succeed");
    }
}
