//! A member that lacks something: what is missing in the user's words, and what repairs it, first things first.

use crate::membership::answer::Decision;
use crate::membership::decide::decide;
use crate::membership::fixtures::*;
use crate::membership::history::History;
use crate::membership::observation::*;
use crate::membership::parity::missing;
use crate::membership::spec::{MemberSpec, State};
use crate::membership::step::Step;

fn check(table: Vec<(&str, MemberSpec, Observation, &[&str], &str)>) {
    for (case, spec, observation, lacks, expected) in table {
        assert_eq!(missing(&spec, &observation), lacks, "{case}");
        assert_eq!(said(&spec, &observation), expected, "{case}");
    }
}

fn without_key(key: &str) -> Observation {
    as_member(|member| {
        if let Some(server) = &mut member.server {
            server.config.remove(key);
        }
    })
}

fn set_key(observation: Observation, member: usize, key: &str, value: &str) -> Observation {
    changed(observation, |cluster| {
        if let Some(server) = &mut cluster.members[member].server {
            server.config.insert(key.to_owned(), value.to_owned());
        }
    })
}

fn on_linux() -> Observation {
    changed(complete(), |cluster| {
        take_storage(cluster);
        for member in &mut cluster.members {
            if let Some(server) = &mut member.server {
                server.incusos = false;
            }
        }
    })
}

fn pool(change: impl FnOnce(&mut Pool)) -> Observation {
    changed(complete(), |cluster| {
        take_storage(cluster);
        let mut pool = Pool {
            name: "local".to_owned(),
            driver: "zfs".to_owned(),
            ..Pool::default()
        };
        change(&mut pool);
        cluster.pools.push(pool);
    })
}

const EVERYTHING: [&str; 6] = [
    "custom volume local/backups",
    "custom volume local/images",
    "custom volume local/logs",
    "storage.backups_volume = local/backups",
    "storage.images_volume = local/images",
    "storage.logs_volume = local/logs",
];

/// HO-CLUS-06, HO-JOIN-18, HO-JOIN-19.
#[test]
fn the_daemons_volumes_are_made_before_anything_points_at_them() {
    let bare = changed(complete(), |cluster| {
        cluster.volumes.retain(|volume| volume.member == "a");
        if let Some(server) = &mut cluster.members[1].server {
            server.config.retain(|key, _| !key.starts_with("storage."));
        }
    });
    let old = changed(bare.clone(), |cluster| {
        if let Some(server) = &mut cluster.members[1].server {
            server.keeps_logs = false;
        }
    });
    let without_one = changed(complete(), |cluster| {
        cluster
            .volumes
            .retain(|volume| (&*volume.member, &*volume.name) != ("b", "images"));
    });
    let in_a_project = changed(complete(), |cluster| {
        for volume in &mut cluster.volumes {
            if (&*volume.member, &*volume.name) == ("b", "logs") {
                volume.project = "web".to_owned();
            }
        }
    });
    check(vec![
        ("complete", spec(), complete(), &[], "joined"),
        (
            "just joined",
            spec(),
            bare,
            &EVERYTHING,
            "fixing-up: create volume local/backups on b",
        ),
        (
            "a version that keeps no logs",
            spec(),
            old,
            &[EVERYTHING[0], EVERYTHING[1], EVERYTHING[3], EVERYTHING[4]],
            "fixing-up: create volume local/backups on b",
        ),
        (
            "one is gone",
            spec(),
            without_one.clone(),
            &[EVERYTHING[1]],
            "fixing-up: create volume local/images on b",
        ),
        (
            "one is in another project",
            spec(),
            in_a_project,
            &[EVERYTHING[2]],
            "fixing-up: create volume local/logs on b",
        ),
        (
            "a key is gone",
            spec(),
            without_key("storage.logs_volume"),
            &[EVERYTHING[5]],
            "fixing-up: set storage.logs_volume of b",
        ),
        (
            "a key points somewhere else on purpose",
            spec(),
            set_key(
                without_one.clone(),
                1,
                "storage.images_volume",
                "fast/images",
            ),
            &[],
            "joined",
        ),
        (
            "nothing is seen of a machine that does not answer",
            spec(),
            as_member(|member| member.server = None),
            &[],
            "waiting-for-host: member b does not answer the other members",
        ),
    ]);
}

