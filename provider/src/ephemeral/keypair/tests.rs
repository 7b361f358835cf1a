//! `homelab_keypair`: what is refused, and whether the pairs are what WireGuard and Incus take.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tfplugin::Path;

use super::*;

fn config(kind: Value, common_name: Value, validity: Value) -> Value {
    Value::object([
        ("kind", kind),
        ("common_name", common_name),
        ("validity", validity),
    ])
}

/// What `open` answers, without a host around it.
fn opened(config: Value) -> Value {
    match filled(config) {
        Ok(result) => result,
        Err(failure) => panic!("{failure}"),
    }
}

fn told(config: &Value) -> Vec<(String, String)> {
    let mut diagnostics = Diagnostics::new();
    Keypair.validate(config, &mut diagnostics);
    let path = |path: &Option<Path>| path.as_ref().map(ToString::to_string).unwrap_or_default();
    let one = |diagnostic: &Diagnostic| {
        let text = format!("{}: {}", diagnostic.summary, diagnostic.detail);
        (path(&diagnostic.path), text)
    };
    diagnostics.iter().map(one).collect()
}

#[test]
fn the_schema_is_sound_and_keeps_the_private_half() {
    let schema = Keypair.schema();
    assert_eq!(schema.check(), []);
    for attribute in &schema.attributes {
        assert!(attribute.description.ends_with('.'), "{}", attribute.name);
        assert_eq!(attribute.sensitive, attribute.name == "private_key");
    }
    for part in ["stored nowhere", "is not the pair of its apply", "_wo"] {
        assert!(schema.description.contains(part), "{part}");
    }
}

#[test]
fn what_is_wrong_is_told_at_its_attribute() {
    let null = || Value::Null;
    for (config, path, parts) in [
        (
            config("ssh".into(), null(), null()),
            "kind",
            ["\"ssh\"", "\"wireguard\""],
        ),
        (
            config("wireguard".into(), "a".into(), null()),
            "common_name",
            ["common_name is set", "Remove"],
        ),
        (
            config("wireguard".into(), null(), "1h".into()),
            "validity",
            ["validity is set", "Remove"],
        ),
    ] {
        let told = told(&config);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, path);
        for part in parts {
            assert!(told[0].1.contains(part), "{part}: {told:?}");
        }
    }
    let unknown = || Value::Unknown;
    assert_eq!(told(&config(unknown(), unknown(), unknown())), []);
    assert_eq!(told(&config("wireguard".into(), unknown(), unknown())), []);
}

#[test]
fn names_and_validities_have_limits() {
    let long = "n".repeat(65);
    for (name, part) in [
        ("", "has 0 characters"),
        (&long, "has 65 characters"),
        ("a\nb", "control"),
    ] {
        let refused = validate_common_name(&name.into()).expect_err(part);
        assert!(refused.detail.contains(part), "{}", refused.detail);
        assert!(refused.detail.contains("Shorten or correct"));
    }
    assert_eq!(validate_common_name(&"Käthe's laptop".into()), Ok(()));
    for (validity, part) in [
        ("ten years", "Expected numbers with units"),
        ("59s", "at least \"1m\""),
        ("-1h", "Expected"),
        ("9999999h", "Expected"),
    ] {
        let refused = validate_validity(&validity.into()).expect_err(validity);
        assert!(refused.detail.contains(part), "{}", refused.detail);
    }
    assert_eq!(validate_validity(&"720h".into()), Ok(()));
}

#[test]
fn a_wireguard_pair_has_two_halves_and_no_certificate() {
    let pair = opened(config(WIREGUARD.into(), Value::Null, Value::Null));
    let text = |name: &str| pair.attr(name).as_str().expect("a text");
    let public_key = keys::wireguard_public_key(text("private_key"));
    assert_eq!(public_key.as_deref(), Ok(text("public_key")));
    assert!(pair.attr("certificate").is_null() && pair.attr("fingerprint").is_null());
    assert!(pair.is_wholly_known());
}

/// What the certificate itself is like is tested where it is made, in `incus`.
#[test]
fn a_client_certificate_has_all_its_parts() {
    let pair = opened(config(
        CLIENT_CERTIFICATE.into(),
        "Käthe's laptop".into(),
        "2h".into(),
    ));
    let text = |name: &str| pair.attr(name).as_str().expect("a text");
    let identity = incus::Identity::from_pem(Some(text("certificate")), Some(text("private_key")));
    let identity = identity.expect("the key fits").expect("an identity");
    assert_eq!(text("fingerprint"), identity.fingerprint().to_string());
    assert!(text("public_key").starts_with("-----BEGIN PUBLIC KEY-----"));
    let der: String = text("certificate")
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let der = STANDARD.decode(der).expect("base64");
    let name = "Käthe's laptop".as_bytes();
    assert!(der.windows(name.len()).any(|window| window == name));
}

/// Each opening makes another pair, of every kind.
#[test]
fn no_two_pairs_are_alike() {
    for kind in [WIREGUARD, CLIENT_CERTIFICATE] {
        let keys: BTreeSet<String> = (0..4)
            .map(|_| opened(config(kind.into(), Value::Null, Value::Null)))
            .flat_map(|pair| {
                ["private_key", "public_key"].map(|name| format!("{:?}", pair.attr(name)))
            })
            .collect();
        assert_eq!(keys.len(), 8, "{kind}");
    }
}

#[test]
fn the_defaults_are_those_of_the_pages() {
    let wanted = client_certificate(&config(CLIENT_CERTIFICATE.into(), Value::Null, Value::Null));
    assert_eq!(wanted.common_name, "homelab");
    assert_eq!(wanted.validity.as_secs(), 315_360_000);
}
