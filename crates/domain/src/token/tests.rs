//! Join tokens, good and bad. What no refusal may do is checked for every one of them: show the secret.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SECRET: &str = "7f0c5a9e-the-secret-of-the-token";

fn good() -> Value {
    json!({
        "server_name": "m2",
        "fingerprint": "AB".repeat(32),
        "addresses": ["10.0.0.10:8443", "[fd00::1]:8443"],
        "secret": SECRET,
        "expires_at": "2026-08-01T12:00:00.123456789Z",
    })
}

fn encoded(value: &Value) -> String {
    STANDARD.encode(value.to_string())
}

fn with(field: &str, value: Value) -> String {
    let mut token = good();
    token[field] = value;
    encoded(&token)
}

fn without(field: &str) -> String {
    let mut token = good();
    if let Value::Object(fields) = &mut token {
        fields.remove(field);
    }
    encoded(&token)
}

/// What is told of a token that is none.
fn refusal(text: &str) -> String {
    let error = JoinToken::decode(text).expect_err("it is no token");
    let told = error.to_string();
    for shown in [told.clone(), format!("{error:?}")] {
        assert!(
            !shown.contains(SECRET) && !shown.contains(&STANDARD.encode(SECRET)),
            "{shown}"
        );
        assert!(
            text.len() < 20 || !shown.contains(text),
            "the token is echoed: {shown}"
        );
    }
    told
}

/// HO-JOIN-10: everything of it but the secret.
#[test]
fn a_token_says_everything_but_its_secret() {
    let text = encoded(&good());
    let token = JoinToken::decode(&text).expect("a token");
    let expected = JoinToken {
        server_name: "m2".to_owned(),
        fingerprint: "ab".repeat(32),
        addresses: vec!["10.0.0.10:8443".to_owned(), "[fd00::1]:8443".to_owned()],
        expires_at: "2026-08-01T12:00:00.123456789Z".to_owned(),
    };
    assert_eq!(token, expected);
    assert!(!format!("{token:?}").contains(SECRET));

    let (start, end) = text.split_at(60);
    for pasted in [format!("  {text}\n"), format!("{start}\r\n{end}")] {
        assert_eq!(JoinToken::decode(&pasted), Ok(expected.clone()));
    }
    // A later Incus may say more.
    assert_eq!(JoinToken::decode(&with("more", json!([1]))), Ok(expected));
}

#[test]
fn what_is_no_token_says_what_was_seen() {
    let token = encoded(&good());
    let cut_off = token.trim_end_matches('=');
    let cut_off = &cut_off[..cut_off.len() - (cut_off.len() % 4) + 1 - 4];
    let trust = json!({ "client_name": "laptop", "secret": SECRET, "addresses": [] });
    for (text, expected) in [
        (String::new(), "is empty"),
        (" \n ".to_owned(), "is empty"),
        ("A".repeat(LONGEST + 1), "has 65537 characters"),
        (
            "Member m2 join token: x".to_owned(),
            "character 7 of 23 does not belong there",
        ),
        (token.replacen('J', "é", 1), "does not belong there"),
        (cut_off.to_owned(), "is not whole"),
        (format!("={token}"), "is not whole"),
        (
            STANDARD.encode(format!("{{{SECRET}")),
            "bytes that are not JSON",
        ),
        (
            STANDARD.encode(good().to_string().replace('}', "")),
            "bytes that are not JSON",
        ),
        (
            STANDARD.encode([0xff, 0xfe, 0x00]),
            "3 bytes that are not JSON",
        ),
        (
            STANDARD.encode("[".repeat(40_000)),
            "40000 bytes that are not JSON",
        ),
        (encoded(&json!(SECRET)), "of a text instead of an object"),
        (encoded(&json!([SECRET])), "of a list instead of an object"),
        (encoded(&Value::Null), "of null instead of an object"),
        (encoded(&trust), "adds a client to the trust store"),
        (without("server_name"), "has no field server_name"),
        (without("fingerprint"), "has no field fingerprint"),
        (without("addresses"), "has no field addresses"),
        (without("secret"), "has no field secret"),
        (without("expires_at"), "has no field expires_at"),
        (
            with("server_name", json!("")),
            "server_name of the token is empty",
        ),
        (with("secret", json!("")), "secret of the token is empty"),
        (
            with("secret", json!({ "a": SECRET })),
            "secret of the token is an object instead of a text",
        ),
        (
            with("expires_at", json!(5)),
            "expires_at of the token is a number instead of a text",
        ),
        (
            with("fingerprint", json!(SECRET)),
            "is not 64 hexadecimal digits",
        ),
        (
            with("fingerprint", json!("é".repeat(32))),
            "is not 64 hexadecimal digits",
        ),
        (
            with("addresses", json!([])),
            "addresses of the token is empty",
        ),
        (
            with("addresses", json!(SECRET)),
            "is a text instead of a list of texts",
        ),
        (
            with("addresses", json!(["a", [SECRET]])),
            "something else in it instead of a list of texts",
        ),
    ] {
        let told = refusal(&text);
        assert!(told.contains(expected), "{expected:?}: {told}");
    }
}

proptest! {
    /// Whatever is pasted is read or refused.
    #[test]
    fn decoding_is_total(text in any::<String>(), bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for text in [text, STANDARD.encode(&bytes)] {
            let _ = JoinToken::decode(&text);
        }
    }

    /// A token with one byte changed is read or refused, and no refusal shows the secret.
    #[test]
    fn damage_is_refused_without_an_echo(position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut damaged = good().to_string().into_bytes();
        let position = position.index(damaged.len());
        damaged[position] = byte;
        let text = STANDARD.encode(damaged);
        if JoinToken::decode(&text).is_err() {
            refusal(&text);
        }
    }

    /// What was put in comes out.
    #[test]
    fn tokens_read_back(name in "[a-z0-9-]{1,48}", addresses in proptest::collection::vec(".{1,30}", 1..5)) {
        let mut token = good();
        token["server_name"] = json!(name);
        token["addresses"] = json!(addresses);
        let read = JoinToken::decode(&encoded(&token)).expect("a token");
        prop_assert_eq!((read.server_name, read.addresses), (name, addresses));
    }
}