/// HO-CLUS-06, HO-JOIN-07: IncusOS makes its pool after the cluster, and not if anybody else has made one meanwhile.
#[test]
fn nothing_is_made_on_a_first_member_that_is_still_applying_its_seed() {
    let first = || Observation {
        cluster: Some(cluster_of(&["b"])),
        ..complete()
    };
    let bare = |cluster: &mut Cluster| {
        take_storage(cluster);
        at_its_seed(cluster);
    };
    let waits = "initializing: the machine is still applying its seed";
    let lacks: Vec<&str> = std::iter::once("storage pool local")
        .chain(EVERYTHING)
        .collect();
    check(vec![
        (
            "without pool",
            bootstrap(),
            changed(first(), bare),
            &lacks,
            waits,
        ),
        (
            "with everything",
            bootstrap(),
            changed(first(), at_its_seed),
            &[],
            waits,
        ),
        ("done", bootstrap(), first(), &[], "joined"),
    ]);
}

/// HO-CLUS-06; hcl.md: without storage nothing is made on plain Linux.
#[test]
fn a_pool_is_noted_for_each_member_and_then_made() {
    let declared = || with(|spec| spec.storage = Some(storage("dir")));
    let lacks_pool: Vec<&str> = std::iter::once("storage pool local")
        .chain(EVERYTHING)
        .collect();
    check(vec![
        ("Linux without storage", spec(), on_linux(), &[], "joined"),
        (
            "Linux with storage",
            declared(),
            on_linux(),
            &lacks_pool,
            "fixing-up: note pool local for b",
        ),
        (
            "IncusOS without pool",
            spec(),
            changed(complete(), take_storage),
            &lacks_pool,
            "fixing-up: note pool local for b",
        ),
        (
            "noted for one",
            spec(),
            pool(|pool| pool.members = set(&["a"])),
            &lacks_pool,
            "fixing-up: note pool local for b",
        ),
        (
            "noted for all",
            spec(),
            pool(|pool| pool.members = set(&["a", "b"])),
            &lacks_pool,
            "fixing-up: make pool local",
        ),
        (
            "noted for this one only",
            spec(),
            pool(|pool| pool.members = set(&["b"])),
            &lacks_pool,
            "joined, without storage pool local, custom volume local/backups, custom volume local/images, custom volume \
             local/logs, storage.backups_volume = local/backups, storage.images_volume = local/images, \
             storage.logs_volume = local/logs",
        ),
        (
            "another driver",
            declared(),
            complete(),
            &["storage pool local with driver dir (it has zfs)"],
            "joined, without storage pool local with driver dir (it has zfs)",
        ),
        (
            "made everywhere but here",
            spec(),
            changed(complete(), |cluster| cluster.pools[0].members = set(&["a"])),
            &["storage pool local"],
            "joined, without storage pool local",
        ),
    ]);
}

/// Design 5: the join's fix-up widens the address of a joiner.
#[test]
fn a_joiner_listens_everywhere_where_others_do() {
    let core = "core.https_address";
    let wide = || set_key(complete(), 0, core, ":8443");
    let lacks: &[&str] = &["core.https_address = :8443"];
    check(vec![
        ("others have one address", spec(), complete(), &[], "joined"),
        (
            "another has all",
            spec(),
            wide(),
            lacks,
            "fixing-up: set core.https_address of b",
        ),
        (
            "both have all",
            spec(),
            set_key(wide(), 1, core, ":8443"),
            &[],
            "joined",
        ),
        (
            "its address was chosen",
            spec(),
            set_key(wide(), 1, core, "192.168.9.2:8443"),
            &[],
            "joined",
        ),
        (
            "it has none",
            spec(),
            set_key(wide(), 1, core, ""),
            &[],
            "joined",
        ),
    ]);
}

