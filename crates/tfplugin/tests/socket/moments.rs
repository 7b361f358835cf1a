//! What happens at the worst moment, in the middle of each call that waits: the host asks it to stop, or the host dies.
//!
//! What is left behind of a creation is in `ending.rs`.

use std::pin::Pin;
use std::time::Duration;

use tfplugin::testing::Client;
use tfplugin::{Applied, Diagnostics, Value};

use super::ending::SOON;
use super::{Toy, a_box, apply, nothing, slow_box};

type Said = Pin<Box<dyn Future<Output = Diagnostics> + Send>>;

/// Each call that waits, begun on one box and going on for a minute; with its name.
fn waiting(client: &Client, made: &Applied) -> Vec<(&'static str, Said)> {
    fn begin<F: Future<Output = Diagnostics> + Send + 'static>(
        client: &Client,
        call: impl FnOnce(Client) -> F,
    ) -> Said {
        Box::pin(call(client.clone()))
    }
    let none = || Value::object([]);
    let private = || b".key-x 1h".to_vec();
    let (read, update, delete) = (made.clone(), made.clone(), made.clone());
    vec![
        (
            "read",
            begin(client, |client| async move {
                let read = client.read("toy_box", read.state, Vec::new()).await;
                read.expect("an answer").diagnostics
            }),
        ),
        (
            "create",
            begin(client, |client| async move {
                apply(&client, slow_box("slow"), &nothing())
                    .await
                    .diagnostics
            }),
        ),
        (
            "update",
            begin(client, |client| async move {
                apply(&client, slow_box("a"), &update).await.diagnostics
            }),
        ),
        (
            "delete",
            begin(client, |client| async move {
                apply(&client, Value::Null, &delete).await.diagnostics
            }),
        ),
        (
            "read of data",
            begin(client, |client| async move {
                client
                    .read_data("toy_count", none())
                    .await
                    .expect("an answer")
                    .1
            }),
        ),
        (
            "open",
            begin(client, |client| async move {
                client.open("toy_key", none()).await.expect("an answer").3
            }),
        ),
        (
            "renew",
            begin(client, |client| async move {
                client
                    .renew("toy_key", private())
                    .await
                    .expect("an answer")
                    .2
            }),
        ),
        (
            "close",
            begin(client, |client| async move {
                client.close("toy_key", private()).await.expect("an answer")
            }),
        ),
    ]
}

/// A toy with one box, whose way to the folder has become far.
async fn far() -> (Toy, Applied) {
    let toy = Toy::start().await;
    let made = apply(&toy.client(), a_box("a"), &nothing()).await;
    let folder = toy.folder.path().to_str();
    let far = Value::object([("folder", folder.into()), ("way", "10m".into())]);
    toy.client().configure(far).await.expect("an answer");
    (toy, made)
}

/// Long enough for the calls to have come to where they wait.
const BEGUN: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_stop_ends_every_call_that_waits() {
    let (toy, made) = far().await;
    let calls = waiting(&toy.client(), &made);
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(name, call)| (name, tokio::spawn(call)))
        .collect();
    tokio::time::sleep(BEGUN).await;
    for (name, call) in &calls {
        assert!(!call.is_finished(), "{name} does not wait");
    }
    toy.client().stop().await.expect("an answer");
    for (name, call) in calls {
        let ended = tokio::time::timeout(SOON, call).await;
        let said = ended.expect("an answer in time").expect("no panic");
        let stopped = said.iter().any(|one| {
            one.summary.contains("was broken off") || one.summary.contains("was stopped")
        });
        assert!(stopped, "{name}: {said:?}");
    }
    assert!(toy.has_box("a"));
    let ended = toy.host.shutdown().await.expect("an end");
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.output, "");
    assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
}

#[tokio::test]
async fn a_host_that_dies_in_the_middle_of_a_call_ends_the_process() {
    // All at once, since each waits a while for its host to come back.
    let mut ends = tokio::task::JoinSet::new();
    for index in 0..8 {
        ends.spawn(dies_in_the_middle_of(index));
    }
    while let Some(end) = ends.join_next().await {
        end.expect("a clean end");
    }
}

async fn dies_in_the_middle_of(index: usize) {
    let (mut toy, made) = far().await;
    let socket = toy.host.socket().to_owned();
    let (name, call) = waiting(&toy.client(), &made).swap_remove(index);
    let call = tokio::spawn(call);
    tokio::time::sleep(BEGUN).await;
    assert!(!call.is_finished(), "{name} does not wait");
    call.abort();
    assert!(call.await.is_err(), "nobody waits any more");
    toy.host.disappear();
    let ended = toy.host.ended(SOON).await;
    let ended = ended.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(ended.status.code(), Some(0), "{name}");
    assert_eq!(ended.output, "", "{name}");
    assert!(
        !ended.errors.contains("panicked"),
        "{name}: {}",
        ended.errors
    );
    assert!(!socket.exists(), "{name}");
}
