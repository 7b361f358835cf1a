//! The world of the simulation: three machines and the cluster that they become, in memory, as Incus behaves.
//!
//! Before: the events of a test. After: the invariants, checked after each. What a join leaves behind that fails half-way
//! is measured on real clusters: the address, the certificate under the tried name, pools and networks, the spent token.

use std::collections::{BTreeMap, BTreeSet};

use domain::membership::declared::parse_address;
use domain::membership::history::History;
use domain::membership::observation::*;
use domain::membership::spec::{Address, MemberSpec, Role};
use domain::membership::step::{AddressKey, Step};

#[path = "join.rs"]
mod join;
#[path = "member.rs"]
mod member;

pub(crate) const CLUSTER: &str = "cluster-certificate";
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// How a step goes wrong, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It goes well.
    None,
    /// The executor is killed before it.
    Before,
    /// The executor is killed after it.
    After,
    /// It is done twice.
    Twice,
    /// A join is refused, or cut off, at this point; other steps are simply not done.
    Stage(usize),
}

/// How far a join may come that does not end well.
pub(crate) const STAGES: usize = 6;

/// A machine as it is when nobody looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Machine {
    pub(crate) up: bool,
    pub(crate) trusts: bool,
    pub(crate) server: Server,
}

/// Everything.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) specs: BTreeMap<String, MemberSpec>,
    pub(crate) machines: BTreeMap<String, Machine>,
    pub(crate) cluster: Option<Cluster>,
    /// Names that a join has left half-way: nobody can list them, and the next join replaces them.
    pub(crate) half_joined: BTreeSet<String>,
    /// What the executor of each member remembers.
    pub(crate) memory: BTreeMap<String, History>,
    /// Volumes whose deletion was refused, by member.
    pub(crate) busy: BTreeSet<(String, String)>,
    /// Whether a daemon goes on using the volume of its logs after it was told not to.
    pub(crate) logs_stay: bool,
    pub(crate) tokens_made: usize,
    /// Instances that cannot be moved.
    pub(crate) pinned: BTreeSet<String>,
    pub(crate) trace: Vec<String>,
}

pub(crate) fn address(name: &str) -> Address {
    let number = NAMES.iter().position(|one| *one == name).unwrap_or(9) + 1;
    parse_address(&format!("10.0.0.{number}")).expect("an address")
}

