//! Who may connect, what stops a call, and how the process ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tfplugin::Value;
use tfplugin::testing::{Host, HostIdentity};
use tokio::net::UnixStream;

use super::{Toy, a_box, apply, box_of_work, launch, nothing, slow_box};

/// Long enough for a busy machine, short against the minute that the slow work would take.
pub(crate) const SOON: Duration = Duration::from_secs(20);

fn signal(host: &Host, name: &str) {
    let sent = Command::new("kill")
        .args([name, &host.id().to_string()])
        .status();
    assert!(sent.expect("a kill program").success());
}

/// Waits until a box exists, which is when the slow work on it has begun.
async fn begun(toy: &Toy, name: &str) {
    while !toy.has_box(name) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn only_the_host_that_started_it_is_served() {
    let toy = Toy::start().await;
    let foreign = HostIdentity::new().expect("a certificate");
    assert!(
        toy.host.connect_as(Some(&foreign)).await.is_err(),
        "another certificate"
    );
    assert!(toy.host.connect_as(None).await.is_err(), "no certificate");
    // One that connects and keeps silent delays nobody.
    let _silent = UnixStream::connect(toy.host.socket())
        .await
        .expect("a connection");
    let made = tokio::time::timeout(SOON, apply(&toy.client(), a_box("a"), &nothing())).await;
    assert!(!made.expect("an answer in time").diagnostics.has_errors());
}

#[tokio::test]
async fn without_a_certificate_from_the_host_the_connection_is_in_clear() {
    let toy = Toy::start_with(launch().in_clear()).await;
    assert!(
        !apply(&toy.client(), a_box("a"), &nothing())
            .await
            .diagnostics
            .has_errors()
    );
}

#[tokio::test]
async fn a_damaged_certificate_from_the_host_is_no_reason_to_go_without() {
    let started = launch()
        .in_clear()
        .with("PLUGIN_CLIENT_CERT", "-----BEGIN CERTIFICATE-----")
        .start()
        .await;
    let error = started
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(error.contains("PLUGIN_CLIENT_CERT"), "{error}");
}

#[test]
fn by_hand_it_says_what_it_is_and_fails() {
    let started = Command::new(env!("CARGO_BIN_EXE_tfplugin-toy"))
        .env_remove("TF_PLUGIN_MAGIC_COOKIE")
        .output();
    let output = started.expect("a run");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("not meant to be run by hand"));
}

#[tokio::test]
async fn the_socket_is_where_the_host_wants_it_and_goes_away() {
    let wanted = tempfile::tempdir().expect("a folder");
    let toy = Toy::start_with(launch().with("PLUGIN_UNIX_SOCKET_DIR", wanted.path())).await;
    let socket = toy.host.socket().to_owned();
    assert!(socket.starts_with(wanted.path()) && socket.exists());
    let ended = toy.host.shutdown().await.expect("an end");
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(
        ended.output, "",
        "standard output is for the handshake only"
    );
    assert_eq!(
        std::fs::read_dir(wanted.path()).expect("a folder").count(),
        0
    );
}

#[tokio::test]
async fn a_long_folder_for_temporary_files_is_no_obstacle() {
    let long = tempfile::tempdir().expect("a folder");
    let long = long.path().join("x".repeat(120));
    std::fs::create_dir(&long).expect("a folder");
    let toy = Toy::start_with(launch().with("TMPDIR", &long)).await;
    assert!(!toy.host.socket().starts_with(&long));
    assert_eq!(
        toy.host.shutdown().await.expect("an end").status.code(),
        Some(0)
    );
}

#[tokio::test]
async fn a_stop_ends_what_is_running_and_what_arrives_after_it() {
    let toy = Toy::start().await;
    let client = toy.client();
    let slow = tokio::spawn(async move { apply(&client, slow_box("slow"), &nothing()).await });
    begun(&toy, "slow").await;
    toy.client().stop().await.expect("an answer");
    let stopped = tokio::time::timeout(SOON, slow)
        .await
        .expect("an answer in time")
        .expect("no panic");
    assert!(
        stopped
            .diagnostics
            .iter()
            .any(|one| one.summary.contains("was stopped")),
        "{:?}",
        stopped.diagnostics
    );
    assert_eq!(
        stopped.state.attr("id").as_str(),
        Some("box/slow"),
        "half a box is a box"
    );
    assert!(stopped.state.is_wholly_known());
    assert_eq!(stopped.private, b"half made");
    // The host had decided on this one before the user pressed Ctrl-C.
    let late = tokio::time::timeout(SOON, apply(&toy.client(), slow_box("late"), &nothing())).await;
    let late = late.expect("an answer in time").diagnostics;
    let told = late.iter().any(|one| one.summary.contains("was stopped"));
    assert!(told, "{late:?}");
    // The next command begins with a configuration.
    let folder = Value::object([("folder", toy.folder.path().to_str().into())]);
    toy.client().configure(folder).await.expect("an answer");
    let next = apply(&toy.client(), box_of_work("next", "10ms"), &nothing()).await;
    assert!(!next.diagnostics.has_errors(), "{:?}", next.diagnostics);
}

