//! From a machine to a member: what is waited for, what is refused, what is cleaned up, and how it joins.

use crate::membership::answer::Decision;
use crate::membership::decide::{History, decide};
use crate::membership::fixtures::*;
use crate::membership::observation::*;
use crate::membership::spec::{MemberSpec, Role, Storage};
use crate::membership::step::{MemberSetting, Step};

fn check(table: Vec<(&str, MemberSpec, Observation, &str)>) {
    for (case, spec, observation, expected) in table {
        let said = said(&spec, &observation);
        assert!(said.starts_with(expected), "{case}: {said}");
    }
}

fn bootstrap() -> MemberSpec {
    with(|spec| spec.role = Role::Bootstrap)
}

/// No cluster anywhere.
fn alone(change: impl FnOnce(&mut Server)) -> Observation {
    Observation {
        cluster: None,
        ..machine(change)
    }
}

fn seen(candidate: Candidate) -> Observation {
    Observation {
        candidate,
        ..before()
    }
}

fn silent() -> Candidate {
    Candidate::Silent("no route to host".to_owned())
}

fn untrusting(fingerprint: &str) -> Candidate {
    Candidate::Untrusting {
        fingerprint: fingerprint.to_owned(),
    }
}

fn cluster(change: impl FnOnce(&mut Cluster)) -> Observation {
    changed(before(), change)
}

fn server_version(text: &str, extensions: usize) -> Version {
    Version {
        text: text.to_owned(),
        extensions,
    }
}

fn server_certificate(name: &str, fingerprint: &str) -> Trusted {
    Trusted {
        name: name.to_owned(),
        kind: TrustKind::Server,
        fingerprint: fingerprint.to_owned(),
    }
}

fn token(member: &str) -> PendingToken {
    PendingToken {
        operation: format!("token-of-{member}"),
        member: member.to_owned(),
    }
}

/// HO-JOIN-06, HO-JOIN-07, HO-JOIN-08, HO-JOIN-31.
#[test]
fn a_joiner_waits_for_what_time_brings() {
    let differs = |change: fn(&mut Server)| machine(change);
    check(vec![
        (
            "silent",
            spec(),
            seen(silent()),
            "waiting-for-host: the machine does not answer: no route to host",
        ),
        (
            "unknown to it",
            spec(),
            seen(untrusting(OWN)),
            "initializing: the machine answers and does not trust",
        ),
        (
            "seed not applied",
            spec(),
            differs(|server| server.system = System::IncusOs { initialized: false }),
            "initializing: the machine is still applying its seed",
        ),
        (
            "busy",
            spec(),
            differs(|server| server.busy = true),
            "joining: the machine is about to",
        ),
        (
            "older",
            spec(),
            differs(|server| server.version = server_version("7.0.0", 514)),
            "version-mismatch: the machine has Incus 7.0.0 with 514 API extensions, and member a has 7.0.1 with 529",
        ),
        (
            "as many words, more extensions",
            spec(),
            differs(|server| server.version.extensions = 530),
            "version-mismatch:",
        ),
        (
            "a member waits for others",
            spec(),
            cluster(|cluster| cluster.members[0].status = Status::Blocked),
            "version-mismatch: member a waits",
        ),
        ("no cluster", spec(), alone(|_| {}), "waiting-for-cluster:"),
        (
            "a member that cannot be asked holds up nobody",
            spec(),
            cluster(|cluster| cluster.members[0].server = None),
            "joining: join b at 10.0.0.2:8443",
        ),
    ]);
}

