//! What is found before anything is stopped, and at which attribute.

use super::*;
use crate::app::{AppType, Image, ImageReference, Placement, Replicas, Volume, VolumeClass};
use crate::observation::{Member, MemberStatus, Power, Seen, VolumeSeen, of_app};
use crate::place::Place;

fn spec(r#type: AppType, replicas: Replicas) -> AppSpec {
    let image = Image {
        digest: None,
        ..Image::own(ImageReference::Alias("app/v1".to_owned()))
    };
    AppSpec::new("web", r#type, replicas, image)
}

fn stateless(count: u32) -> AppSpec {
    spec(AppType::GenericStateless, Replicas::Count(count))
}

fn exclusive(count: u32) -> AppSpec {
    spec(AppType::GenericExclusive, Replicas::Count(count))
}

fn device(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let setting = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    settings.iter().map(setting).collect()
}

fn proxy(listen: &str) -> BTreeMap<String, String> {
    device(&[
        ("type", "proxy"),
        ("listen", listen),
        ("connect", "tcp:127.0.0.1:80"),
    ])
}

/// A cluster with room for everything.
fn facts() -> Facts {
    let pool = |driver: &str| Pool {
        driver: driver.to_owned(),
        is_ready: true,
    };
    Facts {
        project: "default".to_owned(),
        limits: Some(BTreeMap::new()),
        profiles: BTreeMap::from([("default".to_owned(), Devices::new())]),
        pools: BTreeMap::from([
            ("local".to_owned(), pool("zfs")),
            ("shared".to_owned(), pool("ceph")),
        ]),
        storage_pool: "local".to_owned(),
        shared_pool: Some("shared".to_owned()),
        groups: Some(BTreeSet::from(["default".to_owned()])),
        instances: Vec::new(),
    }
}

fn members(names: &[&str]) -> Vec<Member> {
    let member = |name: &&str| Member {
        name: (*name).to_owned(),
        status: MemberStatus::Online,
        architecture: "x86_64".to_owned(),
        schedulable: true,
        groups: vec!["default".to_owned()],
    };
    names.iter().map(member).collect()
}

fn neighbour(name: &str, project: &str, member: &str, listen: &str) -> Neighbour {
    Neighbour {
        name: name.to_owned(),
        project: project.to_owned(),
        member: Some(member.to_owned()),
        is_vm: false,
        devices: Devices::from([("http".to_owned(), proxy(listen))]),
    }
}

fn told(spec: &AppSpec, facts: &Facts, seen: &[Seen]) -> Vec<String> {
    let work = Work::default();
    let observation = of_app("web", seen, &members(&["n1", "n2"]), &work);
    let issues = check(spec, facts, &observation, &work);
    issues.iter().map(ToString::to_string).collect()
}

fn expect(spec: &AppSpec, facts: &Facts, parts: &[&str]) {
    let told = told(spec, facts, &[]);
    assert_eq!(told.len(), parts.len(), "{told:#?}");
    for (told, part) in told.iter().zip(parts) {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// HF-25: what the declaration names has to be there, and all that is not is told at once.
#[test]
fn what_is_named_must_exist() {
    expect(&stateless(2), &facts(), &[]);
    let mut gone = facts();
    gone.limits = None;
    expect(
        &stateless(2),
        &gone,
        &["The project \"default\" does not exist"],
    );

    let mut declared = exclusive(1);
    declared.workload.profiles = Some(vec!["default".to_owned(), "gpu".to_owned()]);
    declared.workload.devices.insert(
        "data".to_owned(),
        device(&[("type", "disk"), ("pool", "fast")]),
    );
    declared.placement = Some(Placement {
        group: "edge".to_owned(),
    });
    let volume = |class, pool: Option<&str>| Volume {
        class,
        pool: pool.map(str::to_owned),
        path: "/data".to_owned(),
        size: None,
    };
    declared.volumes = BTreeMap::from([
        (
            "a".to_owned(),
            volume(VolumeClass::Replicated, Some("local")),
        ),
        ("b".to_owned(), volume(VolumeClass::Replicated, None)),
    ]);
    let mut poor = facts();
    (poor.shared_pool, poor.storage_pool) = (None, "none".to_owned());
    expect(
        &declared,
        &poor,
        &[
            "workload.profiles[1]: The profile \"gpu\" does not exist",
            "The storage pool \"none\" does not exist. It is for the root disk",
            "workload.devices[\"data\"][\"pool\"]: The storage pool \"fast\" does not exist",
            "volumes[\"a\"].pool: The pool of a replicated volume is not shared",
            "volumes[\"b\"].class: There is no pool for replicated volumes",
            "placement.group: The cluster group \"edge\" does not exist",
        ],
    );
    let mut pending = facts();
    pending.pools.insert("local".to_owned(), Pool::default());
    expect(
        &stateless(1),
        &pending,
        &["The storage pool \"local\" is not ready"],
    );
    // A profile that brings a root disk needs no pool of the provider's.
    let root = device(&[("type", "disk"), ("path", "/"), ("pool", "shared")]);
    pending.profiles.insert(
        "default".to_owned(),
        Devices::from([("root".to_owned(), root)]),
    );
    expect(&stateless(1), &pending, &[]);
}

/// The limits of a project count what is there, what is missing, and the generation beside the one before.
#[test]
fn a_project_must_have_room() {
    let limited = |limit: &str, most: &str, there: usize| {
        let limits = BTreeMap::from([(limit.to_owned(), most.to_owned())]);
        let instances = (0..there).map(|number| Neighbour {
            name: format!("other{number}"),
            project: "default".to_owned(),
            ..Neighbour::default()
        });
        Facts {
            limits: Some(limits),
            instances: instances.collect(),
            ..facts()
        }
    };
    for (limit, most, there, fits) in [
        ("limits.instances", "4", 2, true),
        ("limits.instances", "3", 2, false),
        ("limits.containers", "3", 2, false),
        ("limits.virtual-machines", "0", 2, true),
        ("limits.instances", "", 9, true),
    ] {
        let parts: &[&str] = match fits {
            true => &[],
            false => &["replicas: The project \"default\" has no room for the app"],
        };
        expect(&stateless(2), &limited(limit, most, there), parts);
    }
    let old = workload("web-g0", "other");
    let told = told(&stateless(1), &limited("limits.instances", "1", 1), &[old]);
    assert!(
        told[0].contains("a new generation comes up before the old one goes"),
        "{told:?}"
    );
}

fn workload(name: &str, spec: &str) -> Seen {
    let key = |key: &str, value: &str| (format!("user.homelab-ops.{key}"), value.to_owned());
    Seen {
        name: name.to_owned(),
        member: Some("n1".to_owned()),
        power: Power::Running,
        config: Some(BTreeMap::from([
            key("app", "web"),
            key("generation", "0"),
            key("spec", spec),
        ])),
        healthy_since: None,
        started_at: String::new(),
        ever_started: true,
        description: String::new(),
    }
}

/// The names that come next must be free; whose they are is told.
#[test]
fn names_that_are_taken_are_found_before() {
    let mut theirs = workload("web-1-g0", "");
    theirs.config = Some(BTreeMap::from([(
        "user.homelab-ops.app".to_owned(),
        "web-1".to_owned(),
    )]));
    let mut by_hand = workload("web-0-g0", "");
    by_hand.config = Some(BTreeMap::new());
    let all = told(&stateless(2), &facts(), &[theirs, by_hand.clone()]);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(
        all[0].contains("web-0-g0 is taken. It was not made by this provider"),
        "{all:#?}"
    );
    assert!(
        all[1].contains("web-1-g0 is taken. It carries the keys of app \"web-1\""),
        "{all:#?}"
    );
    // A place that is as declared needs no name.
    by_hand.name = "web-g1".to_owned();
    let same = workload("web-g0", &stateless(1).hash());
    assert_eq!(
        told(&stateless(1), &facts(), &[same, by_hand.clone()]),
        [""; 0]
    );
    let old = workload("web-g0", "other");
    assert_eq!(told(&stateless(1), &facts(), &[old, by_hand]).len(), 1);
}

/// Each workload needs a member of its own on which nobody listens there, whatever project they are in.
#[test]
fn ports_of_the_host_must_be_free() {
    let listening = |count, listen: &str| {
        let mut declared = exclusive(count);
        declared
            .workload
            .devices
            .insert("http".to_owned(), proxy(listen));
        declared
    };
    let port = "workload.devices[\"http\"][\"listen\"]: A port of the host is not free";
    for (count, listen, taken, fits) in [
        (2, "tcp:0.0.0.0:80", &[][..], true),
        (3, "tcp:0.0.0.0:80", &[][..], false),
        (1, "tcp:0.0.0.0:80", &[("n1", "tcp:0.0.0.0:80")][..], true),
        (
            2,
            "tcp:0.0.0.0:80",
            &[("n1", "tcp:10.0.0.1:70-90")][..],
            false,
        ),
        (2, "tcp:0.0.0.0:80", &[("n1", "udp:0.0.0.0:80")][..], true),
        (2, "tcp:10.0.0.2:80", &[("n1", "tcp:10.0.0.1:80")][..], true),
        (
            2,
            "tcp:[::]:80,443",
            &[("n1", "tcp:10.0.0.1:443")][..],
            false,
        ),
        (
            1,
            "tcp:0.0.0.0:80",
            &[("n1", "tcp:0.0.0.0:80"), ("n2", "tcp:0.0.0.0:80")][..],
            false,
        ),
    ] {
        let mut there = facts();
        let others = taken
            .iter()
            .map(|(member, listen)| neighbour("theirs", "lab", member, listen));
        there.instances.extend(others);
        let told: &[&str] = match fits {
            true => &[],
            false => &[port],
        };
        expect(&listening(count, listen), &there, told);
    }
    let mut inside = listening(3, "tcp:0.0.0.0:80");
    if let Some(device) = inside.workload.devices.get_mut("http") {
        device.insert("bind".to_owned(), "instance".to_owned());
    }
    expect(&inside, &facts(), &[]);
}

/// A workload does not collide with the generation before it, which is stopped first.
#[test]
fn an_apps_own_port_is_free_for_it() {
    let mut declared = exclusive(2);
    declared
        .workload
        .devices
        .insert("http".to_owned(), proxy("tcp:0.0.0.0:80"));
    let mut there = facts();
    there.groups = None;
    there.instances = vec![neighbour("web-g0", "default", "n1", "tcp:0.0.0.0:80")];
    let own = told(&declared, &there, &[workload("web-g0", "other")]);
    assert_eq!(own, [""; 0]);
}

/// What a profile brings counts as well.
#[test]
fn profiles_can_make_an_app_exclusive() {
    let with = |device: BTreeMap<String, String>| {
        let mut there = facts();
        there.profiles.insert(
            "default".to_owned(),
            Devices::from([("eth0".to_owned(), device)]),
        );
        there
    };
    let fixed = || with(device(&[("type", "nic"), ("ipv4.address", "10.0.0.9")]));
    let profile = "workload.profiles: A profile has what only one instance can have";
    expect(&stateless(1), &fixed(), &[profile]);
    expect(&stateless(1), &with(proxy("tcp:0.0.0.0:80")), &[profile]);
    expect(&exclusive(1), &fixed(), &[]);
    expect(&exclusive(2), &fixed(), &[profile]);
}

/// HF-25: a volume is never left behind for an empty one in another pool, whether that pool is named or follows from the
/// class or the provider's default.
#[test]
fn data_stays_in_its_pool() {
    let elsewhere = "The data of a volume is elsewhere";
    let cases = [
        (VolumeClass::Local, None, "local", None),
        (VolumeClass::Local, Some("local"), "local", None),
        (VolumeClass::Local, Some("old"), "old", None),
        (VolumeClass::Local, None, "old", Some("class")),
        (VolumeClass::Local, Some("local"), "old", Some("pool")),
        (VolumeClass::Replicated, None, "local", Some("class")),
        (VolumeClass::Local, None, "shared", Some("class")),
    ];
    for (class, pool, there, refused_at) in cases {
        let mut declared = exclusive(1);
        let volume = Volume {
            class,
            pool: pool.map(str::to_owned),
            path: "/data".to_owned(),
            size: None,
        };
        declared.volumes.insert("data".to_owned(), volume);
        let mut facts = facts();
        facts
            .pools
            .insert("old".to_owned(), facts.pools["local"].clone());
        let work = Work::default();
        let mut observation = of_app("web", &[], &members(&["n1"]), &work);
        let seen = |pool: &str| VolumeSeen {
            name: "web-data".to_owned(),
            pool: pool.to_owned(),
            member: Some("n1".to_owned()),
            place: Place::FIRST,
            volume: "data".to_owned(),
            size: None,
        };
        observation.volumes.push(seen(there));
        let told = |observation: &Observation| -> Vec<String> {
            let issues = check(&declared, &facts, observation, &work);
            issues.iter().map(ToString::to_string).collect()
        };
        let found = told(&observation);
        let expected: Vec<String> = refused_at
            .map(|at| format!("volumes[\"data\"].{at}: {elsewhere}"))
            .into_iter()
            .collect();
        assert_eq!(
            found.len(),
            expected.len(),
            "{class:?} {pool:?} {there}: {found:#?}"
        );
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.starts_with(expected), "{found}");
        }
        // What was moved or copied to where it is declared is found there.
        let declared_pool = facts.pool_of(&declared.volumes["data"]);
        observation
            .volumes
            .push(seen(declared_pool.expect("a pool")));
        assert_eq!(told(&observation), [""; 0], "{class:?} {pool:?} {there}");
    }
}
