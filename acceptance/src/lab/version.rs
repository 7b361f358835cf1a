//! The two releases of Incus that a lab can have, and where each is on this machine.
//!
//! `member.rs` enters the one that the lab's record names. How the newer one's root file system is made is
//! `acceptance/rootfs-7.0`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::process::Missing;
use crate::tofu::repository;

/// The daemon where Debian installs it.
pub(super) const INCUSD: &str = "/usr/libexec/incus/incusd";

/// Names the release of labs that may have either.
const CHOICE: &str = "LAB_INCUS";

/// A release of Incus with long support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Incus {
    /// 6.0, installed on the machine itself.
    #[default]
    V6,
    /// 7.0, in a root file system of its own, because its libc is newer than the machine's.
    V7,
}

impl Incus {
    /// What `LAB_INCUS` names; 6.0 without it.
    pub fn chosen() -> Result<Incus> {
        Incus::named(std::env::var(CHOICE).unwrap_or_default().as_str())
    }

    fn named(name: &str) -> Result<Incus> {
        match name {
            "" | "6.0" => Ok(Incus::V6),
            "7.0" => Ok(Incus::V7),
            other => bail!("{CHOICE} is 6.0 or 7.0, not {other:?}"),
        }
    }

    /// Its number, as `LAB_INCUS` takes it.
    pub fn number(self) -> &'static str {
        match self {
            Incus::V6 => "6.0",
            Incus::V7 => "7.0",
        }
    }

    /// The root file system that its daemons run in; `None` is the machine's own.
    pub(super) fn tree(self) -> Option<PathBuf> {
        match self {
            Incus::V6 => None,
            Incus::V7 => Some(repository().join("target/incus-7.0")),
        }
    }

    /// Its daemon, seen from the machine.
    pub fn daemon(self) -> PathBuf {
        self.tree().map_or_else(
            || PathBuf::from(INCUSD),
            |tree| tree.join(INCUSD.trim_start_matches('/')),
        )
    }

    /// An error of the kind [`Missing`] where the machine does not have it.
    pub fn check(self) -> Result<()> {
        let daemon = self.daemon();
        if daemon.exists() {
            return Ok(());
        }
        let from = match self {
            Incus::V6 => "acceptance/prerequisites installs incus-base",
            Incus::V7 => "acceptance/rootfs-7.0 makes it",
        };
        Err(Missing(format!("{} ({from})", daemon.display())).into())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_release_is_chosen_by_its_number() {
        for (name, expected) in [("", Incus::V6), ("6.0", Incus::V6), ("7.0", Incus::V7)] {
            assert_eq!(Incus::named(name).expect("a release"), expected, "{name:?}");
        }
        let error = Incus::named("7").expect_err("no such release");
        assert!(error.to_string().contains("6.0 or 7.0"), "{error}");
    }

    #[test]
    fn each_release_has_a_daemon_of_its_own() {
        assert_eq!(Incus::V6.daemon(), Path::new(INCUSD));
        assert!(
            Incus::V7
                .daemon()
                .ends_with("incus-7.0/usr/libexec/incus/incusd")
        );
    }
}
