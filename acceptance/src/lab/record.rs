//! What a lab consists of, kept in a file of the lab's folder, so that anyone can take it down later.
//!
//! Written before anything else of the lab exists. Taking down is `teardown.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::folder_of_labs;
use super::version::Incus;
use crate::process;

const FILE: &str = "lab.json";

/// A lab as it is written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// `validate-<slug>-<pid>` of the runner.
    pub id: String,
    /// Everything that the lab has on disk.
    pub directory: PathBuf,
    /// The namespace that the members meet in: with a bridge, or with a router.
    pub hub: String,
    /// The members, or the ends of a tunnel.
    pub members: Vec<Place>,
    /// The release that the members run; ends of a tunnel run none.
    pub incus: Option<Incus>,
    /// Whether it is meant to outlive the process that set it up.
    #[serde(default)]
    pub kept: bool,
    /// The process that set the lab up, and when that process started.
    pub runner: (u32, u64),
}

/// Where one member lives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Its name: in a cluster `m1`, `m2`, …
    pub name: String,
    /// Its network namespace.
    pub namespace: String,
    /// Its folder; of a member, its `INCUS_DIR`.
    pub directory: PathBuf,
    /// Its address on the network of the lab.
    pub address: String,
}

impl Record {
    /// Makes the folder of a lab and writes down what it is going to consist of.
    pub fn create(slug: &str, members: usize, incus: Incus) -> Result<Record> {
        let names = (1..=members).map(|number| {
            let address = format!("10.99.0.{}", 10 + number);
            (format!("m{number}"), address)
        });
        Record::write_down(slug, names.collect(), Some(incus))
    }

    /// The same for a tunnel, whose ends are in two networks.
    pub(super) fn create_tunnel(slug: &str, ends: &[(&str, &str)]) -> Result<Record> {
        let names = ends
            .iter()
            .map(|(name, address)| ((*name).to_owned(), (*address).to_owned()));
        Record::write_down(slug, names.collect(), None)
    }

    fn write_down(
        slug: &str,
        names: Vec<(String, String)>,
        incus: Option<Incus>,
    ) -> Result<Record> {
        let pid = std::process::id();
        let id = format!("validate-{slug}-{pid}");
        let directory = folder_of_labs().join(&id);
        let place = |(name, address): (String, String)| Place {
            namespace: format!("validate-{slug}-{name}-{pid}"),
            directory: directory.join(&name),
            name,
            address,
        };
        let record = Record {
            hub: format!("validate-{slug}-middle-{pid}"),
            members: names.into_iter().map(place).collect(),
            incus,
            kept: false,
            runner: (pid, process::started_at(pid).unwrap_or_default()),
            id,
            directory: directory.clone(),
        };
        fs::create_dir(&directory).with_context(|| format!("making {}", directory.display()))?;
        record.write()?;
        Ok(record)
    }

    /// Writes the record into the lab's folder.
    pub(super) fn write(&self) -> Result<()> {
        fs::write(self.directory.join(FILE), serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("writing down the lab in {}", self.directory.display()))
    }

    /// Reads the record in a lab's folder.
    pub fn read(directory: &Path) -> Result<Record> {
        let path = directory.join(FILE);
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("understanding {}", path.display()))
    }

    /// Every lab on this machine that still has a record.
    pub fn all() -> Vec<Record> {
        let Ok(entries) = fs::read_dir(folder_of_labs()) else {
            return Vec::new();
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("validate-"))
            .filter_map(|entry| Record::read(&entry.path()).ok())
            .collect()
    }

    /// Whether the process that set the lab up still runs.
    pub fn runner_is_alive(&self) -> bool {
        let (pid, started_at) = self.runner;
        process::is_alive(pid) && process::started_at(pid) == Some(started_at)
    }
}
