//! Further files: which names and fields are refused, and that a refusal names the place and never a value.

use crate::fixtures::*;
use crate::refused::only_issue;

/// The files that attributes make, and names that IncusOS does not look for.
#[test]
fn names_that_would_not_be_read_are_refused() {
    for (name, words) in [
        ("install", "made from attributes"),
        ("network", "made from attributes"),
        ("applications", "made from attributes"),
        ("incus", "made from attributes"),
        ("update", "made from attributes"),
        ("kernel.json", "does not look for"),
        ("Kernel", "does not look for"),
        ("INSTALL.yaml", "does not look for"),
        ("seed/kernel", "does not look for"),
        ("", "does not look for"),
        (
            "storage",
            "release of IncusOS does not know the seed file storage",
        ),
    ] {
        let (place, summary) = only_issue(&with_file(name, "{}"));
        assert_eq!(place, format!("extra_files[{name:?}]"));
        assert!(summary.contains(words), "{name}: {summary}");
    }
    let detail = with_file("Kernel.YAML", "{}").check().remove(0).detail;
    assert!(detail.contains("Expected \"kernel\""), "{detail}");
}

/// Facts of the parser: unknown fields are errors, and so is a wrong type. Beyond it: repeated and misspelled names.
#[test]
fn contents_that_incusos_would_refuse_name_their_place() {
    for (name, text, words) in [
        ("kernel", "", "not JSON"),
        ("kernel", "console: []", "not JSON"),
        ("kernel", "{} {}", "not JSON"),
        ("kernel", "\u{feff}{}", "not JSON"),
        ("kernel", "[]", "is a list. Expected an object"),
        ("kernel", "null", "is null. Expected an object"),
        (
            "kernel",
            r#"{"cpu": {}}"#,
            "cpu is a field that IncusOS does not know there",
        ),
        (
            "kernel",
            r#"{"Console": []}"#,
            "Console is a misspelled name",
        ),
        (
            "kernel",
            r#"{"console": [], "console": []}"#,
            "console stands there twice",
        ),
        (
            "kernel",
            r#"{"console": {}}"#,
            "console is an object, and a list was expected",
        ),
        ("kernel", r#"{"console": [null]}"#, "console[0] is null"),
        (
            "kernel",
            r#"{"console": [{"baud_rate": 9600}]}"#,
            "console[0].device is missing",
        ),
        (
            "kernel",
            r#"{"console": [{"device": "ttyS0", "baud_rate": "9600"}]}"#,
            "console[0].baud_rate is a string",
        ),
        (
            "kernel",
            r#"{"console": [{"device": "ttyS0", "baud_rate": 9600.0}]}"#,
            "console[0].baud_rate is a number that is not whole",
        ),
        (
            "kernel",
            r#"{"console": [{"device": "ttyS0", "baud_rate": -1}]}"#,
            "is less than 0",
        ),
        (
            "services",
            r#"{"lvm": {"system_id": 9223372036854775808}}"#,
            "lvm.system_id is a number that is not whole, or too large",
        ),
        ("kernel", r#"{"version": 1}"#, "version is not the string"),
        ("provider", r#"{}"#, "name is missing"),
        ("provider", r#"{"name": null}"#, "name is missing"),
        (
            "kernel",
            r#"{"console": [{"device": ""}]}"#,
            "console[0].device is missing",
        ),
        ("provider", r#"{"name": "mirror"}"#, "one of images"),
        (
            "provider",
            r#"{"name": "images", "config": {"url": ""}}"#,
            "config.url is a field",
        ),
        (
            "provider",
            r#"{"name": "operations-center", "config": {"server_url": "https://oc"}}"#,
            "config.server_token is missing",
        ),
        (
            "security",
            r#"{"encryption_recovery_keys": []}"#,
            "encryption_recovery_keys is refused",
        ),
        (
            "security",
            r#"{"custom_ca_certs": ["x"]}"#,
            "custom_ca_certs[0] holds no certificate",
        ),
        ("services", r#"{"ceph": {}}"#, "ceph is a field"),
        (
            "services",
            r#"{"ovn": {"enabled": true}}"#,
            "ovn.database is missing",
        ),
        (
            "services",
            r#"{"tailscale": {"serve_port": 8443}}"#,
            "tailscale.serve_port is 8443",
        ),
        (
            "services",
            r#"{"tailscale": {"serve_port": 70000}}"#,
            "not a port",
        ),
        (
            "services",
            r#"{"tailscale": {"port": 41641}}"#,
            "the release 202608220000 does not know",
        ),
        (
            "operations-center",
            r#"{"preseed": {"system_security": {"acme": {"agree": true}}}}"#,
            "preseed.system_security.acme.agree",
        ),
    ] {
        let seed = with_file(name, text);
        let (place, summary) = only_issue(&seed);
        let detail = seed.check().remove(0).detail;
        assert_eq!(place, format!("extra_files[{name:?}]"), "{summary}");
        assert!(detail.contains(words), "{text}: {detail}");
    }
    let several = with_file("kernel", r#"{"a": 1, "b": 2, "console": 3}"#);
    assert_eq!(
        several.check().len(),
        3,
        "all faults of a file are told at once"
    );
}

#[test]
fn pools_share_neither_name_nor_disk() {
    let pool = |name: &str, disk: &str| {
        format!(r#"{{"name": {name:?}, "type": "zfs-raid0", "devices": [{disk:?}]}}"#)
    };
    for (first, second, words) in [
        (
            pool("a", "x"),
            pool("a", "y"),
            "pools[1].name is the name of a pool before it",
        ),
        (
            pool("a", "x"),
            pool("b", "x"),
            "pools[1] uses a disk that is used before",
        ),
    ] {
        let text = format!(r#"{{"pools": [{first}, {second}]}}"#);
        let seed = set(
            with_file("storage", &text),
            "incusos_release",
            "202610161222",
        );
        let detail = seed.check().remove(0).detail;
        assert!(detail.contains(words), "{detail}");
    }
}

/// Both ways to declare one service.
#[test]
fn tailscale_is_declared_once() {
    let mut seed = with_file("services", r#"{"tailscale": {"enabled": true}}"#);
    assert_eq!(seed.check(), []);
    seed.tailscale = domain::given::Given::Known(tailscale());
    let (place, summary) = only_issue(&seed);
    assert_eq!(
        (place.as_str(), summary.contains("twice")),
        ("extra_files[\"services\"]", true)
    );
}

/// HO-SEED-28: a private key goes where one belongs, and is named nowhere else.
#[test]
fn private_keys_stand_in_fields_for_keys_only() {
    let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n";
    let ovn = |field: &str| {
        serde_json::json!({ "ovn": { "database": "ssl:192.168.1.9:6641", field: key } }).to_string()
    };
    assert_eq!(with_file("services", &ovn("tls_client_key")).check(), []);
    for field in ["tunnel_address", "tls_client_certificate", key] {
        let issues = with_file("services", &ovn(field)).check();
        assert_eq!(issues.len(), 1, "{issues:?}");
        assert!(!issues[0].to_string().contains("MC4CAQ"), "{}", issues[0]);
    }
}
