//! What is refused beside image, workload and health: volumes, secrets, what belongs to one type.

use super::*;

/// HO-APP-07, HO-APP-08, HO-APP-14: one on each machine is a number of replicas of its own, and says where.
#[test]
fn per_node_is_a_count_and_a_place() {
    let mut declared = sound();
    declared.replicas = known("per-node");
    let spec = declared.spec().expect("a sound declaration");
    assert_eq!(spec.replicas, Replicas::PerNode);
    declared.placement = Given::Known(DeclaredPlacement {
        group: known("fast"),
    });
    assert_eq!(refused(&declared), [".placement"]);
    declared.replicas = known("2");
    let group = declared.spec().expect("a sound declaration").placement;
    assert_eq!(group.expect("a placement").group, "fast");
}

fn volume(class: &str, path: &str) -> Given<DeclaredVolume> {
    Given::Known(DeclaredVolume {
        class: known(class),
        path: known(path),
        ..DeclaredVolume::default()
    })
}

/// Design 7: two generations never write to one volume, and each volume has a path, a device and a size that can be.
#[test]
fn volumes_belong_to_what_runs_once() {
    let with = |r#type: &str, volumes: &[(&str, Given<DeclaredVolume>)]| Declared {
        r#type: known(r#type),
        volumes: Given::Known(
            volumes
                .iter()
                .map(|(name, volume)| ((*name).to_owned(), volume.clone()))
                .collect(),
        ),
        ..sound()
    };
    let data = || volume("local", "/data");
    for (declared, expected) in [
        (with("generic-exclusive", &[("data", data())]), &[][..]),
        (
            with("generic-stateless", &[("data", data())]),
            &[".volumes"],
        ),
        (
            with("generic-exclusive", &[("root", data())]),
            &[".volumes[root]"],
        ),
        (
            with("generic-exclusive", &[("data", volume("fast", "/data"))]),
            &[".volumes[data].class"],
        ),
        (
            with("generic-exclusive", &[("data", volume("local", "data"))]),
            &[".volumes[data].path"],
        ),
        (
            with("generic-exclusive", &[("a", data()), ("b", data())]),
            &[".volumes[b].path"],
        ),
    ] {
        assert_eq!(refused(&declared), expected, "{declared:?}");
    }
    let mut sized = with("generic-exclusive", &[("data", data())]);
    let Given::Known(volumes) = &mut sized.volumes else {
        panic!("set above");
    };
    if let Some(Given::Known(data)) = volumes.get_mut("data") {
        data.size = known("1GiB");
    }
    let spec = sized.spec().expect("a sound declaration");
    assert_eq!(spec.volumes["data"].size, Some(1 << 30));
}

/// HCL: what passes through is told by its version alone, and belongs to the apps that can have it.
#[test]
fn secrets_have_a_version_and_a_place() {
    let names =
        |names: &[&str]| Given::Known(names.iter().map(|name| (*name).to_owned()).collect());
    let unversioned = Declared {
        secrets: names(&["TOKEN"]),
        ..sound()
    };
    assert_eq!(refused(&unversioned), [".secrets_wo_version"]);
    let misnamed = Declared {
        secrets: names(&["A B"]),
        secrets_version: Given::Known(1),
        ..sound()
    };
    assert_eq!(refused(&misnamed), [".secrets_wo[A B]"]);
    let of_machines = Declared {
        node_secrets: Given::Known(BTreeMap::new()),
        node_secrets_version: Given::Known(1),
        ..sound()
    };
    assert_eq!(refused(&of_machines), [".node_secrets_wo"]);
    // A state holds the version alone.
    let stored = Declared {
        secrets_version: Given::Known(3),
        ..sound()
    };
    assert_eq!(stored.spec().expect("a sound declaration").secrets, Some(3));
}

/// HO-APP-13, HO-ELECT-01: what only one type knows is refused with another, and demanded with that one.
#[test]
fn curated_types_want_what_is_theirs() {
    let of_type = |r#type: &str, replicas: &str| Declared {
        r#type: known(r#type),
        replicas: known(replicas),
        ..sound()
    };
    assert_eq!(refused(&of_type("agent", "3")), [".replicas", ".primary"]);
    assert_eq!(refused(&of_type("alloy", "per-node")), [".alloy"]);
    let mut led = of_type("generic-stateless", "1");
    led.primary = known("a");
    assert_eq!(refused(&led), [".primary"]);
    led.r#type = known("agent");
    led.replicas = known("per-node");
    assert_eq!(refused(&led), [""; 0]);
    let mut collector = of_type("alloy", "per-node");
    let destination = DeclaredDestination {
        loki_url: known("ftp://x"),
        username: known("me"),
        ..DeclaredDestination::default()
    };
    let destinations = BTreeMap::from([("cloud".to_owned(), Given::Known(destination))]);
    collector.alloy = Given::Known(DeclaredAlloy {
        destinations: Given::Known(destinations),
    });
    let expected = [
        ".alloy.destinations[cloud].loki_url",
        ".alloy.destinations[cloud]",
    ];
    assert_eq!(refused(&collector), expected);
}

/// HO-OBS-04: a collector reads metrics with a whole pair, and is what can be given files.
#[test]
fn a_collector_is_a_container_with_a_whole_pair() {
    let with = |r#type: &str, names: &[&str], kind: Given<String>| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let declared = Declared {
            r#type: known(r#type),
            replicas: known("per-node"),
            alloy: Given::Unknown,
            node_secrets: Given::Known(BTreeMap::from([("a".to_owned(), Given::Known(names))])),
            node_secrets_version: Given::Known(1),
            workload: Given::Known(DeclaredWorkload {
                kind,
                ..DeclaredWorkload::default()
            }),
            ..sound()
        };
        refused(&declared)
    };
    let (both, half) = (&["metrics_crt", "metrics_key"][..], &["metrics_key"][..]);
    let absent = || Given::Absent;
    assert_eq!(with("alloy", both, absent()), [""; 0]);
    assert_eq!(with("alloy", half, absent()), [".node_secrets_wo[a]"]);
    assert_eq!(with("alloy", both, known("vm")), [".workload.kind"]);
    assert_eq!(with("generic-stateless", half, known("vm")), [""; 0]);
}

