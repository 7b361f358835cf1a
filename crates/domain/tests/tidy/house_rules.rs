//! House rules: what keeps the workspace readable and buildable, beside the invariants in `../tidy.rs`.

use super::assert_none;
use super::sources::{dependencies, manifests, read, rust};

/// Longer files hide their structure. About 250 lines are the aim; this is where a reader gives up.
const LONGEST_FILE: usize = 500;

/// Dependencies point one way: what is decided and what is sent know nothing of who asks.
#[test]
fn crates_import_only_what_is_below_them() {
    let ours = [
        "domain",
        "incus",
        "media",
        "reconcile",
        "simulator",
        "tfplugin",
    ];
    let allowed: [(&str, &[&str]); 9] = [
        ("crates/domain/Cargo.toml", &[]),
        ("crates/incus/Cargo.toml", &[]),
        ("crates/media/Cargo.toml", &[]),
        ("crates/tfplugin/Cargo.toml", &[]),
        ("crates/reconcile/Cargo.toml", &["domain", "incus"]),
        ("crates/simulator/Cargo.toml", &["domain"]),
        (
            "provider/Cargo.toml",
            &["domain", "incus", "media", "reconcile", "tfplugin"],
        ),
        ("cli/Cargo.toml", &["domain", "incus", "media", "reconcile"]),
        // The observer judges by raw HTTP and JSON; with our types it would share our mistakes.
        ("acceptance/Cargo.toml", &[]),
    ];
    for manifest in manifests() {
        let Some((_, allowed)) = allowed.iter().find(|(path, _)| *path == manifest.path) else {
            panic!(
                "{} is new: say in tidy.rs what it may import",
                manifest.path
            );
        };
        let wrong: Vec<String> = dependencies(&manifest.text, false)
            .into_iter()
            .filter(|name| ours.contains(name) && !allowed.contains(name))
            .map(|name| format!("{}: {name}", manifest.path))
            .collect();
        assert_none("a crate imports only what is below it:", &wrong);
    }
}

/// The first lines of a file tell where one is; a file beyond the limit has more than one thing to say.
#[test]
fn files_say_where_one_is_and_stay_readable() {
    let mut wrong = Vec::new();
    for source in rust(&["crates", "provider", "cli", "acceptance"]) {
        if !source.text.starts_with("//! ") {
            wrong.push(format!("{} does not open with //!", source.path));
        }
        if source.text.contains("//! placeholder")
            && !source.path.starts_with("crates/domain/tests/tidy")
        {
            wrong.push(format!("{} is a placeholder", source.path));
        }
        let lines = source.text.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{} has {lines} lines", source.path));
        }
    }
    assert_none(
        "files open with their place on the walk, and are short:",
        &wrong,
    );
}

/// With two crypto providers in one process, rustls' default builder panics.
///
/// The lock file is no witness: it lists `ring` as an optional dependency that no feature turns on.
#[test]
fn aws_lc_rs_is_the_only_crypto_provider() {
    let workspace = read("Cargo.toml");
    let mut wrong = Vec::new();
    for name in ["rcgen", "rustls", "tokio-rustls", "tonic"] {
        let line = workspace
            .lines()
            .find(|line| line.split([' ', '.']).next() == Some(name))
            .unwrap_or_default();
        if !line.contains("default-features = false") || !line.contains("aws") {
            wrong.push(format!(
                "{name} has to name aws-lc and no default features: {line:?}"
            ));
        }
    }
    let manifests = manifests();
    let texts = manifests
        .iter()
        .map(|manifest| (manifest.path.as_str(), manifest.text.as_str()));
    for (path, text) in texts.chain([("Cargo.toml", workspace.as_str())]) {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let named = lines.filter(|line| {
            ["\"ring\"", "\"tls-ring\"", "ring ="]
                .iter()
                .any(|word| line.contains(word))
        });
        wrong.extend(named.map(|line| format!("{path}: {line}")));
    }
    assert_none("ring stays out:", &wrong);
}
