//! A cluster of one, a machine that is to join it, and short ways to change both: what the tests beside it start from.

use std::collections::BTreeMap;

use super::answer::Decision;
use super::certificate::{Certificate, tests::PEM};
use super::decide::decide;
use super::declared::parse_address;
use super::history::History;
use super::observation::*;
use super::spec::{Address, MemberSpec, Role, Storage};

/// The certificate that all members show.
pub(super) const CLUSTER: &str = "c1";
/// The certificate that the machine shows before it joins.
pub(super) const OWN: &str = "b2";

pub(super) fn address(text: &str) -> Address {
    parse_address(text).expect("an address")
}

pub(super) fn metrics() -> Certificate {
    Certificate::parse(PEM).expect("a certificate")
}

/// Member b, with nothing declared but what it needs.
pub(super) fn spec() -> MemberSpec {
    MemberSpec {
        name: "b".to_owned(),
        address: address("10.0.0.2"),
        role: Role::Join,
        server_fingerprint: None,
        groups: None,
        config: BTreeMap::new(),
        failure_domain: None,
        state: None,
        storage: None,
        metrics_certificate: None,
    }
}

pub(super) fn with(change: impl FnOnce(&mut MemberSpec)) -> MemberSpec {
    let mut spec = spec();
    change(&mut spec);
    spec
}

pub(super) fn version() -> Version {
    Version {
        text: "7.0.1".to_owned(),
        extensions: 529,
    }
}

/// A member on IncusOS that has everything.
pub(super) fn member(name: &str, host: &str) -> Member {
    let keys = ["backups", "images", "logs"].map(|volume| {
        (
            format!("storage.{volume}_volume"),
            format!("local/{volume}"),
        )
    });
    let mut config = BTreeMap::from(keys);
    config.insert("core.https_address".to_owned(), format!("{host}:8443"));
    Member {
        name: name.to_owned(),
        address: Some(address(host)),
        votes: true,
        groups: ["default".to_owned()].into(),
        server: Some(MemberServer {
            version: version(),
            incusos: true,
            initializing: false,
            keeps_logs: true,
            config,
        }),
        ..Member::default()
    }
}

pub(super) fn volumes_of(member: &str) -> Vec<Volume> {
    let volume = |name: &str| Volume {
        pool: "local".to_owned(),
        project: "default".to_owned(),
        name: name.to_owned(),
        member: member.to_owned(),
    };
    ["backups", "images", "logs"].map(volume).into()
}

/// The cluster of these members, each with everything.
pub(super) fn cluster_of(names: &[&str]) -> Cluster {
    let hosts = BTreeMap::from([
        ("a", "10.0.0.1"),
        ("b", "10.0.0.2"),
        ("c", "10.0.0.3"),
        ("d", "10.0.0.4"),
    ]);
    let server_certificate = |name: &&str| Trusted {
        name: (*name).to_owned(),
        kind: TrustKind::Server,
        fingerprint: format!("server-{name}"),
    };
    Cluster {
        fingerprint: CLUSTER.to_owned(),
        members: names.iter().map(|name| member(name, hosts[name])).collect(),
        groups: ["default".to_owned()].into(),
        pools: vec![Pool {
            name: "local".to_owned(),
            driver: "zfs".to_owned(),
            created: true,
            members: names.iter().map(|name| (*name).to_owned()).collect(),
        }],
        networks: ["incusbr0".to_owned()].into(),
        volumes: names.iter().flat_map(|name| volumes_of(name)).collect(),
        trusted: names.iter().map(server_certificate).collect(),
        member_keys: vec![MemberKey {
            entity: "storage-pool".to_owned(),
            name: "local".to_owned(),
            key: "source".to_owned(),
        }],
        ..Cluster::default()
    }
}

/// The machine, fresh from its seed.
pub(super) fn fresh() -> Server {
    Server {
        fingerprint: OWN.to_owned(),
        name: "b".to_owned(),
        version: version(),
        system: System::IncusOs { initialized: true },
        https_address: Some("10.0.0.2:8443".to_owned()),
        ..Server::default()
    }
}

/// The machine as a member.
pub(super) fn joined() -> Server {
    Server {
        fingerprint: CLUSTER.to_owned(),
        clustered: true,
        cluster_address: Some("10.0.0.2:8443".to_owned()),
        ..fresh()
    }
}

pub(super) fn open(server: Server) -> Candidate {
    Candidate::Open(Box::new(server))
}

