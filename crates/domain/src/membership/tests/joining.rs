//! From a machine to a member: what is waited for, what is refused, what is cleaned up, and how it joins.

use crate::membership::answer::Decision;
use crate::membership::decide::decide;
use crate::membership::fixtures::*;
use crate::membership::history::History;
use crate::membership::observation::*;
use crate::membership::spec::{MemberSpec, Storage};
use crate::membership::step::{MemberSetting, Step};

/// HO-JOIN-06, HO-JOIN-07, HO-JOIN-08, HO-JOIN-31.
#[test]
fn a_joiner_waits_for_what_time_brings() {
    let differs = |change: fn(&mut Server)| machine(change);
    check_joins(vec![
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
            "a cluster whose seed has not made its pool yet",
            spec(),
            changed(
                machine(|server| server.cluster_address = Some("10.0.0.2:8443".to_owned())),
                |cluster| {
                    cluster.pools.clear();
                    at_its_seed(cluster);
                },
            ),
            "waiting-for-cluster:",
        ),
        (
            "a member that cannot be asked holds up nobody",
            spec(),
            cluster(|cluster| cluster.members[0].server = None),
            "joining: join b at 10.0.0.2:8443",
        ),
    ]);
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
        tried: Some(OWN.to_owned()),
        last_failure: "dataset is not empty".to_owned(),
        ..History::default()
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
    // But nothing of another machine that has the address meanwhile.
    let other = machine(|server| {
        server.fingerprint = "other".to_owned();
        server.pools = set(&["local"]);
    });
    let said = said_after(&spec(), &other, &failed(1));
    assert!(
        said.starts_with("refused: the machine is not empty"),
        "{said}"
    );
}

/// HO-JOIN-08: members of a mixed cluster list only what all have, so that a version can look the same and not be.
#[test]
fn a_machine_whose_version_was_refused_waits_once_its_try_is_cleaned_up() {
    let refused = History {
        misfit: Some("expected 6.0.4".to_owned()),
        ..History::default()
    };
    let said = said_after(&spec(), &before(), &refused);
    assert!(said.starts_with("version-mismatch: "), "{said}");
    assert!(said.ends_with("expected 6.0.4"), "{said}");
    let left = cluster(|cluster| cluster.trusted.push(server_certificate("b", OWN)));
    assert!(said_after(&spec(), &left, &refused).contains("end the trust"));
}
