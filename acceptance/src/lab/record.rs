//! What a lab consists of, kept in a file of the lab's folder, so that anyone can take it down later.
//!
//! Written before anything else of the lab exists. Taking down is `teardown.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::version::Incus;
use super::{folder_of_labs, registry};
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
    /// Where somebody sits who reaches the members over the network; beside a tunnel nobody does.
    #[serde(default)]
    pub operator: Option<Place>,
    /// Where a registry of images is, once somebody wants one (`registry.rs`); beside a tunnel there is none.
    #[serde(default)]
    pub registry: Option<Place>,
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
    /// The release that it runs; an end of a tunnel, an operator and a registry run none.
    #[serde(default)]
    pub incus: Option<Incus>,
}

impl Place {
    /// The end of what its daemon printed, for an error about it.
    pub(super) fn last_words(&self) -> String {
        let text = fs::read_to_string(self.directory.with_extension("out")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" / ")
    }
}

/// A name, an address and a release.
type Named = (String, String, Option<Incus>);

impl Record {
    /// Makes the folder of a lab and writes down what it is going to consist of.
    pub fn create(slug: &str, members: &[Incus]) -> Result<Record> {
        let name = |(index, incus): (usize, &Incus)| {
            let address = format!("10.99.0.{}", 11 + index);
            (format!("m{}", index + 1), address, Some(*incus))
        };
        let members = members.iter().enumerate().map(name).collect();
        let beside = |name: &str, address: &str| (name.to_owned(), address.to_owned(), None);
        let operator = beside("operator", "10.99.0.2");
        let registry = beside("registry", registry::ADDRESS);
        Record::write_down(slug, members, [Some(operator), Some(registry)])
    }

    /// The same for a tunnel, whose ends are in two networks.
    pub(super) fn create_tunnel(slug: &str, ends: &[(&str, &str)]) -> Result<Record> {
        let names = ends
            .iter()
            .map(|(name, address)| ((*name).to_owned(), (*address).to_owned(), None));
        Record::write_down(slug, names.collect(), [None, None])
    }

    fn write_down(
        slug: &str,
        members: Vec<Named>,
        [operator, registry]: [Option<Named>; 2],
    ) -> Result<Record> {
        let pid = std::process::id();
        let id = format!("validate-{slug}-{pid}");
        let directory = folder_of_labs().join(&id);
        let place = |(name, address, incus): Named| Place {
            namespace: format!("validate-{slug}-{name}-{pid}"),
            directory: directory.join(&name),
            name,
            address,
            incus,
        };
        let record = Record {
            hub: format!("validate-{slug}-middle-{pid}"),
            members: members.into_iter().map(place).collect(),
            operator: operator.map(place),
            registry: registry.map(place),
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

    /// All places: the members, the operator's, and the registry's.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.members
            .iter()
            .chain(&self.operator)
            .chain(&self.registry)
    }

    /// The releases that the members run, each once.
    pub fn releases(&self) -> Vec<&'static str> {
        let incus = self.members.iter().filter_map(|place| place.incus);
        let mut releases: Vec<&str> = incus.map(Incus::number).collect();
        releases.sort_unstable();
        releases.dedup();
        releases
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
