//! A lab: one to five real Incus daemons on this machine, each in a network namespace of its own.
//!
//! ```text
//! Lab::up → record.rs (what exists, written before it exists) → network.rs → member.rs → cluster.rs → image.rs
//!                                                                            └ enter.rs: which Incus (version.rs), where
//! Lab::registry → registry.rs → oci.rs, when OCI images are wanted
//! Lab::lan → lan.rs, when workloads are to be reached from elsewhere than their member
//! Tunnel::up → the same with peer.rs, which runs WireGuard, instead of member.rs and what comes after it
//! Lab::down, Ctrl-C, guard.rs after a kill → teardown.rs, which needs nothing but the record
//! ```
//!
//! Nothing is ever put into the machine's own network namespace, and nothing outside the lab's own folder, namespaces
//! and processes is touched. What scenarios do with a lab is not here.

mod bridge;
mod cluster;
mod enter;
mod exchange;
mod files;
pub mod guard;
mod image;
mod lan;
mod member;
mod network;
mod oci;
mod open;
mod peer;
mod record;
mod registry;
mod teardown;
mod tunnel;
mod version;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::observer::Observer;
use crate::process::Missing;

pub use bridge::Bridge;
pub use exchange::Exchange;
pub use files::Files;
pub use image::{Archive, BROKEN, COLLECTOR, VERSION_1, VERSION_2};
pub use lan::Lan;
pub use member::Member;
pub use oci::Kind;
pub use peer::Peer;
pub use record::Record;
pub use registry::Registry;
pub use tunnel::{Keypair, Tunnel};
pub use version::Incus;

/// The pool on every member; it is also the provider's default.
pub const POOL: &str = "local";

/// The managed network on every member, for workloads that ask for a network card.
pub const NETWORK: &str = "lab0";

/// The labs that this process set up and must take down.
static LIVE: Mutex<Vec<Record>> = Mutex::new(Vec::new());

/// A running lab; dropping it takes it down.
#[derive(Debug)]
pub struct Lab {
    record: Record,
    members: Vec<Member>,
    guard: Option<guard::Guard>,
}

impl Lab {
    /// Brings a lab up and returns when every member answers and holds the images. On an error nothing remains. The
    /// release is the one that `LAB_INCUS` names.
    pub fn up(slug: &str, members: usize) -> Result<Lab> {
        Lab::up_with(slug, members, Incus::chosen()?)
    }

    /// The same with this release.
    pub fn up_with(slug: &str, members: usize, incus: Incus) -> Result<Lab> {
        Lab::make(slug, &vec![incus; members], |lab| lab.furnish(members))
    }

    /// The same with a stranger beside it: on the network of the lab, and a cluster of its own. It is the last of the
    /// members.
    pub fn up_beside_a_stranger(slug: &str, members: usize) -> Result<Lab> {
        let daemons = vec![Incus::chosen()?; members + 1];
        Lab::make(slug, &daemons, |lab| {
            lab.furnish(members)?;
            cluster::bootstrap(&lab.members[members])
        })
    }

    /// The same with a fresh daemon beside it, which is in no cluster. It is the last of the members.
    pub fn up_beside_a_machine(slug: &str, members: usize, incus: Incus) -> Result<Lab> {
        let daemons = vec![incus; members + 1];
        Lab::make(slug, &daemons, |lab| lab.furnish(members))
    }

    /// Fresh daemons and nothing else: no cluster, no pool, no network, no image.
    pub fn up_bare(slug: &str, members: usize, incus: Incus) -> Result<Lab> {
        Lab::up_mixed(slug, &vec![incus; members])
    }

    /// The same with a release for each.
    pub fn up_mixed(slug: &str, members: &[Incus]) -> Result<Lab> {
        Lab::make(slug, members, |_| Ok(()))
    }

    fn make(
        slug: &str,
        daemons: &[Incus],
        furnish: impl FnOnce(&Lab) -> Result<()>,
    ) -> Result<Lab> {
        ensure!(
            (1..=6).contains(&daemons.len()),
            "a lab has one to six daemons, not {}",
            daemons.len()
        );
        check_machine()?;
        daemons.iter().try_for_each(|incus| incus.check())?;
        let record = Record::create(slug, daemons)?;
        let members = record.members.iter().cloned().map(Member::new);
        let mut lab = Lab {
            guard: None,
            members: members.collect(),
            record,
        };
        // From here on an early return drops the lab, which takes it down.
        lab.guard = Some(begin(&lab.record)?);
        lab.start()
            .and_then(|()| furnish(&lab))
            .with_context(|| format!("bringing up the lab {}", lab.record.id))?;
        Ok(lab)
    }

    fn start(&self) -> Result<()> {
        {
            // The kernel's and iproute2's first steps with namespaces do not bear company.
            let _alone = lock("network")?;
            network::create(&self.record)?;
        }
        for member in &self.members {
            member.launch()?;
        }
        self.members.iter().try_for_each(Member::wait_ready)
    }

    /// Makes a cluster of the first members, with pool, network and images.
    fn furnish(&self, own: usize) -> Result<()> {
        let images = image::build(&self.record.directory)?;
        cluster::form(&self.members[..own])?;
        image::import(&self.observer(), &images)
    }

