//! The whole walk of an object, and what values go through on their way.

use tfplugin::testing::PlanRequest;
use tfplugin::{Number, Path, Value};

use super::{Toy, a_box, apply, nothing, propose};

#[tokio::test]
async fn an_object_is_made_read_changed_replaced_and_removed() {
    let toy = Toy::start().await;
    let client = toy.client();
    let config = Value::object([
        ("name", "a".into()),
        (
            "lid",
            Value::object([("kind", "flap".into()), ("period", "90m".into())]),
        ),
        (
            "parts",
            Value::object([("left", Value::object([("size", 2i64.into())]))]),
        ),
    ]);
    let made = apply(&client, config.clone(), &nothing()).await;
    assert!(made.diagnostics.is_empty(), "{:?}", made.diagnostics);
    assert_eq!(made.state.attr("id").as_str(), Some("box/a"));
    assert_eq!(made.state.attr("colour").as_str(), Some("brown"));
    assert_eq!(
        made.state
            .attr("parts")
            .attr("left")
            .attr("serial")
            .as_str(),
        Some("a-left")
    );
    assert_eq!(made.private, b"made");

    let read = client
        .read("toy_box", made.state.clone(), made.private.clone())
        .await
        .expect("a state");
    assert_eq!(
        (read.state, read.private),
        (made.state.clone(), made.private.clone())
    );

    // The same meaning is no change, and nothing is to be done.
    let mut respelled = config.clone();
    let lid = Value::object([("kind", "flap".into()), ("period", "1h30m".into())]);
    respelled.set_attr("lid", lid);
    let proposed = {
        let mut proposed = propose(&respelled, &made.state);
        proposed.set_attr("parts", made.state.attr("parts").clone());
        proposed
    };
    let (prior, private) = (made.state.clone(), made.private.clone());
    let request = PlanRequest {
        config: respelled,
        prior,
        proposed,
        private,
    };
    let planned = client.plan("toy_box", request).await.expect("a plan");
    assert_eq!(planned.state, made.state);

    let mut changed = config;
    changed.set_attr("note", "fragile");
    let updated = apply(&client, changed.clone(), &made).await;
    assert_eq!(updated.state.attr("revision").as_i64(), Some(2));
    assert_eq!(updated.private, b"made");

    changed.set_attr("name", "b");
    let proposed = propose(&changed, &updated.state);
    let (prior, private) = (updated.state.clone(), updated.private.clone());
    let planned = client
        .plan(
            "toy_box",
            PlanRequest {
                config: changed,
                prior,
                proposed,
                private,
            },
        )
        .await;
    assert_eq!(
        planned.expect("a plan").requires_replace,
        [Path::new("name")]
    );

    assert!(toy.has_box("a"));
    let removed = apply(&client, Value::Null, &updated).await;
    assert!(removed.state.is_null() && removed.diagnostics.is_empty());
    assert!(!toy.has_box("a"));
    let gone = client
        .read("toy_box", updated.state, Vec::new())
        .await
        .expect("a state");
    assert!(gone.state.is_null() && gone.diagnostics.is_empty());
}

#[tokio::test]
async fn values_survive_the_wire_exactly() {
    let toy = Toy::start().await;
    let number = |text: &str| Value::Number(Number::parse(text).expect("a number"));
    for weight in [
        "0.1",
        "-12345678901234567890.000000001",
        "18446744073709551615",
        "1e400",
    ] {
        let mut config = a_box("a");
        config.set_attr("weight", number(weight));
        let made = apply(&toy.client(), config, &nothing()).await;
        assert_eq!(
            made.state
                .attr("weight")
                .as_number()
                .map(ToString::to_string)
                .as_deref(),
            Some(weight)
        );
    }
    let mut config = a_box("a");
    // Written as two characters, stored as one: the host would call anything else a change.
    config.set_attr("note", Value::String("e\u{301}".to_owned()));
    config.set_attr("owners", Value::Set(vec!["z".into(), "a".into()]));
    let made = apply(&toy.client(), config, &nothing()).await;
    assert_eq!(made.state.attr("note").as_str(), Some("\u{e9}"));
    assert_eq!(
        made.state.attr("owners"),
        &Value::Set(vec!["a".into(), "z".into()])
    );
    assert!(made.state.attr("labels").is_null() && made.state.attr("stickers").is_null());
}

#[tokio::test]
async fn a_value_of_twenty_megabytes_passes_both_ways() {
    let toy = Toy::start().await;
    let mut config = a_box("large");
    config.set_attr("note", "x".repeat(20 << 20));
    let made = apply(&toy.client(), config, &nothing()).await;
    assert!(!made.diagnostics.has_errors(), "{:?}", made.diagnostics);
    assert_eq!(
        made.state.attr("note").as_str().map(str::len),
        Some(20 << 20)
    );
}

