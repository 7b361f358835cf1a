//! The model of `homelab_app`: what a configuration or a state declares, in `domain`'s words.
//!
//! Before: values as OpenTofu sent them. After: `domain::app::declared` checks and normalises. A configuration and a
//! state declare with the same attributes, so one reading serves both.

use std::collections::{BTreeMap, BTreeSet};

use domain::app::declared::{
    Declared, DeclaredAlloy, DeclaredCheck, DeclaredDestination, DeclaredExec, DeclaredHealth,
    DeclaredHeartbeatFile, DeclaredHttp, DeclaredImage, DeclaredPlacement, DeclaredTcp,
    DeclaredVolume, DeclaredWorkload,
};
use domain::given::Given;
use domain::secret::{Named, Secret, Secrets};
use tfplugin::Value;

use crate::given::{flag, given, list, text, texts, whole};

/// The attributes that a user declares; all others are computed.
pub(super) const DECLARED: [&str; 18] = [
    "name",
    "type",
    "replicas",
    "image",
    "workload",
    "volumes",
    "secrets_wo_version",
    "node_secrets_wo_version",
    "alloy",
    "params",
    "health",
    "placement",
    "live_migration",
    "primary",
    "joiner_key_wo_version",
    "wait",
    "on_destroy",
    "timeouts",
];

/// What `object` declares.
pub(super) fn declared(object: &Value) -> Declared {
    Declared {
        name: text(object.attr("name")),
        r#type: text(object.attr("type")),
        replicas: text(object.attr("replicas")),
        image: given(object.attr("image"), |image| DeclaredImage {
            server: text(image.attr("server")),
            protocol: text(image.attr("protocol")),
            alias: text(image.attr("alias")),
            fingerprint: text(image.attr("fingerprint")),
            track: text(image.attr("track")),
        }),
        workload: given(object.attr("workload"), workload),
        health: given(object.attr("health"), |health| DeclaredHealth {
            check: given(health.attr("check"), check),
            min_healthy_time: text(health.attr("min_healthy_time")),
            healthy_deadline: text(health.attr("healthy_deadline")),
        }),
        volumes: given(object.attr("volumes"), |volumes| each(volumes, volume)),
        placement: given(object.attr("placement"), |placement| DeclaredPlacement {
            group: text(placement.attr("group")),
        }),
        live_migration: flag(object.attr("live_migration")),
        secrets: given(object.attr("secrets_wo"), names),
        secrets_version: whole(object.attr("secrets_wo_version")),
        node_secrets: given(object.attr("node_secrets_wo"), |machines| {
            each(machines, names)
        }),
        node_secrets_version: whole(object.attr("node_secrets_wo_version")),
        of_many_lines: of_many_lines(object),
        params: given(object.attr("params"), texts),
        alloy: given(object.attr("alloy"), |alloy| DeclaredAlloy {
            destinations: given(alloy.attr("destinations"), |destinations| {
                each(destinations, destination)
            }),
        }),
        primary: text(object.attr("primary")),
        joiner_key: given(object.attr("joiner_key_wo"), |_| ()),
        joiner_key_version: whole(object.attr("joiner_key_wo_version")),
        wait: flag(object.attr("wait")),
    }
}

/// The elements of a map that is known.
fn each<T>(map: &Value, read: fn(&Value) -> T) -> BTreeMap<String, Given<T>> {
    let element = |(key, value): (&String, &Value)| (key.clone(), given(value, read));
    map.as_map().into_iter().flatten().map(element).collect()
}

/// The keys of a map, whose values nobody may hold.
fn names(map: &Value) -> BTreeSet<String> {
    let keys = map.as_map().into_iter().flatten();
    keys.map(|(key, _)| key.clone()).collect()
}

/// The secrets of a configuration, with their values: for the apply alone, and never to be kept.
pub(super) fn secrets(config: &Value) -> Secrets {
    let machines = config.attr("node_secrets_wo").as_map();
    let of_machine = |(machine, map): (&String, &Value)| (machine.clone(), named(map));
    Secrets {
        shared: named(config.attr("secrets_wo")),
        machines: machines.into_iter().flatten().map(of_machine).collect(),
    }
}

fn named(map: &Value) -> Named {
    let secret = |(name, value): (&String, &Value)| {
        let value = value.as_str()?;
        Some((name.clone(), Secret::new(value)))
    };
    map.as_map()
        .into_iter()
        .flatten()
        .filter_map(secret)
        .collect()
}

/// Which secrets, by machine and name, no variable of an environment can hold: of values nothing else is looked at.
fn of_many_lines(config: &Value) -> BTreeSet<(Option<String>, String)> {
    let Secrets { shared, machines } = secrets(config);
    let of_machines = machines
        .into_iter()
        .map(|(machine, named)| (Some(machine), named));
    let all = core::iter::once((None, shared)).chain(of_machines);
    let has_many = |secret: &Secret| secret.expose().contains(['\n', '\r', '\0']);
    all.flat_map(|(machine, named)| {
        let long = named.into_iter().filter(|(_, secret)| has_many(secret));
        let long: Vec<_> = long.map(|(name, _)| (machine.clone(), name)).collect();
        long
    })
    .collect()
}

fn volume(volume: &Value) -> DeclaredVolume {
    DeclaredVolume {
        class: text(volume.attr("class")),
        pool: text(volume.attr("pool")),
        path: text(volume.attr("path")),
        size: text(volume.attr("size")),
    }
}

fn destination(destination: &Value) -> DeclaredDestination {
    DeclaredDestination {
        loki_url: text(destination.attr("loki_url")),
        prometheus_url: text(destination.attr("prometheus_url")),
        username: text(destination.attr("username")),
        password_secret: text(destination.attr("password_secret")),
    }
}

fn workload(workload: &Value) -> DeclaredWorkload {
    DeclaredWorkload {
        kind: text(workload.attr("kind")),
        config: given(workload.attr("config"), texts),
        devices: given(workload.attr("devices"), |devices| {
            let device = |(name, device): (&String, &Value)| (name.clone(), given(device, texts));
            devices.as_map().into_iter().flatten().map(device).collect()
        }),
        profiles: given(workload.attr("profiles"), list),
        environment: given(workload.attr("environment"), texts),
    }
}

fn check(check: &Value) -> DeclaredCheck {
    DeclaredCheck {
        running: given(check.attr("running"), |_| ()),
        exec: given(check.attr("exec"), |exec| DeclaredExec {
            command: given(exec.attr("command"), list),
            timeout: text(exec.attr("timeout")),
        }),
        http: given(check.attr("http"), |http| DeclaredHttp {
            port: whole(http.attr("port")),
            path: text(http.attr("path")),
        }),
        tcp: given(check.attr("tcp"), |tcp| DeclaredTcp {
            port: whole(tcp.attr("port")),
        }),
        heartbeat_file: given(check.attr("heartbeat_file"), |file| DeclaredHeartbeatFile {
            path: text(file.attr("path")),
        }),
    }
}