fn spec(name: &str, role: Role) -> MemberSpec {
    MemberSpec {
        name: name.to_owned(),
        address: address(name),
        role,
        server_fingerprint: None,
        groups: Some(["default".to_owned(), "lab".to_owned()].into()),
        config: BTreeMap::from([("user.rack".to_owned(), name.to_owned())]),
        failure_domain: Some(format!("rack-{name}")),
        state: None,
        storage: None,
        metrics_certificate: None,
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let role = |name: &str| {
            if name == "a" {
                Role::Bootstrap
            } else {
                Role::Join
            }
        };
        let named = |name: &&str| ((*name).to_owned(), spec(name, role(name)));
        let machine = |name: &&str| ((*name).to_owned(), fresh(name));
        let mut machines: BTreeMap<String, Machine> = NAMES.iter().map(machine).collect();
        // The first machine is a Linux that was there, so that it is made a cluster here; it has what IncusOS has.
        if let Some(first) = machines.get_mut("a") {
            first.server.system = System::Other;
            first.server.networks = ["incusbr0".to_owned()].into();
        }
        Self {
            specs: NAMES.iter().map(named).collect(),
            machines,
            cluster: None,
            half_joined: BTreeSet::new(),
            memory: BTreeMap::new(),
            busy: BTreeSet::new(),
            logs_stay: false,
            tokens_made: 0,
            pinned: BTreeSet::new(),
            trace: Vec::new(),
        }
    }

    pub(crate) fn machine(&mut self, name: &str) -> &mut Machine {
        self.machines.get_mut(name).expect("a machine")
    }

    fn cluster(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("a cluster")
    }

    /// What is seen of one member: the machine first, the cluster after it.
    pub(crate) fn observe(&self, name: &str) -> Observation {
        let machine = &self.machines[name];
        let candidate = match (machine.up, machine.trusts || machine.server.clustered) {
            (false, _) => Candidate::Silent("no route to host".to_owned()),
            (true, false) => Candidate::Untrusting {
                fingerprint: machine.server.fingerprint.clone(),
            },
            (true, true) => Candidate::Open(Box::new(machine.server.clone())),
        };
        let cluster = self.cluster.clone().map(|mut cluster| {
            for member in &mut cluster.members {
                let down = self
                    .machines
                    .get(&member.name)
                    .is_some_and(|machine| !machine.up);
                if down {
                    (member.status, member.server) = (Status::Offline, None);
                }
                let busy = self.busy.iter().filter(|(of, _)| *of == member.name);
                member.busy_volumes = busy.map(|(_, volume)| volume.clone()).collect();
            }
            cluster
        });
        Observation { cluster, candidate }
    }

    pub(crate) fn history(&self, name: &str) -> History {
        self.memory.get(name).cloned().unwrap_or_default()
    }

    /// Does a step for a member, as well as the fault lets it.
    pub(crate) fn execute(&mut self, name: &str, step: &Step, fault: Fault) {
        self.trace.push(format!("{name}: {step} ({fault:?})"));
        match (fault, step) {
            (Fault::Before, _) => {
                self.memory.remove(name);
            }
            (Fault::Stage(stage), Step::Join(join)) => self.join_in_vain(join, stage),
            (Fault::Stage(_), _) => {}
            (Fault::After, _) => {
                self.perform(name, step);
                self.memory.remove(name);
            }
            (Fault::None, _) => self.perform(name, step),
            (Fault::Twice, Step::Join(_) | Step::Bootstrap { .. }) => self.perform(name, step),
            (Fault::Twice, _) => {
                self.perform(name, step);
                let once = self.clone();
                self.perform(name, step);
                assert_eq!(once, *self, "{step} may run twice");
            }
        }
    }

    fn perform(&mut self, on: &str, step: &Step) {
        match step {
            Step::SetAddress { key, address } => self.set_address(on, *key, address),
            Step::Bootstrap { name } => self.bootstrap(name),
            Step::Join(join) => self.join(join),
            Step::Distrust { fingerprint } => {
                self.cluster()
                    .trusted
                    .retain(|one| one.fingerprint != *fingerprint);
            }
            Step::RevokeToken { operation } => {
                self.cluster()
                    .tokens
                    .retain(|one| one.operation != *operation);
            }
            Step::DeleteLeftNetwork { network } => {
                self.machine(on).server.networks.remove(network);
            }
            Step::DeleteLeftPool { pool } => {
                self.machine(on).server.pools.remove(pool);
            }
            Step::CreateGroup { group } => {
                self.cluster().groups.insert(group.clone());
            }
            Step::ChangeMember {
                name,
                groups,
                failure_domain,
                config,
            } => {
                assert!(
                    groups
                        .iter()
                        .flatten()
                        .all(|group| self.cluster().groups.contains(group))
                );
                let member = self.member(name);
                member.groups = groups.clone().unwrap_or_else(|| member.groups.clone());
                member.failure_domain = failure_domain
                    .clone()
                    .unwrap_or_else(|| member.failure_domain.clone());
                member.config.extend(config.clone());
            }
            Step::NotePool {
                name, pool, driver, ..
            } => self.note_pool(name, pool, driver),
            Step::MakePool { pool, .. } => {
                let pool = self
                    .cluster()
                    .pools
                    .iter_mut()
                    .find(|one| one.name == *pool);
                pool.expect("a pool that is noted").created = true;
            }
            Step::CreateVolume { name, pool, volume } => self.create_volume(name, pool, volume),
            Step::DeleteVolume { name, pool, volume } => self.delete_volume(name, pool, volume),
            Step::DeleteWorkload { name, workload } => {
                self.member(name).workloads.remove(workload);
            }
            Step::SetServer { name, config } => self.set_server(name, config),
            Step::TrustMetrics { name, certificate } => {
                let trusted = Trusted {
                    name: name.clone(),
                    kind: TrustKind::Metrics,
                    fingerprint: certificate.fingerprint.clone(),
                };
                if !self.cluster().trusted.contains(&trusted) {
                    self.cluster().trusted.push(trusted);
                }
            }
            Step::Evacuate { name } => self.evacuate(name),
            Step::Restore { name } => self.member(name).status = Status::Online,
            Step::Remove { name, force } => self.remove(name, *force),
        }
    }

    pub(crate) fn member(&mut self, name: &str) -> &mut Member {
        let member = self
            .cluster()
            .members
            .iter_mut()
            .find(|member| member.name == name);
        member.expect("a member")
    }

    fn set_address(&mut self, on: &str, key: AddressKey, address: &Address) {
        let server = &mut self.machine(on).server;
        let setting = match key {
            AddressKey::Cluster => &mut server.cluster_address,
            AddressKey::Core => &mut server.https_address,
        };
        *setting = Some(address.to_string());
    }

    fn bootstrap(&mut self, name: &str) {
        assert!(self.cluster.is_none(), "a second cluster");
        let server = &mut self.machine(name).server;
        assert!(server.cluster_address.is_some(), "no concrete address");
        (server.clustered, server.fingerprint) = (true, CLUSTER.to_owned());
        let networks = server.networks.clone();
        let member = self.new_member(name);
        self.cluster = Some(Cluster {
            fingerprint: CLUSTER.to_owned(),
            members: vec![member],
            groups: ["default".to_owned()].into(),
            networks,
            trusted: vec![server_certificate(name), server_certificate("z"), client()],
            tokens: vec![PendingToken {
                operation: "foreign".to_owned(),
                member: "z".to_owned(),
            }],
            volumes: vec![foreign_volume()],
            ..Cluster::default()
        });
    }

    /// The first member runs on Linux, but with everything that IncusOS brings, as its storage would be declared.
    fn new_member(&self, name: &str) -> Member {
        let server = &self.machines[name].server;
        let config = server
            .https_address
            .iter()
            .map(|address| ("core.https_address".to_owned(), address.clone()));
        Member {
            name: name.to_owned(),
            address: Some(address(name)),
            votes: true,
            groups: ["default".to_owned()].into(),
            server: Some(MemberServer {
                version: server.version.clone(),
                incusos: true,
                initializing: false,
                keeps_logs: true,
                config: config.collect(),
            }),
            ..Member::default()
        }
    }
}