/// HO-JOIN-02, HO-JOIN-04, HO-JOIN-20, HO-JOIN-23.
#[test]
fn a_machine_that_would_lose_something_or_is_another_one_is_refused() {
    let pinned = |pin: &str| with(|spec| spec.server_fingerprint = Some(pin.to_owned()));
    check(vec![
        ("empty", spec(), before(), "joining: join b"),
        ("the pinned one", pinned(OWN), before(), "joining: join b"),
        (
            "not the pinned one",
            pinned("ff"),
            before(),
            "refused: the machine shows certificate b2, and server_fingerprint is ff",
        ),
        (
            "not the pinned one, and unknown to it",
            pinned("ff"),
            seen(untrusting(OWN)),
            "refused: the machine shows",
        ),
        (
            "instances",
            spec(),
            machine(|server| server.instances = set(&["web"])),
            "refused: the machine is not empty, and would lose instance web:",
        ),
        (
            "volumes in a pool of an earlier attempt",
            spec(),
            machine(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.pools = set(&["local"]);
                server.volumes = set(&["local/data"]);
            }),
            "refused: the machine is not empty, and would lose custom volume local/data:",
        ),
        (
            "a pool although nothing was ever tried",
            spec(),
            machine(|server| server.pools = set(&["local"])),
            "refused: the machine is not empty, and would lose storage pool local:",
        ),
        (
            "a pool that the cluster has not, after an attempt",
            spec(),
            machine(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.pools = set(&["local", "tank"]);
            }),
            "refused: the machine is not empty, and would lose storage pool tank:",
        ),
        (
            "a network of its own",
            spec(),
            machine(|server| server.networks = set(&["mybr0"])),
            "refused: the machine is not empty, and would lose network mybr0:",
        ),
        (
            "another major version",
            spec(),
            machine(|server| server.version = server_version("6.0.6", 529)),
            "refused: the machine has Incus 6.0.6, and member a has 7.0.1: another major",
        ),
        (
            "another major version while it applies its seed",
            spec(),
            machine(|server| {
                server.system = System::IncusOs { initialized: false };
                server.version = server_version("6.0.6", 529);
            }),
            "refused: the machine has Incus 6.0.6",
        ),
        (
            "another seed",
            spec(),
            machine(|server| server.name = "x".to_owned()),
            "refused: the machine calls itself \"x\"",
        ),
        (
            "another hostname on a system that was there",
            spec(),
            machine(|server| {
                server.name = "x".to_owned();
                server.system = System::Other;
            }),
            "joining: join b",
        ),
        (
            "in a cluster of its own",
            spec(),
            machine(|server| server.clustered = true),
            "refused: the machine is in a cluster already, as \"b\"",
        ),
        (
            "removed by force, and alive",
            spec(),
            seen(open(joined())),
            "refused: the machine shows this cluster's certificate, and the cluster does not list it",
        ),
        (
            "the other member",
            spec(),
            seen(open(Server {
                name: "a".to_owned(),
                ..joined()
            })),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "the other member, installed anew",
            spec(),
            machine(|server| server.fingerprint = "server-a".to_owned()),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "just joined",
            spec(),
            seen(open(Server {
                busy: true,
                ..joined()
            })),
            "joining:",
        ),
    ]);
}

/// HO-JOIN-09, HO-JOIN-12, HO-JOIN-17: one thing at a time, the token last.
#[test]
fn what_a_failed_join_has_left_is_cleaned_up_first() {
    let tried = |change: fn(&mut Server)| {
        machine(|server| {
            server.cluster_address = Some("10.0.0.2:8443".to_owned());
            change(server);
        })
    };
    let trusts = |name: &str, fingerprint: &str| {
        cluster(|cluster| cluster.trusted.push(server_certificate(name, fingerprint)))
    };
    check(vec![
        (
            "its certificate",
            spec(),
            trusts("b", OWN),
            "joining: end the trust in certificate b2",
        ),
        (
            "that of an earlier installation",
            spec(),
            trusts("b", "old"),
            "joining: end the trust in certificate old",
        ),
        (
            "its certificate under another name",
            spec(),
            trusts("x", OWN),
            "joining: end the trust in certificate b2",
        ),
        (
            "that of somebody else",
            spec(),
            trusts("x", "other"),
            "joining: join b",
        ),
        (
            "a client of that name",
            spec(),
            cluster(|cluster| {
                cluster.trusted.push(Trusted {
                    kind: TrustKind::Client,
                    ..server_certificate("b", "other")
                });
            }),
            "joining: join b",
        ),
        (
            "a join that never ended",
            spec(),
            cluster(|cluster| cluster.half_joined = set(&["b", "x"])),
            "joining: forget b, whose join never ended",
        ),
        (
            "its network",
            spec(),
            tried(|server| server.networks = set(&["incusbr0"])),
            "joining: delete network incusbr0 of the joiner",
        ),
        (
            "its pool",
            spec(),
            tried(|server| server.pools = set(&["local"])),
            "joining: delete pool local of the joiner",
        ),
        (
            "an address that is not declared any more",
            spec(),
            machine(|server| server.cluster_address = Some("10.0.0.9:8443".to_owned())),
            "joining: set cluster.https_address to 10.0.0.2:8443",
        ),
        (
            "the declared address",
            spec(),
            tried(|_| {}),
            "joining: join b",
        ),
        (
            "its token",
            spec(),
            cluster(|cluster| cluster.tokens.push(token("b"))),
            "joining: revoke a join token",
        ),
        (
            "the token of another",
            spec(),
            cluster(|cluster| cluster.tokens.push(token("x"))),
            "joining: join b",
        ),
    ]);
    let left = tried(|server| {
        server.pools = set(&["local"]);
        server.networks = set(&["incusbr0"]);
    });
    let order = changed(left, |cluster| {
        cluster.trusted.push(server_certificate("b", OWN));
        cluster.tokens.push(token("b"));
    });
    assert!(
        said(&spec(), &order).contains("certificate"),
        "{}",
        said(&spec(), &order)
    );
}

