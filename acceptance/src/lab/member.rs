//! One member: an Incus daemon with a folder and a network namespace of its own.
//!
//! Starting, killing and cutting off. Where a daemon runs is `enter.rs`; what a group of members agrees on is `cluster.rs`.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::Value;

use super::enter;
use super::record::Place;
use super::version::Incus;
use crate::observer::Observer;
use crate::process::{self, wait_until};

/// A member of a lab.
#[derive(Debug)]
pub struct Member {
    place: Place,
    incus: Incus,
    /// Variables that its daemon gets beside the usual ones.
    environment: Mutex<Vec<(String, String)>>,
    daemon: Mutex<Option<Child>>,
}

impl Member {
    pub(super) fn new(place: Place) -> Member {
        Member {
            incus: place.incus.unwrap_or_default(),
            place,
            environment: Mutex::default(),
            daemon: Mutex::new(None),
        }
    }

    /// Its name in the cluster.
    pub fn name(&self) -> &str {
        &self.place.name
    }

    /// Its address on the lab's own network.
    pub fn address(&self) -> &str {
        &self.place.address
    }

    /// Its network namespace.
    pub fn namespace(&self) -> &str {
        &self.place.namespace
    }

    /// Where it listens on the lab's own network, if it is clustered.
    pub fn https(&self) -> String {
        format!("https://{}:8443", self.place.address)
    }

    /// The release that it runs.
    pub fn incus(&self) -> Incus {
        self.incus
    }

    /// Its folder.
    pub fn directory(&self) -> &Path {
        &self.place.directory
    }

    /// Its network namespace, as a file.
    pub fn network(&self) -> PathBuf {
        Path::new("/run/netns").join(self.namespace())
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.place.directory.join("unix.socket")
    }

    /// Looks through its own socket.
    pub fn observer(&self) -> Observer {
        Observer::new(&self.socket())
    }

    /// Sets an environment variable of its daemon, or with `None` removes it; it counts from the next start on.
    pub fn set(&self, name: &str, value: Option<&str>) {
        let mut environment = self
            .environment
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        environment.retain(|(known, _)| known != name);
        environment.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Installs the machine anew: everything that it had is gone, and a fresh daemon answers.
    pub fn reinstall(&self) -> Result<()> {
        self.power_off()?;
        super::remove_folder(&self.place.directory)?;
        self.start()
    }

    /// Starts the daemon and waits until it answers.
    pub fn start(&self) -> Result<()> {
        self.launch()?;
        self.wait_ready()
    }

    /// Starts the daemon without waiting for it.
    pub(super) fn launch(&self) -> Result<()> {
        let launching = || format!("launching the daemon of {}", self.name());
        std::fs::create_dir_all(&self.place.directory).with_context(launching)?;
        let beside = |suffix: &str| self.place.directory.with_extension(suffix);
        let output = File::options()
            .create(true)
            .append(true)
            .open(beside("out"))
            .with_context(launching)?;
        let mut command = enter::daemon(&self.place, self.incus);
        let environment = self.environment.lock();
        let environment = environment.unwrap_or_else(PoisonError::into_inner).clone();
        command
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone().with_context(launching)?)
            .stderr(output)
            // Ctrl-C in the terminal is for the runner alone.
            .process_group(0);
        let daemon = command.spawn().with_context(launching)?;
        *self.daemon() = Some(daemon);
        Ok(())
    }

    /// Waits until the daemon is ready for work; one that has ended is not waited for.
    pub(super) fn wait_ready(&self) -> Result<()> {
        let observer = self.observer();
        let waited = wait_until("it is ready", Duration::from_secs(60), || {
            if let Some(status) = self.ended()? {
                bail!("it has ended ({status})");
            }
            Ok(observer.get("/internal/ready").is_ok())
        });
        waited.with_context(|| {
            format!(
                "waiting for the daemon of {}: {}",
                self.name(),
                self.place.last_words()
            )
        })
    }

