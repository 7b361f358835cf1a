//! What no well-behaved host does, and what happens at the worst moment: an error or a clean end, never a panic, never
//! a hang, nothing on standard output.

use std::time::Duration;

use tfplugin::Value;
use tfplugin::testing::field;

use super::ending::SOON;
use super::{Toy, a_box, apply, launch, nothing, propose};

/// The field of a kind's name, and the name.
type Name = Option<(u8, &'static str)>;

/// Every call that carries values: where its kind's name and its values are.
const VALUES: &[(&str, Name, &[u8])] = &[
    ("ValidateProviderConfig", None, &[1]),
    ("ConfigureProvider", None, &[2]),
    ("ValidateResourceConfig", Some((1, "toy_box")), &[2]),
    ("ReadResource", Some((1, "toy_box")), &[2]),
    ("PlanResourceChange", Some((1, "toy_box")), &[2, 3, 4]),
    ("ApplyResourceChange", Some((1, "toy_box")), &[2, 3, 4]),
    ("ValidateDataResourceConfig", Some((1, "toy_count")), &[2]),
    ("ReadDataSource", Some((1, "toy_count")), &[2]),
    (
        "ValidateEphemeralResourceConfig",
        Some((1, "toy_key")),
        &[2],
    ),
    ("OpenEphemeralResource", Some((1, "toy_key")), &[2]),
    // Stored JSON has the same place in its message as MessagePack has in a value's.
    ("UpgradeResourceState", Some((1, "toy_box")), &[3]),
    ("UpgradeResourceIdentity", Some((1, "toy_box")), &[3]),
    ("MoveResourceState", Some((5, "toy_box")), &[4]),
    ("CallFunction", Some((1, "label")), &[2]),
];

/// Calls whose answers to damaged values are no diagnostics, or that have no values.
const OTHERS: &[&str] = &[
    "ImportResourceState",
    "RenewEphemeralResource",
    "CloseEphemeralResource",
];

async fn goes_on(toy: &Toy) {
    let made = apply(&toy.client(), a_box("after"), &nothing()).await;
    assert!(!made.diagnostics.has_errors(), "{:?}", made.diagnostics);
}

#[tokio::test]
async fn a_damaged_message_fails_its_call_only() {
    let toy = Toy::start().await;
    let names = VALUES.iter().map(|(name, _, _)| name).chain(OTHERS);
    for name in names {
        for damaged in [vec![0xff; 5], vec![0x0a, 0x7f, b'x'], vec![0x0b]] {
            let answer = toy.client().call_raw(name, damaged.clone()).await;
            assert!(answer.is_err(), "{name} {damaged:?}");
        }
    }
    goes_on(&toy).await;
    let ended = toy.host.shutdown().await.expect("an end");
    assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
    assert_eq!(ended.output, "");
}

#[tokio::test]
async fn a_damaged_value_is_an_error_in_the_answer() {
    let toy = Toy::start().await;
    let damaged: [&[u8]; 6] = [
        &[0x81],
        &[0xde, 0xff, 0xff],
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdb, 0xff, 0xff, 0xff, 0xff, b'x'],
        &[0xc1],
        &[0x81, 0xa4, b'n', b'a'],
    ];
    for (call, kind, places) in VALUES {
        for place in *places {
            for bytes in damaged {
                let mut request = kind
                    .map(|(at, name)| field(at, name.as_bytes()))
                    .unwrap_or_default();
                request.extend(field(*place, &field(1, bytes)));
                let answer = toy.client().call_raw(call, request).await;
                let answer = String::from_utf8_lossy(&answer.expect("an answer")).into_owned();
                let told = ["cannot be read", "is not JSON", "decoding", "takes"];
                assert!(
                    told.iter().any(|text| answer.contains(text)),
                    "{call} {place} {bytes:?}: {answer}"
                );
            }
        }
    }
    goes_on(&toy).await;
    let ended = toy.host.shutdown().await.expect("an end");
    assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
}

#[tokio::test]
async fn calls_that_are_not_served_say_so() {
    let toy = Toy::start().await;
    for call in [
        "PlanAction",
        "GenerateResourceConfig",
        "LockState",
        "ValidateListResourceConfig",
    ] {
        let error = toy.client().call_raw(call, Vec::new()).await;
        let error = format!("{:?}", error.expect_err("nothing is served"));
        assert!(error.contains("Unimplemented"), "{call}: {error}");
    }
}

