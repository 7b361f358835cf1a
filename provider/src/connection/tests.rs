//! What is said of a provider block, and where it leads. No test opens anything.

use super::*;

fn list(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(*text)).collect())
}

fn pair() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["me".to_owned()]).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// What is said, as path and summary.
fn said(config: &Value, set: &[(&str, &str)]) -> Vec<(String, String)> {
    let variable = environment(set);
    let told = |one: &Diagnostic| {
        let path = one.path.as_ref().map(ToString::to_string);
        (path.unwrap_or_default(), one.summary.clone())
    };
    Connection::read(config, &variable)
        .check()
        .iter()
        .map(told)
        .collect()
}

fn environment(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
    let set: Vec<(String, OsString)> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
        .collect();
    move |name| {
        let found = set.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }
}

#[test]
fn everything_wrong_is_told_at_once_and_at_its_place() {
    let config = Value::object([
        ("endpoints", list(&["unix:///a", "http://m1", "https://m1"])),
        ("remote", "home".into()),
        ("server_fingerprints", list(&["abc"])),
    ]);
    let expected = [
        ("endpoints[1]", "An endpoint is not valid"),
        (
            "server_fingerprints[0]",
            "A server fingerprint is not valid",
        ),
        ("remote", "Endpoints and a remote are both given"),
        ("endpoints", "An https endpoint needs a client certificate"),
    ];
    let expected = expected.map(|(path, said)| (path.to_owned(), said.to_owned()));
    assert_eq!(said(&config, &[]), expected);
}

#[test]
fn a_certificate_and_a_key_that_do_not_belong_together_are_told_apart() {
    let (certificate, key) = pair();
    let (_, other) = pair();
    let both = format!("{certificate}{key}");
    let block = |certificate: Option<&str>, key: Option<&str>| {
        Value::object([
            ("endpoints", list(&["https://m1"])),
            ("client_certificate", certificate.into()),
            ("client_key", key.into()),
        ])
    };
    let place = |config: &Value| {
        let said = said(config, &[]);
        assert!(said.len() <= 1, "{said:?}");
        said.into_iter().next().map(|(path, _)| path)
    };
    let (certificate, key) = (Some(certificate.as_str()), Some(key.as_str()));
    for (config, expected) in [
        (block(certificate, key), None),
        (block(certificate, None), Some("client_key")),
        (block(None, key), Some("client_certificate")),
        (block(Some(&both), key), Some("client_certificate")),
        (block(Some("hello"), key), Some("client_certificate")),
        (block(certificate, Some(&other)), Some("client_key")),
        (block(certificate, Some("hello")), Some("client_key")),
    ] {
        assert_eq!(place(&config).as_deref(), expected);
    }
}

/// HO-CFG-10 asks for everything at once; what is not known yet is no fault.
#[test]
fn what_is_not_known_yet_is_not_judged() {
    let config = Value::object([
        (
            "endpoints",
            Value::List(vec!["https://m1".into(), Value::Unknown]),
        ),
        ("client_certificate", pair().0.into()),
        ("client_key", Value::Unknown),
        ("server_fingerprints", Value::Unknown),
        ("remote", Value::Unknown),
    ]);
    assert_eq!(said(&config, &[]), []);
}

#[test]
fn the_environment_gives_what_the_block_leaves_out() {
    let (certificate, key) = pair();
    let set = [
        ("HOMELAB_ENDPOINTS", "https://m1, https://m2"),
        ("HOMELAB_CLIENT_CERTIFICATE", certificate.as_str()),
        ("HOMELAB_CLIENT_KEY", key.as_str()),
        ("HOMELAB_PROJECT", "lab"),
        ("HOMELAB_FLEET_PROJECT", ""),
    ];
    let nothing = Value::object([("storage_pool", "fast".into())]);
    assert_eq!(said(&nothing, &set), []);
    let variable = environment(&set);
    let cluster = Connection::read(&nothing, &variable).cluster(&variable);
    let cluster = cluster.expect("a cluster");
    assert_eq!(cluster.project, "lab");
    assert_eq!(
        cluster.fleet_project, "homelab",
        "an empty variable is unset"
    );
    assert_eq!(cluster.storage_pool, "fast");
    assert_eq!(cluster.shared_pool, None);
    let written = Value::object([("project", "mine".into()), ("remote", "home".into())]);
    assert_eq!(
        said(&written, &set),
        [],
        "a block that says where Incus is decides alone"
    );
    let both = [set[0], ("HOMELAB_REMOTE", "home")];
    let said = said(&nothing, &both);
    assert_eq!(said[0].1, "Endpoints and a remote are both given");
}

#[test]
fn a_wrong_remote_is_told_at_its_use() {
    let home = tempfile::tempdir().expect("a folder");
    let remotes = "remotes:\n  box:\n    addr: unix:///run/box\n    project: lab\n";
    std::fs::write(home.path().join("config.yml"), remotes).expect("a file");
    let folder = home.path().to_str().expect("text");
    let variable = environment(&[("INCUS_CONF", folder), ("INCUS_GLOBAL_CONF", folder)]);
    let connect = |name: &str| {
        let config = Value::object([("remote", name.into())]);
        let connection = Connection::read(&config, &variable);
        assert!(
            connection.check().is_empty(),
            "files are not looked at before"
        );
        connection.cluster(&variable)
    };
    // Where an operator's own client looks at the moment moves no workloads.
    assert_eq!(connect("box").expect("a cluster").project, "default");
    let error = connect("bax").err().expect("no such remote");
    assert!(error.detail.contains("it has box"), "{}", error.detail);
    assert!(
        error.detail.contains("incus remote add"),
        "{}",
        error.detail
    );
}

#[test]
fn an_empty_list_is_not_the_incus_of_this_machine_and_a_null_is_nobodys_fingerprint() {
    let variable = environment(&[]);
    let config = Value::object([("endpoints", list(&[]))]);
    let error = Connection::read(&config, &variable)
        .cluster(&variable)
        .err();
    assert_eq!(
        error.expect("no endpoint").summary,
        "The list of endpoints is empty"
    );
    let commas = environment(&[("HOMELAB_ENDPOINTS", " , ")]);
    let nothing = Value::object([]);
    assert!(
        Connection::read(&nothing, &commas)
            .cluster(&commas)
            .is_err()
    );
    let config = Value::object([("server_fingerprints", Value::List(vec![Value::Null]))]);
    let expected = (
        "server_fingerprints[0]",
        "An element of server_fingerprints is null",
    );
    assert_eq!(
        said(&config, &[]),
        [(expected.0.to_owned(), expected.1.to_owned())]
    );
}
