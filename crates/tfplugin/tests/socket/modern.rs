//! Functions, ephemeral resources, identities, moves and `--debug`, as a host calls them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use tfplugin::{Type, Value};

use super::{Toy, a_box, apply, launch, nothing};

fn label(arguments: &[Value]) -> Vec<(Value, Type)> {
    let typed = arguments.iter().map(|value| (value.clone(), Type::String));
    typed.collect()
}

#[tokio::test]
async fn a_function_answers_without_a_configured_provider() {
    let host = launch().start().await.expect("a running provider");
    let call = async |arguments: &[Value]| {
        let called = host
            .client()
            .call_function("label", &label(arguments))
            .await;
        called.expect("an answer")
    };
    let joined = call(&["room".into(), Value::Null, "a".into(), "b".into()]).await;
    assert_eq!(joined, Ok("room: a, b".into()));
    let unknown = call(&["room".into(), "-".into(), Value::Unknown]).await;
    assert_eq!(unknown, Ok(Value::Unknown), "as long as an argument is");
    let (text, argument) = call(&["".into(), Value::Null]).await.expect_err("an error");
    // The host adds the full stop.
    assert_eq!(
        (text.as_str(), argument),
        ("The room must not be empty", Some(0))
    );
    let (_, argument) = call(&["a".into(), Value::Null, "b".into(), Value::Null])
        .await
        .expect_err("no null for what takes none");
    assert_eq!(argument, Some(3));
    let (text, _) = call(&["panic".into(), Value::Null])
        .await
        .expect_err("an error");
    assert!(text.contains("the label is cursed"), "{text}");
    assert!(call(&["a".into(), Value::Null]).await.is_ok(), "it goes on");
}

#[tokio::test]
async fn an_ephemeral_object_is_opened_renewed_and_closed() {
    let toy = Toy::start().await;
    let config = Value::object([("lasts", "1h".into())]);
    let opened = toy.client().open("toy_key", config).await;
    let (key, private, renew, said) = opened.expect("an answer");
    assert!(said.is_empty() && renew, "{said:?}");
    assert_eq!(key.attr("value").as_str().map(str::len), Some(32));
    let hangs = || {
        std::fs::read_dir(toy.folder.path())
            .expect("a folder")
            .count()
    };
    assert_eq!(hangs(), 1);
    let renewed = toy.client().renew("toy_key", private.clone()).await;
    let (noted, renew, said) = renewed.expect("an answer");
    assert!(said.is_empty() && renew && noted == private, "{said:?}");
    for _ in 0..2 {
        let said = toy.client().close("toy_key", private.clone()).await;
        assert!(said.expect("an answer").is_empty());
    }
    assert_eq!(hangs(), 0);
    let renewed = toy.client().renew("toy_key", private.clone()).await;
    let (noted, renew, said) = renewed.expect("an answer");
    assert!(said.has_errors() && !renew && noted == private);
    let forever = toy.client().open("toy_key", Value::object([])).await;
    assert!(!forever.expect("an answer").2, "what lasts for ever");
    let ended = toy.host.shutdown().await.expect("an end");
    let key = key.attr("value").as_str().unwrap_or_default();
    assert!(!ended.errors.contains(key));
}

#[tokio::test]
async fn every_answer_about_an_object_has_its_identity() {
    let toy = Toy::start().await;
    let client = toy.client();
    let made = apply(&client, a_box("a"), &nothing()).await;
    let identity = a_box("a");
    let imported = client.import_identified("toy_box", identity.clone()).await;
    let (state, named, said) = imported.expect("an answer");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(named, identity);
    let read = client.read_identified("toy_box", state, named).await;
    let (state, named, _) = read.expect("an answer");
    assert_eq!((&state, &named), (&made.state, &identity));
    // A state from before identities has none, and gets one.
    let read = client.read_identified("toy_box", state.clone(), Value::Null);
    assert_eq!(read.await.expect("an answer").1, identity);
    // The object of another name is another object.
    let read = client.read_identified("toy_box", state, a_box("b"));
    let (_, named, said) = read.await.expect("an answer");
    assert!(said.has_errors());
    assert_eq!(named, a_box("b"), "the old one stays");
}

#[tokio::test]
async fn a_state_of_another_kind_is_moved() {
    let toy = Toy::start().await;
    let moved = toy.client();
    let stored = r#"{"name":"a","text":"old","nails":4,"key":"s3cret"}"#;
    let (state, said) = moved
        .move_state("toy_crate", stored, "toy_box")
        .await
        .expect("an answer");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(state.attr("note").as_str(), Some("old"));
    assert!(state.attr("key").is_null(), "write-only values go nowhere");
    for (source, stored) in [
        ("toy_sack", stored),
        ("toy_crate", "{"),
        ("toy_crate", "[]"),
    ] {
        let (state, said) = toy
            .client()
            .move_state(source, stored, "toy_box")
            .await
            .expect("an answer");
        assert!(state.is_null() && said.has_errors(), "{source} {stored}");
    }
}

/// What a debugger needs: a process that outlives its hosts and says where it is.
#[test]
fn by_hand_with_debug_it_says_where_it_is_and_ends_on_an_interrupt() {
    let mut toy = Command::new(env!("CARGO_BIN_EXE_tfplugin-toy"))
        .arg("--debug")
        .env_remove("TF_PLUGIN_MAGIC_COOKIE")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut output = BufReader::new(toy.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    let json = line
        .trim_end()
        .strip_prefix("TF_REATTACH_PROVIDERS='")
        .and_then(|rest| rest.strip_suffix('\''))
        .expect("a variable");
    let providers: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let provider = &providers["registry.opentofu.org/example/toy"];
    assert_eq!(provider["Pid"], toy.id());
    let socket = provider["Addr"]["String"]
        .as_str()
        .expect("a path")
        .to_owned();
    drop(std::os::unix::net::UnixStream::connect(&socket).expect("a connection"));
    let id = toy.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("a kill program").success());
    let signalled = std::time::Instant::now();
    while toy.try_wait().expect("a status").is_none() {
        if signalled.elapsed() > super::ending::SOON {
            toy.kill().expect("an end by force");
            panic!("it did not end on an interrupt");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(toy.wait().expect("an end").code(), Some(0));
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("its end");
    assert_eq!(rest, "");
    assert!(!std::path::Path::new(&socket).exists());
}
