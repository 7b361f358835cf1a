//! From a member to none: what keeps it, what is taken from it first, and what remains.

use crate::membership::fixtures::*;
use crate::membership::history::History;
use crate::membership::observation::*;
use crate::membership::removal::{Removal, removal};
use crate::membership::spec::{MemberSpec, OnDestroy};

pub(super) const NOTHING: OnDestroy = OnDestroy {
    evacuate: false,
    force: false,
};
const EVACUATE: OnDestroy = OnDestroy {
    evacuate: true,
    force: false,
};
pub(super) const FORCE: OnDestroy = OnDestroy {
    evacuate: false,
    force: true,
};
const BOTH: OnDestroy = OnDestroy {
    evacuate: true,
    force: true,
};

pub(super) fn said(spec: &MemberSpec, observation: &Observation, applied: OnDestroy) -> String {
    said_after(spec, observation, applied, &History::default())
}

pub(super) fn said_after(
    spec: &MemberSpec,
    observation: &Observation,
    applied: OnDestroy,
    history: &History,
) -> String {
    match removal(spec, observation, applied, history) {
        Removal::Wait(waiting) => format!("wait: {waiting}"),
        Removal::Do(step) => format!("do: {step}"),
        Removal::Refuse(refusal) => format!("refuse: {refusal}"),
        Removal::Gone { warnings } => {
            let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
            format!("gone{}", warnings.join("; "))
        }
    }
}

pub(super) fn check(table: Vec<(&str, Observation, OnDestroy, &str)>) {
    for (case, observation, applied, expected) in table {
        let said = said(&spec(), &observation, applied);
        assert!(said.starts_with(expected), "{case}: {said}");
    }
}

/// Three members, all with everything.
pub(super) fn three() -> Observation {
    Observation {
        cluster: Some(cluster_of(&["a", "b", "c"])),
        candidate: open(joined()),
    }
}

pub(super) fn b(change: impl FnOnce(&mut Member)) -> Observation {
    changed(three(), |cluster| change(&mut cluster.members[1]))
}

pub(super) fn no_volumes(observation: Observation) -> Observation {
    changed(observation, |cluster| {
        cluster.volumes.retain(|volume| volume.member != "b");
        if let Some(server) = &mut cluster.members[1].server {
            server.config.retain(|key, _| !key.starts_with("storage."));
        }
    })
}

fn volume(pool: &str, project: &str, name: &str) -> Volume {
    Volume {
        pool: pool.to_owned(),
        project: project.to_owned(),
        name: name.to_owned(),
        member: "b".to_owned(),
    }
}

/// HO-CLUS-08.
#[test]
fn the_daemons_own_volumes_are_given_up_deleted_and_then_the_member_goes() {
    let unset = |observation| {
        changed(observation, |cluster| {
            if let Some(server) = &mut cluster.members[1].server {
                server.config.retain(|key, _| !key.starts_with("storage."));
            }
        })
    };
    let busy = || {
        let only_logs = changed(unset(three()), |cluster| {
            cluster
                .volumes
                .retain(|volume| volume.member != "b" || volume.name == "logs");
        });
        changed(only_logs, |cluster| {
            cluster.members[1].busy_volumes = set(&["logs"])
        })
    };
    check(vec![
        (
            "pointed at",
            three(),
            NOTHING,
            "do: set storage.backups_volume, storage.images_volume, storage.logs_volume of b",
        ),
        (
            "given up",
            unset(three()),
            NOTHING,
            "do: delete volume local/backups of b",
        ),
        (
            "the last is in use",
            busy(),
            NOTHING,
            "refuse: its daemon still uses the custom volumes local/logs: restart Incus on it",
        ),
        (
            "the last is in use, and may be lost",
            busy(),
            FORCE,
            "do: remove b by force",
        ),
        ("empty", no_volumes(three()), NOTHING, "do: remove b"),
        (
            "empty, and anything may be lost",
            no_volumes(three()),
            BOTH,
            "do: remove b",
        ),
    ]);
    assert_eq!(said(&spec(), &no_volumes(three()), BOTH), "do: remove b");
    let first_busy = changed(unset(three()), |cluster| {
        cluster.members[1].busy_volumes = set(&["backups"])
    });
    assert_eq!(
        said(&spec(), &first_busy, NOTHING),
        "do: delete volume local/images of b"
    );
}