#[tokio::test]
async fn a_value_of_200_mib_is_judged_and_a_larger_message_refused() {
    let toy = Toy::start().await;
    let mut large = a_box("large");
    large.set_attr("note", "x".repeat(200 << 20));
    let said = toy.client().validate("toy_box", large).await;
    assert!(said.expect("an answer").is_empty());
    let request = field(2, &vec![b'x'; 257 << 20]);
    let refused = toy
        .client()
        .call_raw("ValidateResourceConfig", request)
        .await;
    assert!(refused.is_err());
    goes_on(&toy).await;
}

#[tokio::test]
async fn before_it_is_configured_it_judges_and_plans_and_the_rest_is_an_error() {
    let host = launch().start().await.expect("a running provider");
    let (client, folder) = (host.client(), tempfile::tempdir().expect("a folder"));
    let toy = Toy { host, folder };
    assert!(
        client
            .validate("toy_box", a_box("a"))
            .await
            .expect("an answer")
            .is_empty()
    );
    let made = apply(&client, a_box("a"), &nothing()).await;
    assert!(made.diagnostics.has_errors() && made.state.is_null());
    let state = propose(&a_box("a"), &Value::Null);
    let read = client
        .read("toy_box", state.clone(), Vec::new())
        .await
        .expect("an answer");
    assert!(
        read.diagnostics.has_errors() && !read.state.is_null(),
        "it is not gone"
    );
    let (_, said) = client
        .read_data("toy_count", Value::object([]))
        .await
        .expect("an answer");
    assert!(said.has_errors());
    let opened = client
        .open("toy_key", Value::object([]))
        .await
        .expect("an answer");
    assert!(opened.3.has_errors());
    drop(toy);
}

#[tokio::test]
async fn a_second_configuration_takes_the_place_of_the_first() {
    let toy = Toy::start().await;
    let other = tempfile::tempdir().expect("a folder");
    let config = Value::object([("folder", other.path().to_str().into())]);
    assert!(
        toy.client()
            .configure(config)
            .await
            .expect("an answer")
            .is_empty()
    );
    goes_on(&toy).await;
    assert!(other.path().join("after").exists() && !toy.has_box("after"));
}

/// Creations and what they leave behind are in `ending.rs`; an update's work is the same.
#[tokio::test]
async fn a_stop_ends_every_call_that_waits() {
    let toy = Toy::start().await;
    let made = apply(&toy.client(), a_box("a"), &nothing()).await;
    let far = Value::object([
        ("folder", toy.folder.path().to_str().into()),
        ("way", "10m".into()),
    ]);
    toy.client().configure(far).await.expect("an answer");
    let client = toy.client();
    let waiting = async {
        tokio::join!(
            async {
                client
                    .read("toy_box", made.state.clone(), Vec::new())
                    .await
                    .expect("an answer")
                    .diagnostics
            },
            async { apply(&client, Value::Null, &made).await.diagnostics },
            async {
                client
                    .read_data("toy_count", Value::object([]))
                    .await
                    .expect("an answer")
                    .1
            },
            async {
                client
                    .open("toy_key", Value::object([]))
                    .await
                    .expect("an answer")
                    .3
            },
            async {
                client
                    .renew("toy_key", b".key-x 1h".to_vec())
                    .await
                    .expect("an answer")
                    .2
            },
            async {
                client
                    .close("toy_key", b".key-x 1h".to_vec())
                    .await
                    .expect("an answer")
            },
        )
    };
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        toy.client().stop().await.expect("an answer");
    };
    let both = async { tokio::join!(waiting, stopping).0 };
    let (read, removed, counted, opened, renewed, closed) = tokio::time::timeout(SOON, both)
        .await
        .expect("answers in time");
    for said in [read, removed, counted, opened, renewed, closed] {
        let stopped = said
            .iter()
            .any(|one| one.summary.contains("was broken off"));
        assert!(stopped, "{said:?}");
    }
    assert!(toy.has_box("a"));
}
