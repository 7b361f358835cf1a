//! What no well-behaved host sends: an error, never a panic, never a hang, nothing on standard output.
//!
//! What may happen at the worst moment is in `moments.rs`.

use tfplugin::testing::{Host, codec, field};
use tfplugin::{Type, Value};

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

/// It still works, and its end is as clean as if nothing had been.
async fn goes_on_and_ends(toy: Toy) {
    goes_on(&toy).await;
    let ended = toy.host.shutdown().await.expect("an end");
    assert_eq!(ended.status.code(), Some(0));
    assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
    assert_eq!(ended.output, "");
}

/// Sends bytes in the place of a value, whose encoding is MessagePack in field 1 and JSON in field 2, and finds that the
/// answer tells of it.
async fn is_told_of(toy: &Toy, call: &str, kind: Name, place: u8, encoding: u8, bytes: &[u8]) {
    let mut request = kind
        .map(|(at, name)| field(at, name.as_bytes()))
        .unwrap_or_default();
    if call == "MoveResourceState" {
        // Only what is known to have been a box is looked at.
        request.extend(field(1, b"example/toy"));
        request.extend(field(2, b"toy_crate"));
    }
    request.extend(field(place, &field(encoding, bytes)));
    let answer = toy.client().call_raw(call, request).await;
    let answer = String::from_utf8_lossy(&answer.expect("an answer")).into_owned();
    let told = [
        "cannot be read",
        "is not JSON",
        "decoding",
        "takes",
        "understood",
    ];
    assert!(
        told.iter().any(|text| answer.contains(text)),
        "{call} {place} {bytes:?}: {answer}"
    );
}

/// The most memory that the process ever had, in MiB.
fn peak(host: &Host) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.id()));
    let status = status.expect("a running process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = peak.expect("a peak").trim_end_matches(" kB").trim();
    digits.parse::<usize>().expect("a number") >> 10
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
    goes_on_and_ends(toy).await;
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
                is_told_of(&toy, call, *kind, *place, 1, bytes).await;
            }
        }
    }
    goes_on_and_ends(toy).await;
}

#[tokio::test]
async fn a_value_of_another_type_is_an_error_in_the_answer() {
    let toy = Toy::start().await;
    let foreign = by_hand(&Value::object([("z", Value::Null)]));
    let others = [by_hand(&true.into()), by_hand(&vec![].into()), foreign];
    for (call, kind, places) in VALUES {
        for place in *places {
            // Stored values are JSON only, and may have attributes that are no more.
            if call.starts_with("Upgrade") || call.starts_with("Move") {
                is_told_of(&toy, call, *kind, *place, 1, b"true").await;
                is_told_of(&toy, call, *kind, *place, 1, b"[]").await;
                continue;
            }
            for bytes in &others {
                is_told_of(&toy, call, *kind, *place, 1, bytes).await;
            }
            is_told_of(&toy, call, *kind, *place, 2, b"[7]").await;
        }
    }
    // One attribute deep inside, in a value that is otherwise as it has to be.
    let of = toy
        .client()
        .resource_type("toy_box")
        .expect("a type")
        .clone();
    let mut wrong = a_box("a").conform(&of).expect("a box");
    wrong.set_attr(
        "size",
        Value::object([("width", "wide".into()), ("height", Value::Null)]),
    );
    let bytes = codec::encode_msgpack(&wrong, &of);
    for place in [2, 3, 4] {
        let kind = Some((1, "toy_box"));
        is_told_of(&toy, "PlanResourceChange", kind, place, 1, &bytes).await;
    }
    goes_on_and_ends(toy).await;
}

/// A value as it is, whatever type is expected.
fn by_hand(value: &Value) -> Vec<u8> {
    codec::encode_msgpack(value, &Type::Dynamic)
}

#[tokio::test]
async fn a_value_that_ends_early_is_an_error_wherever_it_ends() {
    let toy = Toy::start().await;
    let of = toy
        .client()
        .resource_type("toy_box")
        .expect("a type")
        .clone();
    let mut whole = a_box("a");
    whole.set_attr("weight", 300i64);
    whole.set_attr("stickers", vec!["x".into(), Value::Unknown]);
    let bytes = codec::encode_msgpack(&whole.conform(&of).expect("a box"), &of);
    for end in 1..bytes.len() {
        for call in ["ValidateResourceConfig", "PlanResourceChange"] {
            is_told_of(&toy, call, Some((1, "toy_box")), 2, 1, &bytes[..end]).await;
        }
    }
    goes_on_and_ends(toy).await;
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
    // The frames as they come, the message, the value.
    assert!(peak(&toy.host) < 900, "{} MiB", peak(&toy.host));
    goes_on_and_ends(toy).await;
}

/// Each of them would be thirty-two bytes in memory.
#[tokio::test]
async fn a_value_of_200_million_values_is_refused() {
    let toy = Toy::start().await;
    let description = br#"["list","bool"]"#;
    let mut content = vec![0x92, 0xc4, description.len() as u8];
    content.extend(description);
    content.extend([0xdd, 0x0c, 0x80, 0, 0]);
    content.resize(content.len() + (200 << 20), 0xc0);
    let mut bytes = vec![0x81, 0xa7];
    bytes.extend(b"content");
    bytes.append(&mut content);
    let kind = Some((1, "toy_box"));
    is_told_of(&toy, "ValidateResourceConfig", kind, 2, 1, &bytes).await;
    assert!(peak(&toy.host) < 900, "{} MiB", peak(&toy.host));
    goes_on_and_ends(toy).await;
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
