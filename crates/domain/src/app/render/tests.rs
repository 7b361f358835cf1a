//! What workloads of each type are made of.

use super::*;
use crate::app::{Image, ImageReference};

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