    /// Makes a cluster of the first of its daemons, without pool, network and images.
    pub fn cluster(&self, members: usize) -> Result<()> {
        cluster::unite(&self.members[..members])
    }

    /// Joins one more of its daemons to the first one's cluster, with as few requests as that takes.
    pub fn join(&self, member: &Member) -> Result<()> {
        cluster::join(self.first(), member)?;
        member.wait_listed(&self.observer(), "Online")
    }

    /// The name of the lab, unique on the machine.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Everything that the lab has on disk.
    pub fn directory(&self) -> &Path {
        &self.record.directory
    }

    /// The members, the first one first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The first member.
    pub fn first(&self) -> &Member {
        &self.members[0]
    }

    /// A member by its name.
    pub fn member(&self, name: &str) -> Result<&Member> {
        self.members
            .iter()
            .find(|member| member.name() == name)
            .with_context(|| format!("no member {name}"))
    }

    /// The network namespace of somebody who reaches the members over the network and is none of them.
    pub fn operator(&self) -> Result<&str> {
        Ok(&self.operators_place()?.namespace)
    }

    /// From now on the operator takes itself for this member's address, so that a proxy can listen there. Everybody else
    /// goes on reaching the member.
    pub fn divert(&self, member: &Member) -> Result<()> {
        network::add_address(self.operators_place()?, member.address())
    }

    fn operators_place(&self) -> Result<&record::Place> {
        let operator = self.record.operator.as_ref();
        operator.context("nobody sits beside this lab")
    }

    /// Cuts a member off: packets to it and from it are lost, and nobody is told.
    pub fn cut(&self, member: &Member) -> Result<()> {
        network::unplug(&self.record.hub, member.place())
    }

    /// Mends what was cut.
    pub fn mend(&self, member: &Member) -> Result<()> {
        network::plug(&self.record.hub, member.place())
    }

    /// Looks through the first member's socket.
    pub fn observer(&self) -> Observer {
        self.first().observer()
    }

    /// Leaves the lab running when this process ends; [`down`] finds it by its record.
    pub fn keep(mut self) -> Result<Record> {
        self.record.kept = true;
        self.record.write()?;
        forget(&self.record);
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        for member in &self.members {
            member.release();
        }
        let record = self.record.clone();
        // Taking down is what dropping does, so this one lab must not be dropped.
        std::mem::forget(self);
        Ok(record)
    }

    /// Takes the lab down and says what could not be taken down.
    pub fn down(self) -> Result<()> {
        self.take_down()
    }

    fn take_down(&self) -> Result<()> {
        let taken_down = teardown::take_down(&self.record);
        for member in &self.members {
            member.collect();
        }
        forget(&self.record);
        taken_down
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !is_live(&self.record) {
            return;
        }
        if let Err(error) = self.take_down() {
            eprintln!("{error:#}");
        }
    }
}

/// From now on this process, or the guard after its end, takes down what the record names.
fn begin(record: &Record) -> Result<guard::Guard> {
    live(|live| live.push(record.clone()));
    guard::Guard::watch(record)
}

fn forget(record: &Record) {
    live(|live| live.retain(|other| other.id != record.id));
}

fn is_live(record: &Record) -> bool {
    live(|live| live.iter().any(|other| other.id == record.id))
}

/// Takes down every lab of this process; for its last moment.
pub fn take_down_all() {
    for record in live(std::mem::take) {
        if let Err(error) = teardown::take_down(&record) {
            eprintln!("{error:#}");
        }
    }
}

/// Takes down the lab with this record, whoever set it up.
pub fn down(record: &Record) -> Result<()> {
    teardown::take_down(record)
}

/// Ends everything of one member: daemon, containers, helpers. What a power cut does.
fn power_off(place: &record::Place) -> Result<()> {
    teardown::power_off(place)
}

fn live<T>(change: impl FnOnce(&mut Vec<Record>) -> T) -> T {
    change(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Waits for its turn on this machine; the turn ends when the file is dropped (HO-CI-11).
pub fn lock(what: &str) -> Result<File> {
    let path = std::env::temp_dir().join(format!("validate-{what}.lock"));
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("opening {}", path.display()))?;
    file.lock()
        .with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

/// Whether this machine can run a lab at all; the reasons are [`Missing`].
pub fn check_machine() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(Missing("root (a lab needs network namespaces)".into()).into());
    }
    for (file, package) in [
        (image::BUSYBOX, "busybox-static"),
        ("/usr/bin/unshare", "util-linux"),
    ] {
        if !Path::new(file).exists() {
            return Err(Missing(format!(
                "{file} (run acceptance/prerequisites, it installs {package})"
            ))
            .into());
        }
    }
    Incus::default().check()
}

/// Gives the lab's images to a server that has none, such as the simulator; they are built below this folder.
pub fn give_images(observer: &Observer, folder: &Path) -> Result<()> {
    image::import(observer, &image::build(folder)?)
}

/// Where the folders of labs are.
fn folder_of_labs() -> PathBuf {
    std::env::temp_dir()
}

/// Removes a folder with everything below; one that is gone already is no error.
fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