#[tokio::test]
async fn write_only_values_reach_the_work_and_no_state() {
    let toy = Toy::start().await;
    let mut config = a_box("a");
    config.set_attr("key", "s3cret");
    let made = apply(&toy.client(), config, &nothing()).await;
    assert!(made.state.attr("key").is_null());
    let ended = toy.host.shutdown().await.expect("an end");
    assert!(!ended.errors.contains("s3cret"));
}

#[tokio::test]
async fn a_configuration_is_judged_at_its_places() {
    let toy = Toy::start().await;
    let config = Value::object([
        ("name", "a/b".into()),
        ("work_time", Value::Unknown),
        (
            "lid",
            Value::object([("kind", "flap".into()), ("period", "often".into())]),
        ),
        ("timeouts", Value::object([("create", "1d".into())])),
    ]);
    let said = toy
        .client()
        .validate("toy_box", config)
        .await
        .expect("an answer");
    let places: Vec<String> = said
        .iter()
        .filter_map(|one| one.path.as_ref())
        .map(ToString::to_string)
        .collect();
    // A host can point at attributes of the resource only; where inside it is, is said in words.
    assert_eq!(places, ["lid", "timeouts", "name"]);
    let details: Vec<&str> = said.iter().map(|one| one.detail.as_str()).collect();
    assert!(details[0].contains("`lid.period`"), "{details:?}");
    assert!(details[1].contains("`timeouts.create`"), "{details:?}");
}

#[tokio::test]
async fn an_existing_object_is_taken_over_by_its_name() {
    let toy = Toy::start().await;
    let made = apply(&toy.client(), a_box("a"), &nothing()).await;
    let imported = toy
        .client()
        .import("toy_box", "a")
        .await
        .expect("an answer");
    assert_eq!(imported.state.attr("name").as_str(), Some("a"));
    let read = toy
        .client()
        .read("toy_box", imported.state, imported.private)
        .await
        .expect("a state");
    assert_eq!(read.state, made.state);
}

#[tokio::test]
async fn stored_states_are_read_as_they_are_and_older_ones_are_upgraded() {
    let toy = Toy::start().await;
    let read = async |version, stored: &str| {
        toy.client()
            .upgrade("toy_box", version, stored)
            .await
            .expect("an answer")
    };
    // The state of the present version, with an attribute that is gone and without one that is new.
    let (state, said) = read(
        1,
        r#"{"name":"a","weight":0.12345678901234567890,"gone":[1]}"#,
    )
    .await;
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(
        state
            .attr("weight")
            .as_number()
            .map(ToString::to_string)
            .as_deref(),
        Some("0.12345678901234567890")
    );
    assert!(state.attr("note").is_null());
    let (state, _) = read(0, r#"{"name":"a","text":"old"}"#).await;
    assert_eq!(state.attr("note").as_str(), Some("old"));
    let (state, said) = read(7, r#"{"name":"a"}"#).await;
    assert!(state.is_null() && said.has_errors());
    let (state, said) = read(1, r#"{"name":["a"]}"#).await;
    assert!(state.is_null());
    assert_eq!(
        said.iter()
            .filter_map(|one| one.path.clone())
            .collect::<Vec<_>>(),
        [Path::new("name")]
    );
}

#[tokio::test]
async fn a_data_source_answers() {
    let toy = Toy::start().await;
    apply(&toy.client(), a_box("a1"), &nothing()).await;
    apply(&toy.client(), a_box("b1"), &nothing()).await;
    let question = Value::object([("prefix", "a".into())]);
    let (answer, said) = toy
        .client()
        .read_data("toy_count", question)
        .await
        .expect("an answer");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(answer.attr("count_of_boxes").as_i64(), Some(1));
    assert_eq!(
        toy.client().metadata().await.expect("names"),
        ["toy_box", "toy_count", "toy_key", "label"]
    );
}

#[tokio::test]
async fn an_unknown_setting_fails_at_its_first_use_and_not_before() {
    let toy = Toy::start().await;
    let said = toy
        .client()
        .configure(Value::object([("folder", Value::Unknown)]))
        .await
        .expect("an answer");
    assert!(said.is_empty(), "{said:?}");
    let failed = apply(&toy.client(), a_box("a"), &nothing()).await;
    assert!(failed.state.is_null());
    assert!(
        failed
            .diagnostics
            .iter()
            .any(|one| one.summary.contains("folder of the boxes is not known"))
    );
}
