//! The world of the simulation: three machines and the cluster that they become, in memory, as Incus behaves.
//!
//! Before: the events of a test. After: the invariants, checked after each. What a join leaves behind that fails half-way
//! is measured on real clusters: the address, the certificate under the tried name, pools and networks, the spent token.

use std::collections::{BTreeMap, BTreeSet};

use domain::membership::decide::History;
use domain::membership::declared::parse_address;
use domain::membership::observation::*;
use domain::membership::spec::{Address, MemberSpec, Role};
use domain::membership::step::{AddressKey, Join, Step};

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
    /// Names that a join has left half-way; nobody can list them.
    pub(crate) half_joined: BTreeSet<String>,
    /// What the executor of each member remembers.
    pub(crate) memory: BTreeMap<String, (History, bool)>,
    /// Volumes whose deletion was refused, by member.
    pub(crate) busy: BTreeSet<(String, String)>,
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
        let knows = self
            .memory
            .get(name)
            .is_some_and(|(_, half_joined)| *half_joined);
        let cluster = self.cluster.clone().map(|mut cluster| {
            cluster.half_joined.extend(knows.then(|| name.to_owned()));
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
        self.memory
            .get(name)
            .map(|(history, _)| history.clone())
            .unwrap_or_default()
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
            Step::ForgetHalfJoined { name } => {
                self.half_joined.remove(name);
                if let Some((_, knows)) = self.memory.get_mut(name) {
                    *knows = false;
                }
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
                keeps_logs: true,
                config: config.collect(),
            }),
            ..Member::default()
        }
    }

    /// A join from end to end; the token is made here, and spent here.
    fn join(&mut self, join: &Join) {
        self.mint(&join.name);
        self.send(join, STAGES)
            .map_err(|why| self.note_failure(&join.name, why))
            .ok();
    }

    /// A join that is refused at this point, or whose executor is killed there.
    fn join_in_vain(&mut self, join: &Join, stage: usize) {
        if stage == 0 {
            return;
        }
        self.mint(&join.name);
        match stage {
            1 => {
                self.memory.remove(&join.name);
            }
            _ => {
                let why = self.send(join, stage).err().unwrap_or("refused");
                self.note_failure(&join.name, why);
            }
        }
    }

    fn note_failure(&mut self, name: &str, why: &str) {
        self.trace.push(format!("{name}: {why}"));
        let (history, half_joined) = self.memory.entry(name.to_owned()).or_default();
        history.failed_joins += 1;
        history.last_failure = why.to_owned();
        *half_joined |= why == "UNIQUE";
    }

    fn mint(&mut self, name: &str) {
        self.tokens_made += 1;
        let token = PendingToken {
            operation: format!("token-{}", self.tokens_made),
            member: name.to_owned(),
        };
        let tokens = &mut self.cluster().tokens;
        assert!(
            tokens.iter().all(|one| one.member != name),
            "two tokens for {name}"
        );
        tokens.push(token);
    }

    /// What Incus does with `PUT /1.0/cluster`, up to a stage, in its order.
    fn send(&mut self, join: &Join, until: usize) -> Result<(), &'static str> {
        let name = join.name.as_str();
        let own = self.machines[name].server.fingerprint.clone();
        self.machine(name).server.cluster_address = Some(join.address.to_string());
        self.cluster().tokens.retain(|token| token.member != name);
        if until <= 2 {
            return Err("no trust");
        }
        let trusted = &mut self.cluster().trusted;
        if trusted
            .iter()
            .any(|one| one.fingerprint == own && one.name != name)
        {
            return Err("other name");
        }
        if !trusted.iter().any(|one| one.fingerprint == own) {
            trusted.push(Trusted {
                name: name.to_owned(),
                kind: TrustKind::Server,
                fingerprint: own,
            });
        }
        if until <= 3 {
            return Err("cut off");
        }
        let (pools, networks) = (
            self.cluster().pools.clone(),
            self.cluster().networks.clone(),
        );
        let server = &mut self.machine(name).server;
        if !join.member_config.is_empty()
            && pools.iter().any(|pool| server.pools.contains(&pool.name))
        {
            return Err("source is member specific");
        }
        server.pools.extend(pools.into_iter().map(|pool| pool.name));
        server.networks.extend(networks);
        if until <= 4 {
            return Err("not accepted");
        }
        if !self.half_joined.insert(name.to_owned()) {
            return Err("UNIQUE");
        }
        if until <= 5 {
            return Err("the raft is busy");
        }
        self.half_joined.remove(name);
        let server = &mut self.machine(name).server;
        (server.clustered, server.fingerprint) = (true, CLUSTER.to_owned());
        let member = self.new_member(name);
        for pool in &mut self.cluster().pools {
            pool.members.insert(name.to_owned());
        }
        self.cluster().members.push(member);
        Ok(())
    }

    fn note_pool(&mut self, name: &str, pool: &str, driver: &str) {
        let key = MemberKey {
            entity: "storage-pool".to_owned(),
            name: pool.to_owned(),
            key: "source".to_owned(),
        };
        let cluster = self.cluster();
        if cluster.pool(pool).is_none() {
            cluster.member_keys.push(key);
            cluster.pools.push(Pool {
                name: pool.to_owned(),
                driver: driver.to_owned(),
                ..Pool::default()
            });
        }
        let pool = cluster
            .pools
            .iter_mut()
            .find(|one| one.name == pool)
            .expect("a pool");
        pool.members.insert(name.to_owned());
    }

    fn create_volume(&mut self, name: &str, pool: &str, volume: &str) {
        let made = self
            .cluster()
            .pool(pool)
            .is_some_and(|pool| pool.created && pool.members.contains(name));
        assert!(made, "a volume in a pool that is not there");
        let volume = volume_of(name, pool, volume);
        if !self.cluster().volumes.contains(&volume) {
            self.cluster().volumes.push(volume);
        }
    }

    fn delete_volume(&mut self, name: &str, pool: &str, volume: &str) {
        let path = format!("{pool}/{volume}");
        let server = self
            .member(name)
            .server
            .clone()
            .expect("a member that answers");
        assert!(
            !server.config.values().any(|value| *value == path),
            "{path} is pointed at"
        );
        // What was in use as the place of the logs stays mounted until the daemon is restarted.
        if volume == "logs" {
            self.busy.insert((name.to_owned(), volume.to_owned()));
            return;
        }
        let volume = volume_of(name, pool, volume);
        self.cluster().volumes.retain(|one| *one != volume);
    }

    fn set_server(&mut self, name: &str, config: &BTreeMap<String, String>) {
        for (key, path) in config
            .iter()
            .filter(|(key, path)| key.starts_with("storage.") && !path.is_empty())
        {
            let exists = self
                .cluster()
                .volumes_on(name)
                .any(|one| format!("{}/{}", one.pool, one.name) == *path);
            assert!(exists, "{key} points at nothing");
        }
        let server = self
            .member(name)
            .server
            .as_mut()
            .expect("a member that answers");
        server.config.extend(config.clone());
        server.config.retain(|_, value| !value.is_empty());
    }

    fn evacuate(&mut self, name: &str) {
        let pinned = self.pinned.clone();
        let member = self.member(name);
        member.status = Status::Evacuated;
        let moving: Vec<String> = member
            .instances
            .iter()
            .filter(|one| !pinned.contains(*one))
            .cloned()
            .collect();
        member.instances.retain(|one| pinned.contains(one));
        let other = self
            .cluster()
            .members
            .iter_mut()
            .find(|member| member.name != name);
        other.expect("another member").instances.extend(moving);
    }

    fn remove(&mut self, name: &str, force: bool) {
        let up = self.machines[name].up;
        let cluster = self.cluster();
        if cluster.member(name).is_none() {
            return;
        }
        let empty = cluster.volumes_on(name).next().is_none()
            && cluster
                .member(name)
                .is_some_and(|member| member.instances.is_empty());
        assert!(force || (empty && up), "Incus refuses to remove {name}");
        cluster.members.retain(|member| member.name != name);
        cluster.volumes.retain(|volume| volume.member != name);
        cluster
            .trusted
            .retain(|one| (one.kind, one.name.as_str()) != (TrustKind::Server, name));
        for pool in &mut cluster.pools {
            pool.members.remove(name);
        }
        if !force {
            let mut machine = fresh(name);
            machine.server.cluster_address = Some(address(name).to_string());
            self.machines.insert(name.to_owned(), machine);
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