/// A cluster of a alone, and b that is to join it.
pub(super) fn before() -> Observation {
    Observation {
        cluster: Some(cluster_of(&["a"])),
        candidate: open(fresh()),
    }
}

/// A cluster of a and b, which has everything.
pub(super) fn complete() -> Observation {
    Observation {
        cluster: Some(cluster_of(&["a", "b"])),
        candidate: open(joined()),
    }
}

pub(super) fn changed(
    mut observation: Observation,
    change: impl FnOnce(&mut Cluster),
) -> Observation {
    change(observation.cluster.as_mut().expect("a cluster"));
    observation
}

/// Like [`before`], with another machine.
pub(super) fn machine(change: impl FnOnce(&mut Server)) -> Observation {
    let mut server = fresh();
    change(&mut server);
    Observation {
        candidate: open(server),
        ..before()
    }
}

/// Like [`complete`], with b changed.
pub(super) fn as_member(change: impl FnOnce(&mut Member)) -> Observation {
    changed(complete(), |cluster| change(&mut cluster.members[1]))
}

/// Reads a set as a test writes it.
pub(super) fn set(names: &[&str]) -> std::collections::BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Takes the pool and whatever points at it from the cluster.
pub(super) fn take_storage(cluster: &mut Cluster) {
    cluster.pools.clear();
    cluster.volumes.clear();
    for member in &mut cluster.members {
        if let Some(server) = &mut member.server {
            server.config.retain(|key, _| !key.starts_with("storage."));
        }
    }
}

pub(super) fn storage(driver: &str) -> Storage {
    Storage {
        pool: "local".to_owned(),
        driver: driver.to_owned(),
        source: None,
    }
}

/// A decision in one line, as a table writes it.
pub(super) fn said(spec: &MemberSpec, observation: &Observation) -> String {
    said_after(spec, observation, &History::default())
}

pub(super) fn said_after(
    spec: &MemberSpec,
    observation: &Observation,
    history: &History,
) -> String {
    let decision = decide(spec, observation, history);
    let word = decision.word();
    match decision {
        Decision::Wait(waiting) => format!("{word}: {waiting}"),
        Decision::Do(step) => format!("{word}: {step}"),
        Decision::Refuse(refusal) => format!("{word}: {refusal}"),
        Decision::Done { missing } if missing.is_empty() => word.to_owned(),
        Decision::Done { missing } => format!("{word}, without {}", missing.join(", ")),
    }
}

pub(super) fn check_joins(table: Vec<(&str, MemberSpec, Observation, &str)>) {
    for (case, spec, observation, expected) in table {
        let said = said(&spec, &observation);
        assert!(said.starts_with(expected), "{case}: {said}");
    }
}

pub(super) fn bootstrap() -> MemberSpec {
    with(|spec| spec.role = Role::Bootstrap)
}

/// No cluster anywhere.
pub(super) fn alone(change: impl FnOnce(&mut Server)) -> Observation {
    Observation {
        cluster: None,
        ..machine(change)
    }
}

pub(super) fn seen(candidate: Candidate) -> Observation {
    Observation {
        candidate,
        ..before()
    }
}

pub(super) fn silent() -> Candidate {
    Candidate::Silent("no route to host".to_owned())
}

pub(super) fn stranded(fingerprint: &str) -> Candidate {
    Candidate::Stranded {
        fingerprint: fingerprint.to_owned(),
        why: "no database".to_owned(),
    }
}

pub(super) fn untrusting(fingerprint: &str) -> Candidate {
    Candidate::Untrusting {
        fingerprint: fingerprint.to_owned(),
    }
}

pub(super) fn cluster(change: impl FnOnce(&mut Cluster)) -> Observation {
    changed(before(), change)
}

/// Its seed has made the cluster, and goes on.
pub(super) fn at_its_seed(cluster: &mut Cluster) {
    for member in &mut cluster.members {
        if let Some(server) = &mut member.server {
            server.initializing = true;
        }
    }
}

pub(super) fn server_version(text: &str, extensions: usize) -> Version {
    Version {
        text: text.to_owned(),
        extensions,
    }
}

pub(super) fn server_certificate(name: &str, fingerprint: &str) -> Trusted {
    Trusted {
        name: name.to_owned(),
        kind: TrustKind::Server,
        fingerprint: fingerprint.to_owned(),
    }
}

pub(super) fn token(member: &str) -> PendingToken {
    PendingToken {
        operation: format!("token-of-{member}"),
        member: member.to_owned(),
    }
}