/// Only what carries its memory and its disks with it can move while it runs, and only what waits has an end.
#[test]
fn what_cannot_be_is_refused() {
    let mut moving = sound();
    moving.live_migration = Given::Known(true);
    assert_eq!(refused(&moving), [".live_migration"]);
    moving.workload = Given::Known(DeclaredWorkload {
        kind: known("vm"),
        ..DeclaredWorkload::default()
    });
    assert_eq!(refused(&moving), [""; 0]);
    let mut hasty = sound();
    hasty.wait = Given::Known(false);
    assert_eq!(refused(&hasty), [".wait"]);
}

/// Design 7: what belongs to its machine stays there, whatever a user writes; and one key has one attribute.
#[test]
fn a_key_that_the_provider_sets_is_reserved() {
    let of = |replicas: &str, key: &str| Declared {
        replicas: known(replicas),
        ..config(key)
    };
    let reserved = |key: &str| [format!(".workload.config[{key}]")];
    assert_eq!(
        refused(&of("per-node", "cluster.evacuate")),
        reserved("cluster.evacuate")
    );
    assert_eq!(refused(&of("2", "cluster.evacuate")), [""; 0]);
    let mut moving = config("migration.stateful");
    assert_eq!(refused(&moving), [""; 0]);
    if let Given::Known(workload) = &mut moving.workload {
        workload.kind = known("vm");
    }
    moving.live_migration = Given::Known(true);
    assert_eq!(refused(&moving), reserved("migration.stateful"));
}

/// Incus refuses variables of more than one line; what a collector gets as a file may have them.
#[test]
fn a_secret_is_one_line() {
    let with = |r#type: &str, machine: Option<&str>, name: &str| {
        let long = (machine.map(str::to_owned), name.to_owned());
        let declared = Declared {
            r#type: known(r#type),
            of_many_lines: BTreeSet::from([long]),
            ..sound()
        };
        let issues = refused(&declared);
        issues.into_iter().find(|path| path.contains("secrets_wo"))
    };
    for (r#type, machine, name, expected) in [
        ("generic-stateless", None, "KEY", Some(".secrets_wo[KEY]")),
        (
            "generic-stateless",
            Some("a"),
            "metrics_key",
            Some(".node_secrets_wo[a][metrics_key]"),
        ),
        ("alloy", Some("a"), "metrics_key", None),
        ("alloy", None, "KEY", Some(".secrets_wo[KEY]")),
    ] {
        assert_eq!(with(r#type, machine, name).as_deref(), expected, "{name}");
    }
}

/// Design 7: what only one instance can have belongs to a type that stops the old generation first; an address to one.
#[test]
fn what_only_one_can_have_is_refused_where_there_are_two() {
    let of = |r#type: &str, replicas: &str, settings: &[(&str, &str)]| {
        let setting = |(key, value): &(&str, &str)| ((*key).to_owned(), known(value));
        let device: GivenMap = settings.iter().map(setting).collect();
        let devices = BTreeMap::from([("x".to_owned(), Given::Known(device))]);
        Declared {
            r#type: known(r#type),
            replicas: known(replicas),
            workload: Given::Known(DeclaredWorkload {
                devices: Given::Known(devices),
                ..DeclaredWorkload::default()
            }),
            ..sound()
        }
    };
    let host = &[("type", "proxy"), ("listen", "tcp:0.0.0.0:80")][..];
    let nat = &[
        ("type", "proxy"),
        ("listen", "tcp:10.0.0.1:80"),
        ("nat", "true"),
    ][..];
    let inside = &[
        ("type", "proxy"),
        ("listen", "tcp:0.0.0.0:80"),
        ("bind", "instance"),
    ][..];
    let fixed = &[("type", "nic"), ("ipv4.address", "10.0.0.9")][..];
    let filtered = &[("type", "nic"), ("ipv4.address", "none")][..];
    let (listen, address) = (
        ".workload.devices[x][listen]",
        ".workload.devices[x][ipv4.address]",
    );
    for (r#type, replicas, settings, expected) in [
        ("generic-stateless", "1", host, &[listen][..]),
        ("generic-stateless", "1", nat, &[listen][..]),
        ("generic-stateless", "1", inside, &[][..]),
        ("generic-stateless", "1", fixed, &[address][..]),
        ("generic-stateless", "1", filtered, &[][..]),
        ("generic-exclusive", "2", host, &[][..]),
        ("generic-exclusive", "1", fixed, &[][..]),
        ("generic-exclusive", "2", fixed, &[address][..]),
        ("generic-exclusive", "per-node", fixed, &[address][..]),
    ] {
        assert_eq!(
            refused(&of(r#type, replicas, settings)),
            expected,
            "{type} {replicas} {settings:?}"
        );
    }
    let disk = &[("type", "disk"), ("source", "/srv"), ("path", "/data/")][..];
    let mut twice = of("generic-exclusive", "1", disk);
    twice.volumes = Given::Known(BTreeMap::from([(
        "data".to_owned(),
        volume("local", "/data"),
    )]));
    assert_eq!(refused(&twice), [".volumes[data].path"]);
}
