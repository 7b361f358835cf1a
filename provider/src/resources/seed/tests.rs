//! Seeds from configuration to file and back, without a process: what stays, what is made anew, what is taken away.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use tempfile::TempDir;
use tfplugin::testing;

use super::*;

/// A seed's life in a folder of its own.
struct World {
    resource: Seed,
    folder: TempDir,
    /// What the last apply noted.
    private: Mutex<Vec<u8>>,
}

impl World {
    fn new() -> World {
        World {
            resource: Seed::default(),
            folder: tempfile::tempdir().expect("a folder"),
            private: Mutex::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn output(&self, name: &str) -> Value {
        let path = self.path(name).display().to_string();
        Value::object([("path", path.into()), ("format", "tar".into())])
    }

    fn plan(&self, config: &Value, prior: &Value) -> testing::Planned {
        testing::plan(&self.resource, config.clone(), prior.clone(), Vec::new()).expect("a seed")
    }

    /// What an apply leaves, and what it says.
    async fn apply(&self, config: &Value, prior: &Value) -> (Value, Vec<String>) {
        let planned = self.plan(config, prior).state;
        let (config, private) = (config.clone(), self.noted());
        let applied = match prior {
            Value::Null => {
                let request = CreateRequest {
                    config,
                    planned,
                    private,
                };
                self.resource.create(request, &Call::default()).await
            }
            _ => {
                let prior = prior.clone();
                let request = UpdateRequest {
                    config,
                    prior,
                    planned,
                    private,
                };
                self.resource.update(request, &Call::default()).await
            }
        };
        *self.private.lock().expect("a note") = applied.private;
        (applied.state, summaries(&applied.diagnostics))
    }

    fn noted(&self) -> Vec<u8> {
        self.private.lock().expect("a note").clone()
    }

    async fn applied(&self, config: &Value, prior: &Value) -> Value {
        let (state, said) = self.apply(config, prior).await;
        assert_eq!(said, [""; 0]);
        state
    }

    async fn read(&self, current: Value) -> Value {
        let request = ReadRequest {
            current,
            private: self.noted(),
        };
        self.resource.read(request, &Call::default()).await.state
    }

    async fn delete(&self, prior: Value) -> Vec<String> {
        let private = self.noted();
        let request = DeleteRequest { prior, private };
        let applied = self.resource.delete(request, &Call::default()).await;
        summaries(&applied.diagnostics)
    }
}

fn summaries(diagnostics: &Diagnostics) -> Vec<String> {
    diagnostics.iter().map(|one| one.summary.clone()).collect()
}

fn seed() -> Value {
    let network = Value::object([
        ("name", "lan".into()),
        ("cidr", "192.168.1.0/24".into()),
        ("gateway", "192.168.1.1".into()),
        ("dns", Value::List(vec!["192.168.1.1".into()])),
    ]);
    let machine = Value::object([
        ("name", "a".into()),
        ("mac", "52:54:00:00:00:0a".into()),
        ("role", "bootstrap".into()),
        ("network", network),
        ("address", "192.168.1.210".into()),
    ]);
    let hub = Value::object([
        ("endpoint", "hub.example.net:51820".into()),
        (
            "public_key",
            "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=".into(),
        ),
    ]);
    let wireguard = Value::object([
        ("network", Value::object([("cidr", "10.100.0.0/24".into())])),
        ("address", "10.100.0.2".into()),
        ("hub", hub),
    ]);
    Value::object([
        ("machine", machine),
        (
            "break_glass_certificate",
            include_str!("tests/break-glass.crt").into(),
        ),
        ("wireguard", wireguard),
    ])
}

fn with(config: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut config = config.clone();
    config.set_attr(name, value);
    config
}

fn text(state: &Value, name: &str) -> String {
    state.attr(name).as_str().expect(name).to_owned()
}

/// HO-SEED-24, HO-WG-01: what is made once stays, and the next plan is empty.
#[tokio::test]
async fn keys_are_made_once_and_stay() {
    let world = World::new();
    let config = seed();
    let planned = world.plan(&config, &Value::Null).state;
    let files = planned.attr("files");
    assert!(
        files.attr("install.json").as_str().is_some(),
        "no key is in it"
    );
    assert!(files.attr("network.json").is_unknown() && files.attr("incus.json").is_unknown());

    let made = world.applied(&config, &Value::Null).await;
    assert!(made.is_wholly_known() && made.attr("written").is_null());
    let network = made.attr("files").attr("network.json").as_str();
    let private_key = domain::seed::tunnel_key(network.expect("a file")).expect("a key");
    let public_key = crate::keys::wireguard_public_key(&private_key).expect("its other half");
    assert_eq!(text(&made, "wireguard_public_key"), public_key);
    assert!(text(&made, "hub_peer").contains(&public_key));
    assert!(text(&made, "metrics_key").contains("PRIVATE KEY"));
    let again = world.plan(&config, &made);
    assert_eq!(
        (again.state, summaries(&again.diagnostics)),
        (made, Vec::new())
    );
}

/// HO-CFG-16: the plan shows which files change, and that a machine must be installed again for it.
#[tokio::test]
async fn a_change_shows_in_the_files_that_it_touches() {
    let world = World::new();
    let made = world.applied(&seed(), &Value::Null).await;
    let update = Value::object([("channel", "testing".into())]);
    let config = with(&seed(), "update", update);
    let planned = world.plan(&config, &made);
    let sums = |state: &Value| state.attr("sha256").as_map().expect("sums").clone();
    let (mut after, before) = (sums(&planned.state), sums(&made));
    assert!(
        after
            .remove("update.json")
            .is_some_and(|sum| sum.as_str().is_some())
    );
    assert_eq!(after, before);
    let said = summaries(&planned.diagnostics);
    assert_eq!(
        said,
        ["Machine a must be installed again for its new seed to count"]
    );
    let changed = world.applied(&config, &made).await;
    assert_eq!(changed, planned.state);
}

/// HO-SEED-24: only on purpose.
#[tokio::test]
async fn rotating_makes_new_keys() {
    let world = World::new();
    let made = world.applied(&seed(), &Value::Null).await;
    let config = with(&seed(), "rotate", "2026-12");
    let planned = world.plan(&config, &made).state;
    assert!(planned.attr("sha256").attr("network.json").is_unknown());
    assert_eq!(
        planned.attr("sha256").attr("install.json"),
        made.attr("sha256").attr("install.json")
    );
    let rotated = world.applied(&config, &made).await;
    for name in ["wireguard_public_key", "metrics_certificate", "metrics_key"] {
        assert_ne!(rotated.attr(name), made.attr(name), "{name}");
    }
}

/// A tunnel comes and goes, and the metrics certificate stays.
#[tokio::test]
async fn a_tunnel_that_is_added_gets_a_key() {
    let world = World::new();
    let plain = with(&seed(), "wireguard", Value::Null);
    let made = world.applied(&plain, &Value::Null).await;
    assert!(made.attr("wireguard_public_key").is_null() && made.attr("hub_peer").is_null());
    let added = world.applied(&seed(), &made).await;
    assert_eq!(text(&added, "metrics_key"), text(&made, "metrics_key"));
    assert_eq!(text(&added, "wireguard_public_key").len(), 44);
    let removed = world.applied(&plain, &added).await;
    assert_eq!(removed.attr("files"), made.attr("files"));
}

/// HO-SEED-28: the file is for its owner, comes back with the keys that it had, and goes with the seed.
#[tokio::test]
async fn a_file_that_is_gone_is_written_again_with_the_same_keys() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("seeds/a.tar"));
    let made = world.applied(&config, &Value::Null).await;
    let file = world.path("seeds/a.tar");
    let before = fs::read(&file).expect("the file");
    fs::remove_file(&file).expect("removed");

