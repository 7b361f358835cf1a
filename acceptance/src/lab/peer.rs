//! One end of a tunnel: WireGuard in user space, in a network namespace of its own.
//!
//! Two of them make a `tunnel.rs`. The kernel's own WireGuard would do the same, but a machine that only tests may have
//! none.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::network::ip;
use super::record::Place;
use crate::process::{run, run_with_input, tool, wait_until};

/// WireGuard as a program.
pub(super) const DAEMON: &str = "wireguard-go";

/// The program that configures it.
pub(super) const TOOL: &str = "wg";

/// Its network card.
const CARD: &str = "wg0";

/// The daemon's socket is at a fixed place below `/run`, so that each daemon gets a `/run` of its own.
const ENTER: &str = r#"
mount --make-rprivate /
exec nsenter --net="/run/netns/$1" sh -ec '
    mount -t tmpfs tmpfs /run
    exec "$1" --foreground "$2"
' sh "$2" "$3"
"#;

/// One end of a tunnel.
#[derive(Debug)]
pub struct Peer {
    place: Place,
    daemon: Option<Child>,
}

impl Peer {
    pub(super) fn new(place: Place) -> Peer {
        Peer {
            place,
            daemon: None,
        }
    }

    /// `hub` or `machine`.
    pub fn name(&self) -> &str {
        &self.place.name
    }

    /// Its address outside the tunnel.
    pub fn address(&self) -> &str {
        &self.place.address
    }

    /// Its network namespace, as a file.
    pub fn network(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.place.namespace)
    }

    pub(super) fn start(&mut self) -> Result<()> {
        let starting = || format!("starting WireGuard at the {}", self.place.name);
        let output = File::create(self.place.directory.with_extension("out"));
        let output = output.with_context(starting)?;
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-ec", ENTER, "sh"])
            .args([self.place.namespace.as_str(), DAEMON, CARD])
            .stdin(Stdio::null())
            .stdout(output.try_clone().with_context(starting)?)
            .stderr(output)
            // Ctrl-C in the terminal is for the runner alone.
            .process_group(0);
        let mut daemon = command.spawn().with_context(starting)?;
        let socket = format!("/proc/{}/root/run/wireguard/{CARD}.sock", daemon.id());
        let waited = wait_until("it listens", Duration::from_secs(10), || {
            if let Some(status) = daemon.try_wait()? {
                bail!("it has ended ({status})");
            }
            Ok(std::fs::exists(&socket).unwrap_or(false))
        });
        waited.with_context(starting)?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Gives it a configuration as `wg setconf` takes it (no addresses in it), in place of the one that it had; then its
    /// address in the tunnel, such as `10.100.0.1/24`, and the largest packet in bytes.
    pub fn configure(&self, configuration: &str, address: &str, mtu: u16) -> Result<()> {
        let configuring = || format!("configuring WireGuard at the {}", self.name());
        let mut setting = self.tool(&["setconf", CARD, "/dev/stdin"])?;
        run_with_input(&mut setting, configuration).with_context(configuring)?;
        let namespace = self.place.namespace.as_str();
        let (card, mtu) = (["dev", CARD], mtu.to_string());
        let replace = ["-n", namespace, "address", "replace", address];
        ip(&[&replace[..], &card].concat()).with_context(configuring)?;
        let set = ["-n", namespace, "link", "set", CARD, "mtu", &mtu, "up"];
        ip(&set).with_context(configuring)
    }

    /// Where this end sees the others, by public key: `(none)` until one has shown itself.
    pub fn endpoints(&self) -> Result<String> {
        run(&mut self.tool(&["show", CARD, "endpoints"])?)
    }

    fn tool(&self, arguments: &[&str]) -> Result<Command> {
        let daemon = self.daemon.as_ref().context("WireGuard does not run")?;
        let beside = format!("--target={}", daemon.id());
        let mut command = tool("nsenter", &[&beside, "--mount", "--net", TOOL]);
        command.args(arguments);
        Ok(command)
    }

    pub(super) fn collect(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            // It was killed; only its exit code remains to be collected.
            let _ = daemon.wait();
        }
    }
}