/// HO-CLUS-08: nothing is lost unless that was applied before.
#[test]
fn what_would_be_lost_keeps_the_member() {
    let hosts = |status| {
        b(|member| {
            member.instances = set(&["db", "web"]);
            member.status = status;
        })
    };
    let holds = |extra: Volume| changed(three(), |cluster| cluster.volumes.push(extra.clone()));
    let images = || no_volumes(b(|member| member.sole_images = set(&["f00"])));
    let on_linux = || {
        b(|member| {
            if let Some(server) = &mut member.server {
                server.incusos = false;
            }
        })
    };
    check(vec![
        (
            "instances",
            hosts(Status::Online),
            NOTHING,
            "refuse: it hosts db, web: move or delete them, or apply on_destroy = { evacuate = true } first",
        ),
        (
            "instances that may be moved",
            hosts(Status::Online),
            EVACUATE,
            "do: evacuate b",
        ),
        (
            "instances that may be moved or lost",
            hosts(Status::Online),
            BOTH,
            "do: evacuate b",
        ),
        (
            "instances that may be lost",
            hosts(Status::Online),
            FORCE,
            "do: remove b by force",
        ),
        (
            "instances that could not be moved",
            hosts(Status::Evacuated),
            EVACUATE,
            "refuse: it was evacuated, and db, web could not be moved",
        ),
        (
            "instances that could not be moved, and may be lost",
            hosts(Status::Evacuated),
            BOTH,
            "do: remove b by force",
        ),
        (
            "on the move",
            hosts(Status::Evacuating),
            BOTH,
            "wait: the member is being evacuated",
        ),
        (
            "a volume",
            holds(volume("local", "default", "data")),
            EVACUATE,
            "refuse: it has the custom volumes local/data:",
        ),
        (
            "a volume beside instances that may be moved",
            changed(hosts(Status::Online), |cluster| {
                cluster.volumes.push(volume("local", "default", "data"));
            }),
            EVACUATE,
            "refuse: it has the custom volumes local/data:",
        ),
        (
            "a volume beside instances, of which anything may be done",
            changed(hosts(Status::Online), |cluster| {
                cluster.volumes.push(volume("local", "default", "data"));
            }),
            BOTH,
            "do: evacuate b",
        ),
        (
            "a volume of that name in a project",
            holds(volume("local", "web", "logs")),
            NOTHING,
            "refuse: it has the custom volumes local/logs:",
        ),
        (
            "a volume of that name in another pool",
            holds(volume("tank", "default", "logs")),
            NOTHING,
            "refuse: it has the custom volumes tank/logs:",
        ),
        (
            "a volume that may be lost",
            holds(volume("tank", "default", "data")),
            FORCE,
            "do: remove b by force",
        ),
        (
            "the only copy of an image",
            images(),
            NOTHING,
            "refuse: it alone has the images f00:",
        ),
        (
            "the only copy of an image, and it may be lost",
            images(),
            FORCE,
            "do: remove b by force",
        ),
        (
            "on plain Linux no volume is ours",
            on_linux(),
            NOTHING,
            "refuse: it has the custom volumes local/backups, local/images, local/logs:",
        ),
    ]);
}

/// HO-APP-14: what belongs to the machine goes with it, gracefully and as the last thing before it; what does not still
/// keeps it.
#[test]
fn workloads_of_the_machine_do_not_keep_it() {
    let with = |status, others: &[&str]| {
        no_volumes(b(|member| {
            member.workloads = set(&["agent-b-g0", "logs-b-g3"]);
            member.instances = set(others);
            member.status = status;
        }))
    };
    let with_volumes = b(|member| member.workloads = set(&["agent-b-g0"]));
    check(vec![
        (
            "first its daemon's volumes",
            with_volumes,
            NOTHING,
            "do: set storage.backups_volume",
        ),
        (
            "nothing else is there",
            with(Status::Online, &[]),
            NOTHING,
            "do: delete workload agent-b-g0 of b",
        ),
        (
            "others are",
            with(Status::Online, &["db"]),
            NOTHING,
            "refuse: it hosts db: move",
        ),
        (
            "others that may be moved",
            with(Status::Online, &["db"]),
            EVACUATE,
            "do: evacuate b",
        ),
        (
            "others were moved",
            with(Status::Evacuated, &[]),
            EVACUATE,
            "do: delete workload agent-b-g0 of b",
        ),
        (
            "it is dead",
            with(Status::Offline, &[]),
            FORCE,
            "do: remove b by force",
        ),
    ]);
}

