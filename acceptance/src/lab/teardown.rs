//! Takes a lab down from its record alone: processes, namespaces, control groups, files.
//!
//! Used at the end of a run, after a failure, on Ctrl-C, and by the guard after a kill. It may run twice, also at once.
//! A process belongs to a member when it is in the member's network namespace, descends from one that is, or has its
//! root file system below the member's folder (the init of a container whose daemon is gone). Never by its name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::record::{Place, Record};
use super::remove_folder;
use crate::process::{self, run, tool, wait_until};

/// How often processes are looked for again; a dying daemon may just have started another one.
const ROUNDS: usize = 10;

pub(super) fn take_down(record: &Record) -> Result<()> {
    let mut failures = Vec::new();
    let mut attempt =
        |result: Result<()>| failures.extend(result.err().map(|error| format!("{error:#}")));
    for place in record.places() {
        attempt(power_off(place));
    }
    remove_pivots();
    for namespace in record
        .places()
        .map(|place| &place.namespace)
        .chain([&record.hub])
    {
        attempt(delete_namespace(namespace));
    }
    if failures.is_empty() {
        // Last, because it holds the record that a further attempt needs.
        return remove_folder(&record.directory);
    }
    bail!("taking down {}: {}", record.id, failures.join("; "))
}

/// Ends every process of a member.
pub(super) fn power_off(place: &Place) -> Result<()> {
    for _ in 0..ROUNDS {
        let processes = processes(place);
        if processes.is_empty() {
            return Ok(());
        }
        let groups: Vec<PathBuf> = processes
            .iter()
            .flat_map(|pid| container_groups(*pid))
            .collect();
        process::end(&processes).with_context(|| format!("powering off {}", place.name))?;
        remove_groups(groups);
    }
    bail!("powering off {}: new processes keep coming", place.name)
}

fn processes(place: &Place) -> Vec<u32> {
    let namespace = fs::metadata(format!("/run/netns/{}", place.namespace)).ok();
    let namespace = namespace.map(|file| (file.dev(), file.ino()));
    let folder = format!("{}/", place.directory.display());
    let own: Vec<u32> = process::all()
        .into_iter()
        .filter(|pid| process::is_alive(*pid))
        .filter(|pid| {
            (namespace.is_some() && network_of(*pid) == namespace) || has_root_below(*pid, &folder)
        })
        .collect();
    process::with_descendants(&own)
}

fn network_of(pid: u32) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{pid}/ns/net"))
        .ok()
        .map(|file| (file.dev(), file.ino()))
}

/// Whether the root of the process's own mounts is a folder below this one.
fn has_root_below(pid: u32, folder: &str) -> bool {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(3);
        let (source, point) = (fields.next(), fields.next());
        point == Some("/") && source.is_some_and(|source| source.starts_with(folder))
    })
}

/// The control groups that were made for the container of a process.
fn container_groups(pid: u32) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let group = path
                .split('/')
                .find(|segment| segment.starts_with("lxc."))?;
            Some((
                controllers.trim_start_matches("name=").to_owned(),
                group.to_owned(),
            ))
        })
        .flat_map(|(hierarchy, group)| {
            let root = Path::new("/sys/fs/cgroup");
            let hierarchies = if hierarchy.is_empty() {
                vec![root.join("unified"), root.to_owned()]
            } else {
                vec![root.join(hierarchy)]
            };
            hierarchies
                .into_iter()
                .map(move |hierarchy| hierarchy.join(&group))
        })
        .collect()
}

/// Best effort: an empty group that remains costs nothing, and one that is not empty is not ours to remove.
fn remove_groups(mut groups: Vec<PathBuf>) {
    groups.sort();
    groups.dedup();
    let _ = wait_until("control groups are empty", Duration::from_secs(2), || {
        groups.retain(|group| !remove_group(group));
        Ok(groups.is_empty())
    });
}

fn remove_group(group: &Path) -> bool {
    let Ok(entries) = fs::read_dir(group) else {
        return true;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path());
        }
    }
    fs::remove_dir(group).is_ok()
}

/// liblxc parks its monitors in a group of this name and leaves it behind. One that is in use cannot be removed.
fn remove_pivots() {
    for hierarchy in fs::read_dir("/sys/fs/cgroup")
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
    {
        let _ = fs::remove_dir(hierarchy.path().join("lxc.pivot"));
    }
    let _ = fs::remove_dir("/sys/fs/cgroup/lxc.pivot");
}

fn delete_namespace(namespace: &str) -> Result<()> {
    if !Path::new("/run/netns").join(namespace).exists() {
        return Ok(());
    }
    match run(&mut tool("ip", &["netns", "delete", namespace])) {
        // Somebody else was faster.
        Err(_) if !Path::new("/run/netns").join(namespace).exists() => Ok(()),
        other => other.map(drop),
    }
}