    let read = world.read(made.clone()).await;
    assert_eq!(read.attr("written"), &Value::from(false));
    let planned = world.plan(&config, &read).state;
    assert_eq!(planned, made, "nothing but written changes");
    let again = world.applied(&config, &read).await;
    assert_eq!(
        (again, fs::read(&file).expect("the file")),
        (made.clone(), before)
    );

    world.resource.outputs.forget();
    assert_eq!(world.delete(made).await, [""; 0]);
    assert!(!file.exists());
}

/// It may be somebody else's seed, or one whose keys nobody has: it counts as gone, and is taken away by nobody.
#[tokio::test]
async fn another_file_in_its_place_is_noticed_and_left_alone() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("a.tar"));
    let made = world.applied(&config, &Value::Null).await;
    fs::write(world.path("a.tar"), "another seed").expect("a file");
    let read = world.read(made.clone()).await;
    assert_eq!(read.attr("written"), &Value::from(false));
    world.resource.outputs.forget();
    let said = world.delete(made).await;
    assert_eq!(said, ["The seed of machine a is left where it is"]);
    assert!(world.path("a.tar").exists());
}

#[tokio::test]
async fn another_spelling_of_a_path_is_the_same_file() {
    let world = World::new();
    let first = with(&seed(), "output", world.output("a.tar"));
    let made = world.applied(&first, &Value::Null).await;
    world.resource.outputs.forget();
    let second = with(&seed(), "output", world.output("./a.tar"));
    world.applied(&second, &made).await;
    assert!(world.path("a.tar").exists());
    assert!(!world.plan(&first, &Value::Null).diagnostics.has_errors());
}

