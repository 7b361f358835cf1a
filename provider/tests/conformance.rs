//! The provider keeps to the host's rules, in generated cases of everything that it registers.
//!
//! It runs as OpenTofu runs it, and without Incus: networks need none, members and apps are validated and planned only. The
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
    app(member(seed(instance(network(run)), folder)))
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

/// One machine, since a file belongs to one alone. Its keys are the host's to keep, like everything that is computed.
fn seed(run: Conformance, folder: &tempfile::TempDir) -> Conformance {
    let name = "homelab_seed";
    let certificate = include_str!("../src/resources/seed/tests/break-glass.crt");
    let path = folder.path().join("seeds/a.tar").display().to_string();
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let hub_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=";
    let run = run
        .always(name, ["machine.network", "machine.address", "output"])
        .always(name, ["machine.network.dns", "machine.network.gateway"])
        .hint(name, "machine.name", ["a"])
        .hint(
            name,
            "machine.mac",
            ["52:54:00:00:00:0a", "52-54-00-00-00-0A"],
        )
        .hint(name, "machine.network.name", ["lan"])
        .hint(name, "machine.network.cidr", ["10.0.0.0/24", "10.0.0.0/16"])
        .hint(name, "machine.network.gateway", ["10.0.0.1"])
        .hint(name, "machine.network.dns.*", ["10.0.0.1", "1.1.1.1"])
        .hint(name, "machine.address", ["10.0.0.10", "10.0.0.11"])
        .hint(name, "machine.role", ["bootstrap"])
        .hint(name, "machine.os", ["incusos"])
        .hint(name, "machine.security.tpm", [Value::from(true)])
        .hint(name, "machine.install_disk.id", ["nvme-eui.00"])
        .hint(name, "machine.install_disk.bus", ["nvme"])
        .hint(name, "machine.install_disk.min_size", ["100GB", "100000MB"])
        .hint(name, "machine.install_disk.max_size", ["2TB"])
        .hint(
            name,
            "machine.install_disk.sort_order",
            ["smallest", "largest"],
        )
        .hint(name, "break_glass_certificate", [certificate])
        .hint(name, "joiner_certificate", [Value::Null])
        .hint(name, "rotate", ["once", "twice"]);
    run.hint(name, "wireguard.network.cidr", ["10.100.0.0/24"])
        .hint(name, "wireguard.address", ["10.100.0.2", "10.100.0.3"])
        .hint(name, "wireguard.hub.endpoint", ["hub.example.net:51820"])
        .hint(name, "wireguard.hub.public_key", [hub_key])
        .hint(name, "wireguard.keepalive", [Value::from(25_u64)])
        .hint(name, "applications", [Value::Null])
        .hint(name, "update.channel", ["stable", "testing"])
        .hint(name, "update.check_frequency", ["6h", "360m", "never"])
        .hint(name, "update.maintenance_windows", [Value::Null])
        .hint(name, "tailscale", [Value::Null])
        .hint(name, "extra_files", [Value::Null])
        .hint(name, "incusos_release", [Value::Null])
        .hint(name, "output.path", [path.as_str()])
        .hint(
            name,
            "output.format",
            ["tar", "seed-data-img", "seed-data-iso"],
        )
        .hint(
            name,
            "encrypt_to",
            [Value::Null, Value::List(vec![recipient.into()])],
        )
        .hint(name, "machine.dhcp", [Value::Null, true.into()])
}

fn member(run: Conformance) -> Conformance {
    let name = "homelab_cluster_member";
    let certificate = include_str!("../src/resources/seed/tests/break-glass.crt");
    let durations = ["30s", "0.5m", "1m", "60s"];
    run.walk(name, Walk::ValidateAndPlan)
        .hint(name, "name", ["node-a", "node-b"])
        .hint(
            name,
            "address",
            ["10.0.0.10", "10.0.0.10:8443", "10.0.0.11", "fd00::a"],
        )
        .hint(name, "role", ["bootstrap", "join"])
        .hint(
            name,
            "server_fingerprint",
            ["ab".repeat(32), "AB:".repeat(31) + "AB", "cd".repeat(32)],
        )
        .hint(name, "groups.*", ["default", "ssd", "gpu"])
        .hint(name, "config.*", ["all", "group", "manual"])
        .keys(name, "config", ["scheduler.instance", "user.rack"])
        .hint(name, "failure_domain", ["rack-1", "rack-2"])
        .hint(name, "state", ["online", "evacuated"])
        .always(name, ["storage.pool", "storage.driver"])
        .hint(name, "storage.pool", ["local", "tank"])
        .hint(name, "storage.driver", ["zfs", "dir"])
        .hint(name, "storage.source", ["local/incus", "/dev/sdb"])
        .hint(name, "metrics_certificate", [certificate])
        .hint(name, "timeouts.create", durations)
        .hint(name, "timeouts.update", durations)
        .hint(name, "timeouts.delete", durations)
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
    let http = Value::object([("port", 8080_u64.into()), ("path", "/health".into())]);
    let heartbeat_file = Value::object([("path", "/run/heartbeat".into())]);
    let checks = [
        Value::object([("running", Value::object([]))]),
        Value::object([("exec", exec)]),
        Value::object([("http", http)]),
        Value::object([("tcp", Value::object([("port", 22_u64.into())]))]),
        Value::object([("heartbeat_file", heartbeat_file)]),
    ];
    let durations = ["30s", "0.5m", "1m", "60s"];
    // What belongs to other types, and to apps on every machine.
    let of_others = [
        "volumes",
        "node_secrets_wo",
        "node_secrets_wo_version",
        "alloy",
        "params",
        "primary",
        "joiner_key_wo",
        "joiner_key_wo_version",
    ];
    let run = of_others
        .into_iter()
        .fold(run, |run, other| run.hint(name, other, [Value::Null]));
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
        .keys(name, "secrets_wo", ["TOKEN", "PASSWORD"])
        .hint(name, "secrets_wo_version", [1_u64, 2])
        .hint(name, "placement.group", ["default", "fast"])
        .hint(name, "live_migration", [Value::Null, false.into()])
        .hint(name, "wait", [Value::Null, true.into()])
        .hint(name, "health.check", checks)
        .hint(name, "health.min_healthy_time", ["10s", "0.5m", "30s"])
        .hint(name, "health.healthy_deadline", ["5m", "300s"])
        .hint(name, "timeouts.create", durations)
        .hint(name, "timeouts.update", durations)
        .hint(name, "timeouts.delete", durations)
}

/// `make test` asks for 256; a quarter of them is enough to notice a slip while one works.
fn cases() -> u32 {
    let asked = std::env::var("CONFORMANCE_CASES").ok();
    asked.map_or(64, |number| number.parse().expect("a number"))
}

#[tokio::test]
async fn the_provider_keeps_to_every_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = cases();
    let run = conformance(&folder).cases(cases).run();
    let report = run.await.expect("a running provider");
    assert!(report.is_sound(), "{report}");
    let seeds = report.tally("homelab_seed").expect("seeds");
    assert!(seeds.updated > cases / 16, "{report}");
    for name in ["homelab_network", "homelab_cluster_member", "homelab_app"] {
        let tally = report.tally(name).expect(name);
        assert!(
            tally.updated > cases / 16 && tally.replaced > cases / 32,
            "{report}"
        );
    }
    let mut all = report.tallies.iter();
    assert!(all.all(|tally| tally.cases == cases), "{report}");
}
