//! The fleet as a whole: what is wrong between networks, machines and apps, though each by itself is right.
//!
//! ```text
//! provider/src/functions/validate_fleet.rs   reads what the user passes
//!   └─ check (here)
//!        ├─ fleet/machines.rs                names, MAC addresses, addresses, roles, networks
//!        └─ fleet/apps.rs                    names of workloads, per-node apps, the primary
//!             └─ fleet/ports.rs              ports of the host
//! ```
//!
//! A provider plans one resource at a time, so nobody else sees these before the agent refuses them (HO-APP-16,
//! HO-CFG-09, HF-17). Not here: what a resource says about itself (`network`, `app::declared`); it is not repeated.

use std::collections::BTreeMap;

use crate::app::declared::GivenMap;
use crate::given::Given;
use crate::issue::{Issue, Step};

mod apps;
mod machines;
mod ports;

/// Things of one kind, each at its place in the user's map or list.
pub type Entries<T> = Given<Vec<(Step, Given<T>)>>;

/// Everything that is declared, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// `networks`
    pub networks: Entries<Network>,
    /// `machines`
    pub machines: Entries<Machine>,
    /// `apps`
    pub apps: Entries<App>,
}

/// A network, declared or referred to by a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// `name`
    pub name: Given<String>,
    /// `cidr`
    pub cidr: Given<String>,
    /// `gateway`
    pub gateway: Given<String>,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// `name`
    pub name: Given<String>,
    /// `mac`
    pub mac: Given<String>,
    /// `role`
    pub role: Given<String>,
    /// `address`
    pub address: Given<String>,
    /// `network`
    pub network: Given<Network>,
}

/// An app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct App {
    /// `name`
    pub name: Given<String>,
    /// `type`
    pub r#type: Given<String>,
    /// `replicas`
    pub replicas: Given<String>,
    /// `primary`
    pub primary: Given<String>,
    /// `placement.group`
    pub group: Given<String>,
    /// `workload.devices`
    pub devices: Given<BTreeMap<String, Given<GivenMap>>>,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Everything that is wrong with what is known (HO-CFG-10).
    pub issues: Vec<Issue>,
    /// Whether it is known what there is. Before that, as while a configuration is validated, an answer would tell the
    /// user one half of it now and the other half after that was corrected.
    pub listed: bool,
    /// Whether everything that matters is known. If not, there may be more to say later.
    pub complete: bool,
}

/// Checks the fleet. What is unknown is passed over, and so is what is no name, address or port: the resource says so.
pub fn check(fleet: &Fleet) -> Verdict {
    let mut issues = Vec::new();
    machines::check(fleet, &mut issues);
    apps::check(fleet, &mut issues);
    Verdict {
        issues,
        listed: fleet.is_listed(),
        complete: fleet.is_known(),
    }
}

impl Fleet {
    fn is_listed(&self) -> bool {
        entries_are_known(&self.networks, |_| true)
            && entries_are_known(&self.machines, |_| true)
            && entries_are_known(&self.apps, |_| true)
    }

    fn is_known(&self) -> bool {
        let network = |network: &Network| known([&network.name, &network.cidr, &network.gateway]);
        let machine = |machine: &Machine| {
            let texts = [&machine.name, &machine.mac, &machine.role, &machine.address];
            known(texts) && is_known(&machine.network, network)
        };
        let app = |app: &App| {
            let texts = [
                &app.name,
                &app.r#type,
                &app.replicas,
                &app.primary,
                &app.group,
            ];
            known(texts)
                && is_known(&app.devices, |devices| {
                    devices.values().all(ports::is_known)
                })
        };
        entries_are_known(&self.networks, network)
            && entries_are_known(&self.machines, machine)
            && entries_are_known(&self.apps, app)
    }
}

fn known<const N: usize>(texts: [&Given<String>; N]) -> bool {
    texts.iter().all(|text| !text.is_unknown())
}

fn is_known<T>(given: &Given<T>, inside: impl Fn(&T) -> bool) -> bool {
    !given.is_unknown() && given.known().is_none_or(inside)
}

fn entries_are_known<T>(entries: &Entries<T>, inside: impl Fn(&T) -> bool) -> bool {
    is_known(entries, |entries| {
        entries.iter().all(|(_, entry)| is_known(entry, &inside))
    })
}

/// The known entries of a kind, with their places.
fn entries<'a, T>(
    kind: &'static str,
    entries: &'a Entries<T>,
) -> impl Iterator<Item = (Place<'a>, &'a T)> {
    let all = entries.known().into_iter().flatten();
    all.filter_map(move |(step, entry)| Some((Place { kind, step }, entry.known()?)))
}

/// Where an entry is.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    kind: &'static str,
    step: &'a Step,
}

impl<'a> Place<'a> {
    /// The path of an attribute of the entry.
    fn at(self, attribute: &'static str) -> Vec<Step> {
        let kind = Step::Attribute(self.kind);
        vec![kind, self.step.clone(), Step::Attribute(attribute)]
    }

    /// What the entry is called: its name, or its key where whoever wrote it left the name out.
    fn name(self, given: &'a Given<String>) -> Option<&'a str> {
        match (given, self.step) {
            (Given::Known(name), _) => Some(name),
            (Given::Absent, Step::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// What the user calls the entry, as in `machines["a"]`.
    fn told(self) -> String {
        match self.step {
            Step::Key(key) => format!("{}[{key:?}]", self.kind),
            Step::Index(index) => format!("{}[{index}]", self.kind),
            Step::Attribute(name) => format!("{}.{name}", self.kind),
        }
    }
}

/// Those that share something with an earlier entry: the earlier place, the later one, and what they share.
fn repeated<'a, K: Ord + Clone>(
    entries: impl Iterator<Item = (Place<'a>, K)>,
) -> Vec<(Place<'a>, Place<'a>, K)> {
    let mut first: BTreeMap<K, Place<'a>> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (place, key) in entries {
        match first.get(&key) {
            Some(earlier) => repeated.push((*earlier, place, key)),
            None => {
                first.insert(key, place);
            }
        }
    }
    repeated
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