    fn ended(&self) -> Result<Option<ExitStatus>> {
        let mut daemon = self.daemon();
        let ended = daemon.as_mut().map(Child::try_wait).transpose();
        Ok(ended.context("looking for its end")?.flatten())
    }

    /// Configures a fresh daemon by a preseed, as IncusOS does with that of an install seed: the client that comes with the
    /// release calls the same function. What IncusOS adds afterwards (its defaults, and a listener where the preseed has
    /// none) is not done. Only the newer release takes certificates. JSON is YAML.
    pub fn preseed(&self, preseed: &Value) -> Result<()> {
        let mut init = self.tool("incus", &["admin", "init", "--preseed"])?;
        process::run_with_input(&mut init, &preseed.to_string())
            .with_context(|| format!("applying a preseed to {}", self.name()))
            .map(drop)
    }

    /// Where an Incus client that is run beside the daemon keeps its certificate, key and remotes.
    pub fn client_folder(&self) -> PathBuf {
        self.place.directory.with_extension("client")
    }

    /// A program beside the daemon: in its network, and in the root file system that it sees.
    pub fn tool(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let daemon = self.daemon();
        let daemon = daemon
            .as_ref()
            .with_context(|| format!("the daemon of {} does not run", self.name()))?;
        let beside = format!("--target={}", daemon.id());
        let mut command = process::tool("nsenter", &[&beside, "--mount", "--net", program]);
        command
            .args(arguments)
            .env("INCUS_DIR", &self.place.directory)
            .env("INCUS_CONF", self.client_folder());
        Ok(command)
    }

    /// Runs a program where the daemon would run, also while it does not, and gives it this input.
    pub fn run(&self, words: &[&str], input: &str) -> Result<String> {
        let (program, arguments) = words.split_first().context("no command")?;
        let mut command = enter::program(&self.place, self.incus, program);
        command
            .args(arguments)
            .env("INCUS_CONF", self.client_folder());
        process::run_with_input(&mut command, input)
            .with_context(|| format!("running {} on {}", words.join(" "), self.name()))
    }

    /// Stops the daemon in peace, as its machine's init does.
    pub fn stop(&self) -> Result<()> {
        let Some(mut daemon) = self.daemon().take() else {
            return Ok(());
        };
        process::signal(daemon.id(), Signal::TERM);
        let what = format!("the daemon of {} has stopped", self.name());
        wait_until(&what, Duration::from_secs(60), || {
            Ok(daemon.try_wait()?.is_some())
        })
    }

    /// Kills the daemon alone; its containers run on.
    pub fn kill_daemon(&self) -> Result<()> {
        if let Some(mut daemon) = self.daemon().take() {
            process::end(&[daemon.id()])?;
            daemon.wait().context("collecting the daemon")?;
        }
        Ok(())
    }

    /// Ends everything of this member at once, as a power cut does; [`Member::start`] brings it back.
    pub fn power_off(&self) -> Result<()> {
        super::power_off(&self.place)?;
        self.collect();
        Ok(())
    }

    /// Waits until the cluster, asked through another member, lists this one with the given status.
    pub fn wait_listed(&self, through: &Observer, status: &str) -> Result<()> {
        let path = format!("/1.0/cluster/members/{}", self.name());
        // Incus gives a silent member 11 s at least, and may be busy with itself for as long again.
        wait_until(
            &format!("{} is listed {status}", self.name()),
            Duration::from_secs(60),
            || {
                Ok(through
                    .get(&path)
                    .is_ok_and(|member| member["status"] == status))
            },
        )
    }

    pub(super) fn collect(&self) {
        if let Some(mut daemon) = self.daemon().take() {
            // It was killed; only its exit code remains to be collected.
            let _ = daemon.wait();
        }
    }

    /// Forgets the daemon without ending it.
    pub(super) fn release(&self) {
        self.daemon().take();
    }

    fn daemon(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