/// A newer version of the provider may render more: then the plan shows it, and the apply returns what was planned.
#[tokio::test]
async fn a_file_is_written_again_as_it_is_rendered_now() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("a.tar"));
    let made = world.applied(&config, &Value::Null).await;
    let mut files = made.attr("files").clone();
    files.set_attr("install.json", "{\"version\": \"0\"}");
    let older = with(&with(&made, "files", files), "written", false);
    let planned = world.plan(&config, &older).state;
    let (again, _) = world.apply(&config, &older).await;
    assert_eq!((&again, &again), (&planned, &made));
}

#[tokio::test]
async fn an_output_that_moves_leaves_nothing_behind() {
    let world = World::new();
    let first = with(&seed(), "output", world.output("a.tar"));
    let made = world.applied(&first, &Value::Null).await;
    world.resource.outputs.forget();
    let second = with(&seed(), "output", world.output("b.tar"));
    let moved = world.applied(&second, &made).await;
    assert!(!world.path("a.tar").exists() && world.path("b.tar").exists());
    assert_eq!(moved.attr("files"), made.attr("files"));
    // A replacement that came first has written the path anew: it is not the old one's to take away.
    assert_eq!(world.delete(moved).await, [""; 0]);
    assert!(world.path("b.tar").exists());
}

/// A machine would be installed with another's seed.
#[tokio::test]
async fn two_seeds_with_one_output_are_refused() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("seed.tar"));
    assert!(!world.plan(&config, &Value::Null).diagnostics.has_errors());
    let mut other = config.clone();
    let mut machine = config.attr("machine").clone();
    // Two sites may have machines of one name.
    machine.set_attr("mac", "52:54:00:00:00:0b");
    other.set_attr("machine", machine);
    let said = summaries(&world.plan(&other, &Value::Null).diagnostics);
    assert!(
        said.contains(&"Two seeds have the same output".to_owned()),
        "{said:?}"
    );
    world.resource.outputs.forget();
    assert!(!world.plan(&other, &Value::Null).diagnostics.has_errors());
}

/// The state has what there is, also of a create that failed.
#[tokio::test]
async fn a_seed_that_cannot_be_written_is_in_the_state() {
    let world = World::new();
    fs::write(world.path("file"), "").expect("a file");
    let config = with(&seed(), "output", world.output("file/a.tar"));
    let (state, said) = world.apply(&config, &Value::Null).await;
    assert_eq!(said, ["The seed of machine a could not be written"]);
    assert_eq!(state.attr("written"), &Value::from(false));
    assert_eq!(text(&state, "wireguard_public_key").len(), 44);
    assert_eq!(world.delete(state).await, [""; 0]);
}