#[tokio::test]
async fn an_interrupt_of_the_whole_group_does_nothing() {
    let toy = Toy::start().await;
    signal(&toy.host, "-INT");
    assert!(
        !apply(&toy.client(), a_box("a"), &nothing())
            .await
            .diagnostics
            .has_errors()
    );
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_call_only() {
    let toy = Toy::start().await;
    let mut cursed = a_box("a");
    cursed.set_attr("note", "panic");
    let failed = apply(&toy.client(), cursed, &nothing()).await;
    let detail = failed
        .diagnostics
        .iter()
        .map(|one| one.detail.clone())
        .next()
        .unwrap_or_default();
    assert!(
        detail.contains("the box is cursed") && detail.contains("boxes.rs"),
        "{detail}"
    );
    assert!(!detail.contains("backtrace"), "{detail}");
    assert!(
        !apply(&toy.client(), a_box("b"), &nothing())
            .await
            .diagnostics
            .has_errors()
    );

    let ended = toy.host.shutdown().await.expect("an end");
    assert_eq!(ended.status.code(), Some(0));
    let line = ended
        .errors
        .lines()
        .find(|line| line.contains("the box is cursed"))
        .expect("a log line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(line["@level"], "error");
    assert!(line["@message"].is_string() && line["location"].is_string());
    let timestamp = line["@timestamp"].as_str().unwrap_or_default();
    let fraction = timestamp
        .split_once('.')
        .map(|(_, fraction)| fraction)
        .unwrap_or_default();
    assert!(
        fraction.len() == 7 && fraction.ends_with('Z'),
        "{timestamp}"
    );
}

#[tokio::test]
async fn a_panic_in_an_update_keeps_the_old_state() {
    let toy = Toy::start().await;
    let made = apply(&toy.client(), a_box("a"), &nothing()).await;
    let mut cursed = a_box("a");
    cursed.set_attr("note", "panic");
    let failed = apply(&toy.client(), cursed, &made).await;
    assert!(failed.diagnostics.has_errors());
    assert_eq!((failed.state, failed.private), (made.state, made.private));
}

#[tokio::test]
async fn a_host_that_disappears_stops_the_work_and_the_process() {
    let mut toy = Toy::start().await;
    let socket = toy.host.socket().to_owned();
    let client = toy.client();
    let slow = tokio::spawn(async move { apply(&client, slow_box("slow"), &nothing()).await });
    begun(&toy, "slow").await;
    slow.abort();
    assert!(slow.await.is_err(), "nobody waits any more");
    toy.host.disappear();
    let ended = toy.host.ended(SOON).await.expect("an end in time");
    assert_eq!(ended.status.code(), Some(0));
    assert!(
        ended.errors.contains("stopped between two steps"),
        "{}",
        ended.errors
    );
    assert!(!socket.exists());
}

#[tokio::test]
async fn the_end_waits_for_the_work_to_be_at_a_safe_point() {
    for by_signal in [false, true] {
        let toy = Toy::start().await;
        let client = toy.client();
        let mut stubborn = slow_box("slow");
        stubborn.set_attr("note", "stubborn");
        let slow = tokio::spawn(async move { apply(&client, stubborn, &nothing()).await });
        begun(&toy, "slow").await;
        let ended = if by_signal {
            signal(&toy.host, "-TERM");
            toy.host.ended(SOON).await
        } else {
            toy.host.shutdown().await
        };
        let ended = ended.expect("an end in time");
        assert_eq!(ended.status.code(), Some(0));
        assert!(
            ended.errors.contains("stopped between two steps"),
            "{}",
            ended.errors
        );
        // Its answer still came through.
        let stopped = slow.await.expect("an answer");
        assert!(stopped.diagnostics.has_errors() && !stopped.state.is_null());
    }
}

/// The process that started it is a shell here, which ends without a word.
#[test]
fn an_orphan_ends() {
    let mut shell = Command::new("sh")
        .args([
            "-c",
            r#""$0" & read -r line"#,
            env!("CARGO_BIN_EXE_tfplugin-toy"),
        ])
        .env(
            "TF_PLUGIN_MAGIC_COOKIE",
            "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        )
        .env_remove("PLUGIN_CLIENT_CERT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut output = BufReader::new(shell.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a handshake");
    assert!(line.starts_with("1|6|unix|"), "{line}");
    let orphaned = Instant::now();
    drop(shell.stdin.take());
    shell.wait().expect("an end");
    // The toy holds the other end of the pipe, so this ends when it does.
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut rest = String::new();
        let read = output.read_to_string(&mut rest).map(|_| rest);
        // Nobody waits any more when the test has failed.
        let _ = sender.send(read);
    });
    let rest = ended.recv_timeout(SOON).expect("an end in time");
    assert_eq!(rest.expect("its end"), "");
    assert!(orphaned.elapsed() < SOON, "{:?}", orphaned.elapsed());
}
