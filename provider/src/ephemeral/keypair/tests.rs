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
    let pair = match config.attr("kind").as_str() {
        Some(WIREGUARD) => make::wireguard(),
        _ => make::client_certificate(&client_certificate(&config)),
    };
    match pair {
        Ok(pair) => filled(config, pair),
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

/// The vector of RFC 7748, section 6.1 (Bob): what we call a public key is what WireGuard calls one.
#[test]
fn public_keys_are_those_of_wireguard() {
    let hexadecimal =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let private_key = [
        0x5d, 0xab, 0x08, 0x7e, 0x62, 0x4a, 0x8a, 0x4b, 0x79, 0xe1, 0x7f, 0x8b, 0x83, 0x80, 0x0e,
        0xe6, 0x6f, 0x3b, 0xb1, 0x29, 0x26, 0x18, 0xb6, 0xfd, 0x1c, 0x2f, 0x8b, 0x27, 0xff, 0x88,
        0xe0, 0xeb,
    ];
    let public_key = make::wireguard_public_key(&private_key).expect("a key");
    let expected = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    assert_eq!(hexadecimal(&public_key), expected);
}

#[test]
fn a_wireguard_pair_is_as_wg_makes_it() {
    let pair = opened(config(WIREGUARD.into(), Value::Null, Value::Null));
    let key = |name: &str| -> [u8; 32] {
        let text = pair.attr(name).as_str().expect("a text");
        let bytes = STANDARD.decode(text).expect("base64");
        bytes.try_into().expect("32 bytes")
    };
    let private_key = key("private_key");
    let is_clamped = private_key[0] & 7 == 0 && private_key[31] & 0xc0 == 0x40;
    assert!(is_clamped, "as wg genkey writes it");
    let public_key = make::wireguard_public_key(&private_key);
    assert_eq!(public_key, Ok(key("public_key").to_vec()));
    assert!(pair.attr("certificate").is_null() && pair.attr("fingerprint").is_null());
    assert!(pair.is_wholly_known());
}

#[test]
fn a_client_certificate_is_as_incus_takes_it() {
    let pair = opened(config(
        CLIENT_CERTIFICATE.into(),
        "Käthe's laptop".into(),
        "2h".into(),
    ));
    let text = |name: &str| pair.attr(name).as_str().expect("a text");
    assert!(text("private_key").starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(text("public_key").starts_with("-----BEGIN PUBLIC KEY-----"));
    assert!(text("certificate").starts_with("-----BEGIN CERTIFICATE-----"));
    let fingerprint = incus::Fingerprint::of_pem(text("certificate")).expect("a certificate");
    assert_eq!(text("fingerprint"), fingerprint.to_string());
    assert_eq!(text("fingerprint").len(), 64);
    // The certificate is of this key: the key signs, and its own public half is what is in the certificate.
    let key = rcgen::KeyPair::from_pem(text("private_key")).expect("a key");
    assert_eq!(text("public_key"), key.public_key_pem());
    let der: String = text("certificate")
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let der = STANDARD.decode(der).expect("base64");
    let has = |bytes: &[u8]| der.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(key.public_key_raw()), "the certificate has another key");
    assert!(
        has("Käthe's laptop".as_bytes()),
        "the certificate has another name"
    );
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