fn fresh(name: &str) -> Machine {
    Machine {
        up: true,
        trusts: true,
        server: Server {
            fingerprint: format!("own-{name}"),
            name: name.to_owned(),
            version: Version {
                text: "7.0.1".to_owned(),
                extensions: 529,
            },
            system: System::IncusOs { initialized: true },
            https_address: Some(if name == "a" {
                ":8443".to_owned()
            } else {
                address(name).to_string()
            }),
            ..Server::default()
        },
    }
}

fn server_certificate(name: &str) -> Trusted {
    Trusted {
        name: name.to_owned(),
        kind: TrustKind::Server,
        fingerprint: format!("own-{name}"),
    }
}

/// The certificate of a client that happens to bear a member's name.
fn client() -> Trusted {
    Trusted {
        name: "b".to_owned(),
        kind: TrustKind::Client,
        fingerprint: "operator".to_owned(),
    }
}

fn volume_of(member: &str, pool: &str, name: &str) -> Volume {
    Volume {
        pool: pool.to_owned(),
        project: "default".to_owned(),
        name: name.to_owned(),
        member: member.to_owned(),
    }
}

fn foreign_volume() -> Volume {
    volume_of("a", "local", "data")
}

/// What is nobody's business here: the certificates, the token and the volume of others.
pub(crate) fn foreign_things_are_there(cluster: &Cluster) -> bool {
    cluster.trusted.contains(&server_certificate("z"))
        && cluster.trusted.contains(&client())
        && cluster
            .tokens
            .iter()
            .any(|token| token.operation == "foreign")
        && cluster.volumes.contains(&foreign_volume())
}
