//! The provider keeps to the host's rules, in 256 generated cases of everything that it registers.
//!
//! It runs as OpenTofu runs it, and without Incus: networks need none, and apps are validated and planned only. The
//! rules are `tfplugin::testing::Conformance`'s. What is registered later gets its cases by itself; hints as below make
//! more of them valid.

#![allow(
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

use tfplugin::Value;
use tfplugin::testing::{Conformance, Launch, Walk};

fn conformance(folder: &tempfile::TempDir) -> Conformance {
    let nobody = format!("unix://{}/nobody.socket", folder.path().display());
    let launch = Launch::new(env!("CARGO_BIN_EXE_terraform-provider-homelab"));
    let endpoints = Value::List(vec![nobody.as_str().into()]);
    let run = Conformance::new(launch).configured(Value::object([("endpoints", endpoints)]));
    let run = run.hint(
        "provider",
        "endpoints.*",
        [nobody.as_str(), "unix:///a.socket"],
    );
    app(instance(network(run)))
}

fn network(run: Conformance) -> Conformance {
    let name = "homelab_network";
    let pins = ["10.0.0.10", "10.0.0.11", "10.0.0.14"].map(Value::from);
    let claims = [vec![Value::Null; 12], pins.to_vec()].concat();
    let ranges = ["10.0.0.10-10.0.0.14", "10.0.0.10-10.0.0.40"];
    run.always(name, ["cidr", "gateway", "dns", "static_range"])
        .hint(name, "name", ["lan", "dmz"])
        .hint(name, "kind", ["lan"])
        .hint(name, "cidr", ["10.0.0.0/24", "10.0.0.0/16"])
        .hint(name, "gateway", ["10.0.0.1", "10.0.0.2"])
        .hint(name, "dns.*", ["10.0.0.1", "1.1.1.1"])
        .hint(name, "static_range", ranges)
        .hint(name, "claims.*", claims)
        .keys(name, "claims", ["node-a", "node-b", "node-c", "nas"])
}

fn instance(run: Conformance) -> Conformance {
    let name = "homelab_instance";
    run.always(name, ["network", "address"])
        .hint(name, "name", ["a", "node-b"])
        .hint(
            name,
            "mac",
            ["52:54:00:00:00:0a", "52-54-00-00-00-0A", "525400000001"],
        )
        .hint(name, "network.name", ["lan", "dmz"])
        .hint(name, "network.cidr", ["10.0.0.0/24", "10.0.0.0/16"])
        .hint(name, "network.gateway", ["10.0.0.1"])
        .hint(name, "network.dns.*", ["10.0.0.1", "1.1.1.1"])
        .hint(name, "address", ["10.0.0.10", "10.0.0.11"])
        .hint(name, "role", ["bootstrap", "join"])
        .hint(name, "os", ["incusos"])
        .hint(name, "security.tpm", [Value::from(true)])
        .hint(name, "install_disk.id", ["nvme-eui.00", "ata-WDC"])
        .hint(name, "install_disk.bus", ["nvme", "scsi"])
        .hint(name, "install_disk.min_size", ["100GB", "50GiB"])
        .hint(name, "install_disk.max_size", ["2TB", "1TiB"])
        .hint(name, "install_disk.sort_order", ["smallest", "largest"])
}

fn app(run: Conformance) -> Conformance {
    let name = "homelab_app";
    let image = |attribute: &str, text: &str| Value::object([(attribute, text.into())]);
    let images = [
        image("alias", "web-1"),
        image("alias", "web-2"),
        image("fingerprint", "0123456789ab"),
    ];
    let exec = Value::object([
        ("command", Value::List(vec!["true".into()])),
        ("timeout", "5s".into()),
    ]);
    let checks = [
        Value::object([("running", Value::object([]))]),
        Value::object([("exec", exec)]),
    ];
    let durations = ["30s", "0.5m", "1m", "60s"];
    run.walk(name, Walk::ValidateAndPlan)
        .hint(name, "name", ["web", "blog"])
        .hint(name, "type", ["generic-stateless"])
        .hint(name, "replicas", ["1", "2", "3"])
        .hint(name, "image", images)
        .hint(name, "workload.kind", ["container", "vm"])
        .hint(name, "workload.config.*", ["1GiB", "2"])
        .keys(name, "workload.config", ["limits.memory", "limits.cpu"])
        .hint(name, "workload.devices", [Value::Null])
        .hint(name, "workload.profiles.*", ["default", "small"])
        .keys(name, "workload.environment", ["GREETING", "MODE"])
        .hint(name, "health.check", checks)
        .hint(name, "health.min_healthy_time", ["10s", "0.5m", "30s"])
        .hint(name, "health.healthy_deadline", ["5m", "300s"])
        .hint(name, "timeouts.create", durations)
        .hint(name, "timeouts.update", durations)
        .hint(name, "timeouts.delete", durations)
}

#[tokio::test]
async fn the_provider_keeps_to_every_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = conformance(&folder).run();
    let report = run.await.expect("a running provider");
    assert!(report.is_sound(), "{report}");
    for name in ["homelab_network", "homelab_app"] {
        let tally = report.tally(name).expect(name);
        assert!(tally.updated > 20 && tally.replaced > 10, "{report}");
    }
    let all = report.tallies.iter();
    assert!(all.clone().all(|tally| tally.cases == 256), "{report}");
}