#[test]
fn what_is_declared_of_a_member_is_set_all_at_once() {
    let declared = || {
        with(|spec| {
            spec.groups = Some(set(&["default", "gpu"]));
            spec.failure_domain = Some("rack-2".to_owned());
            spec.config = [
                ("user.x".to_owned(), "1".to_owned()),
                ("user.gone".to_owned(), String::new()),
            ]
            .into();
        })
    };
    let with_group = |observation| {
        changed(observation, |cluster| {
            cluster.groups = set(&["default", "gpu"])
        })
    };
    let as_declared = with_group(as_member(|member| {
        member.groups = set(&["default", "gpu"]);
        member.failure_domain = "rack-2".to_owned();
        member.config = [
            ("user.x".to_owned(), "1".to_owned()),
            ("user.own".to_owned(), "2".to_owned()),
        ]
        .into();
    }));
    check(vec![
        (
            "no group of that name",
            declared(),
            complete(),
            &[
                "cluster group gpu",
                "groups default, gpu",
                "failure domain rack-2",
                "config user.x = 1",
            ],
            "fixing-up: create cluster group gpu",
        ),
        (
            "nothing is set",
            declared(),
            with_group(complete()),
            &[
                "groups default, gpu",
                "failure domain rack-2",
                "config user.x = 1",
            ],
            "fixing-up: change member b",
        ),
        (
            "as declared, and more beside it",
            declared(),
            as_declared.clone(),
            &[],
            "joined",
        ),
        (
            "a key that should be gone",
            declared(),
            changed(as_declared, |cluster| {
                cluster.members[1]
                    .config
                    .insert("user.gone".to_owned(), "3".to_owned());
            }),
            &["config user.gone = "],
            "fixing-up: change member b",
        ),
    ]);
    let decision = decide(&declared(), &with_group(complete()), &History::default());
    let expected = Step::ChangeMember {
        name: "b".to_owned(),
        groups: Some(set(&["default", "gpu"])),
        failure_domain: Some("rack-2".to_owned()),
        config: [("user.x".to_owned(), "1".to_owned())].into(),
    };
    assert_eq!(decision, Decision::Do(expected));
}

#[test]
fn a_metrics_certificate_is_trusted_again_after_the_join() {
    let declared = || with(|spec| spec.metrics_certificate = Some(metrics()));
    let trusts = |kind| {
        changed(complete(), |cluster| {
            cluster.trusted.push(Trusted {
                name: "b-metrics".to_owned(),
                kind,
                fingerprint: metrics().fingerprint,
            });
        })
    };
    let lacks: &[&str] = &["trust in the metrics certificate"];
    check(vec![
        (
            "unknown",
            declared(),
            complete(),
            lacks,
            "fixing-up: trust the metrics certificate of b",
        ),
        (
            "trusted",
            declared(),
            trusts(TrustKind::Metrics),
            &[],
            "joined",
        ),
        (
            "trusted with everything",
            declared(),
            trusts(TrustKind::Client),
            &[],
            "joined",
        ),
    ]);
}

#[test]
fn a_member_is_evacuated_and_restored_last() {
    let wants = |state| with(|spec| spec.state = Some(state));
    let evacuated = || as_member(|member| member.status = Status::Evacuated);
    check(vec![
        ("left to others", spec(), evacuated(), &[], "joined"),
        (
            "should be empty",
            wants(State::Evacuated),
            complete(),
            &["state evacuated"],
            "fixing-up: evacuate b",
        ),
        (
            "is empty",
            wants(State::Evacuated),
            evacuated(),
            &[],
            "joined",
        ),
        (
            "should be back",
            wants(State::Online),
            evacuated(),
            &["state online"],
            "fixing-up: restore b",
        ),
        ("is back", wants(State::Online), complete(), &[], "joined"),
        (
            "lacks something else first",
            wants(State::Evacuated),
            without_key("storage.logs_volume"),
            &["storage.logs_volume = local/logs", "state evacuated"],
            "fixing-up: set storage.logs_volume of b",
        ),
    ]);
}

#[test]
fn nothing_is_missing_of_what_is_no_member() {
    assert_eq!(missing(&spec(), &before()), [""; 0]);
    let nobody = Observation {
        cluster: None,
        ..before()
    };
    assert_eq!(missing(&spec(), &nobody), [""; 0]);
}