/// 6.0.4 refuses a joiner that listens on every address.
#[test]
fn a_joiner_of_an_old_version_is_told_one_address_first() {
    for (version, address, expected) in [
        (
            "6.0.4",
            ":8443",
            "joining: set core.https_address to 10.0.0.2:8443",
        ),
        ("6.0.5", "[::]:8443", "joining: set core.https_address"),
        ("6.0.4", "0.0.0.0:8443", "joining: set core.https_address"),
        ("6.0.4", "10.0.0.2:8443", "joining: join b"),
        ("6.0.4", "", "joining: join b"),
        ("6.0.6", ":8443", "joining: join b"),
        ("6.23", ":8443", "joining: join b"),
        ("6.0", ":8443", "joining: set core.https_address"),
    ] {
        let same = Version {
            text: version.to_owned(),
            extensions: 450,
        };
        let observation = machine(|server| {
            server.version = same.clone();
            server.https_address = Some(address.to_owned());
        });
        let observation = changed(observation, |cluster| {
            if let Some(server) = &mut cluster.members[0].server {
                server.version = same;
            }
        });
        let said = said(&spec(), &observation);
        assert!(said.starts_with(expected), "{version} at {address}: {said}");
    }
}

/// HO-JOIN-13, HO-JOIN-14, HO-JOIN-16, HO-JOIN-17.
#[test]
fn a_join_brings_what_the_cluster_asks_for_and_nothing_else() {
    let join_of = |spec: &MemberSpec, observation: &Observation| match decide(
        spec,
        observation,
        &History::default(),
    ) {
        Decision::Do(Step::Join(join)) => *join,
        other => panic!("{other:?}"),
    };
    let source = |value: &str| MemberSetting {
        entity: "storage-pool".to_owned(),
        name: "local".to_owned(),
        key: "source".to_owned(),
        value: value.to_owned(),
    };
    let join = join_of(&spec(), &before());
    assert_eq!(join.address, address("10.0.0.2:8443"));
    assert_eq!(join.through, Some(address("10.0.0.1")));
    assert_eq!(
        (&*join.cluster_fingerprint, &*join.server_fingerprint),
        (CLUSTER, OWN)
    );
    assert_eq!(join.member_config, [source("local/incus")]);

    let asks_more = cluster(|cluster| {
        let asked = |entity: &str, name: &str, key: &str| MemberKey {
            entity: entity.to_owned(),
            name: name.to_owned(),
            key: key.to_owned(),
        };
        cluster
            .member_keys
            .push(asked("storage-pool", "local", "zfs.pool_name"));
        cluster
            .member_keys
            .push(asked("storage-pool", "tank", "source"));
        cluster
            .member_keys
            .push(asked("network", "local", "source"));
    });
    assert_eq!(
        join_of(&spec(), &asks_more).member_config,
        [source("local/incus")]
    );

    let asks_nothing = cluster(|cluster| cluster.member_keys.clear());
    assert_eq!(join_of(&spec(), &asks_nothing).member_config, []);

    let declared = with(|spec| {
        spec.storage = Some(Storage {
            source: Some("/dev/sdb".to_owned()),
            ..storage("zfs")
        });
    });
    assert_eq!(
        join_of(&declared, &before()).member_config,
        [source("/dev/sdb")]
    );
    let linux = machine(|server| server.system = System::Other);
    assert_eq!(join_of(&spec(), &linux).member_config, []);

    let offline = cluster(|cluster| cluster.members[0].status = Status::Offline);
    assert_eq!(join_of(&spec(), &offline).through, None);
}

/// HO-JOIN-08, HO-JOIN-12.
#[test]
fn joining_is_given_up_after_it_has_failed_often_and_never_before_the_clean_up() {
    let failed = |failed_joins| History {
        failed_joins,
        last_failure: "dataset is not empty".to_owned(),
    };
    for (times, expected) in [
        (0, "joining: join b"),
        (2, "joining: join b"),
        (
            3,
            "refused: joining has failed 3 times, last with: dataset is not empty",
        ),
    ] {
        assert!(
            said_after(&spec(), &before(), &failed(times)).starts_with(expected),
            "{times}"
        );
    }
    let left = cluster(|cluster| cluster.trusted.push(server_certificate("b", OWN)));
    assert!(said_after(&spec(), &left, &failed(3)).contains("end the trust"));
    // What this process has tried itself it also takes away itself.
    let pool = machine(|server| server.pools = set(&["local"]));
    assert!(said_after(&spec(), &pool, &failed(1)).contains("delete pool local"));
}

