//! What workloads of each type are made of.

use super::*;
use crate::app::{Destination, Image, ImageReference};

fn spec(r#type: AppType, replicas: Replicas) -> AppSpec {
    let image = Image {
        digest: None,
        ..Image::own(ImageReference::Alias("v1".to_owned()))
    };
    AppSpec::new("app", r#type, replicas, image)
}

fn machine(name: &str) -> Place {
    Place::Machine(name.to_owned())
}

fn named(secrets: &[(&str, &str)]) -> crate::secret::Named {
    let secret = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
    secrets.iter().map(secret).collect()
}

/// What a workload of this app is told that is no key of ours, as `key=value`.
fn told(spec: &AppSpec, place: &Place, around: &Surroundings) -> Vec<String> {
    render(spec, place, 3, &[], around)
        .config
        .into_iter()
        .filter(|(key, _)| !key.starts_with(crate::app::KEY_PREFIX))
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// HO-APP-15: an agent knows its machine and itself, and nothing is injected into what a user brings. Design 7: what
/// belongs to a machine is stopped there by an evacuation.
#[test]
fn agents_get_an_identity_and_nothing_else_does() {
    for (r#type, replicas, place, expected) in [
        (
            AppType::Agent,
            Replicas::PerNode,
            machine("a"),
            &[
                "cluster.evacuate=stop",
                "environment.AGENT_INSTANCE_NAME=app-a-g3",
                "environment.AGENT_NODE_NAME=a",
            ][..],
        ),
        (
            AppType::GenericStateless,
            Replicas::PerNode,
            machine("a"),
            &["cluster.evacuate=stop"],
        ),
        (
            AppType::GenericStateless,
            Replicas::Count(2),
            Place::FIRST,
            &[],
        ),
        (
            AppType::GenericExclusive,
            Replicas::Count(1),
            Place::FIRST,
            &[],
        ),
    ] {
        let spec = spec(r#type, replicas);
        let told = told(&spec, &place, &Surroundings::default());
        assert_eq!(told, expected, "{type:?} {replicas}");
    }
}

/// The secrets of its machine outrank those that all workloads share.
#[test]
fn secrets_are_variables_of_the_workload() {
    let mut spec = spec(AppType::GenericStateless, Replicas::PerNode);
    spec.workload.environment = BTreeMap::from([("LEVEL".to_owned(), "info".to_owned())]);
    let around = Surroundings {
        secrets: Secrets {
            shared: named(&[("KEY", "hunter2"), ("TOKEN", "t")]),
            machines: BTreeMap::from([("a".to_owned(), named(&[("KEY", "hunter3")]))]),
        },
        ..Surroundings::default()
    };
    for (place, key) in [("a", "hunter3"), ("b", "hunter2")] {
        let expected = [
            "cluster.evacuate=stop".to_owned(),
            format!("environment.KEY={key}"),
            "environment.LEVEL=info".to_owned(),
            "environment.TOKEN=t".to_owned(),
        ];
        assert_eq!(told(&spec, &machine(place), &around), expected);
    }
    let rendered = render(&spec, &machine("a"), 0, &[], &around);
    assert!(!format!("{rendered:?} {around:?}").contains("hunter"));
}

/// Only a virtual machine that may move while it runs is made so; a root disk comes from the pool if nowhere else from.
#[test]
fn what_is_declared_is_what_is_made() {
    let mut spec = spec(AppType::GenericStateless, Replicas::Count(1));
    let around = Surroundings {
        root_pool: Some("local".to_owned()),
        ..Surroundings::default()
    };
    let rendered = render(&spec, &Place::FIRST, 0, &[], &around);
    assert_eq!(rendered.devices["root"]["pool"], "local");
    assert_eq!(
        rendered.description,
        "Generation 0 of app app, kept by homelab."
    );
    spec.workload.kind = Kind::Vm;
    spec.live_migration = true;
    spec.workload.config = BTreeMap::from([("limits.cpu".to_owned(), "2".to_owned())]);
    assert_eq!(
        told(&spec, &Place::FIRST, &around),
        ["limits.cpu=2", "migration.stateful=true"]
    );
    let rendered = render(&spec, &Place::FIRST, 0, &[], &Surroundings::default());
    assert!(rendered.devices.is_empty());
}

fn collector(destinations: &[(&str, Destination)]) -> AppSpec {
    let destination = |(name, one): &(&str, Destination)| ((*name).to_owned(), one.clone());
    AppSpec {
        destinations: destinations.iter().map(destination).collect(),
        ..spec(AppType::Alloy, Replicas::PerNode)
    }
}

fn destination(logs: Option<&str>, metrics: Option<&str>, user: Option<&str>) -> Destination {
    Destination {
        loki_url: logs.map(str::to_owned),
        prometheus_url: metrics.map(str::to_owned),
        username: user.map(str::to_owned),
        password_secret: user.map(|_| "cloud".to_owned()),
    }
}

/// A machine with a metrics certificate, and one without.
fn around_collectors() -> Surroundings {
    let api = |host: &str| Api {
        address: format!("{host}:8443"),
        certificate: "the cluster's certificate".to_owned(),
        server_name: None,
    };
    let credentials = named(&[("metrics_crt", "crt of a"), ("metrics_key", "key\nof a")]);
    Surroundings {
        secrets: Secrets {
            shared: named(&[("cloud", "hunter2")]),
            machines: BTreeMap::from([("a".to_owned(), credentials)]),
        },
        apis: BTreeMap::from([
            ("a".to_owned(), api("10.0.0.1")),
            ("b".to_owned(), api("10.0.0.2")),
        ]),
        ..Surroundings::default()
    }
}

fn contents(rendered: &Rendered) -> BTreeMap<&str, &str> {
    let content = |file: &'_ File| assert_eq!(file.mode, 0o600, "{file:?}");
    rendered.files.0.iter().for_each(content);
    rendered
        .files
        .0
        .iter()
        .map(|file| (file.path.as_str(), file.content.expose()))
        .collect()
}

/// HO-OBS-01, HO-OBS-03…06: the whole of a collector that sends to two places.
#[test]
fn a_collector_sends_everything_to_each_destination() {
    let local = destination(Some("http://l/push"), Some("http://p/write"), None);
    let cloud = destination(Some("https://c/push"), None, Some("12\"34"));
    let spec = collector(&[("local", local), ("cloud", cloud)]);
    let rendered = render(&spec, &machine("a"), 0, &[], &around_collectors());
    let files = contents(&rendered);
    assert_eq!(
        files["/etc/alloy/config.alloy"],
        include_str!("alloy/expected.alloy")
    );
    assert_eq!(files["/etc/alloy/incus.crt"], "the cluster's certificate");
    assert_eq!(files["/etc/alloy/metrics.crt"], "crt of a");
    assert_eq!(files["/etc/alloy/metrics.key"], "key\nof a");
    assert_eq!(
        rendered.files.folders().into_iter().collect::<Vec<_>>(),
        ["/etc", "/etc/alloy"]
    );
    let device = &rendered.devices["homelab-incus"];
    assert_eq!(device["connect"], "tcp:10.0.0.1:8443");
    assert_eq!(
        device["bind"], "instance",
        "nothing is opened on the machine"
    );
    assert_eq!(
        told(&spec, &machine("a"), &around_collectors()),
        ["cluster.evacuate=stop", "environment.cloud=hunter2"],
        "what is a file is no variable"
    );
}

/// Only what somebody takes is collected, and only with what is there.
#[test]
fn a_collector_has_only_what_it_can_use() {
    let logs = || destination(Some("http://l"), None, None);
    let metrics = || destination(None, Some("http://p"), None);
    let nothing = Surroundings::default();
    for (case, destination, place, around, sources, files) in [
        ("logs", logs(), "a", &around_collectors(), "syslog api", 1),
        ("metrics", metrics(), "a", &around_collectors(), "scrape", 4),
        (
            "no certificate",
            metrics(),
            "b",
            &around_collectors(),
            "scrape",
            2,
        ),
        ("no API", metrics(), "a", &nothing, "", 1),
    ] {
        let spec = collector(&[("one", destination)]);
        let rendered = render(&spec, &machine(place), 0, &[], around);
        assert_eq!(rendered.files.0.len(), files, "{case}");
        let text = contents(&rendered)["/etc/alloy/config.alloy"].to_owned();
        let found: Vec<&str> = ["loki.source.syslog", "loki.source.api", "prometheus.scrape"]
            .into_iter()
            .filter(|source| text.contains(source))
            .filter_map(|source| source.rsplit('.').next())
            .collect();
        assert_eq!(found.join(" "), sources, "{case}");
        assert_eq!(text.contains("key_file"), files == 4, "{case}");
    }
}
