//! The product's own client, which expects an Incus.

use std::collections::BTreeMap;
use std::time::Duration;

use incus::event::{EventFilter, Happening};
use incus::exec::exec_recorded;
use incus::instance::{self, Action, Command, InstancePost, Source};
use incus::{Client, Endpoint};
use simulator::server::Options;
use tokio::time::timeout;

use crate::asking::{Served, serve};

/// Far longer than any event takes.
const PATIENCE: Duration = Duration::from_secs(10);

fn client(served: &Served) -> Client {
    Client::new(vec![Endpoint::Unix(served.socket.clone())])
}

fn post(name: &str) -> InstancePost {
    let root = [("type", "disk"), ("path", "/"), ("pool", "local")];
    let root = root.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut post = InstancePost::new(name, Source::Empty);
    post.devices = BTreeMap::from([("root".to_owned(), root.into())]);
    post.start = true;
    post
}

#[test]
fn what_happens_to_instances_is_told_as_it_happens() {
    let served = serve(&Options::default());
    let client = client(&served);
    let told = served.runtime.block_on(async {
        let filter = EventFilter {
            project: Some("default".to_owned()),
            lifecycle: true,
            operations: false,
        };
        let mut events = client.events(filter).await.expect("events");
        let create = instance::create("default", &post("web")).target("m2");
        client.finish(create).await.expect("made");
        let time = Duration::from_secs(30);
        let stop = instance::set_state("default", "web", Action::Stop, time, false);
        client.finish(stop).await.expect("stopped");
        let delete = instance::delete("default", "web");
        client.finish(delete).await.expect("deleted");
        let mut told = Vec::new();
        while told.len() < 4 {
            let event = timeout(PATIENCE, events.next()).await.expect("in time");
            let event = event.expect("an event").expect("a good one");
            assert_eq!(
                (event.project.as_str(), event.location.as_str()),
                ("default", "m2")
            );
            let Happening::Lifecycle(lifecycle) = event.happening else {
                panic!("nobody asked for {event:?}");
            };
            assert_eq!(lifecycle.source, "/1.0/instances/web");
            told.push(lifecycle.action);
        }
        told
    });
    let expected = ["created", "started", "shutdown", "deleted"];
    assert_eq!(told, expected.map(|what| format!("instance-{what}")));
}

#[test]
fn a_command_is_run_and_its_records_removed() {
    let served = serve(&Options::default());
    let client = client(&served);
    served.runtime.block_on(async {
        let create = instance::create("default", &post("web"));
        client.finish(create).await.expect("made");
        for (words, code, written) in [
            (&["timeout", "5", "true"][..], 0, ""),
            (&["echo", "well"], 0, "well\n"),
            (&["false"], 1, ""),
            (&["missing-program"], 127, ""),
        ] {
            let command = Command {
                command: words.iter().map(|word| (*word).to_owned()).collect(),
                ..Command::default()
            };
            let outcome = exec_recorded(&client, "default", "web", &command).await;
            let outcome = outcome.expect("an outcome");
            assert_eq!(
                (outcome.return_code, outcome.stdout.as_str()),
                (code, written),
                "{words:?}"
            );
        }
    });
}

/// A list says of a profile's change what a single look says.
#[test]
fn a_changed_profile_changes_its_instances_in_the_list() {
    let served = serve(&Options::default());
    let client = client(&served);
    served.runtime.block_on(async {
        let create = instance::create("default", &post("web"));
        client.finish(create).await.expect("made");
        let keys = BTreeMap::from([("user.k".to_owned(), "v".to_owned())]);
        let patch = incus::profile::patch("default", "default", &keys);
        client.send(patch).await.expect("changed");
        let listed = client
            .send(instance::list("default"))
            .await
            .expect("a list");
        let expanded = listed[0].expanded_config.as_ref().expect("configuration");
        assert_eq!(expanded["user.k"], "v");
        let own = listed[0].config.as_ref().expect("configuration");
        assert!(!own.contains_key("user.k"));
    });
}