/// HO-SEED-28: with recipients only ciphertext reaches the disk; without, the plan says so.
#[tokio::test]
async fn plain_text_is_warned_about_and_ciphertext_holds_none() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("a.tar"));
    let said = summaries(&world.plan(&config, &Value::Null).diagnostics);
    assert_eq!(said, ["The seed of machine a is written in plain text"]);
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let config = with(&config, "encrypt_to", Value::List(vec![recipient.into()]));
    assert_eq!(
        summaries(&world.plan(&config, &Value::Null).diagnostics),
        [""; 0]
    );
    world.applied(&config, &Value::Null).await;
    let written = fs::read(world.path("a.tar")).expect("the file");
    assert!(written.starts_with(b"age-encryption.org/v1\n"));
    assert!(!written.windows(12).any(|part| part == b"network.json"));
}

/// New keys in silence would cut off a machine that is installed.
#[tokio::test]
async fn a_state_without_its_keys_is_an_error() {
    let world = World::new();
    let made = world.applied(&seed(), &Value::Null).await;
    let mut files = made.attr("files").clone();
    files.set_attr("network.json", "{}");
    let damaged = with(&made, "files", files);
    let config = with(&seed(), "incusos_release", Value::Null);
    let update = Value::object([("channel", "testing".into())]);
    let config = with(&config, "update", update);
    let said = summaries(&world.plan(&config, &damaged).diagnostics);
    assert_eq!(said, ["The state has lost the keys of machine a"]);
    let rotated = with(&config, "rotate", "now");
    assert!(!world.plan(&rotated, &damaged).diagnostics.has_errors());
}

/// What was unknown in the plan is judged before anything is written.
#[tokio::test]
async fn what_turns_out_wrong_in_the_apply_is_refused_there() {
    let world = World::new();
    let config = with(&seed(), "output", world.output("a.tar"));
    let mut wrong = config.clone();
    wrong.set_attr(
        "break_glass_certificate",
        "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
    );
    let planned = world.plan(&config, &Value::Null).state;
    let request = CreateRequest {
        config: wrong,
        planned,
        private: Vec::new(),
    };
    let applied = world.resource.create(request, &Call::default()).await;
    assert!(applied.diagnostics.has_errors() && applied.state.is_null());
    assert!(!format!("{:?}", applied.diagnostics).contains("MIIB"));
    assert!(!world.path("a.tar").exists());
}

/// Everything that is wrong outside of the seed itself, at its attribute.
#[test]
fn outputs_and_recipients_are_judged() {
    let output = |path: &str, format: &str| {
        let output = Value::object([("path", path.into()), ("format", format.into())]);
        with(&seed(), "output", output)
    };
    let to = |config: Value, recipient: &str| {
        with(&config, "encrypt_to", Value::List(vec![recipient.into()]))
    };
    let key = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
    for (config, path) in [
        (output("", "tar"), "output.path"),
        (output("/tmp", "tar"), "output.path"),
        (output("seeds/", "tar"), "output.path"),
        (output("/dev/null", "tar"), "output.path"),
        (output("a.tar", "zip"), "output.format"),
        (to(output("a.tar", "tar"), "age1x"), "encrypt_to[0]"),
        (to(output("a.tar", "tar"), key), "encrypt_to[0]"),
        (to(seed(), "age1x"), "encrypt_to"),
        (
            with(
                &output("a.tar", "tar"),
                "encrypt_to",
                Value::List(Vec::new()),
            ),
            "encrypt_to",
        ),
    ] {
        let said = output::check(&config);
        let at: Vec<String> = said
            .iter()
            .filter_map(|one| Some(one.path.as_ref()?.to_string()))
            .collect();
        assert_eq!(at, [path]);
        assert!(!format!("{said:?}").contains("GFPYYSJZ"), "{said:?}");
    }
}