/// HO-CLUS-02, HO-CLUS-05.
#[test]
fn the_first_member_is_made_by_its_seed_or_on_linux_by_us() {
    let linux = |change: fn(&mut Server)| {
        alone(|server| {
            server.system = System::Other;
            change(server);
        })
    };
    check(vec![
        (
            "silent",
            bootstrap(),
            Observation {
                cluster: None,
                candidate: silent(),
            },
            "waiting-for-host",
        ),
        (
            "unknown to it",
            bootstrap(),
            Observation {
                cluster: None,
                candidate: untrusting(OWN),
            },
            "initializing",
        ),
        (
            "its seed is at work",
            bootstrap(),
            alone(|server| server.system = System::IncusOs { initialized: false }),
            "initializing: the machine is still applying its seed",
        ),
        (
            "seeded to join",
            bootstrap(),
            alone(|_| {}),
            "refused: the machine has applied its seed and made no cluster",
        ),
        (
            "its cluster does not answer yet",
            bootstrap(),
            alone(|server| server.clustered = true),
            "waiting-for-cluster",
        ),
        (
            "the same, and the pin was for the time before",
            with(|spec| {
                spec.role = Role::Bootstrap;
                spec.server_fingerprint = Some("ff".to_owned());
            }),
            alone(|server| server.clustered = true),
            "waiting-for-cluster",
        ),
        (
            "Linux",
            bootstrap(),
            linux(|_| {}),
            "joining: set cluster.https_address to 10.0.0.2:8443",
        ),
        (
            "Linux with another address",
            bootstrap(),
            linux(|server| server.cluster_address = Some("10.0.0.9:8443".to_owned())),
            "joining: set cluster.https_address",
        ),
        (
            "Linux with its address, and something on it",
            bootstrap(),
            linux(|server| {
                server.cluster_address = Some("10.0.0.2:8443".to_owned());
                server.instances = set(&["web"]);
                server.pools = set(&["default"]);
            }),
            "joining: make a cluster of b",
        ),
        (
            "Linux at work",
            bootstrap(),
            linux(|server| server.busy = true),
            "joining: the machine is about to",
        ),
        (
            "there is a cluster",
            bootstrap(),
            before(),
            "refused: there is a cluster already",
        ),
        (
            "there is a cluster, and it is silent",
            bootstrap(),
            seen(silent()),
            "refused: there is a cluster already",
        ),
        (
            "it was removed by force",
            bootstrap(),
            seen(open(joined())),
            "refused: the machine shows this cluster's certificate",
        ),
        ("it is there", bootstrap(), complete(), "joined"),
    ]);
}

/// HO-JOIN-20, HO-JOIN-24.
#[test]
fn a_listed_member_must_be_the_machine_at_the_declared_address() {
    let meets = |candidate| Observation {
        candidate,
        ..complete()
    };
    check(vec![
        ("it is", spec(), complete(), "joined"),
        ("nobody answers there", spec(), meets(silent()), "joined"),
        (
            "it does not know us",
            spec(),
            meets(untrusting(CLUSTER)),
            "joined",
        ),
        (
            "the pin was for the time before",
            with(|spec| spec.server_fingerprint = Some(OWN.to_owned())),
            complete(),
            "joined",
        ),
        (
            "an unjoined machine",
            spec(),
            meets(open(fresh())),
            "suspect: the cluster has a member of this name",
        ),
        ("a stranger", spec(), meets(untrusting("ff")), "suspect:"),
        (
            "it is joining",
            spec(),
            meets(open(Server {
                busy: true,
                ..fresh()
            })),
            "joining:",
        ),
        (
            "another member",
            spec(),
            meets(open(Server {
                name: "a".to_owned(),
                ..joined()
            })),
            "refused: the machine at the declared address is the member \"a\"",
        ),
        (
            "listed elsewhere",
            with(|spec| spec.address = address("10.0.0.7")),
            complete(),
            "refused: the cluster reaches this member at 10.0.0.2:8443",
        ),
        (
            "its token is still good",
            spec(),
            changed(complete(), |cluster| cluster.tokens.push(token("b"))),
            "joining: revoke a join token",
        ),
        (
            "offline",
            spec(),
            as_member(|member| member.status = Status::Offline),
            "waiting-for-host: member b is offline",
        ),
        (
            "cut off",
            spec(),
            as_member(|member| member.server = None),
            "waiting-for-host: member b does not answer",
        ),
        (
            "of a newer version",
            spec(),
            as_member(|member| member.status = Status::Blocked),
            "version-mismatch:",
        ),
        (
            "on the move",
            spec(),
            as_member(|member| member.status = Status::Restoring),
            "fixing-up:",
        ),
    ]);
}