#[test]
fn the_primary_and_the_last_member_stay() {
    let primary = |name: &str| changed(three(), |cluster| cluster.primary = Some(name.to_owned()));
    let alone = || Observation {
        cluster: Some(cluster_of(&["b"])),
        candidate: open(joined()),
    };
    check(vec![
        (
            "the agent acts on it",
            primary("b"),
            BOTH,
            "refuse: the agent that acts runs on it",
        ),
        (
            "the agent acts elsewhere",
            primary("a"),
            NOTHING,
            "do: set storage",
        ),
        (
            "the last",
            alone(),
            BOTH,
            "goneb is the last member and cannot leave",
        ),
        (
            "the last, which is the primary",
            changed(alone(), |cluster| cluster.primary = Some("b".to_owned())),
            NOTHING,
            "goneb is the last member",
        ),
        (
            "nobody answers",
            Observation {
                cluster: None,
                ..three()
            },
            BOTH,
            "wait: no member of the cluster answers",
        ),
    ]);
}

/// Two members have one voter between them.
#[test]
fn a_dead_member_is_removed_only_on_demand_and_with_enough_voters_left() {
    let dead = |also: &[usize]| {
        let also = also.to_vec();
        changed(
            b(|member| member.status = Status::Offline),
            move |cluster| {
                for index in also {
                    cluster.members[index].status = Status::Offline;
                }
            },
        )
    };
    let no_voter = changed(dead(&[0]), |cluster| cluster.members[1].votes = false);
    check(vec![
        (
            "dead",
            dead(&[]),
            EVACUATE,
            "refuse: it does not answer: bring it back, or apply on_destroy.force",
        ),
        (
            "dead, and may be lost",
            dead(&[]),
            FORCE,
            "do: remove b by force",
        ),
        (
            "another is dead, too",
            dead(&[0]),
            FORCE,
            "refuse: without it the others that vote could not decide",
        ),
        (
            "cut off, and not offline yet",
            b(|member| member.server = None),
            BOTH,
            "wait: the member does not answer the others",
        ),
        (
            "of a newer version, and cut off",
            b(|member| (member.server, member.status) = (None, Status::Blocked)),
            NOTHING,
            "refuse: it does not answer",
        ),
        (
            "of a newer version",
            b(|member| member.status = Status::Blocked),
            NOTHING,
            "do: set storage.backups_volume",
        ),
        ("it has no vote", no_voter, FORCE, "do: remove b by force"),
        (
            "dead with instances that may be lost",
            changed(dead(&[]), |cluster| {
                cluster.members[1].instances = set(&["web"])
            }),
            FORCE,
            "do: remove b by force",
        ),
    ]);
}

/// Incus gives a vote to another member only some seconds after one that voted has gone. Taken away before that, the next
/// one would leave a database that nobody can write.
#[test]
fn nobody_leaves_while_the_votes_are_being_given_anew() {
    let without_vote =
        |observation| changed(observation, |cluster| cluster.members[2].votes = false);
    let c_is_dead = |observation| {
        changed(observation, |cluster| {
            cluster.members[2].status = Status::Offline
        })
    };
    let two = || {
        changed(no_volumes(three()), |cluster| {
            cluster.members.remove(2);
        })
    };
    let one_vote = changed(two(), |cluster| cluster.members[1].votes = false);
    let empty = || no_volumes(three());
    let choosing = "wait: the cluster is still choosing";
    check(vec![
        ("three votes", empty(), NOTHING, "do: remove b"),
        ("two of three", without_vote(empty()), NOTHING, choosing),
        ("both of two", two(), NOTHING, choosing),
        ("one of two", one_vote, NOTHING, "do: remove b"),
        (
            "the dead get none",
            c_is_dead(without_vote(empty())),
            NOTHING,
            "do: remove b",
        ),
        (
            "the dead keep theirs",
            c_is_dead(empty()),
            BOTH,
            "refuse: without it the others that vote could not decide",
        ),
    ]);
}
